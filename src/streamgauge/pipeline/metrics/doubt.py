"""How much of each message's latency the generator may have added, by when and where the message was sent.

What is small is counted in bins of half a millisecond: how late messages were sent by their producers' own doing, how
many were in flight, and how soon messages of each partition ended. From that follows how long each delay went on to
delay others (`aftermath`), and what no message of a partition can be faster than.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.domain.clock import NS_PER_SECOND, NS_PER_US
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.pipeline.columns import ACKED_NS, RECEIVED_NS, RETURNED_NS, SENT_NS
from streamgauge.pipeline.metrics.aftermath import NEVER_NS, delays, fastest, slower, usual
from streamgauge.pipeline.metrics.expressions import ACK_TAKEN, taken
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.rows import numbers
from streamgauge.pipeline.read.silver import PLACE, Span
from streamgauge.pipeline.read.traits import RunTraits

BIN_NS: Final = 500 * NS_PER_US
USUAL_NS: Final = NS_PER_SECOND
"""How many messages are usually in flight is told by stretches of this length."""
MOST_BINS: Final = 400_000
MOST_CELLS: Final = 2_000_000
"""In runs with more bins, or more cells of bins and partitions, bins are longer."""
_PLACE_BITS: Final = 34
"""A cell is a bin and a place in one integer."""
_TOOK_BITS: Final = 32
_MOST_US: Final = (1 << 31) - 1
"""A service time and a part of it are in one integer, too, in us: its least is that of both, and easy to find."""
_OWN: Final = "handed_ns - greatest(due_ns, admitted_ns) - coalesce(waited_ns, 0L)"
"""How late a message was handed over by its producer's own doing; null without a schedule, and where nobody tells."""
_OF_TRANSACTION: Final = f"if(transaction is null, {_OWN}, max({_OWN}) over (partition by producer, transaction))"
"""The same where a message can be read only when its transaction is over, which its last message begins to end."""
_SCHEMA: Final = pa.schema(
    [pa.field(name, pa.int64(), nullable=name != "cell") for name in ("cell", "delayed_ns", "handing_ns", "least_ns")]
)
_ENDED: Final = (
    "min(service_ns) as service_ns", "count(service_ns) as ended", "min(took) as took",
)  # fmt: skip
_AGGREGATES: Final = (
    "max(own_ns) as own_ns", "max(late_ns) as late_ns", "max(waited_ns) as waited_ns", *_ENDED,
    "if(count(*) = count(handing_ns), max(handing_ns), null) as handing_ns", "count(*) as count",
    "count(*) - count(own_ns) as untold",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bins:
    """Equal stretches of time that cover a run; what lies outside belongs to the first or the last."""

    origin_ns: int
    length_ns: int
    count: int

    @classmethod
    def over(cls, span: Span, places: int) -> "Bins":
        """`BIN_NS` each, or longer where there would be too many of them or, with so many partitions, of cells."""
        length_ns = max(BIN_NS, -(-span.run_ns // MOST_BINS), -(-span.run_ns * places // MOST_CELLS))
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

    def largest(self, bins: Int64s, values_ns: Int64s) -> Int64s:
        """The largest value of each bin, at least 0."""
        each = np.zeros(self.count, np.int64)
        np.maximum.at(each, bins, values_ns)
        return each


@dataclass(frozen=True, slots=True)
class Doubt:
    """What the generator may have added, as a frame that is small enough to be sent to every task."""

    bins: Bins
    frame: DataFrame
    """Columns cell, delayed_ns, handing_ns and least_ns: of messages sent then, to that partition."""

    def beside(self, rows: DataFrame) -> DataFrame:
        """The rows with `delayed_ns`, `handing_ns` and `least_ns`, by their `sent_ns` and `place`.

        They are null if they were not sent.
        """
        cell = F.expr(f"if(sent_ns is null, null, {_cell(self.bins.sql(SENT_NS), 'place')})")
        return rows.withColumn("cell", cell).join(F.broadcast(self.frame), ["cell"], "left").drop("cell")


class Doubts(NamedTuple):
    """What the generator may have added to what ends with the acknowledgement, and with the delivery."""

    acked: Doubt
    delivered: Doubt | None
    """None where nothing was delivered."""


class SentCells(NamedTuple):
    """What the rows of messages show of the generator."""

    bins: Bins
    cells: pa.Table
    """What was seen of each bin and place: columns bin, place and those of `_AGGREGATES`, sorted by bin."""


class _Seen(NamedTuple):
    """What was seen of producers, and of the whole run, in each bin."""

    handing_ns: pa.Array
    """The longest call that handed messages over."""
    waited_ns: Int64s
    """The longest that a message had waited for the system before it was sent."""
    in_flight: Int64s
    """How many messages were in flight at its end, or waited for the system to be sent."""
    usual: Int64s
    """How many were in flight before it when few were."""


def sent_cells(bronze: Bronze, traits: RunTraits, span: Span, sent: DataFrame) -> SentCells:
    """What the rows of `sent` show of the generator."""
    bins = Bins.over(span, _places(bronze))
    rows = sent.where("sent_ns is not null").selectExpr(
        f"{bins.sql(SENT_NS)} as bin",
        f"coalesce({PLACE}, -1L) as place",
        f"{_OWN} as own_ns",
        f"{_OF_TRANSACTION if traits.transactional and traits.read_committed else _OWN} as late_ns",
        "coalesce(waited_ns, 0L) as waited_ns",
        "handed_ns - sent_ns as handing_ns",
        "if(error is null, acked_ns - sent_ns, null) as service_ns",
        f"if(error is null, {_took(ACKED_NS, ACK_TAKEN)}, null) as took",
    )
    return SentCells(bins, rows.groupBy("bin", "place").agg(*map(F.expr, _AGGREGATES)).toArrow().sort_by("bin"))


def doubts(
    spark: SparkSession, bronze: Bronze, traits: RunTraits, shown: SentCells, sent: DataFrame, deliveries: DataFrame
) -> Doubts:
    """What the rows of `sent`, with what was `shown` of them, and of deliveries say of the generator."""
    bins, found = shown
    at, count = numbers(found, "bin"), numbers(found, "count")
    own_ns = late_ns = None
    if not pc.sum(found.column("untold")).as_py():
        own_ns, late_ns = (bins.largest(at, numbers(found, name)) for name in ("own_ns", "late_ns"))
    waited_ns = numbers(found, "waited_ns")
    in_flight = _in_flight(bins, bronze, traits, sent, deliveries, bins.counted(at, count))
    seen = _Seen(
        handing_ns=_handing(bins, found),
        waited_ns=bins.largest(at, waited_ns),
        in_flight=np.where(_waiting(bins, at, waited_ns), NEVER_NS, in_flight),
        usual=usual(in_flight, max(1, USUAL_NS // bins.length_ns)),
    )
    acked = _doubt(spark, bins, found, own_ns, seen)
    if not traits.consumes:
        return Doubts(acked, None)
    # What is processed is over only then; a second delivery of a message is later than the first. A corrupt message has
    # a latency, too, but limits nothing.
    timed = deliveries.where(f"sent_ns is not null and `group` = {traits.timed_group}").selectExpr(
        f"{bins.sql(SENT_NS)} as bin",
        "place",
        "if(sound, greatest(received_ns, processed_ns) - sent_ns, null) as service_ns",
        f"if(sound, {_took(RECEIVED_NS, taken(takes_all=not traits.leaves_in_client))}, null) as took",
    )
    ended = timed.groupBy("bin", "place").agg(*map(F.expr, _ENDED)).toArrow().sort_by("bin")
    return Doubts(acked, _doubt(spark, bins, ended, late_ns, seen))


def _doubt(spark: SparkSession, bins: Bins, cells: pa.Table, own_ns: Int64s | None, seen: _Seen) -> Doubt:
    """The doubt of messages that end in these cells: columns bin, place and service_ns, sorted by bin."""
    at, places = numbers(cells, "bin"), numbers(cells, "place")
    lanes, ended = np.unique(places, return_inverse=True)[1], numbers(cells, "ended")
    service_ns, took = (cells.column(name).fill_null(NEVER_NS).to_numpy() for name in ("service_ns", "took"))
    delayed_ns = pa.nulls(len(at), pa.int64())
    if own_ns is not None:
        slower_ns = slower(service_ns, lanes, ended)
        # Who waited for the system may have waited for what an earlier delay made: that is no service time.
        delayed_ns = pa.array(delays(own_ns, seen.in_flight, seen.usual, at, lanes, slower_ns + seen.waited_ns[at]))
    columns = {
        "cell": pa.array(at << _PLACE_BITS | places),
        "delayed_ns": delayed_ns,
        "handing_ns": seen.handing_ns.take(at),
        "least_ns": pa.array(fastest(took, lanes, ended, took % (1 << _TOOK_BITS) * NS_PER_US)),
    }
    return Doubt(bins, spark.createDataFrame(pa.table([columns[name] for name in _SCHEMA.names], schema=_SCHEMA)))


def _handing(bins: Bins, found: pa.Table) -> pa.Array:
    """The longest call that handed messages over, of each bin; null where that is not told of one of them."""
    all_of_them = pc.ScalarAggregateOptions(skip_nulls=False)
    by_bin = found.group_by("bin").aggregate([("handing_ns", "max", all_of_them)])
    out = np.full(bins.count, -1, np.int64)
    out[numbers(by_bin, "bin")] = by_bin.column("handing_ns_max").fill_null(-1).to_numpy()
    return pa.array(out, mask=out < 0)


def _places(bronze: Bronze) -> int:
    """How many places there may be: partitions of topics."""
    highs = [bronze.extent(kind, name).high for kind in ("sent", "received") for name in ("topic", "partition")]
    sent, received = ((1 + (topic or 0)) * (1 + (partition or 0)) for topic, partition in (highs[:2], highs[2:]))
    return int(max(sent, received))


def _took(end: str, taken: str) -> str:
    """SQL for a service time and its part before a report, or a message, may have been ready: the instrument has none.

    Null for what never ended.
    """
    took = f"({end} - sent_ns)"
    both = (took, f"{took} - coalesce({taken}, {took})")
    whole, part = (f"least(greatest({each}, 0L) div {NS_PER_US}L, {_MOST_US}L)" for each in both)
    return f"if({end} is null, null, shiftleft({whole}, {_TOOK_BITS}) | {part})"


def _cell(bin_: str, place: str) -> str:
    return f"shiftleft({bin_}, {_PLACE_BITS}) | {place}"


def _waiting(bins: Bins, at: Int64s, waited_ns: Int64s) -> NDArray[np.bool_]:
    """Whether a message that was sent later waited for the system at the end of each bin."""
    begun = np.maximum(at + -waited_ns // bins.length_ns, 0)
    change = np.zeros(bins.count, np.int64)
    np.add.at(change, begun, 1)
    np.add.at(change, at, -1)
    return np.cumsum(change) > 0


def _in_flight(
    bins: Bins, bronze: Bronze, traits: RunTraits, sent: DataFrame, deliveries: DataFrame, begun: Int64s
) -> Int64s:
    """How many messages were in flight at the end of each bin: of those that ended, where others did not."""
    if not traits.consumes:
        return _binned(bins, sent.where("acked_ns is not null"), SENT_NS, ACKED_NS)
    polls = bronze.columns("polls", (RETURNED_NS, "count"))
    polled = bins.counted(bins.of(numbers(polls, RETURNED_NS)), numbers(polls, "count"))
    if len(traits.groups) == 1 and traits.pipeline is None and polled[-1] == begun[-1]:
        return begun - polled
    timed = deliveries.where(f"sound and sent_ns is not null and `group` = {traits.timed_group}")
    return _binned(bins, timed, SENT_NS, RECEIVED_NS)


def _binned(bins: Bins, rows: DataFrame, began: str, ended: str) -> Int64s:
    """How many rows had begun and not ended by the end of each bin."""
    times = f"stack(2, 0, {bins.sql(began)}, 1, {bins.sql(ended)}) as (is_end, bin)"
    found = rows.selectExpr(times).groupBy("is_end", "bin").count().toArrow()
    if not found.num_rows:
        return np.zeros(bins.count, np.int64)
    is_end, at, count = (numbers(found, name) for name in ("is_end", "bin", "count"))
    begun, over = (bins.counted(at[is_end == end], count[is_end == end]) for end in (0, 1))
    return begun - over
