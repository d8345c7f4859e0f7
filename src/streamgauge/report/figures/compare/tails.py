"""The tail of variants over each other: latency by percentile, from the messages of all their runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import altair as alt
import numpy as np

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.buckets import upper_edge_ns
from streamgauge.domain.latency.percentiles import EMPTY, PERCENTILES, Buckets
from streamgauge.domain.text.numbers import listed
from streamgauge.report.figures.compare.runs import LabelledRun, kind_of, percentile
from streamgauge.report.figures.distribution import percentile_axis
from streamgauge.report.figures.drawing.figure import LEGEND, Figure, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.theme import PALETTE
from streamgauge.report.figures.drawing.timeline import PATHS

HEIGHT: Final = 280
FEWEST_BEYOND: Final = 10
"""A curve ends where fewer messages than this are beyond: p99.9 takes 10,000 messages, as in result.json."""
_STEPS: Final = range(20, 2, -1)
"""Shares beyond the points of a curve, in twentieths of 1, of a tenth, and so on: with those of p50, p90 and p99."""
_MOST_BEYOND: Final = 0.5
"""Curves begin at the median: below it a few fast messages would take most of a logarithmic scale."""
_MOST_DECADES: Final = 8


@dataclass(frozen=True, slots=True)
class VariantTail:
    """The latencies of a variant in the measure phase, of all runs that count and have a table of them."""

    typical: LabelledRun
    """The run that stands for the variant, with its name."""
    arrived: Buckets = EMPTY
    ages: Buckets = EMPTY
    """Of messages that never arrived, at the end."""
    runs: int = 0
    """How many runs the buckets are of; the typical one is drawn where there are none."""
    of_runs: int = 0
    """How many count."""


def latency_of(runs: Sequence[LabelledRun]) -> tuple[str, str] | None:
    """The path and the kind of the latency that these runs are drawn by; None where no run has any."""
    found = ((path, kind_of(runs, path)) for path in PATHS)
    return next((each for each in found if any(percentile(run, *each, "p50") for run in runs)), None)


def tails(variants: Sequence[VariantTail]) -> Figure:
    """Latency by percentile, one line a variant; the tail is stretched as HdrHistogram draws it.

    From buckets, and of a variant without any from `latency.PATH.KIND`, both as `latency_of` has them.
    """
    name, title = "tails", "Latency by percentile"
    of = latency_of([each.typical for each in variants])
    if of is None:
        return Figure(name, title, "", missing="none of the runs has a latency")
    rows = [row for each in variants for row in (_merged(each) or _of_result(each.typical, *of))]
    if not rows:
        return Figure(name, title, "", missing="no variant has messages enough")
    path, kind = of
    about = (
        f"{PATHS[path].capitalize()} {kind} time of all messages of the runs that count. Logarithmic in 100 % minus "
    )
    about += f"the percentile, from the median to where {FEWEST_BEYOND} messages are beyond.{_said(variants)}"
    is_censored = any(row["top"] is not None for row in rows)
    about += " Bands: some messages never arrived; their latency is within, or above." if is_censored else ""
    color = series_color([each.typical.label for each in variants], PALETTE[: len(variants)], LEGEND)
    x, y = percentile_axis(), alt.Y("ms:Q", title="latency, ms", scale=alt.Scale(type="log", nice=False))
    base = alt.Chart(alt.NamedData(name))
    lines = base.mark_line().encode(x, y, color, tooltip=[tip("series", "variant"), tip("percent"), tip("ms")])
    band = base.transform_filter("datum.top > datum.ms").mark_area(fillOpacity=0.25, strokeOpacity=0, tooltip=False)
    layers = [*([band.encode(x, y, alt.Y2("top:Q"), color)] if is_censored else []), lines]
    return Figure(name, title, about, alt.LayerChart(layer=layers).properties(height=HEIGHT), {name: rows})


def _said(variants: Sequence[VariantTail]) -> str:
    """Which variants are not drawn from all of their runs."""
    alone = [each.typical.label for each in variants if not each.runs and each.of_runs > 1]
    some = [
        f"{each.runs} of {each.of_runs} runs of {each.typical.label}"
        for each in variants
        if 0 < each.runs < each.of_runs
    ]
    said = f" Only {listed(some)} have tables." if some else ""
    return f"{said} No run of {listed(alone)} has tables: its typical run is drawn." if alone else said


def _merged(variant: VariantTail) -> list[Row]:
    everything = variant.arrived.plus(variant.ages)
    population = everything.total
    shares = [(part, 20 * 10**decade) for decade in range(_MOST_DECADES) for part in _STEPS]
    kept = [
        (part, whole)
        for part, whole in shares
        if part <= _MOST_BEYOND * whole and part * population >= FEWEST_BEYOND * whole
    ]
    ranks = [max(1, population - part * population // whole) for part, whole in kept]
    lows = _at_ranks(everything, ranks)
    highs = _at_ranks(variant.arrived, ranks) if variant.ages.total else lows
    ceiling = 2 * max([*filter(None, lows), *filter(None, highs)], default=0.0)
    return [
        _row(variant.typical.label, part / whole, low, None if high == low else high or ceiling)
        for (part, whole), low, high in zip(kept, lows, highs, strict=True)
        # What is zero, or before its begin, has no place on a logarithmic scale.
        if low is not None and low > 0
    ]


def _at_ranks(buckets: Buckets, ranks: Sequence[int]) -> list[float | None]:
    """The latency of each rank in ms, which is the upper edge of its bucket; None beyond the last."""
    edges = [*(upper_edge_ns(buckets.index) / NS_PER_MS).tolist(), None]
    return [edges[place] for place in np.searchsorted(np.cumsum(buckets.count), ranks).tolist()]


def _of_result(run: LabelledRun, path: str, kind: str) -> list[Row]:
    found = ((rank, percentile(run, path, kind, name)) for name, rank in PERCENTILES.items())
    return [
        _row(run.label, 1 - rank / 100_00, each["value"], each["top"] if each["top"] > each["value"] else None)
        for rank, each in found
        if each is not None
    ]


def _row(series: str, beyond: float, ms: float, top: float | None) -> Row:
    percent = float(f"{100 * (1 - beyond):.8g}")
    return {"series": series, "percent": percent, "one_in": rounded(1 / beyond), "ms": rounded(ms), "top": rounded(top)}
