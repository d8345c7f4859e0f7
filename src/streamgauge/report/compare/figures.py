"""The figures of a comparison: every run, tails, latency over rate, the ratio at each percentile, and one run of each
variant side by side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

import altair as alt
import numpy as np
import pyarrow.compute as pc

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.paths import RunFolder
from streamgauge.domain.latency.percentiles import EMPTY, Buckets
from streamgauge.report.compare.answers import MetricAnswer, Together, values_at
from streamgauge.report.compare.carriers import carrier_bars
from streamgauge.report.compare.differences import is_below
from streamgauge.report.compare.variants import Alike, differing, setting_names
from streamgauge.report.figures.compare import LabelledRun, cdfs, compare
from streamgauge.report.figures.compare.carriers import CarrierRun, by_measure, deliveries, drains, success
from streamgauge.report.figures.compare.rates import OVER_RATE, over_rate
from streamgauge.report.figures.compare.tails import VariantTail, latency_of, tails
from streamgauge.report.figures.drawing.figure import LEGEND, Figure, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS, PALETTE
from streamgauge.report.files import metric_windows
from streamgauge.result import Result
from streamgauge.scenario.comparing import as_text, settings_of
from streamgauge.statistics.summary import OfRuns

MOST_VARIANTS: Final = len(PALETTE)
_HEIGHT: Final = 280
_RESPONSES: Final = ("latency.end_to_end.response.", "latency.ack.response.")
_LATENCIES: Final = (*_RESPONSES, "latency.end_to_end.service.", "latency.ack.service.")
_STAGES: Final = ("received", "acked", "sent")
_RATE: Final = "load.rate"
_ONE_RATE: Final = 0.02
"""Rates that differ by no more than this share are one rate."""


def comparison_figures(found: Together, offline: Sequence[Row] = ()) -> list[Figure]:
    """Figures of a comparison, those that are missing included; of many variants the first are shown.

    `offline` are compression ratios without a broker.
    """
    shown = found.variants[:MOST_VARIANTS]
    standing = {each.name: LabelledRun(each.name, run) for each in shown if (run := _typical(each, found.primary))}
    by_rate = latency_over_rate(found)
    drawn = [run_values(found), *([by_rate] if by_rate else []), ratios_by_percentile(found)]
    if not standing:
        return drawn
    labelled = list(standing.values())
    curves = tails(_tails([each for each in shown if each.name in standing], standing, found.primary))
    more = {"cdfs": cdfs(labelled), **compare(labelled, offline)}
    return [drawn[0], replace(curves, about=curves.about + _cut(found)), *drawn[1:], *more.values()]


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


def latency_over_rate(found: Together) -> Figure | None:
    """The latency of each variant over its rate, a line for those that differ in nothing else; None where all have the
    same rate.
    """
    answers = {each.metric.path: each for each in found.answers}
    latencies = next(
        (
            known
            for begin in _LATENCIES
            if (known := {name: answers.get(f"{begin}{name}_ms") for name in OVER_RATE})["p50"]
        ),
        None,
    )
    stage = next((each for each in _STAGES if f"throughput.{each}_per_second" in answers), None)
    if latencies is None or stage is None:
        return None
    rates = [runs.median if runs else None for runs in answers[f"throughput.{stage}_per_second"].variants]
    targets = [next((run.throughput.target_per_second for run in each.runs), None) for each in found.variants]
    if not _are_apart(rates) and not _are_apart(targets):
        return None
    lines = rate_lines(found.variants)
    shown = list(dict.fromkeys(lines))[:MOST_VARIANTS]
    rows: list[Row] = [
        {
            "variant": variant.name,
            "series": f"{line} {name}".strip(),
            "rate": rounded(rate),
            "order": rounded(rate if target is None else target),
            **_with_ends(runs),
        }
        for name, of in latencies.items()
        if of
        for variant, line, rate, target, runs in zip(found.variants, lines, rates, targets, of.variants, strict=True)
        if line in shown and rate and runs and runs.least > 0
    ]
    words = next(of for of in latencies.values() if of).metric.label.rpartition(" ")[0]
    return over_rate(rows, shown, stage, words, found.level, len(set(lines)))


def _with_ends(runs: OfRuns) -> Row:
    """The median, and where its interval ends, or the range of runs that are too few for one."""
    low, high = runs.median_interval or (runs.least, runs.most)
    return {"ms": rounded(runs.median), "low": rounded(low), "high": rounded(high)}


def rate_lines(variants: Sequence[Alike]) -> list[str]:
    """What each variant is called without its rate, so that variants that differ in nothing else are a line.

    Where two of a line have the same rate, or too much differs for names, each variant is a line of its own.
    """
    known = [each for each in variants if each.runs]
    settings = [settings_of(each.runs[0].run.scenario) for each in known]
    others = [{path: value for path, value in each.items() if not is_below(path, _RATE)} for each in settings]
    rates = [as_text({path: value for path, value in each.items() if is_below(path, _RATE)}) for each in settings]
    names = setting_names(others)
    lines = [", ".join(filter(None, (each.given, name))) for each, name in zip(known, names, strict=True)]
    is_nameless = bool(differing(others)) and not any(names)
    is_mixed = len(set(zip(lines, rates, strict=True))) < len(lines)
    if is_nameless or is_mixed:
        return [each.name for each in variants]
    found = {each.name: line for each, line in zip(known, lines, strict=True)}
    return [found.get(each.name, each.name) for each in variants]


def _are_apart(values: Sequence[float | None]) -> bool:
    known = [value for value in values if value]
    return bool(known) and max(known) > (1 + _ONE_RATE) * min(known)


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


def _tails(
    variants: Sequence[Alike], standing: Mapping[str, LabelledRun], primary: MetricAnswer | None
) -> list[VariantTail]:
    """What is known of the latencies of each variant; reads tables of the runs that count, or of all if none does."""
    of = latency_of(list(standing.values()))
    found = []
    for each in variants:
        places = [place for _, place in _counting(each, primary)] or range(len(each.runs))
        folders = [each.folders[place] for place in places] if each.folders else []
        known = [buckets for folder in folders if of and folder and (buckets := _buckets(folder, "_".join(of)))]
        arrived, ages = (reduce(Buckets.plus, (both[side] for both in known), EMPTY) for side in (0, 1))
        found.append(VariantTail(standing[each.name], arrived, ages, len(known), len(places)))
    return found


def _buckets(folder: RunFolder, metric: str) -> tuple[Buckets, Buckets] | None:
    """Messages of the measure phase that arrived, and the ages of those that did not; None where no table has any."""
    try:
        rows = metric_windows(folder, metric).filter(pc.field("measured"))
    except AnalysisError:
        return None
    bucket, count = (np.asarray(rows[name].to_numpy(), np.int64) for name in ("bucket", "count"))
    is_age = np.asarray(rows["censored"].to_numpy(), bool)
    arrived, ages = (Buckets.merged(bucket[which], count[which]) for which in (~is_age, is_age))
    return (arrived, ages) if len(bucket) else None


def _counting(variant: Alike, primary: MetricAnswer | None) -> list[tuple[float, int]]:
    """The deciding figure of each run of a variant that counts, and the place of the run."""
    values = (values_at([run], primary.metric.path) if primary else [] for run in variant.runs)
    return [(value, place) for place, each in enumerate(values) for _, value, is_usable in each if is_usable]


def _typical(variant: Alike, primary: MetricAnswer | None) -> Result | None:
    """The run of a variant with the median of the deciding figure; the first where nothing decides."""
    usable = sorted(_counting(variant, primary))
    place = usable[(len(usable) - 1) // 2][1] if usable else 0
    return variant.runs[place] if variant.runs else None


def _cut(found: Together) -> str:
    count = len(found.variants)
    return f" The first {MOST_VARIANTS} of {count} variants are shown." if count > MOST_VARIANTS else ""
