"""The table `outstanding`: messages sent and not processed, replayed from the rows in intervals of equal length.

A message counts from when it was sent until a group has processed it first, whatever happens to it in between.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamgauge.arrow import arrow_schema
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.tables.pressure import OUTSTANDING
from streamgauge.pipeline.pressure.lives import NEVER, Grid, unpacked
from streamgauge.pipeline.read.rows import numbers, shaped
from streamgauge.pipeline.read.silver import Span

CountColumns = Mapping[str, Int64s]
"""Columns of equal length."""


@dataclass(frozen=True, slots=True)
class OutstandingReplay:
    """What Spark counted, in memory: `progress`, `waits` and more; intervals are -1 for never."""

    grid: Grid
    progress: CountColumns
    waits: CountColumns
    peaks: CountColumns | None
    changes: Mapping[int, int] | None
    """By how much the backlog that is told grew in each second of ticks; None where each message is processed once."""

    @classmethod
    def of(
        cls,
        grid: Grid,
        progress: pa.Table,
        waits: pa.Table,
        peaks: pa.Table | None,
        changes: pa.Table | None,
        *,
        policy: bool,
    ) -> "OutstandingReplay":
        """What the four frames gave."""
        passed = ("counted", "due", *(["let_go"] if policy else []), "sent")
        return cls(
            grid,
            {**unpacked(progress, *passed), **_columns_of(progress, "count")},
            {**unpacked(waits, "group", "sent", "done"), **_columns_of(waits, "count", "first_ns")},
            None if peaks is None else _columns_of(peaks, *peaks.column_names),
            None if changes is None else {row["second"]: row["change"] for row in changes.to_pylist()},
        )


def _columns_of(counts: pa.Table, *names: str) -> CountColumns:
    return {name: numbers(counts, name) for name in names}


@dataclass(frozen=True, slots=True)
class Outstanding:
    """One group over the intervals of a run: columns of equal length, one value for each interval.

    Counts are those since the begin of the run, at the end of the interval.
    """

    sent: Int64s
    processed: Int64s
    outstanding_max: Int64s | None
    credits_used_max: Int64s | None
    oldest_ns: Int64s
    """When the oldest message that is not processed was sent; NEVER where there is none."""

    @property
    def outstanding(self) -> Int64s:
        """Messages sent and not processed, at the end of each interval."""
        return self.sent - self.processed


def replayed(replay: OutstandingReplay, groups: Sequence[int]) -> dict[int, Outstanding]:
    """What was outstanding of each group."""
    sent = np.cumsum(_per_interval(_where(replay.progress, "counted", 1), "sent", replay.grid))
    return {group: _of_group(replay, group, sent) for group in groups}


def _of_group(replay: OutstandingReplay, group: int, sent: Int64s) -> Outstanding:
    waited = _where(replay.waits, "group", group)
    processed = np.cumsum(_per_interval(waited, "done", replay.grid))
    most: dict[str, Int64s | None] = {"outstanding": None, "credits_used": None}
    if replay.peaks is not None:
        reached = _where(replay.peaks, "group", group)
        credited = np.cumsum(_per_interval(reached, "interval", replay.grid, count="credited"))
        for name, left in (("outstanding", processed), ("credits_used", credited)):
            begins = np.concatenate([[0], (sent - left)[:-1]])
            most[name] = begins + _per_interval(reached, "interval", replay.grid, count=name)
    return Outstanding(sent, processed, most["outstanding"], most["credits_used"], oldest(waited, replay.grid))


def _where(counted: CountColumns, name: str, value: int) -> CountColumns:
    chosen = counted[name] == value
    return {each: values[chosen] for each, values in counted.items()}


def _per_interval(counted: CountColumns, name: str, grid: Grid, count: str = "count") -> Int64s:
    """The sum of counts of each interval; what has no interval belongs to none."""
    at = counted[name]
    total = np.zeros(grid.count, np.int64)
    np.add.at(total, at[at >= 0], counted[count][at >= 0])
    return total


def oldest(waited: CountColumns, grid: Grid) -> Int64s:
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


def table(
    replay: OutstandingReplay, found: Mapping[int, Outstanding], span: Span, *, scheduled: bool, policy: bool
) -> pa.Table:
    """The table `outstanding`."""
    grid, counts = replay.grid, replay.progress
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
    pieces = [shaped(shared | _columns(group, each, grid), grid.count, schema) for group, each in found.items()]
    return pa.concat_tables([schema.empty_table(), *pieces])


def _columns(group: int, found: Outstanding, grid: Grid) -> dict[str, Any]:
    age_ms: NDArray[np.float64] = (grid.edges_ns - found.oldest_ns) / NS_PER_MS
    return {
        "group": np.full(grid.count, group),
        "sent": found.sent,
        "processed": found.processed,
        "outstanding": found.outstanding,
        "outstanding_max": found.outstanding_max,
        "credits_used_max": found.credits_used_max,
        "time_lag_ms": pa.array(age_ms, mask=found.oldest_ns == NEVER),
    }
