"""Every link of a document leads to something that is there, and the picture of the README is fit to be shown."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.picture import MOST_BYTES, PICTURE, WIDTH

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def links(path: Path) -> list[str]:
    """Where a document leads within the repository."""
    found = LINK.findall(CODE.sub("", path.read_text(encoding="utf-8")))
    return [link for link in found if "://" not in link]


def anchors(path: Path) -> set[str]:
    """The names that headings get."""
    headings = HEADING.findall(path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(path: Path, given: list[str]) -> Iterator[str]:
    """The links that lead nowhere."""
    for link in given:
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("path", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_links_lead_somewhere(path: Path) -> None:
    assert list(broken(path, links(path))) == []


def test_a_broken_link_is_found() -> None:
    """Or this test would prove nothing."""
    given = ["README.md", "nowhere.md", "#two-commands", "#nothing", "docs/reference/checks.md#no-check"]
    assert list(broken(ROOT / "README.md", given)) == ["nowhere.md", "#nothing", "docs/reference/checks.md#no-check"]
    assert len(links(ROOT / "docs" / "how-to" / "read-the-verdict.md")) >= 30


def test_every_check_is_explained() -> None:
    """Where people read about the verdict there is a link to each check."""
    listed = anchors(ROOT / "docs" / "reference" / "checks.md") - {"checks-of-the-verdict"}
    told = {link.partition("#")[2] for link in links(ROOT / "docs" / "how-to" / "read-the-verdict.md")}
    assert listed - told == set()


def test_the_picture_is_light_and_as_wide_as_it_was_taken() -> None:
    content = PICTURE.read_bytes()
    # The header of WebP's extended format, which has the width less one.
    assert (content[:4], content[8:16]) == (b"RIFF", b"WEBPVP8X")
    assert int.from_bytes(content[24:27], "little") + 1 == WIDTH
    assert len(content) <= MOST_BYTES
