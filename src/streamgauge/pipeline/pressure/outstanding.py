"""The table `outstanding`: messages sent and not processed, replayed from the rows in intervals of equal length.

A message counts from when it was sent until a group has processed it first, whatever happens to it in between. What is
summed is small: how many messages were sent in one interval and processed in another. Where it has to be exact to the
message, every change is put in order within its interval, all intervals beside each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.fates import CERTAINLY_NOT_WRITTEN
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.tables.pressure import OUTSTANDING
from streamgauge.pipeline.read.schemas import arrow_schema
from streamgauge.pipeline.read.silver import ABORTED, UNSETTLED, Span

MOST_INTERVALS: Final = 20_000
NEVER: Final = (1 << 63) - 1
_BITS: Final = 15
_NULL: Final = (1 << _BITS) - 1
"""In place of a null; larger than any interval or group."""
BLOCK_BITS = 16
"""Offsets are put in order in blocks of so many bits each: or else one task would sort all of a partition."""
_LANE: Final = ("group", "topic", "partition")
_MESSAGE: Final = ["group", "topic", "producer", "seq"]


Counted = Mapping[str, Int64s]
"""Columns of equal length."""


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
    seen = f" and fate != {ABORTED}" if hides_aborted else ""
    return f"(sent_ns is not null and (error is null or error not in ({failed})){seen})"


def packed(*numbers: str) -> str:
    """SQL for several small numbers in one, by which Spark groups faster; a null is the largest of all."""
    key = "0L"
    for number in numbers:
        key = f"({key} << {_BITS} | coalesce({number}, {_NULL}L))"
    return key


def unpacked(counts: pa.Table, *names: str) -> dict[str, Int64s]:
    """The numbers that `packed` put into the column `key`; -1 for null."""
    key = counts.column("key").to_numpy().astype(np.int64)
    found = {}
    for place, name in enumerate(reversed(names)):
        number = key >> place * _BITS & _NULL
        found[name] = np.where(number == _NULL, -1, number)
    return found


def passages(messages: DataFrame, grid: Grid, counted: str, *, policy: bool) -> DataFrame:
    """Columns key and count: how many messages were due, let go and sent in which intervals, and whether they count.

    Without a policy nothing is let go. A message of unknown fate that was not received does not count, and waits for
    nobody: it was taken up at some time, as good as when it was due.
    """
    handed = f"if(sent_ns is null and fate = {UNSETTLED}, due_ns, sent_ns)"
    times = ("due_ns", *(["let_go_ns"] if policy else []), handed)
    key = packed(f"cast({counted} as bigint)", *map(grid.sql, times))
    return messages.selectExpr(f"{key} as key").groupBy("key").count()


def lives(deliveries: DataFrame, *, with_frontier: bool) -> DataFrame:
    """Columns group, sent_ns, done_ns and frontier_ns of messages that are all known to be received exactly once."""
    return _passed(deliveries, wanted=with_frontier).select("group", "sent_ns", "done_ns", "frontier_ns")


def doubted_lives(
    messages: DataFrame, deliveries: DataFrame, groups: Sequence[int], counted: str, *, with_frontier: bool
) -> DataFrame:
    """The same of all messages that count, whatever became of them.

    Of several deliveries of a message, or of an offset, what was processed first counts; deliveries of what is no
    message of this run are nobody's, but hold up the frontier as others do.
    """
    firsts = (F.expr(f"min({name}) as {name}") for name in ("producer", "seq", "done_ns"))
    at = _passed(deliveries.groupBy(*_LANE, "offset").agg(*firsts), wanted=with_frontier)
    done = at.groupBy(*_MESSAGE).agg(*(F.expr(f"min({name}) as {name}") for name in ("done_ns", "frontier_ns")))
    mine = messages.where(counted).select("topic", "producer", "seq", "sent_ns")
    each = mine.withColumn("group", F.explode(F.array(*map(F.lit, groups))))
    return each.join(done, _MESSAGE, "left").select("group", "sent_ns", "done_ns", "frontier_ns")


def _passed(offsets: DataFrame, *, wanted: bool) -> DataFrame:
    """With `frontier_ns`: when all up to the offset was processed, the latest of the times up to it; null for never."""
    if not wanted:
        return offsets.withColumn("frontier_ns", F.expr("cast(null as bigint)"))
    lane = ", ".join(_LANE)
    rows = offsets.selectExpr(
        "*", f"coalesce(done_ns, {NEVER}L) as over_ns", f"shiftright(offset, {BLOCK_BITS}) as block"
    )
    earlier = f"partition by {lane} order by block rows between unbounded preceding and 1 preceding"
    blocks = rows.groupBy(*_LANE, "block").agg(F.expr("max(over_ns) as top"))
    before = blocks.selectExpr(*_LANE, "block", f"max(top) over ({earlier}) as earlier_ns")
    within = f"max(over_ns) over (partition by {lane}, block order by offset rows unbounded preceding)"
    # `greatest` passes the null over that stands before the first block.
    return rows.join(F.broadcast(before), [*_LANE, "block"]).selectExpr(
        *(f"`{name}`" for name in offsets.columns), f"nullif(greatest(earlier_ns, {within}), {NEVER}L) as frontier_ns"
    )


def waits(lived: DataFrame, grid: Grid) -> DataFrame:
    """Columns key (group, and the intervals of sent and done), count, and first_ns, when the earliest was sent."""
    key = packed("cast(group as bigint)", grid.sql("sent_ns"), grid.sql("done_ns"))
    return (
        lived.selectExpr(f"{key} as key", "sent_ns")
        .groupBy("key")
        .agg(F.expr("count(*) as count"), F.expr("min(sent_ns) as first_ns"))
    )


def peaks(lived: DataFrame, grid: Grid) -> DataFrame:
    """Columns group, interval, and how far above its value before the interval each quantity came within it.

    `outstanding` counts a message until it is processed, `uncredited` until all before it in its partition are, too;
    `credited` is how many of the latter there are. On equal times, what is processed counts before what is sent.
    """
    steps = "stack(3, sent_ns, 1, 1, done_ns, -1, 0, frontier_ns, 0, -1) as (at_ns, step, credit)"
    order = "partition by group, interval order by at_ns, step + credit rows unbounded preceding"
    return (
        lived.selectExpr("group", steps)
        .where("at_ns is not null")
        .selectExpr("*", f"{grid.sql('at_ns')} as interval")
        .selectExpr(
            "group", "interval", "credit", f"sum(step) over ({order}) as step_sum",
            f"sum(credit) over ({order}) as credit_sum",
        )
        .groupBy("group", "interval")
        .agg(
            F.expr("greatest(max(step_sum), 0) as outstanding"),
            F.expr("greatest(max(credit_sum), 0) as uncredited"),
            F.expr("count(if(credit < 0, true, null)) as credited"),
        )
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Replay:
    """What Spark counted, in memory: `passages`, `waits` and, where exact, `peaks`; intervals are -1 for never."""

    grid: Grid
    passages: Counted
    waits: Counted
    peaks: Counted | None

    @classmethod
    def of(cls, grid: Grid, passages: pa.Table, waits: pa.Table, peaks: pa.Table | None, *, policy: bool) -> "Replay":
        """What the three frames gave."""
        passed = ("counted", "due", *(["let_go"] if policy else []), "sent")
        return cls(
            grid,
            {**unpacked(passages, *passed), **_columns_of(passages, "count")},
            {**unpacked(waits, "group", "sent", "done"), **_columns_of(waits, "count", "first_ns")},
            None if peaks is None else _columns_of(peaks, *peaks.column_names),
        )


def _columns_of(counts: pa.Table, *names: str) -> Counted:
    return {name: counts.column(name).to_numpy().astype(np.int64) for name in names}


@dataclass(frozen=True, slots=True)
class Outstanding:
    """One group over the intervals of a run: columns of equal length, one value for each interval.

    Counts are those since the begin of the run, at the end of the interval.
    """

    sent: Int64s
    processed: Int64s
    outstanding_max: Int64s | None
    uncredited_max: Int64s | None
    oldest_ns: Int64s
    """When the oldest message that is not processed was sent; NEVER where there is none."""

    @property
    def outstanding(self) -> Int64s:
        """Messages sent and not processed, at the end of each interval."""
        return self.sent - self.processed


def replayed(replay: Replay, groups: Sequence[int]) -> dict[int, Outstanding]:
    """What was outstanding of each group."""
    sent = np.cumsum(_per_interval(_where(replay.passages, "counted", 1), "sent", replay.grid))
    return {group: _of_group(replay, group, sent) for group in groups}


def _of_group(replay: Replay, group: int, sent: Int64s) -> Outstanding:
    waited = _where(replay.waits, "group", group)
    processed = np.cumsum(_per_interval(waited, "done", replay.grid))
    most: dict[str, Int64s | None] = {"outstanding": None, "uncredited": None}
    if replay.peaks is not None:
        reached = _where(replay.peaks, "group", group)
        credited = np.cumsum(_per_interval(reached, "interval", replay.grid, count="credited"))
        for name, left in (("outstanding", processed), ("uncredited", credited)):
            begins = np.concatenate([[0], (sent - left)[:-1]])
            most[name] = begins + _per_interval(reached, "interval", replay.grid, count=name)
    return Outstanding(sent, processed, most["outstanding"], most["uncredited"], oldest(waited, replay.grid))


def _where(counted: Counted, name: str, value: int) -> Counted:
    chosen = counted[name] == value
    return {each: values[chosen] for each, values in counted.items()}


def _per_interval(counted: Counted, name: str, grid: Grid, count: str = "count") -> Int64s:
    """The sum of counts of each interval; what has no interval belongs to none."""
    at = counted[name]
    total = np.zeros(grid.count, np.int64)
    np.add.at(total, at[at >= 0], counted[count][at >= 0])
    return total


def oldest(waited: Counted, grid: Grid) -> Int64s:
    """When the oldest message that waits at the end of each interval was sent; NEVER where none waits.

    A message waits at the ends of the intervals from the one that it was sent in up to the one before it was done. The
    smallest value over many such ranges: each range is covered by two of the next smaller power of two, which are then
    halved from the largest power down.
    """
    begin, end = waited["sent"], np.where(waited["done"] < 0, grid.count, waited["done"])
    spans = end > begin
    begin, end, first_ns = begin[spans], end[spans], waited["first_ns"][spans]
    levels = int(grid.count).bit_length()
    least = np.full((levels, grid.count), NEVER, np.int64)
    level = np.frexp((end - begin).astype(np.float64))[1] - 1
    np.minimum.at(least, (level, begin), first_ns)
    np.minimum.at(least, (level, end - (1 << level)), first_ns)
    for upper in range(levels - 1, 0, -1):
        half = 1 << upper - 1
        np.minimum(least[upper - 1], least[upper], out=least[upper - 1])
        np.minimum(least[upper - 1, half:], least[upper, :-half], out=least[upper - 1, half:])
    found: Int64s = least[0]
    return found


def table(replay: Replay, found: Mapping[int, Outstanding], span: Span, *, scheduled: bool, policy: bool) -> pa.Table:
    """The table `outstanding`."""
    grid, counts = replay.grid, replay.passages
    due = np.cumsum(_per_interval(counts, "due", grid)) if scheduled else None
    let_go = np.cumsum(_per_interval(counts, "let_go", grid)) if policy else due
    handed = np.cumsum(_per_interval(counts, "sent", grid))
    shared: dict[str, Any] = {
        "second": (grid.edges_ns - span.measure.from_ns) / NS_PER_SECOND,
        "due": due,
        "admitted": let_go,
        "backlog": None if due is None else due - handed,
    }
    schema = arrow_schema(OUTSTANDING)
    pieces = [_piece(shared | _columns(group, each, grid), grid.count, schema) for group, each in found.items()]
    return pa.concat_tables([schema.empty_table(), *pieces])


def _columns(group: int, found: Outstanding, grid: Grid) -> dict[str, Any]:
    age_ms: NDArray[np.float64] = (grid.edges_ns - found.oldest_ns) / NS_PER_MS
    return {
        "group": np.full(grid.count, group),
        "sent": found.sent,
        "processed": found.processed,
        "outstanding": found.outstanding,
        "outstanding_max": found.outstanding_max,
        "uncredited_max": found.uncredited_max,
        "time_lag_ms": pa.array(age_ms, mask=found.oldest_ns == NEVER),
    }


def _piece(columns: Mapping[str, Any], count: int, schema: pa.Schema) -> pa.Table:
    arrays = [
        pa.nulls(count, field.type) if columns[field.name] is None else pa.array(columns[field.name]).cast(field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
