"""Bars and lines in characters."""

import pytest

from streamgauge.domain.text.bars import ASCII, BLOCKS, Signs, bar, line, signs_of


@pytest.mark.parametrize(
    ("terminal", "term", "encoding", "expected"),
    [
        (True, "xterm-256color", "utf-8", BLOCKS),
        (True, "xterm", "UTF8", BLOCKS),
        (True, "xterm", "iso-8859-1", ASCII),
        (True, "linux", "ANSI_X3.4-1968", ASCII),
        (True, "xterm", "", ASCII),
        (False, "xterm", "utf-8", None),
        (True, "dumb", "utf-8", None),
        (True, "unknown", "utf-8", None),
        (True, "", "utf-8", None),
    ],
)
def test_what_can_be_drawn_on(*, terminal: bool, term: str, encoding: str, expected: Signs | None) -> None:
    """Nothing into pipes and on dumb terminals; ASCII where there are no blocks."""
    assert signs_of(terminal=terminal, term=term, encoding=encoding) == expected


@pytest.mark.parametrize(
    ("share", "blocks", "ascii_"),
    [
        (0.0, "", ""),
        (1e-9, "▏", "#"),
        (0.5, "██", "##"),
        (0.53125, "██▏", "##"),
        (0.99, "████", "####"),
        (1.0, "████", "####"),
    ],
)
def test_a_bar_is_as_long_as_its_share(share: float, blocks: str, ascii_: str) -> None:
    """What is more than nothing is seen."""
    assert (bar(share, 4, BLOCKS), bar(share, 4, ASCII)) == (blocks, ascii_)


@pytest.mark.parametrize(
    ("values", "blocks", "ascii_"),
    [
        ([], "", ""),
        ([0.0, 0.0], "▁▁", "__"),
        ([10.0, 10.0], "██", "##"),
        ([0.0, 5.0, 10.0], "▁▅█", "_=#"),
        ([10.0, None, 10.0], "█ █", "# #"),
        ([None], " ", " "),
        ([0.0, 0.0, 4.0, 4.0, 8.0, 8.0, 8.0, None], "▁▅██", "_=##"),
    ],
)
def test_a_line_begins_at_zero(values: list[float | None], blocks: str, ascii_: str) -> None:
    """Seconds are averaged where they are too many; a gap is a gap."""
    assert (line(values, 4, BLOCKS), line(values, 4, ASCII)) == (blocks, ascii_)
