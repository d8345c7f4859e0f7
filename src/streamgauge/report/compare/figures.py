"""The figures of a comparison: every run, the ratio at each percentile, and one run of each variant side by side."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.report.compare.answers import MetricAnswer, Together, values_at
from streamgauge.report.compare.carriers import carrier_bars
from streamgauge.report.compare.variants import Alike
from streamgauge.report.figures.compare import LabelledRun, cdfs, compare
from streamgauge.report.figures.compare.carriers import CarrierRun, by_measure, deliveries, drains, success
from streamgauge.report.figures.drawing.figure import LEGEND, Figure, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS, PALETTE
from streamgauge.result import Result

MOST_VARIANTS: Final = len(PALETTE)
_HEIGHT: Final = 280
_RESPONSES: Final = ("latency.end_to_end.response.", "latency.ack.response.")


def comparison_figures(found: Together, offline: Sequence[Row] = ()) -> list[Figure]:
    """Figures of a comparison, those that are missing included; of many variants the first are shown.

    `offline` are compression ratios without a broker.
    """
    shown = found.variants[:MOST_VARIANTS]
    labelled = [LabelledRun(each.name, run) for each in shown if (run := _typical(each, found.primary)) is not None]
    drawn = [run_values(found), ratios_by_percentile(found)]
    if not labelled:
        return drawn
    more = {"cdfs": cdfs(labelled), **compare(labelled, offline)}
    return [*drawn, *more.values()]


def carrier_figures(found: Together) -> list[Figure]:
    """Figures of carriers of acknowledgements, where several are compared; of all variants."""
    if not found.carriers:
        return []
    alike = {each.name: each for each in found.variants}
    standing = [(each, _typical(alike[each.variant], found.primary)) for each in found.carriers]
    runs = [CarrierRun(each.carrier, each.setting, run) for each, run in standing if run is not None]
    about = "For each message that producers sent: median of the runs, and a line from the least to the most."
    cost = by_measure("carriers-cost", "What a message costs", about, carrier_bars(found.carriers, "cost"))
    about = "Median of the runs, and a line from the least to the most. Less is better."
    gain = by_measure("carriers-gain", "What one gets for it", about, carrier_bars(found.carriers, "gain"))
    return [cost, gain, success(runs), deliveries(runs), drains(runs)]


def run_values(found: Together) -> Figure:
    """The deciding figure of every run, by variant, and the median of each variant."""
    primary = found.primary
    if primary is None:
        return Figure("runs", "Every run", "", missing="the variants have no figure in common")
    metric = primary.metric
    about = f"{metric.label} of every run, on a logarithmic scale; a line at the median. Pale: not believed, left out."
    about += _cut(found)
    rows = [
        {
            "series": each.name,
            "run": run.run.id,
            "value": rounded(value),
            "state": "counts" if is_usable else "left out",
        }
        for each in found.variants[:MOST_VARIANTS]
        for run, value, is_usable in values_at(each.runs, metric.path)
        if value > 0
    ]
    if not rows:
        return Figure("runs", "Every run", about, missing="no run has a value above 0")
    medians = [
        {"series": each.name, "median": rounded(runs.median)}
        for each, runs in zip(found.variants[:MOST_VARIANTS], primary.variants, strict=False)
        if runs is not None and runs.median > 0
    ]
    y_title = f"{metric.label}, {metric.unit}" if metric.unit else metric.label
    y = alt.Y("value:Q", title=y_title, scale=alt.Scale(type="log", nice=False, padding=12))
    x = alt.X("series:N", sort=None, title=None, axis=alt.Axis(labelAngle=0))
    color = series_color([each.name for each in found.variants[:MOST_VARIANTS]], PALETTE, None)
    opacity = alt.when(alt.FieldEqualPredicate(field="state", equal="counts")).then(alt.value(0.9))
    tips = [tip("series", "variant"), tip("run"), tip("value"), tip("state")]
    points = (
        alt.Chart(alt.NamedData("runs"))
        .mark_point(filled=True, size=60)
        .encode(x, y, color, opacity=opacity.otherwise(alt.value(0.3)), tooltip=tips)
    )
    layers: list[alt.Chart] = [points]
    if medians:
        ticks = alt.Chart(alt.NamedData("runs_median")).mark_tick(thickness=2, size=46, color=COLORS["grey"])
        layers.append(ticks.encode(x, alt.Y("median:Q"), tooltip=[tip("series", "variant"), tip("median")]))
    chart = alt.LayerChart(layer=layers).properties(height=_HEIGHT)
    return Figure("runs", "Every run", about, chart, {"runs": rows, **({"runs_median": medians} if medians else {})})


def ratios_by_percentile(found: Together) -> Figure:
    """How far each percentile moved: the ratio to the first variant with its interval, for each other one."""
    name, title = "ratios", "How far each percentile moved"
    about = "Ratio of the response time to that of the first variant, with its interval; below 1 is faster."
    about += _cut(found)
    begin = next((each for each in _RESPONSES if any(one.metric.path.startswith(each) for one in found.answers)), None)
    rows: list[Row] = [
        {
            "percentile": answer.metric.path.removeprefix(begin or "").removesuffix("_ms").replace("_", "."),
            "series": comparison.other,
            "ratio": rounded(effect.estimate),
            "low": rounded(effect.low if effect.low is not None else effect.estimate),
            "high": rounded(effect.high if effect.high is not None else effect.estimate),
        }
        for answer in found.answers
        if begin is not None and answer.metric.path.startswith(begin)
        for comparison in answer.comparisons[: MOST_VARIANTS - 1]
        if (effect := comparison.effect) is not None and effect.is_ratio
    ]
    if not rows:
        return Figure(name, title, about, missing="no two variants have response times that can be compared")
    others = list(dict.fromkeys(row["series"] for row in rows))
    color = series_color(others, PALETTE[1:], LEGEND)
    x = alt.X("percentile:N", sort=None, title="percentile", axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("series:N", sort=others)
    scale = alt.Scale(type="log", nice=False, padding=12)
    base = alt.Chart(alt.NamedData(name)).encode(x, offset, color)
    tips = [tip("series", "variant"), tip("percentile"), tip("ratio"), tip("low"), tip("high")]
    lines = base.mark_rule(strokeWidth=2, tooltip=False).encode(
        alt.Y("low:Q", title="ratio", scale=scale), alt.Y2("high:Q")
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(alt.Y("ratio:Q", scale=scale), tooltip=tips)
    one = alt.Chart(alt.NamedData(name)).mark_rule(strokeDash=[4, 3], color=COLORS["grey"], tooltip=False)
    chart = alt.LayerChart(layer=[one.encode(y=alt.YDatum(1)), lines, points]).properties(height=_HEIGHT)
    return Figure(name, title, about, chart, {name: rows})


def _typical(variant: Alike, primary: MetricAnswer | None) -> Result | None:
    """The run of a variant with the median of the deciding figure; the first where nothing decides."""
    if primary is None:
        return next(iter(variant.runs), None)
    values = values_at(variant.runs, primary.metric.path)
    usable = sorted((value, place) for place, (_, value, is_usable) in enumerate(values) if is_usable)
    if not usable:
        return next(iter(variant.runs), None)
    return values[usable[(len(usable) - 1) // 2][1]][0]


def _cut(found: Together) -> str:
    count = len(found.variants)
    return f" The first {MOST_VARIANTS} of {count} variants are shown." if count > MOST_VARIANTS else ""
