"""Figures of what went wrong: messages that failed or were lost, requests sent again, partitions that changed hands."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from streamgauge.domain.text.numbers import plural
from streamgauge.report.figures.diagnostics.client import retries
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
    y = alt.Y(
        "value:Q",
        title="errors, 1/s",
        scale=alt.Scale(zero=True, domainMax=max(1.0, *(line.highest or 0.0 for line in lines)), nice=FEW_TICKS),
    )
    chart, data = sampled(source, name, lines, y)
    return Figure(
        name, title, about, chart.properties(height=PANEL_HEIGHT), data, section="delivery",
        nothing_new=_none(lines) if not any(line.highest for line in lines) else None,
    )  # fmt: skip


def _none(lines: list[Line]) -> str:
    retried = " and no request was sent again" if len(lines) > 1 else ""
    return f"No message failed{retried}."


def replication(source: FigureSource) -> Figure:
    """Partitions without all replicas in sync, or without a leader, over time."""
    name, title = "replication", "Replicas and leaders"
    about = (
        "Partitions with fewer in-sync replicas than replicas, and partitions without a leader, as the cluster told; "
    )
    about += "in the measure phase leaders moved "
    rows = source.rows("replication")
    if not rows:
        return Figure(name, title, about, missing="each partition has one replica", section="delivery")
    found = source.result.replication
    about += f"{found.leader_changes if found else 0} times."
    lines = [
        Line("under-replicated", color_of("retried"), _steps(rows, "under_replicated")),
        Line("without a leader", color_of("failed"), _steps(rows, "leaderless")),
    ]
    highest = max(1.0, *(line.highest or 0.0 for line in lines))
    scale = alt.Scale(zero=True, domainMax=highest, nice=FEW_TICKS)
    chart, data = sampled(source, name, lines, alt.Y("value:Q", title="partitions", scale=scale))
    nothing = None if any(line.highest for line in lines) else "All replicas were in sync all the time."
    chart = chart.properties(height=PANEL_HEIGHT)
    return Figure(name, title, about, chart, data, section="delivery", nothing_new=nothing)


def followers(source: FigureSource) -> Figure:
    """How many messages each broker lacked of the longest logs, over time."""
    name, title = "followers", "Follower lag"
    about = "Messages that each broker lacked of the longest log of the partitions that it keeps, asked each second. "
    about += "What is appended while brokers answer counts, too."
    rows = source.rows("followers")
    nodes = sorted({row["node"] for row in rows if row["node"] is not None})
    if not nodes:
        return Figure(name, title, about, missing="each partition has one replica", section="delivery")
    lines = [
        Line(
            f"broker {node}", color_of("broker"), [(r["second"], r["behind"]) for r in rows if r["node"] == node], dash
        )
        for dash, node in enumerate(nodes)
    ]
    lines = present(lines)
    if not lines:
        return Figure(name, title, about, missing="no broker reported where its logs end", section="delivery")
    found = source.result.replication
    if found and found.controller_changes is not None:
        times = plural(found.controller_changes, "time")
        about += f" The active controller changed {found.controller_changes} {times}."
    highest = max(1.0, *(line.highest or 0.0 for line in lines))
    scale = alt.Scale(zero=True, domainMax=highest, nice=FEW_TICKS)
    chart, data = sampled(source, name, lines, alt.Y("value:Q", title="messages behind", scale=scale))
    nothing = None if any(line.highest for line in lines) else "No broker was behind at any look."
    chart = chart.properties(height=PANEL_HEIGHT)
    return Figure(name, title, about, chart, data, section="delivery", nothing_new=nothing)


def _steps(rows: Sequence[Row], column: str) -> list[tuple[float, float | None]]:
    """A value that stays until the next row says another."""
    points: list[tuple[float, float | None]] = []
    for row in rows:
        if points and points[-1][1] != row[column]:
            points.append((row["second"], points[-1][1]))
        points.append((row["second"], row[column]))
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
