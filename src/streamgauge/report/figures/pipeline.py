"""Figures of a pipeline: where the time of messages went, and what its batches did over time."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.report.figures.drawing.figure import (
    Figure,
    FigureSource,
    Row,
    over_phases,
    phases_of,
    rounded,
    seconds_axis,
    series_color,
    tip,
)
from streamgauge.report.figures.drawing.sampled import powers, symlog
from streamgauge.report.figures.drawing.theme import PALETTE, color_of

HEIGHT: Final = 220
BAR: Final = 26
MOST_BATCHES: Final = 1_200
"""More bars than a page has pixels are not shown apart: of neighbours the longest stands for all."""
_STAGES: Final = {
    "stage_schedule": "schedule: due to sent",
    "stage_produce": "produce: sent to appended",
    "stage_wait": "wait: appended to start of the batch",
    "stage_process": "process: to appended to the sink",
    "stage_deliver": "deliver: appended to received",
}
_STEPS: Final = {
    "latest_offset_ms": "log ends", "get_batch_ms": "get batch", "planning_ms": "planning",
    "wal_commit_ms": "write-ahead log", "add_batch_ms": "read, compute, write", "commit_ms": "commit",
}  # fmt: skip
_OTHER: Final = "other"


def waterfall(source: FigureSource) -> Figure:
    """Mean, median and p99 of each stage of a message's way."""
    name, title = "waterfall", "Latency by stage"
    about = (
        "Bars: the mean of each stage; the means add up to the mean end-to-end time. Green: the median; red: the 99th "
        "percentile. Brokers and Spark tell whole milliseconds."
    )
    found = [row for row in source.rows("waterfall") if row["mean_ms"] is not None and row["stage"] in _STAGES]
    if not found:
        return Figure(name, title, about, missing="no pipeline, or its stages are not known", section="pipeline")
    rows = [
        {
            "stage": _STAGES[row["stage"]],
            "mean": rounded(row["mean_ms"]),
            "p50": rounded(row["p50_ms"]),
            "p99": rounded(row["p99_ms"]),
            "of all": None if row["share"] is None else f"{row['share']:.1%}",
        }
        for row in found
    ]
    tips = [tip("stage"), tip("mean", "mean, ms"), tip("p50", "p50, ms"), tip("p99", "p99, ms"), tip("of all")]
    base = alt.Chart(alt.NamedData("waterfall")).encode(
        alt.Y("stage:N", sort=None, title=None, axis=alt.Axis(labelLimit=320)), tooltip=tips
    )
    most = max(float(value) for row in rows for name in ("mean", "p50", "p99") if (value := row[name]) is not None)
    bars = base.mark_bar(color=color_of("mean"), opacity=0.6).encode(_time("mean", most))
    median = base.mark_tick(color=color_of("p50"), thickness=4).encode(_time("p50", most))
    tail = base.mark_tick(color=color_of("p99"), thickness=4).encode(_time("p99", most))
    chart = alt.LayerChart(layer=[bars, median, tail]).properties(height=BAR * len(rows) + BAR)
    return Figure(name, title, about, chart, {"waterfall": rows}, section="pipeline")


def _time(column: str, most: float) -> alt.X:
    return alt.X(f"{column}:Q", title="time, ms", scale=symlog(most), axis=powers(most))


def batches(source: FigureSource) -> Figure:
    """How long each batch took, step by step."""
    name, title = "query_batches", "Batches of the query"
    about = "Duration of each batch at its start, by step. In real-time mode a batch is only a unit of commit."
    found = [row for row in source.rows("query_batches") if row["duration_ms"] is not None]
    if not found:
        return Figure(name, title, about, missing="the query reported no batches", section="pipeline")
    rows = [step for row in thinned(found) for step in _steps(row)]
    series = [each for each in (*_STEPS.values(), _OTHER) if any(row["series"] == each for row in rows)]
    bars = (
        alt.Chart(alt.NamedData("query_batches"))
        .mark_bar(width=3)
        .encode(
            seconds_axis(),
            alt.Y("ms:Q", title="duration, ms", stack=True),
            series_color(series, PALETTE, alt.Legend(orient="top", symbolType="square", columns=3)),
            tooltip=[
                tip("s", "second"),
                tip("series", "step"),
                tip("ms"),
                tip("rows", "messages"),
                tip("most", "at most"),
            ],
        )
    )
    chart = over_phases(source, bars).properties(height=HEIGHT)
    return Figure(name, title, about, chart, {"query_batches": rows, **phases_of(source)}, section="pipeline")


def thinned(rows: Sequence[Row]) -> list[Row]:
    """At most so many batches as can be seen: of neighbours the one that took longest."""
    each = -(-len(rows) // MOST_BATCHES)
    return [max(rows[at : at + each], key=lambda row: row["duration_ms"]) for at in range(0, len(rows), each)]


def _steps(row: Row) -> list[Row]:
    """The steps of a batch, and what of its time is none of them."""
    known = {words: row[name] for name, words in _STEPS.items() if row[name]}
    left = row["duration_ms"] - sum(known.values())
    if left > 0:
        known[_OTHER] = left
    shared = {"s": rounded(row["second"]), "rows": row["rows"], "most": row["max_offsets"]}
    return [{**shared, "series": words, "ms": rounded(ms)} for words, ms in known.items()]
