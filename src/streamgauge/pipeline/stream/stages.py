"""The stages of a message on its way through a pipeline: which edges they lie between, and which batch held it.

A stage ends at its edge and begins at the last edge before it that is known, so that the stages of a message add up to
the whole, whatever is not known.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

from streamgauge.domain.clock import NS_PER_MS

DUE, SENT, SOURCE, BATCH, SINK, RECEIVED = "due", "sent", "source", "batch", "sink", "received"
EDGES: Final = (DUE, SENT, SOURCE, BATCH, SINK, RECEIVED)
"""In the order in which a message passes them: due, sent, appended to the source, begin of the batch that held it,
appended to the sink, received."""
STAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "stage_schedule": SENT,
        "stage_produce": SOURCE,
        "stage_wait": BATCH,
        "stage_process": SINK,
        "stage_deliver": RECEIVED,
    }
)
"""Each stage, and the edge that it ends at."""
WHOLE: Final = "stage_all"
"""All stages of a message together."""
_BY_WALL_CLOCK: Final = frozenset({SOURCE, BATCH, SINK})
"""Edges that are told in whole milliseconds of a wall clock, rounded down."""
ERROR_MS: Final = 1.0


class Rounding(NamedTuple):
    """By how much a duration may be wrong because its edges are rounded down, or were moved by the instrument."""

    less_ns: int
    """It may be shorter by so much: its begin is rounded down."""
    more_ns: int
    """It may be longer by so much: its end is rounded down."""
    moves: bool
    """Whether its begin moves with when the message was sent: all but the first edge do."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a run, or all together: the edges that it lies between, or why there is no such stage."""

    name: str
    begin: str | None
    end: str
    absent: str | None = None

    @property
    def error_ms(self) -> float | None:
        """By how much a duration may be wrong, up or down; None where the stage is absent."""
        if self.absent is not None:
            return None
        return ERROR_MS if {self.begin, self.end} & _BY_WALL_CLOCK else 0.0

    def rounding(self, first: str | None) -> Rounding:
        """Of the stage, where `first` is the first edge that is known of a message."""
        error_ns = round(ERROR_MS * NS_PER_MS)
        less_ns, more_ns = (error_ns if edge in _BY_WALL_CLOCK else 0 for edge in (self.begin, self.end))
        return Rounding(less_ns, more_ns, self.begin != first)


def stages(absent: Mapping[str, str]) -> tuple[Stage, ...]:
    """The stages of a run, the whole last; `absent` are the edges that no message of it has, with the reasons.

    The stage that ends at such an edge is absent, and the next one begins earlier.
    """
    return (*_each(absent), _whole(absent))


def _each(absent: Mapping[str, str]) -> Iterator[Stage]:
    begin = None if DUE in absent else DUE
    for name, end in STAGES.items():
        if end in absent:
            yield Stage(name, None, end, absent[end])
        elif begin is None:
            yield Stage(name, None, end, absent[DUE])
            begin = end
        else:
            yield Stage(name, begin, end)
            begin = end


def _whole(absent: Mapping[str, str]) -> Stage:
    begin, end = next((edge for edge in EDGES if edge not in absent), RECEIVED), RECEIVED
    return Stage(WHOLE, begin, end, absent.get(end))


class Advanced(NamedTuple):
    """How far one batch went in one partition: what is needed of a row of `advances`."""

    began_ms: int
    partition: int
    from_offset: int
    to_offset: int


class StageSegment(NamedTuple):
    """Offsets of a partition, `from_offset` <= offset < `to_offset`, that were in the same batches."""

    partition: int
    from_offset: int
    to_offset: int
    began_ms: tuple[int, ...]
    """When these batches began, ascending: several where a query that died began one again."""


def segments(advances: Iterable[Advanced]) -> list[StageSegment]:
    """The offsets that were in any batch, cut so that no two segments overlap."""
    partitions: dict[int, set[Advanced]] = defaultdict(set)
    for advance in advances:
        if advance.from_offset < advance.to_offset:
            partitions[advance.partition].add(advance)
    return [segment for partition, mine in sorted(partitions.items()) for segment in _cut(partition, mine)]


def _cut(partition: int, advances: Iterable[Advanced]) -> Iterator[StageSegment]:
    begins: dict[int, list[int]] = defaultdict(list)
    ends: dict[int, list[int]] = defaultdict(list)
    for advance in advances:
        begins[advance.from_offset].append(advance.began_ms)
        ends[advance.to_offset].append(advance.began_ms)
    under_way: list[int] = []
    for at, until in pairwise(sorted(begins.keys() | ends.keys())):
        for over in ends.get(at, ()):
            under_way.remove(over)
        under_way += begins.get(at, ())
        if under_way:
            yield StageSegment(partition, at, until, tuple(sorted(under_way)))


def began_ms(begun_ms: Sequence[int], appended_ms: int | None) -> int:
    """Which of the batches that held a message wrote it: the last that began before it was appended to the sink.

    Without such a one, the first; where it is not known when the message was appended, the last.
    """
    if appended_ms is None:
        return begun_ms[-1]
    return max((each for each in begun_ms if each <= appended_ms), default=begun_ms[0])


def block_bits(found: Sequence[StageSegment]) -> int:
    """In blocks of how many bits of offsets to look for a segment: about as long as segments are on average.

    Then a segment lies in two blocks on average, and all messages together meet at most three times as many segments
    as there are messages, however unequal the segments are.
    """
    total = sum(each.to_offset - each.from_offset for each in found)
    return max(0, (total // max(1, len(found))).bit_length() - 1)


def blocks(found: Iterable[StageSegment], bits: int) -> Iterator[tuple[int, StageSegment]]:
    """Every segment once for each block of so many bits that it lies in, with the number of the block."""
    for each in found:
        for block in range(each.from_offset >> bits, (each.to_offset - 1 >> bits) + 1):
            yield block, each
