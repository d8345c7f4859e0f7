"""When messages were sent and when each group had processed them, counted by intervals: what Spark does of a replay.

What is summed is small: how many messages were sent in one interval and processed in another. Where it has to be exact
to the message, every change is put in order within its interval, all intervals beside each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.reports import CERTAINLY_NOT_WRITTEN
from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.pipeline.audit.words import EARLIER, for_each
from streamgauge.pipeline.columns import DONE_NS, DUE_NS, GROUP, LANE, MESSAGE, OFFSET, PRODUCER, SENT_NS, SEQ, STAMP
from streamgauge.pipeline.read.rows import numbers
from streamgauge.pipeline.read.silver import ABORTED, UNSETTLED, Span, tick

MOST_INTERVALS: Final = 20_000
NEVER: Final = (1 << 63) - 1
_BITS: Final = 15
_NULL: Final = (1 << _BITS) - 1
"""In place of a null; larger than any interval or group."""
BLOCK_BITS = 16
"""Offsets are put in order in blocks of so many bits each: or else one task would sort all of a partition."""
_OUT: Final = (GROUP, SENT_NS, DONE_NS, "frontier_ns")


@dataclass(frozen=True, slots=True)
class Grid:
    """Intervals that cover a run, with edges at whole multiples of their length from the begin of the measure phase.

    Interval k is what lies in (origin + k x length, origin + (k + 1) x length]; the first and the last also hold what
    lies outside of all.
    """

    origin_ns: int
    length_ns: int
    count: int

    @classmethod
    def over(cls, span: Span, every_ns: int) -> "Grid":
        """Intervals as long as asked for, or a multiple of that where there would be too many."""
        length_ns = every_ns * max(1, -(-(span.to_ns - span.from_ns) // (every_ns * MOST_INTERVALS)))
        before = -(-(span.measure.from_ns - span.from_ns) // length_ns)
        origin_ns = span.measure.from_ns - before * length_ns
        return cls(origin_ns, length_ns, max(1, -(-(span.to_ns - origin_ns) // length_ns)))

    @property
    def edges_ns(self) -> Int64s:
        """The end of each interval."""
        edges: Int64s = self.origin_ns + self.length_ns * np.arange(1, self.count + 1, dtype=np.int64)
        return edges

    def sql(self, time: str) -> str:
        """SQL for the interval of the bigint expression `time`; null where it is null."""
        # `least` and `greatest` pass nulls over.
        inside = f"least(greatest(({time} - {self.origin_ns + 1}L) div {self.length_ns}L, 0L), {self.count - 1}L)"
        return f"if({time} is null, null, {inside})"


def is_counted(*, hides_aborted: bool) -> str:
    """SQL for whether a message counts as sent: neither failed for certain, nor aborted and hidden from consumers.

    Of those of unknown fate the ones that were received: only of them it is known that, and when, they were sent.
    """
    failed = ", ".join(f"'{name}'" for name in sorted(CERTAINLY_NOT_WRITTEN))
    seen = f" and report != {ABORTED}" if hides_aborted else ""
    return f"(sent_ns is not null and (error is null or error not in ({failed})){seen})"


def packed(*parts: str) -> str:
    """SQL for several small numbers in one, by which Spark groups faster; a null is the largest of all."""
    key = "0L"
    for part in parts:
        key = f"({key} << {_BITS} | coalesce({part}, {_NULL}L))"
    return key


def unpacked(counts: pa.Table, *names: str) -> dict[str, Int64s]:
    """The numbers that `packed` put into the column `key`; -1 for null."""
    key = numbers(counts, "key")
    found = {}
    for place, name in enumerate(reversed(names)):
        number = key >> place * _BITS & _NULL
        found[name] = np.where(number == _NULL, -1, number)
    return found


def progress(messages: DataFrame, grid: Grid, counted: str, *, policy: bool) -> DataFrame:
    """Columns key and count: how many messages were due, let go and sent in which intervals, and whether they count.

    Without a policy nothing is let go. A message of unknown fate that was not received does not count, and waits for
    nobody: it was claimed at some time, as good as when it was due.
    """
    handed = f"if(sent_ns is null and report = {UNSETTLED}, due_ns, sent_ns)"
    times = (DUE_NS, *(["let_go_ns"] if policy else []), handed)
    key = packed(f"cast({counted} as bigint)", *map(grid.sql, times))
    return messages.selectExpr(f"{key} as key").groupBy("key").count()


def lives(deliveries: DataFrame, *, with_frontier: bool) -> DataFrame:
    """Columns group, sent_ns, done_ns and frontier_ns of messages that are all known to be received exactly once."""
    return _passed(deliveries, wanted=with_frontier).select(*_OUT)


def doubted_lives(
    messages: DataFrame, deliveries: DataFrame, groups: Sequence[int], counted: str, *, with_frontier: bool
) -> DataFrame:
    """The same of all messages that count, whatever became of them.

    Of several deliveries of a message, or of an offset, what was processed first counts; deliveries of what is no
    message of this run are nobody's, but hold up the frontier as others do.
    """
    firsts = (F.expr(f"min({name}) as {name}") for name in (PRODUCER, SEQ, DONE_NS))
    at = _passed(deliveries.groupBy(*LANE, OFFSET).agg(*firsts), wanted=with_frontier)
    done = at.groupBy(*MESSAGE).agg(*(F.expr(f"min({name}) as {name}") for name in (DONE_NS, "frontier_ns")))
    each = for_each(messages.where(counted).select(*STAMP, SENT_NS), groups)
    return each.join(done, [*MESSAGE], "left").select(*_OUT)


def _passed(offsets: DataFrame, *, wanted: bool) -> DataFrame:
    """With `frontier_ns`: when all up to the offset was processed, the latest of the times up to it; null for never."""
    if not wanted:
        return offsets.withColumn("frontier_ns", F.expr("cast(null as bigint)"))
    lane = ", ".join(LANE)
    rows = offsets.selectExpr(
        "*", f"coalesce(done_ns, {NEVER}L) as over_ns", f"shiftright({OFFSET}, {BLOCK_BITS}) as block"
    )
    earlier = f"partition by {lane} order by block {EARLIER}"
    blocks = rows.groupBy(*LANE, "block").agg(F.expr("max(over_ns) as top"))
    before = blocks.selectExpr(*LANE, "block", f"max(top) over ({earlier}) as earlier_ns")
    within = f"max(over_ns) over (partition by {lane}, block order by offset rows unbounded preceding)"
    # `greatest` passes the null over that stands before the first block.
    return rows.join(F.broadcast(before), [*LANE, "block"]).selectExpr(
        *(f"`{name}`" for name in offsets.columns), f"nullif(greatest(earlier_ns, {within}), {NEVER}L) as frontier_ns"
    )


def waits(lived: DataFrame, grid: Grid) -> DataFrame:
    """Columns key (group, and the intervals of sent and done), count, and first_ns, when the earliest was sent."""
    key = packed(f"cast({GROUP} as bigint)", grid.sql(SENT_NS), grid.sql(DONE_NS))
    return (
        lived.selectExpr(f"{key} as key", SENT_NS)
        .groupBy("key")
        .agg(F.expr("count(*) as count"), F.expr("min(sent_ns) as first_ns"))
    )


def changes(lived: DataFrame, group: int, measure: MeasureSpan) -> DataFrame:
    """Columns second and change: by how much the backlog of a group grew in each second; seconds are those of ticks."""
    sent, done = (f"shiftright({tick(time, measure)}, 1)" for time in (SENT_NS, DONE_NS))
    return (
        lived.where(f"{GROUP} = {group}")
        .selectExpr(f"stack(2, {sent}, 1, {done}, -1) as (second, step)")
        .where("second is not null")
        .groupBy("second")
        .agg(F.expr("sum(step) as change"))
    )


def peaks(lived: DataFrame, grid: Grid) -> DataFrame:
    """Columns group, interval, and how far above its value before the interval each quantity came within it.

    `outstanding` counts a message until it is processed, `credits_used` until all before it in its partition are, too;
    `credited` is how many of the latter there are. On equal times, what is processed counts before what is sent.
    """
    steps = "stack(3, sent_ns, 1, 1, done_ns, -1, 0, frontier_ns, 0, -1) as (at_ns, step, credit)"
    order = "partition by group, interval order by at_ns, step + credit rows unbounded preceding"
    return (
        lived.selectExpr(GROUP, steps)
        .where("at_ns is not null")
        .selectExpr("*", f"{grid.sql('at_ns')} as interval")
        .selectExpr(
            GROUP, "interval", "credit", f"sum(step) over ({order}) as step_sum",
            f"sum(credit) over ({order}) as credit_sum",
        )
        .groupBy(GROUP, "interval")
        .agg(
            F.expr("greatest(max(step_sum), 0) as outstanding"),
            F.expr("greatest(max(credit_sum), 0) as credits_used"),
            F.expr("count(if(credit < 0, true, null)) as credited"),
        )
    )  # fmt: skip
