"""Figures of how latencies are distributed: percentile curve, share delivered in time, heat map."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.report.figures.drawing.figure import (
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
from streamgauge.report.figures.drawing.theme import COLORS
from streamgauge.report.figures.drawing.timeline import KINDS, METRICS, PATHS

HEIGHT: Final = 280
CURVE: Final = "percentiles"
HEAT: Final = "heat"
_COLORS: Final = ("blue", "teal", "orange", "brown")
_NOT_ANALYSED: Final = "the run was analysed by an older version; analyse it again"
_ONE_IN: Final = [1, 2, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]


def percentiles(source: FigureSource) -> Figure:
    """Latency by percentile, the tail stretched."""
    name, title = "percentiles", "Latency by percentile"
    about = "Logarithmic in 100 % minus the percentile, so that the tail can be read. A band is "
    about += "drawn if messages never arrived: their latency is within it, or above."
    rows = _curve_rows(source)
    if not rows:
        return Figure(name, title, about, missing=_why(source))
    labels = "datum.value == 1 ? '0 %' : datum.value == 2 ? '50 %' : format(100 - 100 / datum.value, '~r') + ' %'"
    x = alt.X(
        "one_in:Q",
        title="percentile",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=_ONE_IN, labelExpr=labels, grid=False),
    )
    y = alt.Y("ms:Q", title="ms", scale=alt.Scale(type="log", nice=False))
    color, chosen = _colors(rows), legend_selects()
    base = alt.Chart(alt.NamedData(CURVE))
    band = (
        base.transform_filter("datum.top > datum.ms")
        .mark_area(fillOpacity=0.25, strokeOpacity=0)
        .encode(x, y, alt.Y2("top:Q"), color)
    )
    tips = [tip("series"), tip("percent"), tip("ms")]
    lines = (
        base.transform_filter("datum.ms > 0")
        .mark_line()
        .encode(x, y, color, opacity=faded(chosen), tooltip=tips)
        .add_params(chosen)
    )
    layers = alt.layer(band, lines) if any(row["top"] for row in rows) else alt.layer(lines)
    return Figure(name, title, about, layers.properties(height=HEIGHT), {CURVE: rows})


def delivered_within(source: FigureSource) -> Figure:
    """Share of all messages that had arrived within a time."""
    name, title = "cdf", "Cumulative distribution of latency"
    about = "CDF of all messages that should have arrived; missing messages keep a curve below 100 %."
    rows = _curve_rows(source)
    if not rows:
        return Figure(name, title, about, missing=_why(source))
    chosen = legend_selects()
    chart = (
        alt.Chart(alt.NamedData(CURVE))
        .transform_filter("datum.ms > 0 && !datum.infinite")
        .mark_line()
        .encode(
            alt.X("ms:Q", title="ms", scale=alt.Scale(type="log", nice=False)),
            alt.Y("percent:Q", title="% of messages", scale=alt.Scale(domain=[0, 100])),
            _colors(rows),
            opacity=faded(chosen),
            tooltip=[tip("series"), tip("ms"), tip("percent")],
        )
        .add_params(chosen)
        .properties(height=HEIGHT)
    )
    return Figure(name, title, about, chart, {CURVE: rows})


def heat_map(source: FigureSource) -> Figure:
    """Where messages were, in time and in latency."""
    name, title = "heat", "Latency heat map"
    about = "Number of messages by latency and time. Two bands are two populations, which percentiles hide."
    metric = next((each for each in METRICS if source.rows(HEAT, metric=each)), None)
    if metric is None:
        return Figure(name, title, about, missing=_why(source))
    rows = [
        {
            "from": row["from_second"],
            "to": row["to_second"],
            # A cell that begins at zero has no place on a logarithmic scale.
            "above": rounded(row["above_ms"] or row["le_ms"] / 2),
            "le": rounded(row["le_ms"]),
            "count": row["count"],
        }
        for row in source.rows(HEAT, metric=metric)
    ]
    path, _, kind = metric.rpartition("_")
    chart = (
        alt.Chart(alt.NamedData(HEAT))
        .mark_rect()
        .encode(
            alt.X(
                "from:Q",
                title="seconds since the start of the measure phase",
                axis=alt.Axis(grid=False),
                scale=alt.Scale(nice=False),
            ),
            alt.X2("to:Q"),
            alt.Y("above:Q", title=f"{PATHS[path]} {kind} time, ms", scale=alt.Scale(type="log", nice=False)),
            alt.Y2("le:Q"),
            alt.Color(
                "count:Q",
                title="messages",
                scale=alt.Scale(type="log", scheme="viridis"),
                legend=alt.Legend(orient="top", symbolType="square", gradientLength=200),
            ),
            tooltip=[tip("from"), tip("to"), tip("above", "above, ms"), tip("le", "at most, ms"), tip("count")],
        )
        .properties(height=HEIGHT)
    )
    layers = over_phases(source, chart).resolve_scale(color="independent")
    return Figure(name, title, about, layers, {HEAT: rows, **phases_of(source)})


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
    last = row is points[-1]
    # The very last message is drawn where the curve would have come to next.
    one_in = (
        2 * 100 / (100 - points[-2]["percent"]) if last and len(points) > 1 else 100 / (100 - row["percent"] or 100)
    )
    return {
        "series": series,
        "percent": float(f"{row['percent']:.8g}"),
        "one_in": rounded(one_in),
        "ms": rounded(row["value_ms"]),
        "top": rounded(row["hi_ms"] or ceiling) if row["censored"] else None,
        "infinite": row["censored"] and row["hi_ms"] is None,
    }


def _colors(rows: Sequence[Row]) -> alt.Color:
    series = list(dict.fromkeys(row["series"] for row in rows))
    return series_color(series, [COLORS[each] for each in _COLORS], alt.Legend(orient="top", columns=2))


def _why(source: FigureSource) -> str:
    """Why there is nothing to draw."""
    latencies = source.result.latency
    counted = any(each and each.count for path in PATHS for each in getattr(latencies, path).kinds.values())
    return _NOT_ANALYSED if counted else "there is no latency in this run"
