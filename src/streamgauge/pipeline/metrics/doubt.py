"""How much of each message's latency the generator may have added, by when the message was sent.

What is small is counted in bins of a millisecond: how late messages were sent by their producers' own doing, and how
many were sent and had ended. From that follows how long each delay went on to delay others (`aftermath`).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.pipeline.metrics.aftermath import delays
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.knowledge import Knowledge
from streamgauge.pipeline.read.rows import numbers
from streamgauge.pipeline.read.silver import Span

BIN_NS: Final = NS_PER_MS
MOST_BINS: Final = 4_000_000
"""More than an hour; in a longer run, bins are longer."""
_OWN: Final = "handed_ns - greatest(due_ns, admitted_ns) - coalesce(waited_ns, 0L)"
"""How late a message was handed over by its producer's own doing; null without a schedule, and where nobody tells."""
_SCHEMA: Final = pa.schema(
    [pa.field(name, pa.int64(), nullable=name != "bin") for name in ("bin", "delayed_ns", "handing_ns")]
)


@dataclass(frozen=True, slots=True)
class Bins:
    """Equal stretches of time that cover a run; what lies outside belongs to the first or the last."""

    origin_ns: int
    length_ns: int
    count: int

    @classmethod
    def over(cls, span: Span) -> "Bins":
        """A millisecond each, or longer where there would be too many."""
        length_ns = max(BIN_NS, -(-span.run_ns // MOST_BINS))
        return cls(span.from_ns, length_ns, span.run_ns // length_ns + 1)

    def sql(self, time: str) -> str:
        """SQL for the bin of the bigint expression `time`, which is not null."""
        return f"least(greatest(({time} - {self.origin_ns}L) div {self.length_ns}L, 0L), {self.count - 1}L)"

    def of(self, times_ns: Int64s) -> Int64s:
        """The bin of each time."""
        return np.clip((times_ns - self.origin_ns) // self.length_ns, 0, self.count - 1)

    def counted(self, bins: Int64s, counts: Int64s) -> Int64s:
        """How many there were by the end of each bin."""
        each = np.zeros(self.count, np.int64)
        np.add.at(each, bins, counts)
        return np.cumsum(each)


@dataclass(frozen=True, slots=True)
class Doubt:
    """What the generator may have added, as a frame that is small enough to be sent to every task."""

    bins: Bins
    frame: DataFrame
    """Columns bin, delayed_ns and handing_ns: of messages sent then."""

    def beside(self, rows: DataFrame) -> DataFrame:
        """The rows with `delayed_ns` and `handing_ns`, by their `sent_ns`; null where they were not sent."""
        in_bin = F.expr(f"if(sent_ns is null, null, {self.bins.sql('sent_ns')})")
        return rows.withColumn("bin", in_bin).join(F.broadcast(self.frame), ["bin"], "left").drop("bin")


def doubt(
    spark: SparkSession, bronze: Bronze, knows: Knowledge, span: Span, sent: DataFrame, deliveries: DataFrame
) -> Doubt:
    """What the rows of `sent`, and of deliveries where polls do not tell it, show of the generator."""
    bins = Bins.over(span)
    found = (
        sent.where("sent_ns is not null")
        .selectExpr(f"{bins.sql('sent_ns')} as bin", f"{_OWN} as own_ns", "handed_ns - sent_ns as handing_ns")
        .groupBy("bin")
        .agg(
            *(F.expr(each) for each in ("max(own_ns) as own_ns", "max(handing_ns) as handing_ns", "count(*) as count"))
        )
        .toArrow()
    )
    at = numbers(found, "bin")
    known = not found.column("own_ns").null_count
    columns = {"bin": found.column("bin"), "handing_ns": found.column("handing_ns")}
    if known and len(at):
        own_ns = np.zeros(bins.count, np.int64)
        own_ns[at] = np.maximum(numbers(found, "own_ns"), 0)
        begun, ended = _in_flight(bins, bronze, knows, sent, deliveries, bins.counted(at, numbers(found, "count")))
        columns["delayed_ns"] = pa.array(delays(own_ns, begun, ended, bins.length_ns)[at])
    else:
        columns["delayed_ns"] = pa.nulls(len(at), pa.int64())
    return Doubt(bins, spark.createDataFrame(pa.table({name: columns[name] for name in _SCHEMA.names}, _SCHEMA)))


def _in_flight(
    bins: Bins, bronze: Bronze, knows: Knowledge, sent: DataFrame, deliveries: DataFrame, begun: Int64s
) -> tuple[Int64s, Int64s]:
    """How many messages were sent and had ended, by the end of each bin; of those that ended, where others did not."""
    if not knows.consumes:
        acked = _binned(bins, sent.where("acked_ns is not null"), "sent_ns", "acked_ns")
        return (begun, begun) if acked is None else acked
    polls = bronze.columns("polls", ("returned_ns", "count"))
    polled = bins.counted(bins.of(numbers(polls, "returned_ns")), numbers(polls, "count"))
    if len(knows.groups) == 1 and knows.passage is None and polled[-1] == begun[-1]:
        return begun, polled
    timed = deliveries.where(f"sound and sent_ns is not null and `group` = {knows.timed_group}")
    return _binned(bins, timed, "sent_ns", "received_ns") or (begun, begun)


def _binned(bins: Bins, rows: DataFrame, began: str, ended: str) -> tuple[Int64s, Int64s] | None:
    """How many rows had begun and ended by the end of each bin; None where there are none."""
    times = f"stack(2, 0, {bins.sql(began)}, 1, {bins.sql(ended)}) as (is_end, bin)"
    found = rows.selectExpr(times).groupBy("is_end", "bin").count().toArrow()
    if not found.num_rows:
        return None
    is_end, at, count = (numbers(found, name) for name in ("is_end", "bin", "count"))
    begun, over = (bins.counted(at[is_end == end], count[is_end == end]) for end in (0, 1))
    return begun, over
