"""Figures of lag: three lags that are never mixed, the partition that is furthest behind, and the age of what waits."""

from collections.abc import Callable, Sequence
from typing import Final

import altair as alt

from streamgauge.report.figures.drawing.figure import Figure, FigureSource, Row
from streamgauge.report.figures.drawing.sampled import Line, count_axis, limits_of, present, sampled, thinned
from streamgauge.report.figures.drawing.theme import COLORS, PALETTE

COMMITTED, POSITION, OUTSTANDING = "committed lag", "position lag", "outstanding"
LAGS: Final = {
    COMMITTED: ("lag", "committed_lag", "blue"),
    POSITION: ("lag", "position_lag", "teal"),
    OUTSTANDING: ("outstanding", "outstanding", "violet"),
}
"""Of each lag the table and the column that it is in, and its colour."""
_NOT_SAMPLED: Final = "lag was neither sampled nor computed"


def lag(source: FigureSource) -> Figure:
    """Committed lag, position lag and messages outstanding, with the limits of the policy."""
    name, title = "lag", "Lag over time"
    about = "Committed lag: log end minus committed offset. Position lag: log end minus the next offset to read. Both "
    about += "are sampled. Outstanding: sent and not processed, computed from the events. Committed lag rises between "
    about += "two commits even if consumers keep up."
    lines = [line for of in _groups(source) for line in _lags(source, of)]
    if not lines:
        return Figure(name, title, about, missing=_NOT_SAMPLED)
    limits = limits_of(source)
    y, scale = count_axis(lines, limits, "messages")
    chart, data = sampled(source, name, lines, y, limits=limits)
    return Figure(name, title, about + scale + thinned(lines), chart, data)


def worst_partition(source: FigureSource) -> Figure:
    """Committed lag of the partition that is furthest behind, beside what an even spread would be."""
    name, title = "partition-lag", "Lag of the worst partition"
    about = "Committed lag of the worst partition at each sample, and the mean of all partitions. Where "
    about += "they differ, load or consumers are not balanced."
    partitions = sum(topic.partitions or 0 for topic in source.result.run.topics)
    lines = []
    for at, (group, suffix) in enumerate(_groups(source)):
        rows = source.rows("lag", scope="group", group=group)
        worst = _points(rows, lambda row: row["worst_committed_lag"])
        even = _points(rows, lambda row: _share(row["committed_lag"], partitions))
        color = PALETTE[at % len(PALETTE)]
        lines += [Line(f"worst{suffix}", color, worst), Line(f"even{suffix}", color, even, dash=1)]
    lines = present(lines)
    if partitions < 2 or not lines:
        return Figure(name, title, about, missing="no lag of several partitions was sampled")
    y, scale = count_axis(lines, (), "messages")
    chart, data = sampled(source, "partition_lag", lines, y)
    return Figure(name, title, about + scale + thinned(lines), chart, data)


def time_lag(source: FigureSource) -> Figure:
    """Age of the oldest message that is not processed."""
    name, title = "time-lag", "Time lag"
    about = "Age of the oldest message sent and not processed. A gap means that no message was waiting. The "
    about += "scale is logarithmic."
    lines = present(
        Line(f"time lag{suffix}", PALETTE[at % len(PALETTE)], _ages(source.rows("outstanding", group=group)))
        for at, (group, suffix) in enumerate(_groups(source))
    )
    if not lines:
        return Figure(name, title, about, missing="no messages were waiting, or it was not computed")
    y = alt.Y("value:Q", title="ms", scale=alt.Scale(type="log", nice=False))
    chart, data = sampled(source, "time_lag", lines, y)
    return Figure(name, title, about + thinned(lines), chart, data)


def _ages(rows: Sequence[Row]) -> list[tuple[float, float | None]]:
    """What is zero has no place on a logarithmic scale."""
    return _points(rows, lambda row: row["time_lag_ms"] or None)


def _lags(source: FigureSource, of: tuple[int | None, str]) -> list[Line]:
    """The lags of one group, as far as there are any; colour says which lag it is, the dash whose."""
    group, suffix = of
    dash = [each for each, _ in _groups(source)].index(group)
    return present(
        Line(f"{words}{suffix}", COLORS[color], lag_points(source, table, column, group), dash)
        for words, (table, column, color) in LAGS.items()
    )


def lag_points(source: FigureSource, table: str, column: str, group: int | None) -> list[tuple[float, float | None]]:
    """The values of one lag of a group, by the time of the run."""
    wanted = {"group": group, **({"scope": "group"} if table == "lag" else {})}
    return _points(source.rows(table, **wanted), lambda row: row[column])


def _groups(source: FigureSource) -> list[tuple[int | None, str]]:
    """The groups that have lags, each with what its lines are called by where there are several."""
    found = dict.fromkeys(row["group"] for table in ("lag", "outstanding") for row in source.rows(table))
    names = {group.id: group.name for group in source.result.run.groups}
    several = len(found) > 1
    return [(group, f", {names.get(group, group)}" if several else "") for group in found]


def _points(rows: Sequence[Row], value: Callable[[Row], float | None]) -> list[tuple[float, float | None]]:
    return sorted(((float(row["second"]), value(row)) for row in rows), key=lambda point: point[0])


def _share(value: float | None, parts: int) -> float | None:
    return None if value is None or not parts else value / parts
