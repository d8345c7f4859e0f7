"""Figures of what went wrong: messages that failed or were lost, requests sent again, partitions that changed hands."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from streamgauge.domain.text.numbers import plural
from streamgauge.report.figures.diagnostics.client import retries
from streamgauge.report.figures.drawing.causes import changes_as_causes
from streamgauge.report.figures.drawing.figure import (
    Figure,
    FigureSource,
    Row,
    over_phases,
    phases_of,
    seconds_axis,
    series_color,
    tip,
)
from streamgauge.report.figures.drawing.names import apart
from streamgauge.report.figures.drawing.sampled import Line, present, sampled
from streamgauge.report.figures.drawing.theme import FEW_TICKS, PALETTE, PANEL_HEIGHT, color_of

MOST_BARS: Final = 200
"""Seconds of a run whose counts are bars of a second's width."""


def errors(source: FigureSource) -> Figure:
    """Failed messages and retried requests by second."""
    name, title = "errors", "Errors and retries"
    about = "Messages that failed or were never sent, by the second in which that was reported or they were due; and "
    about += "requests that clients sent again, and messages of Produce requests, from their own statistics."
    failed = [(float(row["s"]), row["errors"]) for row in source.timeline if row["s"] is not None]
    lines = present(
        [
            Line("failed or never sent", color_of("failed"), failed),
            Line("messages retried", color_of("sent"), retries(source, "retried_messages")),
            Line("requests retried", color_of("retried"), retries(source, "retries")),
        ],
        source.span,
    )
    if not lines:
        return Figure(name, title, about, missing="there is no data", section="delivery")
    chart, data = _counts(source, name, lines, "errors, 1/s")
    return Figure(
        name, title, about, chart, data, section="delivery",
        nothing_new=_none(lines) if not any(line.highest for line in lines) else None,
    )  # fmt: skip


def _none(lines: list[Line]) -> str:
    retried = " and no request was sent again" if len(lines) > 1 else ""
    return f"No message failed{retried}."


def replication(source: FigureSource) -> Figure:
    """Partitions without all replicas in sync, or without a leader; and when leaders and the controller changed."""
    name, title = "replication", "Replicas and leaders"
    about = (
        "Partitions with fewer in-sync replicas than replicas, and partitions without a leader, as the cluster told; "
    )
    about += "in the measure phase leaders moved "
    rows = source.rows("replication")
    if not rows:
        return Figure(name, title, about, missing=_NOT_ASKED, section="delivery")
    found, changes = source.result.replication, changes_as_causes(source)
    about += f"{found.leader_changes if found else 0} times."
    about += " Signs on the time axis: other leaders, or another active controller." if changes else ""
    gaps = any(not row["answered"] for row in rows)
    about += " In a gap the cluster did not answer." if gaps else ""
    lines = [
        Line("under-replicated", color_of("retried"), _steps(rows, "under_replicated")),
        Line("without a leader", color_of("failed"), _steps(rows, "leaderless")),
    ]
    chart, data = _counts(source, name, lines, "partitions", changes)
    nothing = None if gaps or changes or any(line.highest for line in lines) else _ALL_THERE
    return Figure(name, title, about, chart, data, section="delivery", nothing_new=nothing)


_NOT_ASKED: Final = "the run did not ask for replicas, or each partition has one"
_ALL_THERE: Final = "At every look each partition had a leader, and all its replicas were in sync."


def in_sync(source: FigureSource) -> Figure:
    """The smallest in-sync replica set of any partition, over time."""
    name, title = "in-sync", "In-sync replicas"
    about = "Size of the smallest in-sync replica set of any partition, as the cluster told."
    rows, found = source.rows("replication"), source.result.replication
    sizes = {row["least_in_sync"] for row in rows} - {None}
    if not sizes or (found and found.replicas == 1):
        return Figure(name, title, about, missing=_NOT_ASKED, section="delivery")
    lines = [Line("smallest in-sync replica set", color_of("acked"), _steps(rows, "least_in_sync"))]
    chart, data = _counts(source, "in_sync", lines, "replicas")
    nothing = None if len(sizes) > 1 else f"The smallest in-sync replica set had {sizes.pop()} at every look."
    return Figure(name, title, about, chart, data, section="delivery", nothing_new=nothing)


def followers(source: FigureSource) -> Figure:
    """How many messages each broker lacked of the longest logs, over time."""
    name, title = "followers", "Follower lag"
    about = "Messages that each broker lacked of the longest log of the partitions that it keeps, asked each second. "
    about += "What is appended while brokers answer counts, too."
    rows, found = source.rows("followers"), source.result.replication
    nodes = sorted({row["node"] for row in rows if row["node"] is not None})
    if not nodes or (found and found.replicas == 1):
        return Figure(name, title, about, missing=_NOT_ASKED, section="delivery")
    lines = [
        Line(
            f"broker {node}", color_of("broker"), [(r["second"], r["behind"]) for r in rows if r["node"] == node], dash
        )
        for dash, node in enumerate(nodes)
    ]
    lines = present(lines)
    if not lines:
        return Figure(name, title, about, missing="no broker reported where its logs end", section="delivery")
    if found and found.controller_changes is not None:
        times = plural(found.controller_changes, "time")
        about += f" The active controller changed {found.controller_changes} {times}."
    chart, data = _counts(source, name, lines, "messages behind")
    nothing = None if any(line.highest for line in lines) else "No broker was behind at any look."
    return Figure(name, title, about, chart, data, section="delivery", nothing_new=nothing)


