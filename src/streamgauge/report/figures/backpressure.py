"""Figures of a policy that holds producers back: what it let go, what it kept outstanding, and what waits for it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import altair as alt

from streamgauge.report.figures.drawing.figure import Figure, FigureSource, Row
from streamgauge.report.figures.drawing.sampled import (
    MOST_POINTS,
    Line,
    count_axis,
    limits_of,
    present,
    sampled,
    thinned,
)
from streamgauge.report.figures.drawing.theme import color_of

NO_POLICY: Final = "no backpressure"
_STAGES: Final = {"due": "offered", "admitted": "admitted", "processed": "processed"}

_IN_USE: Final = {"credits_used_max": "credits used", "outstanding_max": "outstanding"}


def admission(source: FigureSource) -> Figure:
    """Messages a second: offered by the schedule, admitted by the policy, processed; pauses are shaded."""
    name, title = "admission", "Offered, admitted and processed load"
    about = "Messages a second that were due, admitted by the policy, and processed by the slowest group."
    rows = replayed(source)
    lines = present(Line(words, color_of(words), rates(rows, column)) for column, words in _STAGES.items())
    if not source.rows("backpressure") or not lines:
        return Figure(name, title, about, missing=NO_POLICY, section="lag")
    paused = pauses(source, rows)
    about += " Shaded: intervals without admitted messages." if paused else ""
    y = alt.Y("value:Q", title="messages/s", scale=alt.Scale(zero=True))
    chart, data = sampled(source, name, lines, y, behind=paused, of_intervals=True)
    return Figure(name, title, about, chart, data, section="lag")


def credit(source: FigureSource) -> Figure:
    """The most messages outstanding in each interval, under the limit."""
    name, title = "credit", "Credit in use"
    about = "Peak of messages sent and not processed in each interval (exact). Uncredited counts as "
    about += "processed only messages before the first gap of each partition: the limit applies to this."
    rows = replayed(source)
    lines = present(
        Line(words, color_of(words), [(float(row["second"]), row[column]) for row in rows])
        for column, words in _IN_USE.items()
    )
    if not source.rows("backpressure", policy="credit") or not lines:
        return Figure(name, title, about, missing="the policy is not credit", section="lag")
    limits = limits_of(source)
    y, scale = count_axis(lines, limits, "outstanding, messages")
    chart, data = sampled(source, name, lines, y, limits=limits, of_intervals=True)
    return Figure(name, title, about + scale + thinned(lines), chart, data, section="lag")


def backlog(source: FigureSource) -> Figure:
    """What waits before it is sent, beside what was sent and waits to be processed."""
    name, title = "backlog", "Schedule backlog"
    about = "Messages due and not sent, and messages sent and not processed. A policy moves the queue from "
    about += "the broker to the producers; it does not make it shorter."
    rows = replayed(source)
    waiting = [(float(row["second"]), row["backlog"]) for row in rows]
    if not source.rows("backpressure") or all(value is None for _, value in waiting):
        return Figure(name, title, about, missing=NO_POLICY, section="lag")
    lines = [
        Line("due and not sent", color_of("due and not sent"), waiting),
        Line("outstanding", color_of("outstanding"), [(float(row["second"]), row["outstanding"]) for row in rows]),
    ]
    y, scale = count_axis(lines, (), "waiting, messages")
    chart, data = sampled(source, name, lines, y)
    return Figure(name, title, about + scale + thinned(lines), chart, data, section="lag")


def replayed(source: FigureSource) -> list[Row]:
    """What was replayed, by its time: of several groups the slowest, as a policy sees it, and the largest maxima."""
    together: dict[float, dict[str, Any]] = {}
    for row in source.rows("outstanding"):
        known = together.setdefault(row["second"], dict(row))
        if row["outstanding"] > known["outstanding"]:
            together[row["second"]] = {**row, **{name: known[name] for name in _MAXIMA}}
        for name in _MAXIMA:
            found = [each[name] for each in (row, known) if each[name] is not None]
            together[row["second"]][name] = max(found, default=None)
    return [together[second] for second in sorted(together)]


_MAXIMA: Final = ("outstanding_max", "credits_used_max")


def rates(rows: Sequence[Row], column: str) -> list[tuple[float, float | None]]:
    """What was counted between two rows, by the time between them, at its end; over longer times in a long run."""
    step = max(1, -(-len(rows) // MOST_POINTS))
    return [(float(after["second"]), _rate(before, after, column)) for before, after in pairwise(rows[::step])]


def _rate(before: Row, after: Row, column: str) -> float | None:
    seconds = after["second"] - before["second"]
    if before[column] is None or after[column] is None or seconds <= 0:
        return None
    return float((after[column] - before[column]) / seconds)


def pauses(source: FigureSource, rows: Sequence[Row]) -> Sequence[Row]:
    """Spans {from, to} of intervals in which messages were waiting and hysteresis let none of them go."""
    if not source.rows("backpressure", policy="hysteresis"):
        return []
    spans: list[dict[str, float]] = []
    for before, after in pairwise(rows):
        if not _paused(before, after, source.result.throughput.measured_seconds or 0.0):
            continue
        begins, ends = (round(float(row["second"]), 2) for row in (before, after))
        if spans and spans[-1]["to"] == begins:
            spans[-1]["to"] = ends
        else:
            spans.append({"from": begins, "to": ends})
    return spans


def _paused(before: Row, after: Row, load_ends: float) -> bool:
    """Whether nothing was let go; without a schedule messages are waiting as long as the load lasts."""
    waiting = after["second"] <= load_ends if after["backlog"] is None else after["backlog"] > 0
    return waiting and after["admitted"] is not None and after["admitted"] == before["admitted"]
