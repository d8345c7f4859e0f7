"""A reader of a modelled broker: what may be read by now, partition by partition in the order of offsets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from streamgauge.domain import clock, stamp
from streamgauge.domain.blocks import Block, ClientSpec, Committed, Fetched, Place
from streamgauge.domain.clock import NS_PER_SECOND, NS_PER_US
from streamgauge.modelled.memory import APART, COMMITTED, HEAD, LENGTH_BITS, LOST, Memory, Shape
from streamgauge.modelled.model import NEVER

LOOK_NS: Final = 100 * NS_PER_US
"""Nobody wakes a reader: it looks so often whether there is anything new."""
MANY: Final = 8
"""After a poll that brought so many, the next one waits for `LOOK_NS` first, as a consumer waits for its next fetch:
looking again at once would bring a few, and cost as much CPU."""
_LENGTH: Final = (1 << LENGTH_BITS) - 1
_Taken = tuple[int, Any, Any, Any]
"""Partition, offsets, facts, data: arrays of equal length."""


@dataclass(slots=True)
class ModelledCommits:
    """Commits by writing them down: each is answered at once."""

    memory: Memory
    now_ns: Callable[[], int]
    _stored: dict[int, int] = field(default_factory=dict)
    _answered: list[Committed] = field(default_factory=list)

    def watch(self, revoked: Callable[[Sequence[Place]], None]) -> None:
        """No partition ever goes to anybody else."""

    def store(self, offsets: Sequence[tuple[int, int, int]]) -> None:
        """Note what may be committed."""
        self._stored.update({lane: offset for _, lane, offset in offsets})

    def commit(self, *, asynchronous: bool) -> None:
        """Commit what is stored."""
        began_ns = self.now_ns()
        for lane, offset in self._stored.items():
            self.memory.cells[lane, COMMITTED] = offset
        self._answered.append(Committed(began_ns, max(1, self.now_ns() - began_ns), asynchronous, None))

    def committed(self) -> list[Committed]:
        """Commits since the last call."""
        out, self._answered = self._answered, []
        return out


class ModelledReader:
    """Reads partitions that are its own: those that it is told, or all."""

    def __init__(
        self,
        shape: Shape,
        spec: ClientSpec,
        now_ns: Callable[[], int] = clock.monotonic_ns,
        sleep: Callable[[float], None] = clock.sleep_seconds,
    ) -> None:
        self._memory, self._slots, self._now_ns, self._sleep = Memory(shape), shape.slots, now_ns, sleep
        self._lanes = list(range(shape.lanes)) if spec.assigned is None else [lane for _, lane in spec.assigned]
        self._column = self._memory.join(self._lanes)
        self._next = {lane: self._memory.cells.item(lane, self._column) for lane in self._lanes}
        self._turn = 0
        self._held = False
        self._brought = 0
        self._empty_ns = now_ns()
        self.commits: ModelledCommits | None = ModelledCommits(self._memory, now_ns)
        self.acknowledgements: None = None

    def poll(self, timeout_seconds: float, limit: int, room: Callable[[Place], int] | None = None) -> Fetched | None:
        """What may be read by now; without anything, look again until there is something or the time is over."""
        now_ns = self._now_ns()
        end_ns = now_ns + int(timeout_seconds * NS_PER_SECOND)
        if self._brought >= MANY and now_ns < end_ns:
            self._sleep(min(LOOK_NS, end_ns - now_ns) / NS_PER_SECOND)
            now_ns = self._now_ns()
        self._brought = 0
        while True:
            next_ns = NEVER
            if not self._held and limit:
                taken, next_ns, is_all = self._take(now_ns, limit, room)
                empty_ns = self._empty_ns if room is None else None
                if is_all:
                    self._empty_ns = now_ns
                if taken:
                    self._brought = sum(len(offsets) for _, offsets, _, _ in taken)
                    return _fetched(taken, empty_ns, self._now_ns())
            if now_ns >= end_ns:
                return None
            look_ns = end_ns if self._held or not limit else min(end_ns, next_ns, now_ns + LOOK_NS)
            self._sleep((look_ns - now_ns) / NS_PER_SECOND)
            now_ns = self._now_ns()

    def _take(self, now_ns: int, limit: int, room: Callable[[Place], int] | None) -> tuple[list[_Taken], int, bool]:
        """What may be read by now, when there will be more as far as is known, and whether nothing is left."""
        taken, next_ns, is_all = list[_Taken](), NEVER, True
        # Whose turn it was last comes last, so that a limit starves nobody.
        self._turn = (self._turn + 1) % len(self._lanes)
        for lane in self._lanes[self._turn :] + self._lanes[: self._turn]:
            begin, head = self._next[lane], self._memory.cells.item(lane, HEAD)
            if begin == head:
                continue
            first = lane * self._slots + begin % self._slots
            if (readable_ns := self._memory.readable_ns.item(first)) > now_ns:
                next_ns = min(next_ns, readable_ns)
                continue
            most = limit if room is None else min(limit, room((0, lane)))
            # At the end of the ring the rest is left for the next turn.
            stored = min(head - begin, self._slots - begin % self._slots)
            readable = int(np.searchsorted(self._memory.readable_ns[first : first + stored], now_ns, side="right"))
            count = min(most, readable)
            is_all = is_all and count == readable and (readable < stored or stored == head - begin)
            next_ns = now_ns
            if count <= 0:
                continue
            limit -= count
            facts = self._memory.facts[first : first + count]
            kept = np.flatnonzero(facts & LOST == 0)
            if len(kept):
                data = self._memory.data[first : first + count][kept]
                taken.append((lane, begin + kept, facts[kept], data))
            self._next[lane] = begin + count
            self._memory.cells[lane, self._column] = begin + count
        return taken, next_ns, is_all

    def ends(self) -> list[tuple[int, int, int]]:
        """Nothing but messages is in a log here."""
        return []

    def positions(self) -> list[tuple[int, int, int | None]]:
        """Next offset of each partition."""
        return [(0, lane, offset) for lane, offset in sorted(self._next.items())]

    def assigned(self) -> int:
        """Partitions that this reader has."""
        return len(self._lanes)

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of messages."""
        self._held = held

    def statistics(self) -> tuple[Block, int]:
        """It keeps none."""
        return {}, 0

    def close(self) -> None:
        """Wait for nothing; producers need not wait for this reader any more."""
        self._memory.cells[self._lanes, self._column] = NEVER


