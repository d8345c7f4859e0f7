"""Specifications that the pages about other tools show are read as what they are."""

import re
from pathlib import Path

import pytest
from tests.foreign.specs.samples import comes_to

from streamgauge.foreign.specs.convert import TOOLS

PAGES = sorted((Path(__file__).parents[2] / "docs" / "how-to" / "coming-from").glob("*.md"))
BLOCK = re.compile(r"^```(?:json|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CLUSTER = {"cluster.yaml": "kafka: {bootstrapServers: [b:9092]}"}
SHOWN = {
    (path.stem, text): text
    for path in PAGES
    for text in BLOCK.findall(path.read_text(encoding="utf-8"))
    if not text.startswith("streamgauge")
}


def test_the_pages_show_specifications() -> None:
    """Or this would prove nothing."""
    assert len(PAGES) == len(TOOLS) + 1
    assert {page for page, _ in SHOWN} == {path.stem for path in PAGES} - {"index", "openmessaging-benchmark"}


@pytest.mark.parametrize(("page", "text"), SHOWN, ids=[page for page, _ in SHOWN])
def test_a_specification_that_is_shown_is_read(page: str, text: str) -> None:
    assert comes_to(text, files=CLUSTER).document
