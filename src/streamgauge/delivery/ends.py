"""How far partitions were read for each group: what decides whether a message that nobody received is lost.

Both the definition (`delivery.audit`) and the Spark form of it (`pipeline.audit.audit`) judge by these.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from streamgauge.delivery.rows import Lag, Lane, PipelineUnderTest, Received


class End(NamedTuple):
    """One partition at the end of the drain: log start, the group's position and log end; None where not known."""

    start: int | None
    position: int | None
    end: int | None

    @property
    def read_out(self) -> bool:
        """Whether the group is known to have read the partition to its end."""
        return self.position is not None and self.end is not None and self.position >= self.end


class LostBlock(NamedTuple):
    """Offsets, `above` < offset < `below`, that a dead consumer may have taken to its grave; below None: no limit."""

    above: int
    below: int | None

    def __contains__(self, offset: object) -> bool:
        """Whether an offset lies in the block."""
        return isinstance(offset, int) and self.above < offset and (self.below is None or offset < self.below)

    def is_empty(self, end: int | None) -> bool:
        """Whether there is no offset in the block of a log that ends at `end`; None where that is not known."""
        limit = min((each for each in (self.below, end) if each is not None), default=None)
        return limit is not None and limit - self.above <= 1


@dataclass(frozen=True, slots=True)
class Dead:
    """What consumers that died leave behind."""

    highest: Mapping[Lane, int]
    """Highest offset that anybody of the group recorded in each partition."""
    blocks: Mapping[Lane, tuple[LostBlock, ...]]


NOBODY_DIED = Dead({}, {})


def ends(rows: Iterable[Lag], dead: Dead | None = None) -> dict[Lane, End]:
    """How each partition ended, from the final rows of `lag`.

    The position is the highest that any consumer of the group reported. Where none did and a consumer died (`dead` is
    given), it is one above the highest offset that the group recorded, or else its commit before the load.
    """
    rows = list(rows)
    committed = starts(rows)
    found: dict[Lane, End] = {}
    for row in rows:
        if row.moment == "final":
            lane = (row.group, row.topic, row.partition)
            known = found.get(lane, End(None, None, None))
            found[lane] = End(*map(_highest, known, (row.start, row.position, row.end)))
    if dead is None:
        return found
    fallback = committed | {lane: offset + 1 for lane, offset in dead.highest.items()}
    return {
        lane: end if end.position is not None else end._replace(position=fallback.get(lane))
        for lane, end in found.items()
    }


def starts(rows: Iterable[Lag]) -> dict[Lane, int]:
    """The commit of each group before the load, where there was one."""
    return {
        (row.group, row.topic, row.partition): row.committed
        for row in rows
        if row.moment == "start" and row.committed is not None
    }


def members(
    dead: frozenset[int], groups: Iterable[int], recorded: Iterable[tuple[int, int]]
) -> dict[int, frozenset[int]]:
    """Which of the dead consumers may have read for each group; `recorded` are pairs of group and consumer with rows.

    A consumer reads for one group. That of a consumer without a row is not known, so it may have been any.
    """
    seen = set(recorded)
    known = {consumer for _, consumer in seen}
    return {
        group: frozenset(consumer for consumer in dead if (group, consumer) in seen or consumer not in known)
        for group in groups
    }


