"""Looks at processes put onto equal spans of time."""

from typing import Any

import pytest

from streamgauge.report.figures.drawing.grid import TimeGrid, summed

SECOND = 1_000_000_000


def look(begins: float, ends: float, value: float | None) -> dict[str, Any]:
    return {"second": ends, "duration_ns": round((ends - begins) * SECOND), "value": value}


@pytest.mark.parametrize(
    ("looks", "means"),
    [
        ([look(0, 1, 2.0), look(1, 2, 4.0)], [2.0, 4.0]),
        ([look(0, 0.5, 2.0), look(0.5, 2, 4.0)], [3.0, 4.0]),
        ([look(0, 0.75, 0.0), look(0.75, 1, 4.0), look(1, 2, None)], [1.0, None]),
        ([look(-1.25, 0.25, 8.0)], [None, 8.0, None]),
        ([look(-0.5, 0.5, 1.0), look(2, 2.25, 9.0)], [1.0, 1.0, None, None]),
    ],
)
def test_a_span_has_the_mean_of_its_looks(looks: list[dict[str, Any]], means: list[float | None]) -> None:
    """By how long each lasted within it; where less than half of it was looked at, it is not known."""
    grid = TimeGrid.over(looks, 600)
    assert grid is not None
    assert grid.means(looks, lambda row: row["value"]) == means


def test_a_long_run_has_spans_of_several_seconds() -> None:
    """As few as there may be; the middle of each is where it is drawn."""
    grid = TimeGrid.over([look(-2, -1, 1.0), look(8, 9, 1.0)], 4)
    assert grid == TimeGrid(-2, 10, 4)
    assert (grid.step, grid.middles) == (3.0, [-0.5, 2.5, 5.5, 8.5])
    assert TimeGrid.over([], 4) is None


def test_a_sum_is_of_what_is_known() -> None:
    """What nobody knows is no zero."""
    assert summed([[1.0, None, None], [2.0, 3.0, None]]) == [3.0, 3.0, None]
