"""Figures of how latencies are distributed: percentile curve, share delivered in time, heat map."""

import math
from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from streamgauge.report.figures.drawing.figure import (
    SECONDS,
    Figure,
    FigureSource,
    Row,
    faded,
    legend_selects,
    over_phases,
    phases_of,
    rounded,
    series_color,
    tip,
)
from streamgauge.report.figures.drawing.theme import DASH_OF, HEAT_LEGEND, HEAT_SCALE, color_of
from streamgauge.report.figures.drawing.timeline import KINDS, METRICS, PATHS

HEIGHT: Final = 280
CURVE: Final = "percentiles"
HEAT: Final = "heat"
FEW_COLUMNS: Final = 60
"""Columns of a heat map so wide that cells of the finest rows would look like bars: two rows are put together."""
FEW_ROWS: Final = 16
_PER_DECADE: Final = 10
_NOT_ANALYSED: Final = "the run was analysed by an older version; analyse it again"
_ONE_IN: Final = [1, 2, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]


def percentiles(source: FigureSource) -> Figure:
    """Latency by percentile, the tail stretched."""
    name, title = "percentiles", "Latency by percentile"
    about = "Logarithmic in 100 % minus the percentile, so that the tail can be read. A band is "
    about += "drawn if messages never arrived: their latency is within it, or above."
    rows = _curve_rows(source)
    if not rows:
        return Figure(name, title, about, missing=_why(source), section="latency")
    x = percentile_axis()
    y = alt.Y("ms:Q", title="latency, ms", scale=alt.Scale(type="log", nice=False))
    styles, chosen = _styles(rows), legend_selects()
    base = alt.Chart(alt.NamedData(CURVE))
    band = (
        base.transform_filter("datum.top > datum.ms")
        .mark_area(fillOpacity=0.25, strokeOpacity=0)
        .encode(x, y, alt.Y2("top:Q"), *styles)
    )
    tips = [tip("series"), tip("percent"), tip("ms")]
    lines = (
        base.transform_filter("datum.ms > 0")
        .mark_line()
        .encode(x, y, *styles, opacity=faded(chosen), tooltip=tips)
        .add_params(chosen)
    )
    layers = alt.layer(band, lines) if any(row["top"] for row in rows) else alt.layer(lines)
    return Figure(name, title, about, layers.properties(height=HEIGHT), {CURVE: rows}, section="latency")


def percentile_axis() -> alt.X:
    """Percentiles with the tail stretched, from `one_in`: 100 for the 99th."""
    labels = "datum.value == 1 ? '0' : datum.value == 2 ? '50' : format(100 - 100 / datum.value, '~r')"
    return alt.X(
        "one_in:Q",
        title="percentile, %",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=_ONE_IN, labelExpr=labels, grid=False),
    )


def delivered_within(source: FigureSource) -> Figure:
    """Share of all messages that had arrived within a time."""
    name, title = "cdf", "Cumulative distribution of latency"
    about = "CDF of all messages that should have arrived; missing messages keep a curve below 100 %."
    rows = _curve_rows(source)
    if not rows:
        return Figure(name, title, about, missing=_why(source), section="latency")
    chosen = legend_selects()
    chart = (
        alt.Chart(alt.NamedData(CURVE))
        .transform_filter("datum.ms > 0 && !datum.infinite")
        .mark_line()
        .encode(
            alt.X("ms:Q", title="latency, ms", scale=alt.Scale(type="log", nice=False)),
            alt.Y("percent:Q", title="share of messages, %", scale=alt.Scale(domain=[0, 100])),
            *_styles(rows),
            opacity=faded(chosen),
            tooltip=[tip("series"), tip("ms"), tip("percent")],
        )
        .add_params(chosen)
        .properties(height=HEIGHT)
    )
    return Figure(name, title, about, chart, {CURVE: rows}, section="latency")


