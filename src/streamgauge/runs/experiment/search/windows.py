"""The figure of an objective in every full window of a run, of whatever second it begins with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.domain.clock import NS_PER_MS, NS_PER_US
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.percentiles import Buckets
from streamgauge.domain.tables.latency import LATENCY_WIDTHS
from streamgauge.experiments.search.objective import Objective
from streamgauge.pipeline.metrics.aggregates.bounds import Widths, low_ends_of, width_class
from streamgauge.report.assemble.result import evidence_of
from streamgauge.report.files import metric_windows, read_table, rows_of, table_file
from streamgauge.report.moving import moving_percentiles
from streamgauge.verdict.evidence import Evidence
from streamgauge.verdict.trust.calibrated import floor

Ends = tuple[float | None, float | None]
"""The low and the high end of an interval, in ms; None for one that is not known, or infinite."""


@dataclass(frozen=True, slots=True)
class WindowFigure:
    """One full window of the measure phase."""

    value: float | None
    """In ms; None for infinite, and without messages although some were due."""
    messages: int
    """Those that the figure is of, with those that never arrived."""
    has_pause: bool = False
    """Whether in one of its seconds no message was due."""
    ends: Ends | None = None
    """What the figure can have been without the instrument; None where that is its value."""


def windows_of(
    folder: RunFolder, objectives: Sequence[Objective], measured_seconds: int
) -> dict[str, list[WindowFigure]]:
    """The figure of each full window of the measure phase, by the text of each objective over windows.

    A window begins with every second, so that a stall is whole in one of them wherever it falls. One in which no
    message was due is left out. Raises AnalysisError where the tables cannot be read.
    """
    windowed = [(each, each.window_seconds) for each in objectives if each.window_seconds is not None]
    run = evidence_of(folder) if windowed else None
    return {each.text: list(_windows(folder, run, each, length, measured_seconds)) for each, length in windowed if run}


def _windows(
    folder: RunFolder, run: Evidence, objective: Objective, length: int, seconds: int
) -> Iterator[WindowFigure]:
    metric = objective.metric
    found = _figures(folder, metric, objective.figure, length, seconds)
    # Sent when it was due, a message would have taken no longer than it took since then.
    since_due = metric if run.makes_messages_wait else metric.replace("service", "response")
    most = found if since_due == metric else _figures(folder, since_due, objective.figure, length, seconds)
    lows = _low_ends(folder, metric, objective.figure, length, found)
    due = _due(folder)
    for begin in range(seconds - length + 1):
        # Without a schedule messages are wanted in every second.
        wanted = [bool(due.get(second)) for second in range(begin, begin + length)] if due else [True]
        if begin in found or any(wanted):
            value, messages = found.get(begin, (None, 0))
            high, _ = most.get(begin, (value, 0))
            ends = None if value is None else _ends(run, objective, value, lows.get(begin), high)
            yield WindowFigure(value, messages, not all(wanted), ends)


_Figures = Mapping[int, tuple[float | None, int]]
"""Figure and messages of each window that has messages, by its first second."""


def _figures(folder: RunFolder, metric: str, figure: str, length: int, seconds: int) -> _Figures:
    return (_maxima if figure == "max" else _percentiles)(folder, metric, figure, length, seconds)


def _maxima(folder: RunFolder, metric: str, _figure: str, length: int, seconds: int) -> _Figures:
    rows = rows_of(folder, "latency", metric=metric, scope="window")
    known = {row["second"]: row for row in rows if row["max_ms"] is not None}
    found: dict[int, tuple[float | None, int]] = {}
    for begin in range(seconds - length + 1):
        mine = [known[second] for second in range(begin, begin + length) if second in known]
        if mine:
            found[begin] = max(row["max_ms"] for row in mine), sum(row["count"] for row in mine)
    return found


def _percentiles(folder: RunFolder, metric: str, figure: str, length: int, seconds: int) -> _Figures:
    rows = moving_percentiles(folder, metric, [figure], length, seconds)
    return {row["second"] + 1 - length: (row[figure], row["count"]) for row in rows}


def _low_ends(
    folder: RunFolder, metric: str, figure: str, length: int, begins: Mapping[int, object]
) -> dict[int, float]:
    """The low end of the figure of each window, in ms; none of windows where it is not known.

    Of each bucket, the messages of a window are taken to be those of the phase to which the instrument may have added
    most.
    """
    if (widths := _widths(folder, metric)) is None:
        return {}
    rows = metric_windows(folder, metric)
    second, bucket, count = (np.asarray(rows[name].to_numpy(), np.int64) for name in ("second", "bucket", "count"))
    measured, censored = (np.asarray(rows[name].to_numpy(), bool) for name in ("measured", "censored"))
    found = {}
    for begin in begins:
        inside = measured & (second >= begin) & (second < begin + length)
        delivered, ages = (
            Buckets.merged(bucket[chosen], count[chosen]) for chosen in (inside & ~censored, inside & censored)
        )
        if low := low_ends_of(widths, delivered, ages):
            found[begin] = (low.max_ns if figure == "max" else low.percentiles_ns[figure]) / NS_PER_MS
    return found


def _widths(folder: RunFolder, metric: str) -> Widths | None:
    """How much of the messages of the measure phase the instrument may have added; None where it is not known."""
    if not table_file(folder, LATENCY_WIDTHS.name).exists():
        return None
    rows = read_table(folder, LATENCY_WIDTHS.name, metric=metric)
    if not rows.num_rows or rows["width_us"].null_count:
        return None
    bucket, width_us, count = (np.asarray(rows[name].to_numpy(), np.int64) for name in ("bucket", "width_us", "count"))
    return Widths(bucket, width_class(width_us * NS_PER_US), count)


def _ends(run: Evidence, objective: Objective, value: float, low: float | None, high: float | None) -> Ends:
    """What a figure can have been, at least as far from it as the instrument was off when it was calibrated."""
    found = floor(run.facts.calibration, objective.latency, value)
    wide = found.widened(value, value if low is None else min(low, value), value if high is None else max(high, value))
    return None if low is None else wide[0], None if high is None else wide[1]


def _due(folder: RunFolder) -> Mapping[int, int]:
    """How many messages were due in each second; empty where there is no schedule."""
    due = {row["second"]: row["due"] for row in rows_of(folder, "throughput", scope="window")}
    return due if any(due.values()) else {}
