"""Every scenario, and every way to write a rate, that a document shows is one."""

import re
from pathlib import Path

import pytest
import yaml

from streamgauge.scenario import parse

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
SHAPES = ROOT / "docs" / "how-to" / "shape-the-load.md"
PARTS = {"name", "topic", "load", "consume", "connections", "backpressure", "lag", "faults", "phases", "verify", "seed"}
PARTS |= {"expect"}


def blocks() -> list[str]:
    texts = [text for document in DOCUMENTS for text in BLOCK.findall(document.read_text(encoding="utf-8"))]
    return [text for text in texts if yaml.safe_load(text).keys() <= PARTS]


@pytest.mark.parametrize("text", blocks())
def test_a_scenario_that_is_shown_is_right(text: str) -> None:
    parse({"name": "shown", **yaml.safe_load(text)})


@pytest.mark.parametrize("rate", [each for each in CELL.findall(SHAPES.read_text(encoding="utf-8")) if each != "rate:"])
def test_a_rate_that_is_shown_is_one(rate: str) -> None:
    parse({"name": "shown", "load": {"rate": yaml.safe_load(rate)}})