def remains(deliveries: Iterable[Received], lag: Iterable[Lag], group: int, dead: frozenset[int]) -> Dead:
    """What the consumers in `dead` leave behind in every partition that `lag` knows.

    The lost block of a dead consumer begins above the highest offset that it recorded, or where the group began to
    read if it recorded none, and ends below the next offset that another consumer recorded.
    """
    read: dict[Lane, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in deliveries:
        read[row.group, row.topic, row.partition][row.consumer].append(row.offset)
    rows = list(lag)
    lanes = {(row.group, row.topic, row.partition) for row in rows if row.group == group} | set(read)
    begun = starts(rows)
    highest = {lane: max(max(offsets) for offsets in by.values()) for lane, by in read.items()}
    blocks = {
        lane: tuple(_lost_block(read[lane], consumer, begun.get(lane, 0) - 1) for consumer in sorted(dead))
        for lane in lanes
    }
    return Dead(highest, blocks)


def _lost_block(read: Mapping[int, Sequence[int]], consumer: int, before: int) -> LostBlock:
    above = max(read.get(consumer, ()), default=before)
    later = [offset for offsets in read.values() for offset in offsets if offset > above]
    return LostBlock(above, min(later, default=None))


def _highest(a: int | None, b: int | None) -> int | None:
    return max((value for value in (a, b) if value is not None), default=None)


def query_ends(rows: Iterable[Lag], query: int) -> dict[Lane, End]:
    """How far a query had come in each partition of its source when the drain ended.

    Its position is its last committed end: what lies behind may have been read, and will be read again.
    """
    finals = [row for row in rows if row.group == query and row.moment == "final"]
    return ends(row._replace(position=_highest(row.position, row.committed)) for row in finals)


def all_read_out(found: Mapping[Lane, End], dead: Dead, group: int, topic: int) -> bool:
    """Whether a group is known to have read every partition of a topic to its end, without losing a row of it."""
    mine = {lane: end for lane, end in found.items() if lane[:2] == (group, topic)}
    return bool(mine) and all(
        end.read_out and all(block.is_empty(end.end) for block in dead.blocks.get(lane, ()))
        for lane, end in mine.items()
    )


@dataclass(frozen=True)
class Reached:
    """How far each group had come in the partitions that were sent to; through a pipeline, how far its query had."""

    ends: Mapping[Lane, End]
    blocks: Mapping[Lane, tuple[LostBlock, ...]]
    """What dead consumers of a group may have taken with them."""
    sink_read: Mapping[int, bool]
    """Whether a group read all of the sink, that is of what a query passed on; true where no query stands between."""

    def read_out(self, group: int, topic: int) -> bool:
        """Whether a group is known to have received all of a topic that there was to receive."""
        return (group, topic) in self._read_out and self.sink_read[group]

    @cached_property
    def _read_out(self) -> set[tuple[int, int]]:
        """Groups and topics of which every partition was read to its end."""
        known = {(group, topic) for group, topic, _ in self.ends}
        return known - {(group, topic) for (group, topic, _), end in self.ends.items() if not end.read_out}

    def missing(self, lane: Lane, offset: int | None) -> str:
        """The class of an acknowledged message that the group never received."""
        group, topic, _ = lane
        blocks, all_read_out = self.blocks.get(lane, ()), self.read_out(group, topic)
        return missing(offset, self.ends.get(lane), blocks, all_read_out=all_read_out, sink_read=self.sink_read[group])


def missing(
    offset: int | None, end: End | None, blocks: Iterable[LostBlock], *, all_read_out: bool, sink_read: bool = True
) -> str:
    """The class of an acknowledged message that the group never received.

    `all_read_out` says whether the group received all of the topic that there was: only then is a message whose offset
    nobody knows (acks 0) lost, and not merely unknown. Where a query passed it on, it is lost only if all of the sink
    was read, too (`sink_read`).
    """
    if offset is None:
        return "lost" if all_read_out else "unknown"
    if end is None or end.start is None or end.position is None or end.end is None:
        return "unknown"
    if offset < end.start:
        return "expired"
    if end.position <= offset < end.end:
        return "undelivered"
    return "lost" if sink_read and not any(offset in block for block in blocks) else "unknown"


def reached(
    rows: Iterable[Lag], groups: Sequence[int], dead: Dead | None, pipeline: PipelineUnderTest | None = None
) -> Reached:
    """How far each group had come, by the rows of `lag`; `dead` is given where one of its consumers died."""
    rows = list(rows)
    if pipeline is None:
        return Reached(ends(rows, dead), (dead or NOBODY_DIED).blocks, dict.fromkeys(groups, True))
    at_sink = ends(pipeline.at_sink(rows), dead)
    at_source = {lane[1:]: end for lane, end in query_ends(rows, pipeline.query).items() if lane[1] == pipeline.source}
    return Reached(
        {(group, *place): end for group in groups for place, end in at_source.items()},
        {},
        {group: all_read_out(at_sink, dead or NOBODY_DIED, group, pipeline.sink) for group in groups},
    )
