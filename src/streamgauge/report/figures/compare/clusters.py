"""Clusters beside each other over the number of partitions, as KafkaBench's chart shows them."""

from collections.abc import Iterable, Sequence
from typing import Final

import altair as alt

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.report.exports.kafkabench.formulas import BenchLine, BenchTest, cut, whole_line
from streamgauge.report.figures.compare.bars import HEIGHT, LEGEND, log_scale
from streamgauge.report.figures.drawing.figure import Figure, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS, DASHED, PALETTE, SOLID

_STATISTICS: Final = {"min": 0.35, "mean": 0.65, "max": 1.0}
"""How opaque the bars are."""
_RATES: Final = ("KiB/s", "messages/s")
_ABOUT: Final = (
    "Bars: smallest, mean and largest latency from the send, of all iterations, on a logarithmic scale. Lines: KiB and "
    "messages a second by KafkaBench's formulas, mean of the iterations, on the right."
)


def clusters(tests: Iterable[tuple[str, BenchTest]]) -> list[Figure]:
    """A figure for each number of topics and message size, from tests with the name of the cluster that each ran on.

    Each shows latencies and rates of every cluster for each number of partitions.
    """
    found: dict[tuple[int, int], list[tuple[str, BenchLine]]] = {}
    for cluster, test in tests:
        found.setdefault((test.topics, test.size), []).append((cluster, whole_line(test)))
    return [_figure(topics, size, lines) for (topics, size), lines in sorted(found.items())]


def _figure(topics: int, size: int, lines: Sequence[tuple[str, BenchLine]]) -> Figure:
    name, title = (
        f"kafkabench-T{topics:02d}-M{size:06d}b",
        f"Clusters by partitions (topics: {topics}, bytes of a message: {size})",
    )
    alike: dict[tuple[int, str], list[BenchLine]] = {}
    for cluster, line in sorted(lines, key=lambda each: each[1].partition):
        alike.setdefault((line.partition, cluster), []).append(line)
    names = list(dict.fromkeys(cluster for cluster, _ in lines))
    latencies = [row for (partitions, cluster), each in alike.items() for row in _latencies(partitions, cluster, each)]
    rates = [row for (partitions, cluster), each in alike.items() for row in _rates(partitions, cluster, each)]
    if not latencies:
        return Figure(name, title, _ABOUT, missing="no latency is above 0")
    order = [f"{statistic} {cluster}" for statistic in _STATISTICS for cluster in names]
    color = series_color(names, [PALETTE[place % len(PALETTE)] for place in range(len(names))], LEGEND)
    x = alt.X("partitions:N", sort=None, title="partitions of a topic", axis=alt.Axis(labelAngle=0))
    shades = alt.Scale(domain=list(_STATISTICS), range=list(_STATISTICS.values()))
    key = alt.Legend(orient="top", symbolType="square", symbolFillColor=COLORS["grey"], symbolStrokeWidth=0)
    opacity = alt.Opacity("statistic:N", scale=shades, title=None, legend=key)
    boxes = (
        alt.Chart(alt.NamedData(name))
        .mark_bar()
        .encode(
            x,
            alt.XOffset("place:N", sort=order),
            alt.Y("value:Q", title="latency, ms", stack=None, scale=log_scale(latencies)),
            color,
            opacity,
            tooltip=[tip("partitions"), tip("series", "cluster"), tip("statistic"), tip("value", "ms")],
        )
    )
    dash = alt.StrokeDash(
        "rate:N",
        scale=alt.Scale(domain=list(_RATES), range=[SOLID, DASHED]),
        title=None,
        legend=alt.Legend(orient="top"),
    )
    curves = (
        alt.Chart(alt.NamedData(f"{name}-rates"))
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x,
            alt.Y("per_second:Q", title="KiB/s and messages/s", axis=alt.Axis(grid=False, orient="right")),
            color,
            dash,
            tooltip=[tip("partitions"), tip("series", "cluster"), tip("rate"), tip("per_second", "a second")],
        )
    )
    chart = alt.layer(boxes, curves).resolve_scale(y="independent").properties(height=HEIGHT)
    return Figure(name, title, _ABOUT, chart, {name: latencies, f"{name}-rates": rates})


def _latencies(partitions: int, cluster: str, lines: Sequence[BenchLine]) -> list[Row]:
    """What has no place on a logarithmic scale is left out."""
    values = {
        "min": min(line.min_ns for line in lines),
        "mean": cut(sum(line.mean_ns * line.count for line in lines), sum(line.count for line in lines)),
        "max": max(line.max_ns for line in lines),
    }
    return [
        {"partitions": partitions, "series": cluster, "statistic": statistic, "place": f"{statistic} {cluster}"}
        | {"value": rounded(ns / NS_PER_MS), "top": rounded(ns / NS_PER_MS)}
        for statistic, ns in values.items()
        if ns > 0
    ]


def _rates(partitions: int, cluster: str, lines: Sequence[BenchLine]) -> list[Row]:
    values = zip(_RATES, ([line.kib_per_second for line in lines], [line.per_second for line in lines]), strict=True)
    return [
        {"partitions": partitions, "series": cluster, "rate": rate, "per_second": rounded(sum(each) / len(each))}
        for rate, each in values
    ]
