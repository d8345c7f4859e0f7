"""Figures by partition: how the load was spread, and whether one of them was slower."""

from typing import Final

import altair as alt

from streamgauge.report.figures.drawing.figure import Figure, FigureSource, Row, rounded, series_color
from streamgauge.report.figures.drawing.names import apart
from streamgauge.report.figures.drawing.theme import color_of
from streamgauge.report.figures.drawing.timeline import FIGURES, METRICS, PATHS

HEIGHT: Final = 200
MOST_PARTITIONS: Final = 200
EVEN: Final = 0.02
"""Partitions whose loads differ by no more than this share of their mean are loaded evenly."""


def load(source: FigureSource) -> Figure:
    """Messages of each partition."""
    name, title = "partition-load", "Load by partition"
    about = "Messages acknowledged in the measure phase, or received if nothing was sent."
    found = source.rows("throughput", scope="partition")
    if not found:
        return Figure(name, title, about, missing="no messages with a known partition")
    rows = [{"partition": _partition(row, source), "messages": row["acked"] or row["received"]} for row in found]
    chart = (
        alt.Chart(alt.NamedData("partition_load"))
        .mark_bar(color=color_of("acked" if any(row["acked"] for row in found) else "received"))
        .encode(
            alt.X("partition:N", sort=None, axis=alt.Axis(labelAngle=0, labelOverlap="greedy")),
            alt.Y("messages:Q", title="messages"),
            tooltip=["partition:N", alt.Tooltip("messages:Q", format=",")],
        )
        .properties(height=HEIGHT)
    )
    data = {"partition_load": rows[:MOST_PARTITIONS]}
    return Figure(name, title, about + _cut(found), chart, data, nothing_new=_even([row["messages"] for row in rows]))


def _even(loads: list[int]) -> str | None:
    """What there is to say where all partitions had the same load."""
    mean = sum(loads) / len(loads)
    apart = max(abs(load - mean) for load in loads)
    return f"All {len(loads)} partitions had the same load, within {EVEN:.0%}." if apart <= EVEN * mean else None


def latency(source: FigureSource) -> Figure:
    """Median, p99 and maximum of each partition."""
    name, title = "partition-latency", "Latency by partition"
    metric = next((each for each in METRICS if source.rows("latency", scope="partition", metric=each)), None)
    if metric is None:
        return Figure(name, title, "", missing="there is no latency by partition")
    path, _, kind = metric.rpartition("_")
    about = f"{PATHS[path].capitalize()} {kind} time in the measure phase. An outlier has a leader "
    about += "or a consumer in trouble."
    found = source.rows("latency", scope="partition", metric=metric)
    rows = [
        {"partition": _partition(row, source), "series": figure, "ms": rounded(row[f"{figure}_ms"])}
        for row in found[:MOST_PARTITIONS]
        for figure in FIGURES
        if row[f"{figure}_ms"] and row[f"{figure}_ms"] > 0
    ]
    chart = (
        alt.Chart(alt.NamedData("partition_latency"))
        .mark_tick(thickness=3, opacity=1)
        .encode(
            alt.X("partition:N", sort=None, axis=alt.Axis(labelAngle=0, labelOverlap="greedy")),
            alt.Y("ms:Q", title="latency, ms", scale=alt.Scale(type="log", nice=False)),
            series_color(FIGURES, [color_of(each) for each in FIGURES], alt.Legend(orient="top", symbolType="square")),
            tooltip=["partition:N", "series:N", alt.Tooltip("ms:Q", title="ms")],
        )
        .properties(height=HEIGHT)
    )
    return Figure(name, title, about + _cut(found), chart, {"partition_latency": rows})


def _partition(row: Row, source: FigureSource) -> str:
    """The number of a partition, and its topic where there are several."""
    topics = apart({topic.id: topic.name for topic in source.result.run.topics})
    number = str(row["partition"])
    return f"{topics.get(row['topic'], row['topic'])} {number}" if len(topics) > 1 else number


def _cut(rows: list[Row]) -> str:
    return f" The first {MOST_PARTITIONS} of {len(rows)} are shown." if len(rows) > MOST_PARTITIONS else ""
