"""The figure of an objective in every full window of a run, of whatever second it begins with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.experiments.search.objective import Objective
from streamgauge.report.files import rows_of
from streamgauge.report.moving import moving_percentiles


@dataclass(frozen=True, slots=True)
class WindowFigure:
    """One full window of the measure phase."""

    value: float | None
    """In ms; None for infinite, and without messages although some were due."""
    messages: int
    """Those that the figure is of, with those that never arrived."""
    has_pause: bool = False
    """Whether in one of its seconds no message was due."""


def windows_of(
    folder: RunFolder, objectives: Sequence[Objective], measured_seconds: int
) -> dict[str, list[WindowFigure]]:
    """The figure of each full window of the measure phase, by the text of each objective over windows.

    A window begins with every second, so that a stall is whole in one of them wherever it falls. One in which no
    message was due is left out. Raises AnalysisError where the tables cannot be read.
    """
    return {
        each.text: list(_windows(folder, each, each.window_seconds, measured_seconds))
        for each in objectives
        if each.window_seconds is not None
    }


def _windows(folder: RunFolder, objective: Objective, length: int, seconds: int) -> Iterator[WindowFigure]:
    figures = _maxima if objective.figure == "max" else _percentiles
    found = figures(folder, objective, length, seconds)
    due = _due(folder)
    for begin in range(seconds - length + 1):
        # Without a schedule messages are wanted in every second.
        wanted = [bool(due.get(second)) for second in range(begin, begin + length)] if due else [True]
        if begin in found or any(wanted):
            value, messages = found.get(begin, (None, 0))
            yield WindowFigure(value, messages, not all(wanted))


_Figures = Mapping[int, tuple[float | None, int]]
"""Figure and messages of each window that has messages, by its first second."""


def _maxima(folder: RunFolder, objective: Objective, length: int, seconds: int) -> _Figures:
    rows = rows_of(folder, "latency", metric=objective.metric, scope="window")
    known = {row["second"]: row for row in rows if row["max_ms"] is not None}
    found: dict[int, tuple[float | None, int]] = {}
    for begin in range(seconds - length + 1):
        mine = [known[second] for second in range(begin, begin + length) if second in known]
        if mine:
            found[begin] = max(row["max_ms"] for row in mine), sum(row["count"] for row in mine)
    return found


def _percentiles(folder: RunFolder, objective: Objective, length: int, seconds: int) -> _Figures:
    rows = moving_percentiles(folder, objective.metric, [objective.figure], length, seconds)
    return {row["second"] + 1 - length: (row[objective.figure], row["count"]) for row in rows}


def _due(folder: RunFolder) -> Mapping[int, int]:
    """How many messages were due in each second; empty where there is no schedule."""
    due = {row["second"]: row["due"] for row in rows_of(folder, "throughput", scope="window")}
    return due if any(due.values()) else {}
