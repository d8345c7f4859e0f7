"""A figure that compares what garbage collection cost the brokers of several runs."""

from collections.abc import Sequence

import altair as alt

from streamgauge.domain.text.numbers import milliseconds
from streamgauge.report.figures.compare.bars import HEIGHT, LEGEND, bars, sized
from streamgauge.report.figures.compare.runs import LabelledRun, checked
from streamgauge.report.figures.drawing.figure import Figure, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS


def pauses(results: Sequence[LabelledRun]) -> Figure:
    """Total pause and number of pauses of each run.

    From `resources.garbage_collection`: `total_ms` and `pauses`. ValueError where there is no result.
    """
    name, title = "pauses", "GC pauses of the brokers compared"
    about = "Bars: total of the garbage collection pauses of the measure phase. Points: how many, on the right."
    found = [(run, seen) for run in checked(results) if (seen := run.result.resources.garbage_collection)]
    if not any(seen.pauses for _, seen in found):
        return Figure(name, title, about, missing="no run has pauses; those of embedded brokers are known")
    rows = [
        {"run": run.label, "series": "total", **sized(seen.total_ms, milliseconds(seen.total_ms))}
        for run, seen in found
    ]
    counts = [{"run": run.label, "series": "pauses", "count": seen.pauses} for run, seen in found]
    color = series_color(["total", "pauses"], [COLORS["violet"], COLORS["grey"]], LEGEND)
    count = alt.Y("count:Q", title="pauses", scale=alt.Scale(zero=True), axis=alt.Axis(grid=False, tickMinStep=1))
    points = alt.Chart(alt.NamedData(f"{name}_count")).mark_point(filled=True, size=90, shape="diamond", opacity=1)
    chart = alt.layer(
        bars(name, "run", rows, color, alt.Y("value:Q", title="total pause, ms", stack=None)),
        points.encode(alt.X("run:N", sort=None), count, color, tooltip=[tip("run"), tip("count", "pauses")]),
    )
    both = chart.resolve_scale(y="independent").properties(height=HEIGHT)
    return Figure(name, title, about, both, {name: rows, f"{name}_count": counts})
