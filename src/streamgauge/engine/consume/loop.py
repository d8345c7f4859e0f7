"""The consume loop: poll, decode, process, record, store the offsets of what is done with.

A consumer without processing records what a poll delivered at once. With processing, or with a limit to its rate, the
loop has a deadline to keep, and does what can wait (polling, recording) where none is near.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT32, NULL_INT64, Block, Fetched, Place
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.engine.board import Latencies, Order, PollGap, Slot
from streamgauge.engine.consume.acknowledge import Acknowledger
from streamgauge.engine.consume.buffer import Buffer
from streamgauge.engine.consume.commit import CommitEvery, Committer
from streamgauge.engine.consume.receive import Reading as Reading
from streamgauge.engine.consume.receive import rows as rows
from streamgauge.engine.ports.clients import Reader
from streamgauge.engine.ports.rows import Sink
from streamgauge.workload.pacing import Int64s
from streamgauge.workload.processing import NEVER, Allowance, Delays, Handling

LIMIT: Final = 2_000
"""Messages taken by one poll at most."""
LONGEST_NS: Final = NS_PER_SECOND // 10
"""The order is looked at in between."""
POLL_ROWS: Final = 256
"""Rows of `polls` are recorded in blocks of so many."""

SERVE_NS: Final = NS_PER_SECOND
"""A consumer that takes nothing polls so often all the same: rebalances are served in polls, and its group has to see
that it lives. It does not pause: librdkafka throws away what it fetched of a partition that is paused, fetches it again
after it is resumed, and does not begin to until its broker thread wakes up, up to a second later."""
BITE: Final = 64
"""Messages polled, or recorded, at once while others are processed: more would keep the loop from its deadlines."""
LARGE_BITE: Final = 2 * BITE
"""The same where it cannot wait for a gap between deadlines: then fewer and larger bites cost less."""
GUARD_NS: Final = 100_000
"""What can wait is not begun when a deadline is nearer than this, unless it has waited for long enough."""
OVERDUE_NS: Final = 2 * NS_PER_MS
"""Where every deadline is near, polls are made so often all the same."""
QUIET_NS: Final = NS_PER_MS // 2
"""Near a deadline, a poll that left nothing behind is repeated after so long."""
NEAR_NS: Final = 2 * NS_PER_MS
"""The client waits in whole milliseconds: nearer than this, polls do not wait."""
SPIN_NS: Final = 40_000
"""The last stretch before a deadline is spun through: a sleep would overshoot it. Where sleeps overshoot by more, as on
a busy machine, more is, up to `LONGEST_SPIN_NS`."""
LONGEST_SPIN_NS: Final = 150_000
RECORD_NS: Final = 10 * NS_PER_MS
"""Messages that are over are recorded `BITE` by `BITE`, or after so long, or when there is time for it."""
RECORD_BY_NS: Final = 40 * NS_PER_MS
"""What has waited for so long is recorded in spite of deadlines, as are `LARGE_BITE` of them."""
SHARED_NS: Final = NS_PER_MS
"""Consumers that share a process sleep at most so long when none of them has anything to do."""


@dataclass(frozen=True, slots=True)
class Consuming:
    """How one consumer consumes, besides how it reads stamps."""

    topics: tuple[str, ...]
    """Every topic of the run, by its number."""
    partitions: int
    """Partitions of each of them."""
    handling: Handling | None = None
    buffer: int = 1000
    """Messages polled and not processed, at most."""
    commit: str | CommitEvery = "auto"
    per_second: float | None = None
    """Messages a second that it takes at most."""
    seed: int = 0
    who: tuple[int, ...] = ()
    """What tells its draws from those of other consumers: numbers of group and consumer."""


@dataclass(frozen=True, slots=True)
class ConsumerSinks:
    """Where the rows of a consumer go."""

    received: Sink
    polls: Sink
    commits: Sink | None = None
    """None where commits are not recorded."""
    attempts: Sink | None = None
    """None where messages are not acknowledged one by one."""


@dataclass(frozen=True, slots=True)
class ProgressCells:
    """Cells of the partitions of one consumer, in which a controller sees how far it is."""

    frontiers: Int64s
    """First offset that is not processed, of each place."""
    foreign: Int64s
    """Messages of others that its group met, of each place."""
    foreign_ends: Int64s
    """Below which offset those are counted already; redelivered ones are not counted again."""

    def meet(self, cells: NDArray[Any], offsets: Int64s) -> None:
        """Count messages of others, by their places and offsets; before any frontier passes them."""
        new = offsets >= self.foreign_ends[cells]
        np.add.at(self.foreign, cells[new], 1)
        np.maximum.at(self.foreign_ends, cells[new], offsets[new] + 1)


@dataclass(slots=True)
class Consumer:
    """One consumer at work. `slot` and `positions` are its rows of the board.

    `measure_ns` tells when the measure phase begins, 0 until that is known.
    """

    reader: Reader
    reading: Reading
    consuming: Consuming
    sinks: ConsumerSinks
    slot: Int64s
    positions: Int64s
    latencies: Latencies
    order: Callable[[], Order]
    measure_ns: Callable[[], int] = lambda: 0
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    progress: ProgressCells | None = None
    """Where a policy holds producers back by how far consumers are."""
    _poll_number: int = 0
    _rows: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    _gap: PollGap = field(init=False)
    _committer: Committer = field(init=False)
    _acknowledger: Acknowledger | None = None
    _delays: Delays | None = None
    _buffer: Buffer | None = None
    _allowance: Allowance | None = None
    _is_measured: bool = False
    _is_filling: bool = True
    _is_behind: bool = False
    """Whether the last poll brought as much as it could, so that there may be more."""
    _spin_ns: int = SPIN_NS
    _steps: deque[Callable[[], None]] = field(default_factory=deque)
    """What follows from the last poll, or from settling, cut so that deadlines can be kept in between."""
    _needed_ns: int = 0
    """When the next step is needed in spite of deadlines."""
    _polled_ns: int = 0
    _settled_ns: int = 0

    def __post_init__(self) -> None:
        """Begin to watch the gaps between polls; load what the processing needs (WorkerError)."""
        how = self.consuming
        self._gap = PollGap(self.slot, self.now_ns())
        self._committer = Committer(self.reader.commits, how.commit, self.sinks.commits, self.now_ns())
        if self.reader.acknowledgements and self.sinks.attempts:
            self._acknowledger = Acknowledger(self.reader.acknowledgements, self.sinks.attempts)
        if how.handling:
            self._delays = Delays(how.handling, how.seed, how.who)
            told = None if self.progress is None else self.progress.frontiers
            place = (how.topics, how.partitions, self.now_ns, told)
            self._buffer = Buffer(
                how.handling, how.buffer, self._delays, *place, redelivers=self._acknowledger is not None
            )
        if how.per_second is not None:
            self._allowance = Allowance(how.per_second)
        if commits := self.reader.commits:
            commits.watch(self._leave)

    def run(self, until: Order) -> None:
        """Consume until the supervisor wants `until` or more."""
        while self.order() < until:
            self.turn(LONGEST_NS)

    def turn(self, longest_ns: int) -> bool:
        """Do what is due; without anything to do wait, at most so long. Whether there was anything."""
        now_ns = self.now_ns()
        buffer = self._buffer
        if buffer is None and self._allowance is None:
            return self._poll(now_ns, longest_ns, LIMIT) > 0
        did = False
        if buffer:
            did, now_ns = self._process(buffer, now_ns)
        left_ns = self.due_ns - now_ns
        is_free = left_ns >= GUARD_NS
        if self._steps:
            again_ns = self._needed_ns
            if is_free or now_ns >= again_ns:
                self._steps.popleft()()
                return True
        elif buffer and self._is_settling(buffer, now_ns, left_ns):
            self._needed_ns = now_ns + OVERDUE_NS if is_free else now_ns
            self._settle(buffer, LARGE_BITE if not is_free else BITE if left_ns < NEAR_NS else LIMIT)
            return True
        else:
            room, wanted_ns, needed_ns = self._plan(now_ns, left_ns)
            if now_ns >= (wanted_ns if is_free else needed_ns):
                self._needed_ns = now_ns + OVERDUE_NS if is_free else now_ns
                whole_ms = left_ns // NS_PER_MS - 1 if left_ns >= NEAR_NS and room else 0
                return self._poll(now_ns, min(longest_ns, whole_ms * NS_PER_MS), room) > 0 or did
            again_ns = wanted_ns if wanted_ns > now_ns else needed_ns
        if longest_ns:
            self._wait(now_ns, min(now_ns + longest_ns, again_ns))
        return did

    def finish(self) -> None:
        """Record what is known of what is buffered, ask for a last commit, and record the last polls."""
        self._give_up(None)
        self._committer.finish(self.now_ns(), wait=False)
        if self._acknowledger:
            self._acknowledger.finish()
        self._record_polls()

    @property
    def due_ns(self) -> int:
        """When a message will be over; NEVER where none is being processed."""
        return self._buffer.due_ns if self._buffer else NEVER

    def _process(self, buffer: Buffer, now_ns: int) -> tuple[bool, int]:
        """Keep the deadlines that are near, for a while: whether there was one, and the time that it is now."""
        if not self._is_measured and (zero_ns := self.measure_ns()):
            self._is_measured = True
            buffer.begin(zero_ns)
        did, end_ns = buffer.turn(now_ns), now_ns + GUARD_NS
        while now_ns < end_ns and (due_ns := buffer.due_ns) - now_ns <= self._spin_ns:
            while (now_ns := self.now_ns()) < due_ns:
                pass
            did = buffer.turn(now_ns) or did
        return did, now_ns

    def _is_settling(self, buffer: Buffer, now_ns: int, left_ns: int) -> bool:
        """Whether to record what is over now."""
        count = len(buffer.over.places)
        if not count:
            return False
        waits_ns = now_ns - self._settled_ns
        if left_ns < GUARD_NS:
            return count >= LARGE_BITE or waits_ns >= RECORD_BY_NS
        return count >= BITE or waits_ns >= RECORD_NS or left_ns >= NEAR_NS

    def _plan(self, now_ns: int, left_ns: int) -> tuple[int, int, int]:
        """How many messages the next poll may bring, when it is wanted, and when it is needed in spite of deadlines."""
        room, wanted_ns, margin_ns = LIMIT, self._polled_ns, 0
        if buffer := self._buffer:
            assigned = self.reader.assigned()
            room, hungers = self._room(buffer, assigned, left_ns), buffer.hungers(assigned)
            if not room or not (self._is_filling or hungers):
                return 0, self._polled_ns + SERVE_NS, self._polled_ns + SERVE_NS
            if left_ns < NEAR_NS and not self._is_behind:
                wanted_ns += QUIET_NS
            if not hungers and buffer.count > self.consuming.buffer // 4:
                margin_ns = OVERDUE_NS
        if self._allowance:
            room = min(room, self._allowance.room(now_ns))
            if not room:
                wanted_ns = min(self._polled_ns + SERVE_NS, max(wanted_ns, self._allowance.ready_ns))
        return room, wanted_ns, wanted_ns + margin_ns

    def _room(self, buffer: Buffer, assigned: int, left_ns: int) -> int:
        """How many messages there is room for; once there was little, polling begins again with half of it."""
        if buffer.takes_no_time:
            return LIMIT
        room = buffer.room(assigned)
        if room <= self.consuming.buffer // 8:
            self._is_filling = False
        elif buffer.count <= self.consuming.buffer // 2:
            self._is_filling = True
        return min(room, LARGE_BITE if left_ns < GUARD_NS else BITE if buffer.count else LIMIT)

    def _wait(self, now_ns: int, until_ns: int) -> None:
        """Wait, but not into the stretch before a deadline."""
        if (left_ns := min(until_ns, self.due_ns - self._spin_ns) - now_ns) <= 0:
            return
        self._gap.begin(now_ns)
        self.sleep(left_ns / NS_PER_SECOND)
        woke_ns = self.now_ns()
        self._gap.end(woke_ns)
        late_ns = woke_ns - now_ns - left_ns
        spin_ns = self._spin_ns + (late_ns * 3 // 2 - self._spin_ns) // 16
        self._spin_ns = max(SPIN_NS, min(spin_ns, LONGEST_SPIN_NS))

    def _poll(self, began_ns: int, timeout_ns: int, limit: int) -> int:
        """One poll and what follows from it; returns how many messages it brought."""
        self._gap.begin(began_ns)
        buffer = self._buffer
        room_of = buffer.room_of(self.reader.assigned()) if buffer and not buffer.takes_no_time else None
        fetched = self.reader.poll(timeout_ns / NS_PER_SECOND, limit, room_of)
        # Decoding is the work of this worker, not of the stream.
        received_ns = fetched.returned_ns if fetched and fetched.returned_ns is not None else self.now_ns()
        self._gap.end(received_ns)
        count = fetched.count if fetched else 0
        self._rows.append((self._poll_number, began_ns, received_ns, count, limit))
        self._poll_number += 1
        if len(self._rows) >= POLL_ROWS:
            self._record_polls()
        self.slot[Slot.ASSIGNED] = self.reader.assigned()
        self._polled_ns, self._is_behind = received_ns, 0 < limit == count
        if self._allowance:
            self._allowance.take(count)
        if buffer is None or fetched is None or buffer.takes_no_time:
            self._take(fetched, received_ns)
        else:
            self._steps.append(partial(self._take, fetched, received_ns))
        return count

    def _take(self, fetched: Fetched | None, received_ns: int) -> None:
        """Take what the last poll brought, buffered where it is processed, and count it."""
        if fetched:
            takes_all = self._buffer is None and self._allowance is None
            block = rows(fetched, self.reading, self._poll_number - 1, received_ns, takes_all=takes_all)
            cells = fetched.topic * self.consuming.partitions + fetched.partition
            buffer = self._buffer
            if self.progress:
                self._meet(self.progress, block, cells, fetched.offset)
            if buffer is None:
                self._record(block, fetched, cells)
            elif buffer.takes_no_time:
                self._record({**block, **self._done_at_once(buffer, block, fetched.count)}, fetched, cells)
            else:
                buffer.take(block, fetched)
                # Before its positions: who finds all of them at the end asks what is buffered.
                self._tell_buffered()
                self.positions[cells] = fetched.offset + 1
            self.slot[Slot.MESSAGES] += fetched.count
            self.slot[Slot.BYTES] += int(fetched.size_bytes.sum())
            self.slot[Slot.OVER_NS] = received_ns
            self.latencies.take(received_ns, block["due_ns"], block["sent_ns"], fetched.count, received_ns)
        for topic, partition, offset in self.reader.ends():
            self._end(topic, partition, offset)
        self._committer.turn(received_ns)
        if self._acknowledger:
            self._acknowledger.turn()
            self._tell_buffered()

    def _record(self, block: Block, fetched: Fetched, cells: NDArray[np.signedinteger[Any]]) -> None:
        """Record first, then store: what a commit covers is always in the rows."""
        self.sinks.received.append(block, fetched.count)
        if self._acknowledger:
            self._acknowledger.settle(block, fetched.count)
        # Within one poll the offsets of a partition rise, and the last assignment to an index is the one that stays.
        self.positions[cells] = fetched.offset + 1
        if self.progress:
            self.progress.frontiers[cells] = fetched.offset + 1
        touched = np.unique(cells)
        offsets = zip(touched.tolist(), self.positions[touched].tolist(), strict=True)
        partitions = self.consuming.partitions
        self._committer.store([(*divmod(cell, partitions), offset) for cell, offset in offsets], fetched.count, 1)

    def _meet(self, progress: ProgressCells, block: Block, cells: NDArray[Any], offsets: Int64s) -> None:
        """Note messages that are not of this run, if there are any."""
        producers = block["producer"]
        if producers is None:
            progress.meet(cells, offsets)
            return
        foreign = np.asarray(producers) == NULL_INT32
        if foreign.any():
            progress.meet(cells[foreign], offsets[foreign])

    def _done_at_once(self, buffer: Buffer, block: Block, count: int) -> Block:
        """Begin and end of the processing of messages that take no time."""
        skipped, failed, now_ns = buffer.skipped(count), buffer.failed(block), self.now_ns()
        started = now_ns if skipped is None else np.where(skipped, NULL_INT64, now_ns)
        return {
            "started_ns": started,
            "processed_ns": started if failed is None else np.where(failed, NULL_INT64, started),
        }

    def _settle(self, buffer: Buffer, most: int | None, *, ended: bool = True) -> None:
        """Record what is over, at most so much of it, and then store how far that is, each a step.

        What was given up before it `ended` is acknowledged to nobody.
        """
        self._settled_ns = self.now_ns()
        if block := buffer.settle(most):
            self._steps.append(partial(self.sinks.received.append, block, len(block["offset"])))
            if self._acknowledger and ended:
                self._steps.append(partial(self._acknowledger.settle, block, len(block["offset"])))
            self._steps.append(partial(self._get_on, buffer, block))

    def _get_on(self, buffer: Buffer, block: Mapping[str, Any]) -> None:
        """Store how far what is recorded goes."""
        offsets, polls = buffer.get_on(block)
        self._committer.store(offsets, len(block["offset"]), polls)
        self._committer.turn(self._settled_ns)
        self._tell_buffered()

    def _tell_buffered(self) -> None:
        """Tell how much is polled and neither processed nor safe where it comes again."""
        waiting = self._buffer.count if self._buffer else 0
        self.slot[Slot.BUFFERED] = waiting + (self._acknowledger.unwritten if self._acknowledger else 0)

    def _finish_steps(self) -> None:
        while self._steps:
            self._steps.popleft()()

    def _end(self, topic: int, partition: int, offset: int) -> None:
        """The log ends here: what lies between the last message and this is none, and done with."""
        cell = topic * self.consuming.partitions + partition
        self.positions[cell] = max(int(self.positions[cell]), offset)
        if self._buffer is None or self._buffer.end((topic, partition), offset):
            self._committer.store([(topic, partition, offset)], 0, 1)

    def _give_up(self, revoked: Sequence[Place] | None) -> None:
        """Record what is buffered of these partitions, or of all, as what it is: not processed, and not stored."""
        if buffer := self._buffer:
            self._finish_steps()
            self._settle(buffer, None)
            self._finish_steps()
            buffer.withdraw(revoked)
            self._settle(buffer, None, ended=False)
            self._finish_steps()

    def _leave(self, revoked: Sequence[Place]) -> None:
        """These partitions go to others."""
        self._give_up(revoked)
        self._committer.finish(self.now_ns(), wait=True)

    def _record_polls(self) -> None:
        self.latencies.count()
        if self._rows:
            columns = np.array(self._rows, np.int64).T
            names = ("poll", "started_ns", "returned_ns", "count", "limit")
            self.sinks.polls.append(dict(zip(names, columns, strict=True)), len(self._rows))
            self._rows.clear()


def consume_all(consumers: Sequence[Consumer], until: Order) -> None:
    """Let consumers that share a process consume in turn, until the supervisor wants `until` or more.

    One alone waits in its polls. Several cannot wait for each other: they poll in turn, and sleep when nobody had
    anything, at most `SHARED_NS` and not beyond a deadline.
    """
    if len(consumers) == 1:
        consumers[0].run(until)
        return
    first = consumers[0]
    while first.order() < until:
        did = [consumer.turn(0) for consumer in consumers]
        if not any(did):
            left_ns = min(consumer.due_ns for consumer in consumers) - first.now_ns()
            if left_ns > SPIN_NS:
                first.sleep(min(left_ns - SPIN_NS, SHARED_NS) / NS_PER_SECOND)
