"""Clients without a broker: a log in memory that passes the same contract tests as the real thing.

For tests of the engine and for measuring what the engine itself costs. Not a model of Kafka's speed.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from streamgauge.domain import clock, stamp
from streamgauge.domain.blocks import (
    ALL_TAKEN,
    NULL_INT32,
    NULL_INT64,
    Block,
    ClientSpec,
    Committed,
    Fetched,
    Outcome,
    Outgoing,
    Place,
    Refused,
)
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.stamp import Stamps
from streamgauge.engine.ports.clients import Acknowledgements

_EMPTY_HEAD = bytes(stamp.SIZE)
Appended = tuple[bytes, bytes]
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
        """Let time pass. Raises ValueError for less than nothing."""
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
    records: list[list[Appended]] = field(init=False)

    def __post_init__(self) -> None:
        """Make the partitions, empty."""
        self.records = [[] for _ in range(self.partitions)]

    def ends(self) -> list[int]:
        """Log end offsets."""
        return [len(each) for each in self.records]


@dataclass(slots=True)
class FakeOffsets:
    """Where every place stands, as a test says; each call for the ends takes the next of `moving`, if there is one."""

    ends: list[int] = field(default_factory=list)
    commits: list[list[int | None]] = field(default_factory=list)
    """Of each group."""
    moving: list[list[int]] = field(default_factory=list)

    def log_starts(self) -> list[int]:
        """Nothing is deleted here."""
        return [0] * len(self.ends)

    def log_ends(self) -> list[int]:
        """The ends, which move as they are looked at."""
        if self.moving:
            self.ends = self.moving.pop(0)
        return list(self.ends)

    def committed(self, group: int) -> list[int | None]:
        """What a group has committed; None where nobody said."""
        return list(self.commits[group]) if group < len(self.commits) else [None] * len(self.ends)


@dataclass(slots=True)
class FakeProducer:
    """Spreads blocks over the partitions in turn; reports each message at a `serve`, `answers_ns` later or more.

    A `serve` that waits ends with the first report. While `stopped` says so it takes messages until its queue is
    full and reports nothing. With `keep` false the log forgets. The sequences in `unlucky` fail when they are sent
    for the first time. Its queue holds `holds` messages and no more, though it counts with `queue_limit`.
    """

    log: FakeLog
    spec: ClientSpec
    queue_limit: int = 100_000
    stopped: Callable[[int], bool] = lambda _now_ns: False
    keep: bool = True
    unlucky: set[int] = field(default_factory=set)
    answers_ns: int = 0
    holds: int | None = None
    ended: list[bool] = field(default_factory=list)
    """Of each transaction that is over, whether it was committed."""
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    _queue: deque[tuple[Sequence[bytes], bytes, int | None]] = field(default_factory=deque)
    _ready: deque[int] = field(default_factory=deque)
    """When each entry of the queue can be reported."""
    _known: "list[_Report]" = field(default_factory=list)
    _in_flight: int = 0
    _reported: int = 0
    _served_ns: int = field(init=False)
    """When reports were served the last time."""
    _turn: int = 0
    _ends: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Nothing was served so far."""
        self._served_ns = self.now_ns()

    def room(self) -> int:
        """How many messages the queue still takes."""
        return self.queue_limit - self._in_flight

    def send(self, block: Outgoing) -> Refused:
        """Take what there is room for."""
        values, stamps = [value or b"" for value in block.values], block.stamps
        taken = max(0, min(len(values), self.room(), (self.holds or self.queue_limit) - self._in_flight))
        if taken:
            self._enqueue(values[:taken], stamps[:taken], block.partitions)
            self._in_flight += taken
        return ALL_TAKEN if taken == len(values) else Refused(no_room=range(taken, len(values)))

    def serve(self, timeout_seconds: float) -> None:
        """Deliver what is queued; without anything to do, wait."""
        began_ns = self.now_ns()
        if self._queue and not self.stopped(now_ns := self.now_ns()):
            if timeout_seconds and (left_ns := self._ready[0] - now_ns) > 0:
                self.sleep(min(timeout_seconds, left_ns / NS_PER_SECOND))
                now_ns = self.now_ns()
            while self._queue and self._ready[0] <= now_ns:
                self._next()
        elif timeout_seconds:
            self.sleep(timeout_seconds)
        self._served_ns = began_ns

    def _next(self) -> None:
        self._ready.popleft()
        self._deliver(*self._queue.popleft())

    def reports(self, at_least: int) -> tuple[Block, int]:
        """What was delivered since the last call."""
        count = self._reported
        if count < max(1, at_least):
            return {}, 0
        reports, self._known, self._reported = self._known, [], 0
        return _rows(reports), count

    def hurry(self) -> None:
        """Nothing lingers here."""

    def begin(self) -> None:
        """Every message belongs to a transaction from now on, which the log does not know."""

    def end(self, *, commit: bool) -> Outcome:
        """Deliver what is queued; the log keeps it, as a log does."""
        while self._queue:
            self._next()
        self.ended.append(commit)
        return "committed" if commit else "aborted"

    def in_flight(self) -> int:
        """Messages taken and not delivered."""
        return self._in_flight

    def abandon(self) -> None:
        """Report all that is queued as given up."""
        while self._queue:
            values, stamps, _ = self._queue.popleft()
            self._report(_Report(values, stamps, 0, 0, self._served_ns, self.now_ns(), "_PURGE_QUEUE"))
        self._ready.clear()

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client` since the last call, and their number."""
        return {}, 0

    def close(self) -> None:
        """Forget what is queued."""
        self._queue.clear()
        self._ready.clear()

    def _enqueue(self, values: Sequence[bytes], stamps: Stamps, partitions: Sequence[int] | None) -> None:
        """Queue a block whole, or each message by itself where they may part."""
        ready_ns = self.now_ns() + self.answers_ns if self.answers_ns else 0
        if partitions is None and not self.unlucky:
            self._ready.append(ready_ns)
            self._queue.append((values, stamps.tobytes(), None))
            return
        for place, value in enumerate(values):
            head = stamps[place : place + 1].tobytes()
            self._ready.append(ready_ns)
            self._queue.append(([value], head, partitions[place] if partitions else None))

    def _deliver(self, values: Sequence[bytes], stamps: bytes, wanted: int | None) -> None:
        if self.unlucky and (seq := int(stamp.decode(stamps)["seq"][0])) in self.unlucky:
            self.unlucky.remove(seq)
            self._report(_Report(values, stamps, 0, 0, self._served_ns, self.now_ns(), "_MSG_TIMED_OUT"))
            return
        self._ends = self._ends or self.log.ends()
        partition = self._turn % self.log.partitions if wanted is None else wanted
        self._turn += 1
        first = self._ends[partition]
        self._ends[partition] += len(values)
        if self.keep:
            heads = [
                stamps[at : at + stamp.SIZE] if self.spec.stamp_in_header else _EMPTY_HEAD
                for at in range(0, len(stamps), stamp.SIZE)
            ]
            self.log.records[partition].extend(zip(values, heads, strict=True))
        self._report(_Report(values, stamps, partition, first, self._served_ns, self.now_ns(), None))

    def _report(self, report: "_Report") -> None:
        self._known.append(report)
        self._in_flight -= len(report.values)
        self._reported += len(report.values)


@dataclass(frozen=True, slots=True)
class _Report:
    """What became of a block of values of one size; without an error it lies in `partition` from offset `first` on."""

    values: Sequence[bytes]
    stamps: bytes
    partition: int
    first: int
    ready_ns: int
    """Since when it may have been known."""
    at_ns: int
    error: str | None


def _rows(reports: list[_Report]) -> Block:
    """The rows of `sent` of some blocks."""
    # Bytes are joined fifty times faster than structured arrays.
    stamps = stamp.decode(b"".join([report.stamps for report in reports]))
    facts = np.array(
        [(len(r.values), r.partition, r.first, r.ready_ns, r.at_ns, len(r.values[0]), r.error is None) for r in reports]
    )
    counts = facts[:, 0]
    begins = np.cumsum(counts) - counts
    partitions, firsts, ready_ns, acked_ns, sizes, delivered = np.repeat(facts[:, 1:], counts, axis=0).T
    offsets = firsts + np.arange(len(stamps)) - np.repeat(begins, counts)
    failed = not delivered.all()
    return {
        "seq": stamps["seq"].astype(np.int64),
        "partition": np.where(delivered == 1, partitions, NULL_INT32).astype(np.int32),
        "offset": np.where(delivered == 1, offsets, NULL_INT64),
        "due_ns": np.where(stamps["flags"] & stamp.NO_SCHEDULE, NULL_INT64, stamps["due_ns"]),
        "sent_ns": stamps["sent_ns"],
        "acked_ns": acked_ns,
        "polled_ns": ready_ns,
        "size_bytes": sizes.astype(np.int32),
        "error": [report.error for report in reports for _ in report.values] if failed else None,
    }


@dataclass(slots=True)
class FakeCommits:
    """Remembers what is stored; `asked` are the commits that were asked for: whether each was asynchronous."""

    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    stored: dict[Place, int] = field(default_factory=dict)
    asked: list[bool] = field(default_factory=list)
    revoked: Callable[[Sequence[Place]], None] = lambda _places: None
    _answered: list[Committed] = field(default_factory=list)

    def watch(self, revoked: Callable[[Sequence[Place]], None]) -> None:
        """Remember whom to call."""
        self.revoked = revoked

    def store(self, offsets: Sequence[tuple[int, int, int]]) -> None:
        """Remember what may be committed."""
        self.stored.update({(topic, partition): offset for topic, partition, offset in offsets})

    def commit(self, *, asynchronous: bool) -> None:
        """Take a millisecond, of which an asynchronous one takes none of the caller's."""
        at_ns, took_ns = self.now_ns(), NS_PER_SECOND // 1_000
        if not asynchronous:
            self.sleep(took_ns / NS_PER_SECOND)
        self.asked.append(asynchronous)
        self._answered.append(Committed(at_ns, took_ns, asynchronous, None))

    def committed(self) -> list[Committed]:
        """Commits since the last call."""
        out, self._answered = self._answered, []
        return out


@dataclass(slots=True)
class FakeReader:
    """Reads the same partitions, `mine`, of each log from given offsets; further logs are further topics.

    `reached` are the ends to tell of next.
    """

    log: FakeLog
    mine: Sequence[int]
    commits: FakeCommits | None = field(default_factory=FakeCommits)
    acknowledgements: Acknowledgements | None = None
    next_offset: dict[Place, int] = field(default_factory=dict)
    held: bool = False
    sleep: Callable[[float], None] = clock.sleep_seconds
    further: Sequence[FakeLog] = ()
    reached: list[tuple[int, int, int]] = field(default_factory=list)
    now_ns: Callable[[], int] = clock.monotonic_ns
    _turn: int = -1
    _empty_ns: int = field(init=False)
    """When nothing was there the last time."""

    def __post_init__(self) -> None:
        """Nothing was asked for so far."""
        self._empty_ns = self.now_ns()

    def poll(self, timeout_seconds: float, limit: int, room: Callable[[Place], int] | None = None) -> Fetched | None:
        """The next messages of a partition that has any, of one after the other."""
        logs = (self.log, *self.further)
        places = list(product(range(len(logs)), () if self.held else self.mine))
        self._turn += 1
        for topic, partition in places[self._turn % max(1, len(places)) :] + places:
            most = limit if room is None else min(limit, room((topic, partition)))
            begin = self.next_offset.get((topic, partition), 0)
            if records := logs[topic].records[partition][begin : begin + max(0, most)]:
                self.next_offset[topic, partition] = begin + len(records)
                empty_ns = self._empty_ns if room is None else None
                return _fetched(topic, partition, begin, records, empty_ns)
        self._empty_ns = self.now_ns()
        self.sleep(timeout_seconds)
        return None

    def ends(self) -> list[tuple[int, int, int]]:
        """What a test says."""
        out, self.reached = self.reached, []
        return out

    def positions(self) -> list[tuple[int, int, int | None]]:
        """Next offset of each partition."""
        places = product(range(1 + len(self.further)), self.mine)
        return [(*place, self.next_offset.get(place, 0)) for place in places]

    def assigned(self) -> int:
        """Partitions that this reader has."""
        return len(self.mine) * (1 + len(self.further))

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of messages."""
        self.held = held

    def revoke(self, partitions: Sequence[int]) -> None:
        """Give partitions of the first topic to somebody else."""
        if self.commits:
            self.commits.revoked([(0, partition) for partition in partitions])
        self.mine = [partition for partition in self.mine if partition not in partitions]

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client` since the last call, and their number."""
        return {}, 0

    def close(self) -> None:
        """Leave nothing behind."""
        self.held = True


def _fetched(topic: int, partition: int, begin: int, records: list[Appended], empty_ns: int | None) -> Fetched:
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
        topic=topic,
        empty_ns=empty_ns,
        contents=lambda: [(value, None) for value in values],
    )