def _fetched(taken: Sequence[_Taken], empty_ns: int | None, returned_ns: int) -> Fetched:
    counts = [len(offsets) for _, offsets, _, _ in taken]
    facts = np.concatenate([each for _, _, each, _ in taken])
    data = np.concatenate([each for *_, each in taken])
    stamps = np.ascontiguousarray(data[:, : stamp.SIZE]).view(stamp.STAMP).ravel()
    apart = facts & APART != 0
    begins, ends = np.where(apart, stamp.SIZE, 0), facts & _LENGTH
    values = _values(data, begins, ends)
    return Fetched(
        partition=np.repeat(np.array([lane for lane, *_ in taken], np.int32), counts),
        offset=np.concatenate([offsets for _, offsets, _, _ in taken]),
        append_ms=None,
        size_bytes=(ends - begins).astype(np.int32),
        stamps=stamps,
        values=values,
        in_header=apart,
        empty_ns=empty_ns,
        returned_ns=returned_ns,
        contents=lambda: [(value, None) for value in values],
    )


def _values(data: Any, begins: Any, ends: Any) -> list[bytes]:
    """The values of messages; of one size, as most are, they are cut in one go."""
    begin, end = int(begins[0]), int(ends[0])
    if end > begin and (begins == begin).all() and (ends == end).all():
        cut: list[bytes] = np.ascontiguousarray(data[:, begin:end]).view(f"V{end - begin}").ravel().tolist()
        return cut
    rows = zip(data, begins.tolist(), ends.tolist(), strict=True)
    return [row[start:stop].tobytes() for row, start, stop in rows]
