"""Latency over the rate of variants: what a higher load costs, and where a system saturates."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.report.figures.drawing.figure import LEGEND, Figure, Row, series_color, tip
from streamgauge.report.figures.drawing.theme import DASHED, PALETTE, SOLID, color_of

HEIGHT: Final = 280
OVER_RATE: Final = {"p50": ("diamond", DASHED), "p99": ("circle", SOLID)}
"""The percentiles that are drawn, with the shapes of their points and the dashes of their lines."""
_WIDE: Final = 10
"""Rates that are so many times apart stand on a logarithmic axis."""


def over_rate(
    rows: Sequence[Row], lines: Sequence[str], stage: str, latency: str, level: float, of_lines: int
) -> Figure:
    """Percentiles over the rate of a stage, a line for each of `lines` and percentile; in all there are `of_lines`.

    Rows {variant, series, rate, ms, low, high, order}: `series` is the line, if it has a name, and the percentile, and
    lines are drawn in the order of `order`, for a system that is overloaded may receive less than before.
    """
    name, title = "latency-over-rate", "Latency over rate"
    about = f"{latency.capitalize()} time by the rate {stage}, medians of the runs. A line up and down is the "
    about += f"{100 * (1 - level):g} % interval of the median, or the range of runs that are too few for one."
    about += f" The first {len(lines)} of {of_lines} lines are shown." if of_lines > len(lines) else ""
    if not rows:
        return Figure(name, title, about, missing="no variant has both a rate and a latency")
    series = {f"{line} {each}".strip(): (at, each) for at, line in enumerate(lines) for each in OVER_RATE}
    shown = [each for each in series if any(row["series"] == each for row in rows)]
    known = [series[each] for each in shown]
    colors = [PALETTE[at] if len(lines) > 1 else color_of(each) for at, each in known]
    shapes, dashes = ([OVER_RATE[each][part] for _, each in known] for part in (0, 1))
    is_wide = max(row["rate"] for row in rows) > _WIDE * min(row["rate"] for row in rows)
    scale = alt.Scale(type="log", nice=False, padding=20) if is_wide else alt.Scale(zero=False, nice=False, padding=20)
    x = alt.X("rate:Q", title=f"{stage}, messages/s", scale=scale, axis=alt.Axis(grid=False, tickCount=8))
    y_scale = alt.Scale(type="log", nice=False, padding=12)
    y = alt.Y("ms:Q", title="latency, ms", scale=y_scale)
    base = alt.Chart(alt.NamedData(name)).encode(x, series_color(shown, colors, LEGEND))
    ranges = base.transform_filter("datum.high > datum.low").mark_rule(strokeWidth=2, opacity=0.6, tooltip=False)
    dash = alt.StrokeDash("series:N", scale=alt.Scale(domain=shown, range=dashes), sort=None, title=None, legend=LEGEND)
    shape = alt.Shape("series:N", scale=alt.Scale(domain=shown, range=shapes), sort=None, title=None, legend=LEGEND)
    lines_drawn = base.mark_line(tooltip=False).encode(y, dash, order=alt.Order("order:Q"))
    tips = [tip("variant"), tip("series"), tip("rate", f"{stage}, messages/s"), tip("ms"), tip("low"), tip("high")]
    points = base.mark_point(filled=True, size=60, opacity=1).encode(y, shape, tooltip=tips)
    ends = ranges.encode(alt.Y("low:Q", title="latency, ms", scale=y_scale), alt.Y2("high:Q"))
    chart = alt.LayerChart(layer=[ends, lines_drawn, points]).properties(height=HEIGHT)
    return Figure(name, title, about, chart, {name: list(rows)})
