"""Clients without a broker: a log in memory that passes the same contract tests as the real thing.

For tests of the engine and for measuring what the engine itself costs. Not a model of Kafka's speed.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain import clock, stamp
from streamgauge.domain.blocks import ALL_TAKEN, NULL_INT32, NULL_INT64, Block, ClientSpec, Fetched, Outgoing, Refused
from streamgauge.domain.clock import NS_PER_SECOND

_EMPTY_HEAD = bytes(stamp.SIZE)
Record = tuple[bytes, bytes]
"""Value, and stamp in the header (blank where there is none)."""


@dataclass(slots=True)
class FakeTime:
    """A clock that moves only when somebody sleeps, or reads it: a reading costs `tick_ns`.

    `jumps` are moments at which the clock leaps ahead, as it does for a process that is stopped: (at, by), in ns.
    """

    at_ns: int = 0
    tick_ns: int = 2_000
    jumps: list[tuple[int, int]] = field(default_factory=list)

    def now_ns(self) -> int:
        """Read the clock."""
        self._move(self.tick_ns)
        return self.at_ns

    def sleep(self, seconds: float) -> None:
        """Let time pass; refuses to go back."""
        if seconds < 0:
            raise ValueError("time does not go back")
        self._move(round(seconds * NS_PER_SECOND))

    def _move(self, by_ns: int) -> None:
        self.at_ns += by_ns
        if self.jumps and self.at_ns >= self.jumps[0][0]:
            self.at_ns += self.jumps.pop(0)[1]


@dataclass(slots=True)
class FakeLog:
    """The partitions of one topic."""

    partitions: int = 1
    records: list[list[Record]] = field(init=False)

    def __post_init__(self) -> None:
        """Make the partitions, empty."""
        self.records = [[] for _ in range(self.partitions)]

    def ends(self) -> list[int]:
        """Log end offsets."""
        return [len(each) for each in self.records]


@dataclass(slots=True)
class FakeProducer:
    """Spreads blocks over the partitions in turn; reports each message at the next `serve`.

    While `stopped` says so it takes messages until its queue is full and reports nothing. With `keep` false the log
    forgets.
    """

    log: FakeLog
    spec: ClientSpec
    queue_limit: int = 100_000
    stopped: Callable[[int], bool] = lambda _now_ns: False
    keep: bool = True
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    _queue: deque[tuple[Sequence[bytes], bytes]] = field(default_factory=deque)
    _known: "list[_Report]" = field(default_factory=list)
    _in_flight: int = 0
    _fates: int = 0
    _turn: int = 0
    _ends: list[int] = field(default_factory=list)

    def room(self) -> int:
        """How many messages the queue still takes."""
        return self.queue_limit - self._in_flight

    def send(self, block: Outgoing) -> Refused:
        """Take what there is room for."""
        values, stamps = [value or b"" for value in block.values], block.stamps
        taken = max(0, min(len(values), self.room()))
        if taken:
            self._queue.append((values[:taken], stamps[:taken].tobytes()))
            self._in_flight += taken
        return ALL_TAKEN if taken == len(values) else Refused(no_room=range(taken, len(values)))

    def serve(self, timeout_seconds: float) -> None:
        """Deliver what is queued; without anything to do, wait."""
        if self._queue and not self.stopped(self.now_ns()):
            while self._queue:
                self._deliver(*self._queue.popleft())
        elif timeout_seconds:
            self.sleep(timeout_seconds)

    def fates(self, at_least: int) -> tuple[Block, int]:
        """What was delivered since the last call."""
        count = self._fates
        if count < max(1, at_least):
            return {}, 0
        reports, self._known, self._fates = self._known, [], 0
        return _rows(reports), count

    def in_flight(self) -> int:
        """Messages taken and not delivered."""
        return self._in_flight

    def abandon(self) -> None:
        """Report all that is queued as given up."""
        while self._queue:
            values, stamps = self._queue.popleft()
            self._report(_Report(values, stamps, 0, 0, self.now_ns(), "_PURGE_QUEUE"))

    def close(self) -> None:
        """Forget what is queued."""
        self._queue.clear()

    def _deliver(self, values: Sequence[bytes], stamps: bytes) -> None:
        self._ends = self._ends or self.log.ends()
        partition = self._turn % self.log.partitions
        self._turn += 1
        first = self._ends[partition]
        self._ends[partition] += len(values)
        if self.keep:
            heads = [
                stamps[at : at + stamp.SIZE] if self.spec.stamp_in_header else _EMPTY_HEAD
                for at in range(0, len(stamps), stamp.SIZE)
            ]
            self.log.records[partition].extend(zip(values, heads, strict=True))
        self._report(_Report(values, stamps, partition, first, self.now_ns(), None))

    def _report(self, report: "_Report") -> None:
        self._known.append(report)
        self._in_flight -= len(report.values)
        self._fates += len(report.values)


@dataclass(frozen=True, slots=True)
class _Report:
    """What became of a block of values of one size; without an error it lies in `partition` from offset `first` on."""

    values: Sequence[bytes]
    stamps: bytes
    partition: int
    first: int
    at_ns: int
    error: str | None


def _rows(reports: list[_Report]) -> Block:
    """The rows of `sent` of some blocks."""
    # Bytes are joined fifty times faster than structured arrays.
    stamps = stamp.decode(b"".join([report.stamps for report in reports]))
    facts = np.array(
        [(len(r.values), r.partition, r.first, r.at_ns, len(r.values[0]), r.error is None) for r in reports]
    )
    counts = facts[:, 0]
    begins = np.cumsum(counts) - counts
    partitions, firsts, acked_ns, sizes, delivered = np.repeat(facts[:, 1:], counts, axis=0).T
    offsets = firsts + np.arange(len(stamps)) - np.repeat(begins, counts)
    failed = not delivered.all()
    return {
        "seq": stamps["seq"].astype(np.int64),
        "partition": np.where(delivered == 1, partitions, NULL_INT32).astype(np.int32),
        "offset": np.where(delivered == 1, offsets, NULL_INT64),
        "due_ns": np.where(stamps["flags"] & stamp.NO_SCHEDULE, NULL_INT64, stamps["due_ns"]),
        "sent_ns": stamps["sent_ns"],
        "acked_ns": acked_ns,
        "size_bytes": sizes.astype(np.int32),
        "error": [report.error for report in reports for _ in report.values] if failed else None,
    }


@dataclass(slots=True)
class FakeConsumer:
    """Reads partitions of a log from given offsets."""

    log: FakeLog
    mine: Sequence[int]
    next_offset: dict[int, int] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)
    held: bool = False
    sleep: Callable[[float], None] = clock.sleep_seconds

    def poll(self, timeout_seconds: float, limit: int) -> Fetched | None:
        """The next messages of the first partition that has any."""
        for partition in () if self.held else self.mine:
            begin = self.next_offset.get(partition, 0)
            records = self.log.records[partition][begin : begin + limit]
            if records:
                self.next_offset[partition] = begin + len(records)
                return _fetched(partition, begin, records)
        self.sleep(timeout_seconds)
        return None

    def assigned(self) -> int:
        """Partitions that this member has."""
        return len(self.mine)

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of messages."""
        self.held = held

    def store(self, partitions: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Remember what may be committed."""
        self.stored.update(zip(partitions.tolist(), offsets.tolist(), strict=True))

    def positions(self) -> list[tuple[int, int | None]]:
        """Next offset of each partition."""
        return [(partition, self.next_offset.get(partition, 0)) for partition in self.mine]

    def errors(self) -> list[str]:
        """Nothing goes wrong here."""
        return []

    def close(self) -> None:
        """Leave nothing behind."""
        self.held = True


def _fetched(partition: int, begin: int, records: list[Record]) -> Fetched:
    values = [value for value, _ in records]
    in_values = stamp.decode(b"".join(value[: stamp.SIZE].ljust(stamp.SIZE, b"\0") for value in values))
    in_headers = stamp.decode(b"".join(head for _, head in records))
    present = stamp.is_stamp(in_headers, None)
    return Fetched(
        partition=np.full(len(records), partition, np.int32),
        offset=np.arange(begin, begin + len(records), dtype=np.int64),
        append_ms=None,
        size_bytes=np.fromiter(map(len, values), np.int32, len(values)),
        stamps=np.where(present, in_headers, in_values),
        values=values,
        in_header=present,
    )