def heat_map(source: FigureSource) -> Figure:
    """Where messages were, in time and in latency."""
    name, title = "heat", "Latency heat map"
    about = "Share of the messages of each span of time, by latency; the scale is logarithmic. Two bands are two "
    about += "populations, which percentiles hide."
    metric = next((each for each in METRICS if source.rows(HEAT, metric=each)), None)
    if metric is None:
        return Figure(name, title, about, missing=_why(source), section="latency")
    rows = heat_cells(source.rows(HEAT, metric=metric))
    path, _, kind = metric.rpartition("_")
    tips = [tip("from", "from second"), tip("to", "to second"), tip("above", "above, ms"), tip("le", "at most, ms")]
    cells = (
        alt.Chart(alt.NamedData(HEAT))
        .mark_rect()
        .encode(
            alt.X("from:Q", title=SECONDS, axis=alt.Axis(grid=False), scale=alt.Scale(nice=False)),
            alt.X2("to:Q"),
            alt.Y(
                "above:Q",
                title=f"{PATHS[path]} {kind} time, ms",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(grid=False),
            ),
            alt.Y2("le:Q"),
            alt.Color(
                "share:Q",
                title="share of messages, %",
                scale=alt.Scale(type="log", domain=[0.01, 100], clamp=True, **HEAT_SCALE),
                legend=alt.Legend(**HEAT_LEGEND, values=[0.01, 0.1, 1, 10, 100]),
            ),
            tooltip=[*tips, tip("count", "messages"), tip("share", "share, %")],
        )
    )
    chart = over_phases(source, cells).resolve_scale(color="independent").properties(height=HEIGHT)
    return Figure(name, title, about, chart, {HEAT: rows, **phases_of(source)}, section="latency")


def heat_cells(found: Sequence[Row]) -> list[Row]:
    """Cells {from, to, above, le, count, share}: `share` in percent of the messages of the same span of time.

    Where columns are few, and so wide, two rows are put together: cells should be about as high as they are wide.
    """
    columns = {row["from_second"] for row in found}
    steps = {row["le_ms"] for row in found}
    together = 2 if len(columns) < FEW_COLUMNS and len(steps) > FEW_ROWS else 1
    totals: dict[int, int] = {}
    merged: dict[tuple[int, int], dict[str, Any]] = {}
    for row in found:
        count, begins = row["count"], row["from_second"]
        totals[begins] = totals.get(begins, 0) + count
        step = math.ceil(_step_of(row["le_ms"]) / together) * together
        cell = merged.setdefault((begins, step), {"from": begins, "to": row["to_second"], "count": 0})
        cell["count"] += count
    return [
        {
            "from": cell["from"],
            "to": cell["to"],
            "above": rounded(_edge(step - together)),
            "le": rounded(_edge(step)),
            "count": cell["count"],
            "share": rounded(100 * cell["count"] / totals[begins]),
        }
        for (begins, step), cell in merged.items()
    ]


def _step_of(le_ms: float) -> int:
    """Which of the rows of the table a cell is in, by its upper edge."""
    return round(math.log10(le_ms) * _PER_DECADE)


def _edge(step: int) -> float:
    return float(10 ** (step / _PER_DECADE))


def _curve_rows(source: FigureSource) -> list[Row]:
    """The curves of all paths; `top` is where the band of uncertainty ends."""
    rows = []
    for path, words in PATHS.items():
        for kind in KINDS:
            points = source.rows(CURVE, metric=f"{path}_{kind}")
            ceiling = 2 * max((max(row["value_ms"], row["hi_ms"] or 0) for row in points), default=0)
            rows += [_point(f"{words} {kind}", row, points, ceiling) for row in points]
    return rows


def _point(series: str, row: Row, points: Sequence[Row], ceiling: float) -> Row:
    # The very last message is drawn where the curve would have come to next.
    last = row["percent"] >= 100 and len(points) > 1
    one_in = 2 * 100 / (100 - points[-2]["percent"]) if last else 100 / (100 - row["percent"] or 100)
    return {
        "series": series,
        "percent": float(f"{row['percent']:.8g}"),
        "one_in": rounded(one_in),
        "ms": rounded(row["value_ms"]),
        "top": rounded(row["hi_ms"] or ceiling) if row["censored"] else None,
        "infinite": row["censored"] and row["hi_ms"] is None,
    }


def _styles(rows: Sequence[Row]) -> list[alt.Color | alt.StrokeDash]:
    """Colour says of which path a line is; response time is solid, service time dashed."""
    series = list(dict.fromkeys(row["series"] for row in rows))
    legend = alt.Legend(orient="top", columns=2)
    parts = [each.rsplit(" ", 1) for each in series]
    dashes = alt.Scale(domain=series, range=[list(DASH_OF[kind]) for _, kind in parts])
    return [
        series_color(series, [color_of(path) for path, _ in parts], legend),
        alt.StrokeDash("series:N", scale=dashes, sort=None, title=None, legend=legend),
    ]


def _why(source: FigureSource) -> str:
    """Why there is nothing to draw."""
    latencies = source.result.latency
    counted = any(each and each.count for path in PATHS for each in getattr(latencies, path).kinds.values())
    return _NOT_ANALYSED if counted else "there is no latency in this run"
