"""The figure of what went wrong: messages that failed or were never sent, and requests that were sent again."""

import altair as alt

from streamgauge.report.figures.diagnostics.client import retries
from streamgauge.report.figures.drawing.figure import Figure, FigureSource
from streamgauge.report.figures.drawing.sampled import Line, present, sampled
from streamgauge.report.figures.drawing.theme import FEW_TICKS, PANEL_HEIGHT, color_of


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
