"""The table `fault_partitions`: what `delivery.outages` says of every fault and partition, as frames.

All that happens to a partition at one time is one row; rows are put in order once, and each then tells what held until
the next. What happened before the first fault is folded into one row of each partition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.outages import FaultSpan
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.pipeline.columns import PARTITION, TOPIC
from streamgauge.pipeline.read.rows import Row
from streamgauge.pipeline.read.silver import Span

_LANE: Final = (TOPIC, PARTITION)
_ORDER: Final = f"partition by {TOPIC}, {PARTITION} order by at_ns"
_FAULT: Final = "fault"
_TIMES: Final = ("unacked", "unread")
_FAULTS: Final = pa.schema([(_FAULT, pa.int32()), *((name, pa.int64()) for name in FaultSpan._fields)])
_ENDS: Final = pa.schema([(TOPIC, pa.int32()), (PARTITION, pa.int32()), ("end", pa.int64())])


@dataclass(frozen=True, slots=True)
class Around:
    """Faults, and what else is needed to tell what partitions suffered from them."""

    faults: Sequence[FaultSpan]
    to_ns: int
    """The end of the run."""
    ends: Mapping[tuple[int, int], int]
    """The last end of the log of a topic and partition, where it is known."""
    group: int | None
    """The group whose deliveries count; None where nobody's do."""

    @property
    def first_ns(self) -> int:
        """When the first fault began."""
        return min(fault.begin_ns for fault in self.faults)

    def frame(self, spark: SparkSession) -> DataFrame:
        """Columns fault, begin_ns, until_ns and last_ns."""
        columns = [
            range(len(self.faults)),
            *([getattr(each, name) for each in self.faults] for name in FaultSpan._fields),
        ]
        return spark.createDataFrame(pa.table([pa.array(list(each)) for each in columns], schema=_FAULTS))

    def log_ends(self, spark: SparkSession) -> DataFrame:
        """Columns topic, partition and end."""
        columns = [[lane[0] for lane in self.ends], [lane[1] for lane in self.ends], list(self.ends.values())]
        return spark.createDataFrame(pa.table([pa.array(each) for each in columns], schema=_ENDS))


def held_up(spark: SparkSession, sent: DataFrame, received: DataFrame, around: Around) -> DataFrame:
    """By fault and partition: the longest time without acknowledgement (`unacked_`) and without delivery (`unread_`).

    Rows of `sent` and `received` as they were recorded. Of each time `length`, `before` (its begin, negative: of
    equally long times the first is the larger one) and `held`, all null where nothing was waited for.
    """
    states = _states(_moments(sent, received, around), around.log_ends(spark), around.to_ns)
    overlaps = "next_ns > begin_ns and at_ns < last_ns and least(unacked_ns, unread_ns) <= until_ns"
    found = states.join(F.broadcast(around.frame(spark)), F.expr(overlaps), "inner").groupBy(_FAULT, *_LANE)
    longest = found.agg(*(F.expr(f"max({_time(name)}) as {name}") for name in _TIMES))
    fields = (f"{name}.{field} as {name}_{field}" for name in _TIMES for field in ("length", "before", "held"))
    return longest.selectExpr(_FAULT, *_LANE, *fields)


def _time(name: str) -> str:
    """SQL for a time without something, as it counts for a fault; null where there was none."""
    return f"""if({name}_ns <= until_ns, struct(least(next_ns, last_ns) - greatest({name}_ns, begin_ns) as length,
        -greatest({name}_ns, begin_ns) as before, waiting as held), null)"""


def _moments(sent: DataFrame, received: DataFrame, around: Around) -> DataFrame:
    """By partition and time: how many more wait than before, whether any was acknowledged, and highest offsets.

    `written` is the highest offset that was acknowledged at that time, `read` the highest that was delivered.
    """
    first_ns = around.first_ns
    clamped = f"greatest(at_ns, {first_ns - 1}L) as at_ns"
    settled = "settled_ns, -1L, error is null, if(error is null, offset, null)"
    begun = "sent_ns, 1L, false, cast(null as bigint)"
    waits = sent.where("partition is not null and sent_ns is not null and acked_ns is not null").selectExpr(
        *_LANE, "sent_ns", "acked_ns as settled_ns", "offset", "error"
    )
    steps = waits.selectExpr(*_LANE, f"stack(2, {begun}, {settled}) as (at_ns, step, acked, written)").selectExpr(
        *_LANE, clamped, "step", "acked", "written", "cast(null as bigint) as read"
    )
    mine = received.where("false" if around.group is None else f"group = {around.group}")
    reads = mine.selectExpr(*_LANE, "received_ns as at_ns", "offset").selectExpr(
        *_LANE, clamped, "0L as step", "false as acked", "cast(null as bigint) as written", "offset as read"
    )
    totals = ("sum(step) as step", "bool_or(acked) as acked", "max(written) as written", "max(read) as read")
    return steps.unionByName(reads).groupBy(*_LANE, "at_ns").agg(*(F.expr(each) for each in totals))


