"""The stages of every message on its way through a pipeline: the metrics `stage_...` and the table `waterfall`.

Only messages of which every edge is known are measured, so that the stages of all of them add up to the whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.percentiles import Buckets, summarise
from streamgauge.pipeline.columns import DUE_NS, IS_MEASURED, IS_STAMPED, PRODUCER, RECEIVED_NS, SELECTED, SENT_NS, SEQ
from streamgauge.pipeline.metrics.aggregates.histogram import Counts, Value, histogram
from streamgauge.pipeline.metrics.aggregates.sums import NO_MOMENTS, Sums, sums
from streamgauge.pipeline.metrics.expressions import stage_width
from streamgauge.pipeline.metrics.latency import of_phase
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.rows import Row
from streamgauge.pipeline.read.silver import is_measured
from streamgauge.pipeline.read.traits import RunTraits
from streamgauge.pipeline.stream.stages import (
    BATCH,
    DUE,
    RECEIVED,
    SENT,
    SINK,
    SOURCE,
    STAGES,
    WHOLE,
    Advanced,
    Stage,
    StageSegment,
    block_bits,
    blocks,
    segments,
    stages,
)

METRICS: Final = (*STAGES, WHOLE)
_COLUMNS: Final = {
    DUE: DUE_NS, SENT: SENT_NS, SOURCE: "source_ns", BATCH: "batch_ns", SINK: "sink_ns", RECEIVED: RECEIVED_NS
}  # fmt: skip
"""The column of each edge."""
_WHY_NULL: Final[Mapping[str, str]] = {
    DUE: "were not due at any time",
    SENT: "do not say when they were sent",
    SOURCE: "were not found in the source after the drain",
    BATCH: "are in no batch that is known",
    SINK: "do not say when they were appended to the sink",
    RECEIVED: "were not received",
}
_FURTHEST: Final = (1 << 63) - 1


def known_stages(traits: RunTraits, bronze: Bronze, why_no_due: str) -> tuple[Stage, ...]:
    """The stages that this run can have."""
    return stages(_absent(traits, bronze, why_no_due))


def _absent(traits: RunTraits, bronze: Bronze, why_no_due: str) -> dict[str, str]:
    """Edges that no message of the run has, with the reasons."""
    one_by_one = traits.piped is not None and not traits.piped.batches
    reasons = (
        (not traits.scheduled, DUE, why_no_due),
        (bronze.extent("appended", "append_ms").unknown, SOURCE, "the source does not say when messages came"),
        (bronze.rows("advances") == 0, BATCH, "no batch was recorded"),
        (bronze.rows("appended") == 0, BATCH, "the source was not read after the drain"),
        (one_by_one, BATCH, "messages are passed on as they come, in no batch"),
        (bronze.extent("received", "append_ms").unknown, SINK, "the sink does not say when messages came"),
    )
    return {edge: reason for holds, edge, reason in reasons if holds}


@dataclass(frozen=True, slots=True)
class Staged:
    """What Spark counted of the stages."""

    stages: Sequence[Stage]
    sums: Sums
    histogram: pa.Table
    totals: Row
    """Exact sums of the measure phase: `count`, `<stage>` in ns, and `no_<edge>`, messages that lack an edge."""


def staged(
    spark: SparkSession, bronze: Bronze, timed: DataFrame, known: Sequence[Stage], traits: RunTraits
) -> DataFrame:
    """Of each delivery that is timed: its place and tick, its stages in ns, and which edges it lacks.

    Where one is lacking, no stage is known. `timed` has what the generator may have added (`pipeline.metrics.doubt`);
    `earlier_ns` says how much earlier the edges may have been for it, and `last_ns` the last edge.
    """
    takes_all = not traits.leaves_in_client
    rows = timed.where(f"timed and {IS_STAMPED}")
    present = [each for each in known if each.absent is None]
    edges = _edges_of(known)
    if SOURCE in edges or BATCH in edges:
        rows = rows.join(_source(bronze.frame(spark, "appended"), traits.ahead_ns), [PRODUCER, SEQ], "left")
    if BATCH in edges:
        rows = _with_batch(spark, rows, bronze, traits.ahead_ns)
    rows = rows.withColumn(_COLUMNS[SINK], F.expr(_mono("append_ms", traits.ahead_ns)))
    complete = " and ".join(f"{_COLUMNS[edge]} is not null" for edge in edges)
    return rows.selectExpr(
        "place",
        SELECTED,
        f"{complete} as complete",
        *(f"if({complete}, {_sql(each)}, null) as {each.name}" for each in present),
        f"{stage_width(is_last=False, takes_all=takes_all)} as earlier_ns",
        f"{stage_width(is_last=True, takes_all=takes_all)} as last_ns",
        *(f"{_COLUMNS[edge]} is null as no_{edge}" for edge in edges),
    )


def _edges_of(known: Sequence[Stage]) -> list[str]:
    """The edges that are known of a run, in their order."""
    present = {edge for each in known if each.absent is None for edge in (each.begin, each.end)}
    return [edge for edge in _COLUMNS if edge in present]


def _sql(stage: Stage) -> str:
    return f"{_COLUMNS[stage.end]} - {_COLUMNS[stage.begin or stage.end]}"


def _mono(wall_ms: str, ahead_ns: int) -> str:
    """SQL for a wall clock time in ms on the monotonic clock, in ns."""
    return f"{wall_ms} * {NS_PER_MS}L - {ahead_ns}L"


def _source(appended: DataFrame, ahead_ns: int) -> DataFrame:
    """Columns producer, seq, source_partition, source_offset and source_ns: where each stamp stands first."""
    at = f"struct(coalesce(append_ms, {_FURTHEST}L) as at, partition, offset, append_ms)"
    return (
        appended.where(IS_STAMPED)
        .groupBy(PRODUCER, SEQ)
        .agg(F.expr(f"min({at}) as stood"))
        .selectExpr(
            PRODUCER,
            SEQ,
            "stood.partition as source_partition",
            "stood.offset as source_offset",
            f"{_mono('stood.append_ms', ahead_ns)} as {_COLUMNS[SOURCE]}",
        )
    )


def _with_batch(spark: SparkSession, rows: DataFrame, bronze: Bronze, ahead_ns: int) -> DataFrame:
    """With `batch_ns`, the begin of the batch that held the message, chosen by `stages.began_ms`."""
    table = bronze.columns("advances", ("began_ms", "partition", "from_offset", "to_offset"))
    found = segments(Advanced(**row) for row in table.to_pylist())
    bits = block_bits(found)
    held = spark.createDataFrame(_segment_table(found, bits)).alias("held")
    joined = rows.withColumn("block", F.expr(f"shiftright(source_offset, {bits})")).join(
        F.broadcast(held),
        F.expr(
            "source_partition = held.in_partition and block = held.of_block"
            " and source_offset >= held.from_offset and source_offset < held.to_offset"
        ),
        "left",
    )
    before = "element_at(filter(held.begun_ms, each -> each <= append_ms), -1)"
    began = f"coalesce({before}, element_at(held.begun_ms, if(append_ms is null, -1, 1)))"
    return joined.withColumn(_COLUMNS[BATCH], F.expr(_mono(began, ahead_ns)))


def _segment_table(found: Sequence[StageSegment], bits: int) -> pa.Table:
    held = list(blocks(found, bits))
    columns: dict[str, list[Any]] = {
        "in_partition": [each.partition for _, each in held],
        "of_block": [block for block, _ in held],
        "from_offset": [each.from_offset for _, each in held],
        "to_offset": [each.to_offset for _, each in held],
        "begun_ms": [list(each.began_ms) for _, each in held],
    }
    return pa.table(columns, _SEGMENTS)


_SEGMENTS: Final = pa.schema(
    [
        ("in_partition", pa.int32()), ("of_block", pa.int64()), ("from_offset", pa.int64()), ("to_offset", pa.int64()),
        ("begun_ms", pa.list_(pa.int64())),
    ]
)  # fmt: skip


def counted(rows: DataFrame, known: Sequence[Stage]) -> Staged:
    """What `staged` gave, counted; its rows are read three times."""
    names = [each.name for each in known if each.absent is None]
    ends = {each.name: each.end for each in known}
    values = {name: Value(name, "place", width="last_ns" if ends[name] == RECEIVED else "earlier_ns") for name in names}
    complete = rows.where("complete")
    totals = rows.where(IS_MEASURED).agg(
        F.expr("count(if(complete, true, null)) as count"),
        *(F.expr(f"sum({name}) as {name}") for name in names),
        *(F.expr(f"count(if(no_{edge}, true, null)) as no_{edge}") for edge in _edges_of(known)),
        F.expr("count(if(complete, null, true)) as lacking"),
    )
    summed = sums(complete, (SELECTED,), (), {"messages": "count(*)"}, {name: name for name in names})
    (total,) = totals.collect()
    return Staged(known, Sums(summed.toArrow()), histogram(complete, values).toArrow(), total.asDict())


def waterfall_rows(found: Staged | None, counts: Counts) -> list[Row]:
    """Rows of `waterfall`: every stage in order, then the whole; none where no stage can be told.

    `counts` are those of `found`.
    """
    return [] if found is None else [_row(each, found, counts) for each in found.stages]


def _row(stage: Stage, found: Staged, counts: Counts) -> Row:
    totals, is_known = found.totals, stage.absent is None
    count = totals["count"] if is_known else 0
    sum_ns, whole_ns = (totals.get(name) if count else None for name in (stage.name, WHOLE))
    lacking = [edge for edge in _lacked(stage, found) if totals[f"no_{edge}"]] if is_known else []
    shown = _figures(stage, found, counts)
    return {
        "stage": stage.name,
        "from": stage.begin,
        "to": stage.end,
        "count": count,
        "mean_ms": None if sum_ns is None else sum_ns / count / NS_PER_MS,
        **shown,
        "sum_ns": sum_ns,
        "share": sum_ns / whole_ns if sum_ns is not None and whole_ns else None,
        "error_ms": stage.error_ms,
        "null_count": None if not is_known else _null_count(stage, totals),
        "reason": stage.absent or ("; ".join(f"{totals[f'no_{e}']:,} {_WHY_NULL[e]}" for e in lacking) or None),
    }


def _lacked(stage: Stage, found: Staged) -> list[str]:
    """The edges that a message may lack for this stage: for the whole, all of them."""
    edges = _edges_of(found.stages)
    return edges if stage.name == WHOLE else [edge for edge in edges if edge in {stage.begin, stage.end}]


def _null_count(stage: Stage, totals: Mapping[str, int]) -> int:
    """How many messages lack an edge of the stage; where both are lacking, the larger of the two counts."""
    if stage.name == WHOLE:
        return totals["lacking"]
    return max(totals[f"no_{edge}"] for edge in (stage.begin, stage.end) if edge is not None)


def _figures(stage: Stage, found: Staged, counts: Counts) -> Row:
    windows = found.sums.windows
    measured = windows.where(is_measured(windows.column("at_selected")))
    moments = measured.moments(stage.name) if stage.absent is None else NO_MOMENTS
    buckets: Buckets = of_phase(counts, stage.name).buckets()
    shown = summarise(buckets, moments, "").as_result()
    return {name: shown[name] for name in ("min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms")}
