"""The browser of tests and pictures: one of the machine, or else the one that Playwright installs."""

import pytest
from tools.browser import executable

OWN = "/cache/chromium/chrome"


@pytest.mark.parametrize(
    ("there", "found"),
    [
        ({"chromium", "google-chrome", OWN}, "chromium"),
        ({"google-chrome", OWN}, "google-chrome"),
        # Ubuntu has no package of Chromium.
        ({OWN}, OWN),
    ],
)
def test_a_browser_of_the_machine_comes_first(there: set[str], found: str) -> None:
    assert executable(OWN, lambda name: name if name in there else None) == found


def test_where_there_is_none_it_is_said_how_to_get_one() -> None:
    with pytest.raises(SystemExit, match="playwright install --with-deps chromium"):
        executable(OWN, lambda _: None)
