"""Figures of what went wrong: messages that failed, requests that were sent again, partitions that changed hands."""

import altair as alt

from streamgauge.report.figures.diagnostics.client import retries
from streamgauge.report.figures.drawing.figure import (
    Figure,
    FigureSource,
    over_phases,
    phases_of,
    seconds_axis,
    series_color,
    tip,
)
from streamgauge.report.figures.drawing.names import apart
from streamgauge.report.figures.drawing.sampled import Line, present, sampled
from streamgauge.report.figures.drawing.theme import FEW_TICKS, PALETTE, PANEL_HEIGHT, color_of


def errors(source: FigureSource) -> Figure:
    """Failed messages and retried requests by second."""
    name, title = "errors", "Errors and retries"
    about = "Messages that failed or were never sent, by the second in which that was reported or they were due; and "
    about += "requests that clients sent again, from their own statistics."
    failed = [(float(row["s"]), row["errors"]) for row in source.timeline if row["s"] is not None]
    lines = present(
        [
            Line("failed or never sent", color_of("failed"), failed),
            Line("requests retried", color_of("retried"), retries(source)),
        ]
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
    series = list(dict.fromkeys(row["series"] for row in rows))
    colors = [color_of("rebalances")] if len(series) == 1 else PALETTE[: len(series)]
    sticks = (
        alt.Chart(alt.NamedData(name))
        .mark_bar(width=4)
        .encode(
            seconds_axis(),
            alt.Y("value:Q", title="partitions", stack=True, axis=alt.Axis(tickMinStep=1)),
            series_color(series, colors, alt.Legend(orient="top", symbolType="square")),
            tooltip=[tip("s", "second"), tip("series", "group"), tip("value", "partitions")],
        )
    )
    chart = over_phases(source, sticks).properties(height=PANEL_HEIGHT)
    return Figure(name, title, about, chart, {name: rows, **phases_of(source)}, section="delivery")
