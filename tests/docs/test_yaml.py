"""Every scenario, and every way to write a rate, that a document shows is one."""

import re
from pathlib import Path

import pytest
import yaml

from streamgauge.experiments.parse import examine_experiment
from streamgauge.scenario import parse

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
SHAPES = ROOT / "docs" / "how-to" / "shape-the-load.md"
PARTS = {"name", "topic", "load", "consume", "connections", "backpressure", "lag", "faults", "phases", "verify", "seed"}
PARTS |= {"expect"}


TEXTS = [text for document in DOCUMENTS for text in BLOCK.findall(document.read_text(encoding="utf-8"))]


def is_of_experiment(text: str) -> bool:
    found = yaml.safe_load(text)
    return "vary" in found or isinstance(found.get("expect"), list)


def blocks() -> list[str]:
    return [text for text in TEXTS if yaml.safe_load(text).keys() <= PARTS and not is_of_experiment(text)]


@pytest.mark.parametrize("text", [text for text in TEXTS if is_of_experiment(text)])
def test_an_experiment_that_is_shown_is_right(text: str) -> None:
    codecs = {"load.client.compression.type": ["none", "zstd"]}
    shown = {"name": "shown", "scenario": "baseline", "vary": codecs, **yaml.safe_load(text)}
    experiment, variants, _ = examine_experiment(shown, "shown")
    assert len(variants) > 1
    assert experiment.repeat >= 5


@pytest.mark.parametrize("text", blocks())
def test_a_scenario_that_is_shown_is_right(text: str) -> None:
    parse({"name": "shown", **yaml.safe_load(text)})


@pytest.mark.parametrize("rate", [each for each in CELL.findall(SHAPES.read_text(encoding="utf-8")) if each != "rate:"])
def test_a_rate_that_is_shown_is_one(rate: str) -> None:
    parse({"name": "shown", "load": {"rate": yaml.safe_load(rate)}})
