"""The gallery shows what ships, in pictures fit to be shown."""

import re
from pathlib import Path

import pytest
from tools.gallery import FOLDER, GALLERY, MOST_BYTES, WIDTH, Shown

from streamgauge.runs.request.scenario_file import load_scenario

PAGE = Path(__file__).parents[2] / "docs" / "gallery.md"


@pytest.mark.parametrize("shown", GALLERY, ids=lambda shown: shown.name)
def test_a_picture_is_there_and_has_its_sentence(shown: Shown) -> None:
    """As wide as it was taken, and small enough for a page of eight."""
    content = (FOLDER / f"{shown.name}.webp").read_bytes()
    # The headers of WebP's two formats without losses of alpha: width less one, or width itself.
    width = {
        b"VP8X": int.from_bytes(content[24:27], "little") + 1,
        b"VP8 ": int.from_bytes(content[26:28], "little") & 0x3FFF,
    }[content[12:16]]
    assert (content[:4], content[8:12], width) == (b"RIFF", b"WEBP", WIDTH)
    assert len(content) <= MOST_BYTES
    alt = re.search(rf"!\[([^\]]+)\]\(images/gallery/{shown.name}\.webp\)", PAGE.read_text(encoding="utf-8"))
    assert alt is not None


def test_no_other_picture_is_there() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {shown.name for shown in GALLERY}
    assert len(GALLERY) >= 8


@pytest.mark.parametrize("run", [run for shown in GALLERY for run in shown.runs], ids=lambda run: run[0])
def test_a_run_of_the_gallery_is_of_a_scenario_that_ships(run: tuple[str, ...]) -> None:
    scenario, *settings = run
    assert load_scenario(scenario, settings).name == scenario