def _states(moments: DataFrame, ends: DataFrame, to_ns: int) -> DataFrame:
    """What holds from each time to the next: since when messages wait without acknowledgement, and without delivery.

    `unacked_ns` and `unread_ns` are null while nothing waits.
    """
    running = f"over ({_ORDER} rows unbounded preceding)"
    known = moments.join(F.broadcast(ends), [*_LANE], "left").selectExpr(
        "*",
        f"lead(at_ns, 1, {to_ns}L) over ({_ORDER}) as next_ns",
        f"sum(step) {running} as waiting",
        # `least` passes over an end that is not known.
        f"least(coalesce(max(written) {running}, -1L), end - 1) > coalesce(max(read) {running}, -1L) as behind",
    )
    before = known.selectExpr(
        "*",
        f"coalesce(lag(waiting) over ({_ORDER}), 0L) = 0 as was_idle",
        f"not coalesce(lag(behind) over ({_ORDER}), false) as was_read",
    )
    since = before.selectExpr(
        *_LANE, "at_ns", "next_ns", "waiting", "behind",
        f"max(if(acked or was_idle, at_ns, null)) {running} as acked_ns",
        f"max(if(read is not null or was_read, at_ns, null)) {running} as read_ns",
    )  # fmt: skip
    return since.selectExpr(
        *_LANE, "at_ns", "next_ns", "waiting",
        "if(waiting > 0, acked_ns, null) as unacked_ns", "if(behind, read_ns, null) as unread_ns",
    ).where("unacked_ns is not null or unread_ns is not null")  # fmt: skip


def slowest(spark: SparkSession, timed: DataFrame, around: Around) -> DataFrame:
    """By fault and partition: `worst`, the largest response time with producer and sequence of its message, negative.

    `timed` has columns topic, partition, producer, seq, from_ns and to_ns. A message counts if it was due within the
    span of a fault, or was still on its way when that began; its time counts to the start of the next fault.
    """
    found = timed.join(F.broadcast(around.frame(spark)), F.expr("from_ns <= until_ns and to_ns >= begin_ns"), "inner")
    worst = found.groupBy(_FAULT, *_LANE).agg(
        F.expr("max(struct(least(to_ns, last_ns) - from_ns as took_ns, -producer as producer, -seq as seq)) as worst")
    )
    return worst.selectExpr(_FAULT, *_LANE, "worst.took_ns", "-worst.producer as producer", "-worst.seq as seq")


def failures(spark: SparkSession, sent: DataFrame, around: Around) -> dict[int, int]:
    """How many messages were told to have failed within the span of each fault; faults without any are left out."""
    rows = sent.where("error is not null and acked_ns is not null").select("acked_ns")
    inside = rows.join(F.broadcast(around.frame(spark)), F.expr("acked_ns between begin_ns and until_ns"), "inner")
    return {row[_FAULT]: row["count"] for row in inside.groupBy(_FAULT).count().collect()}


def partition_rows(held: DataFrame, worst: DataFrame | None, span: Span, *, acks: bool, reads: bool) -> list[Row]:
    """Rows of `fault_partitions`, in order; null where nobody can tell: without acknowledgements, or deliveries."""
    key = (_FAULT, *_LANE)
    found = (held if worst is None else held.join(worst, [*key], "full")).toArrow().to_pylist()
    return [
        {name: row[name] for name in key}
        | _lasted(row, "unacked", "unwritable", span, is_known=acks)
        | _lasted(row, "unread", "unreadable", span, is_known=acks and reads)
        | {"held": (row["unacked_held"] or 0) if acks else None}
        | _worst(row)
        for row in sorted(found, key=itemgetter(*key))
    ]


def _lasted(found: Row, name: str, words: str, span: Span, *, is_known: bool) -> Row:
    before = found[f"{name}_before"] if is_known else None
    return {
        f"{words}_s": (found[f"{name}_length"] or 0) / NS_PER_SECOND if is_known else None,
        f"{words}_second": None if before is None else span.second(-before),
    }


def _worst(found: Row) -> Row:
    took_ns = found.get("took_ns")
    return {
        "worst_ms": None if took_ns is None else took_ns / NS_PER_MS,
        "worst_producer": found.get("producer"),
        "worst_seq": found.get("seq"),
    }