def _counts(
    source: FigureSource, name: str, lines: Sequence[Line], title: str, causes: Sequence[Row] = ()
) -> tuple[alt.LayerChart, Mapping[str, Sequence[Row]]]:
    """Lines of counts from zero, on an axis that ends at 1 at least; and their data."""
    highest = max(1.0, *(line.highest or 0.0 for line in lines))
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=True, domainMax=highest, nice=FEW_TICKS))
    chart, data = sampled(source, name, lines, y, causes=causes)
    return chart.properties(height=PANEL_HEIGHT), data


def _steps(rows: Sequence[Row], column: str) -> list[tuple[float, float | None]]:
    """A value that stays until the next look says another; not known from a look that failed."""
    points: list[tuple[float, float | None]] = []
    for row in rows:
        value = row[column] if row["answered"] else None
        if points and points[-1][1] != value:
            points.append((row["second"], points[-1][1]))
        points.append((row["second"], value))
    return points


def problems(source: FigureSource) -> Figure:
    """Messages that were lost, duplicated and so on, by the second in which they were due."""
    name, title = "problems", "Delivery problems"
    about = (
        "Messages with a delivery problem by the second in which they were due, or else sent, for the group that has "
    )
    about += (
        "most of each class. A message may be in several: `streamgauge audit` lists the first, `trace` follows one."
    )
    counts: dict[str, dict[int | None, Counter[int]]] = {}
    for row in source.rows("problem_counts"):
        if row["second"] is not None:
            counts.setdefault(row["class"], {}).setdefault(row["group"], Counter())[row["second"]] += row["count"]
    worst = {each: max(groups.values(), key=Counter.total) for each, groups in counts.items()}
    if not worst:
        return Figure(name, title, about, missing="no message has a delivery problem", section="delivery")
    shown = sorted(worst, key=lambda each: (-worst[each].total(), each))[: len(PALETTE)]
    rows = [
        {"s": second, "value": count, "series": each} for each in shown for second, count in sorted(worst[each].items())
    ]
    chart = _sticks(source, name, rows, "messages", "class")
    return Figure(name, title, about, chart, {name: rows, **phases_of(source)}, section="delivery")


def _sticks(
    source: FigureSource, name: str, rows: Sequence[Row], what: str, of: str, color: str | None = None
) -> alt.LayerChart:
    """Counts by second, those of several series one above the other."""
    series = list(dict.fromkeys(row["series"] for row in rows))
    colors = [color] if color and len(series) == 1 else PALETTE[: len(series)]
    long = source.span is not None and source.span[1] - source.span[0] > MOST_BARS
    # A second of a long run is too narrow to be seen.
    mark: dict[str, Any]
    mark, x, ends = ({"width": 4}, seconds_axis(), []) if long else ({}, seconds_axis().bin("binned"), [alt.X2("to:Q")])
    sticks = (
        alt.Chart(alt.NamedData(name))
        .transform_calculate(to="datum.s + 1")
        .mark_bar(**mark)
        .encode(
            x,
            *ends,
            alt.Y("value:Q", title=what, stack=True, axis=alt.Axis(tickMinStep=1)),
            series_color(series, colors, alt.Legend(orient="top", symbolType="square")),
            tooltip=[tip("s", "second"), tip("series", of), tip("value", what)],
        )
    )
    return over_phases(source, sticks).properties(height=PANEL_HEIGHT)


def rebalances(source: FigureSource) -> Figure:
    """Partitions that went from one consumer of a group to another, by second."""
    name, title = "rebalances", "Rebalances"
    about = "Partitions that a group read with another consumer than before, by the second of the first delivery to it."
    if "rebalances" not in source.tables:
        return Figure(name, title, about, missing="the run was analysed by an older version", section="delivery")
    groups = apart({group.id: group.name for group in source.result.run.groups})
    rows = [
        {"s": row["second"], "value": row["partitions"], "series": groups.get(row["group"], str(row["group"]))}
        for row in source.rows("rebalances")
    ]
    if not rows:
        return Figure(name, title, about, missing="no partition changed its consumer", section="delivery")
    chart = _sticks(source, name, rows, "partitions", "group", color_of("rebalances"))
    return Figure(name, title, about, chart, {name: rows, **phases_of(source)}, section="delivery")
