"""The charting library: bundled once, kept between commands, and made again where what was kept is not it."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
import vl_convert

from streamgauge.report.pages.html import library

VERSION = version("vl-convert-python")
SCRIPT = "window.vegaEmbed = '</script>';"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The snippets that were bundled, each to the same script; what is kept lies in the folder of the test."""
    snippets: list[str] = []

    def javascript_bundle(snippet: str) -> str:
        snippets.append(snippet)
        return SCRIPT

    monkeypatch.setattr(vl_convert, "javascript_bundle", javascript_bundle)
    monkeypatch.setattr(library, "script_folder", lambda: tmp_path / "scripts")
    return snippets


def asked() -> str:
    """The script, as the next command has it."""
    library.bundle.cache_clear()
    try:
        return library.bundle()
    finally:
        library.bundle.cache_clear()


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "scripts").iterdir())


def test_it_is_bundled_once_and_cannot_end_its_element(made: list[str], tmp_path: Path) -> None:
    first, second = asked(), asked()

    assert first == second == "window.vegaEmbed = '<\\/script>';"
    assert len(made) == 1
    assert [path.name for path in kept(tmp_path)] == [f"vega-embed-{VERSION}.js"]


@pytest.mark.parametrize("harm", [lambda text: text[:-1], lambda _: b"", lambda text: b"\xff" + text])
def test_what_is_damaged_is_made_again(harm: Callable[[bytes], bytes], made: list[str], tmp_path: Path) -> None:
    first = asked()
    (path,) = kept(tmp_path)
    path.write_bytes(harm(path.read_bytes()))

    assert asked() == asked() == first
    assert len(made) == 2


def test_that_of_another_version_is_removed(made: list[str], tmp_path: Path) -> None:
    other = tmp_path / "scripts" / "vega-embed-0.1.js"
    other.parent.mkdir()
    other.write_text("old")
    asked()

    assert len(kept(tmp_path)) == 1
    assert not other.exists()


def test_where_nothing_can_be_kept_it_is_made_each_time(made: list[str], tmp_path: Path) -> None:
    (tmp_path / "scripts").write_text("a file where the folder should be")

    assert asked() == asked()
    assert len(made) == 2
