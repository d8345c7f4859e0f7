"""The produce loop: send what is due, serve delivery reports, wait for what is due next.

The schedule is absolute; whatever delays the loop makes messages late, never fewer. Without a schedule the loop sends
as fast as the client takes messages or, closed, the next batch when the last one is acknowledged.

A producer does not wait by itself: `steps` yields what it waits for, so that a process can drive one producer, or
several round robin (`engine.produce.round_robin`).
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from streamgauge.domain import clock
from streamgauge.domain.blocks import Block
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.events import UNSENT
from streamgauge.engine.board import Latencies, Order, PollGap, Slot, State
from streamgauge.engine.ports.clients import ProducerClient
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.handed import Handed
from streamgauge.engine.produce.schedule import Schedule
from streamgauge.engine.produce.sent import ProducerSinks, SentRows
from streamgauge.engine.produce.stops import Batches, FlushPolicy, Transacted, TransactionPolicy
from streamgauge.engine.produce.throttle import LOOK_NS, Throttle
from streamgauge.workload.pacing import NEVER, Int64s, Pacer, count_before

BLOCK: Final = 250
"""Messages handed over at once at most: they share one `sent_ns`, which a larger block would make stale."""
UNPACED_BLOCK: Final = 500
"""The same without a schedule: half a millisecond of a worker that does nothing else."""
LARGEST_BLOCK: Final = max(BLOCK, UNPACED_BLOCK)
UNPACED_ROOM: Final = 2_000
"""Without a schedule, a full queue is left alone until it has this much room, so that blocks stay whole."""
RECORD_AT: Final = 128
"""Reports are recorded in blocks of at least so many: a larger block would make the messages due meanwhile later."""
UNPACED_RECORD_AT: Final = 2_000
"""The same without a schedule, where nothing is due and large blocks cost less."""
RECORD_GAP_AT: Final = 64
"""The same while nothing is due for `IDLE_NS`. A block of 16 rows would cost as much, four times as often."""
RECORD_IDLE_AT: Final = 16
"""The same while nothing may be sent, and while others have their turn: then a small block delays nobody."""
IDLE_NS: Final = 50_000
LONG_NS: Final = 2 * NS_PER_MS
"""While nothing is due for so long, each report is recorded at once."""
SPIN_NS: Final = 40_000
"""The last stretch before a due time is spun through: a sleep would overshoot it."""
QUANTUM_NS: Final = 40_000
"""Where dues lie closer than this, the loop sleeps so long and sends together what has become due."""
GRACE_NS: Final = NS_PER_SECOND
"""A producer that is behind when the load ends may for so long send what was due before."""
NAP_NS: Final = 200_000
"""While reports are in flight, the loop sleeps at most so long before it serves them: a report is not seen later."""
WAKE_NS: Final = 300_000
"""So long before a due time, the loop no longer waits in the client, which waits in whole milliseconds."""
ROOM_NS: Final = 50 * NS_PER_MS
"""Longest wait for room in a full queue before the loop looks around again."""


class Wait(NamedTuple):
    """What a producer waits for: a time on the monotonic clock, the last `spin_ns` of which are spun through.

    With `on_report` it goes on as soon as delivery reports were served, and at that time in any case.
    """

    at_ns: int
    spin_ns: int = SPIN_NS
    on_report: bool = False


NOW: Final = Wait(0)
"""A chance for others that share the process."""
Steps = Generator[Wait]
CountedSend = Generator[Wait, None, int]


class Times(NamedTuple):
    """When the load begins, is measured and ends, on the monotonic clock, and how long it may be flushed, in ns."""

    start_ns: int
    measure_ns: int
    end_ns: int
    drain_ns: int


@dataclass(frozen=True, slots=True)
class Sending:
    """How one producer sends, besides what it sends."""

    pacer: Pacer | None = None
    """None to send as fast as possible, or in a closed loop."""
    flush: FlushPolicy | None = None
    """After how many messages all reports are waited for."""
    transactions: TransactionPolicy | None = None
    resend: int = 0
    """How often a message that failed is sent again."""
    drops_held: bool = False
    """Whether messages that are due while a policy lets nothing go are never sent."""
    measured_messages: int | None = None
    """Messages of the measure phase after which the load is over; None where time alone ends it."""


def schedule_of(sending: Sending, pacer: Pacer, times: Times) -> tuple[Schedule, int]:
    """The due times of a load, and the message before which it is over by their number.

    A number of messages to be measured ends it when the next one would be due.
    """
    if sending.measured_messages is None:
        return Schedule(pacer, times.start_ns, times.end_ns), NEVER
    load_ns = times.end_ns - times.start_ns
    end_seq = count_before(pacer, times.measure_ns - times.start_ns, NEVER) + sending.measured_messages
    end_ns = times.start_ns + min(load_ns, int(pacer.due_ns(end_seq, 1)[0]))
    return Schedule(pacer, times.start_ns, end_ns), end_seq


@dataclass(slots=True)
class Producer:
    """One producer at work. `slot` is its row of the board; `order` tells what the supervisor wants."""

    client: ProducerClient
    composer: Composer
    sinks: ProducerSinks
    slot: Int64s
    latencies: Latencies
    order: Callable[[], Order]
    sending: Sending = field(default_factory=Sending)
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    throttle: Throttle | None = None
    """What a policy lets go; None where everything may."""
    _seq: int = 0
    _stop_seq: int = NEVER
    """The message before which something else has to be done: a flush, a commit, the end."""
    _stop_ns: int = NEVER
    """The time at which something else has to be done."""
    _end_ns: int = NEVER
    """When the load is over by its time."""
    _end_seq: int = NEVER
    """Where the load is over by the number of its messages."""
    _record_at: int = RECORD_AT
    _read: tuple[Block, int] | None = None
    _is_over: bool = False
    """Whether nothing is sent any more, and every report is final."""
    _batches: Batches | None = field(init=False)
    _transacted: Transacted | None = field(init=False)
    _handed: Handed = field(default_factory=Handed)
    _rows: SentRows = field(init=False)
    _gap: PollGap = field(init=False)

    def __post_init__(self) -> None:
        """Begin to watch the gaps between polls."""
        sending, producer, seed = self.sending, self.composer.recipe.producer, self.composer.recipe.seed
        self._gap = PollGap(self.slot, self.now_ns())
        self._batches = Batches(sending.flush, producer, seed) if sending.flush else None
        self._transacted = Transacted(sending.transactions, producer, seed) if sending.transactions else None
        self._rows = SentRows(
            sinks=self.sinks,
            slot=self.slot,
            latencies=self.latencies,
            topics=self.composer.recipe.topics,
            resend=sending.resend,
            scheduled=sending.pacer is not None,
            throttle=self.throttle,
            transacted=self._transacted,
            now_ns=self.now_ns,
            handed=self._handed,
        )

    def run(self, times: Times) -> None:
        """Send the load, flush, and record what became of every message that was due."""
        for wait in self.steps(times):
            self.wait(wait)

    def steps(self, times: Times) -> Steps:
        """What `run` does, as the waits between its steps."""
        self._end_ns = times.end_ns
        # Nothing was polled while the worker waited for the start; that is no gap.
        self._gap.end(self.now_ns())
        self._begin_transaction()
        if self.sending.pacer is None:
            self._record_at = UNPACED_RECORD_AT
            yield from self._send_unpaced(times)
            yield from self._finish(times.drain_ns)
            return
        schedule, self._end_seq = schedule_of(self.sending, self.sending.pacer, times)
        yield from self._send_paced(schedule)
        stopped_ns = self.now_ns()
        yield from self._finish(times.drain_ns)
        self._record_unsent(schedule, stopped_ns)

    def wait(self, wait: Wait) -> None:
        """Wait, serving delivery reports meanwhile; a load that is stopped waits for no due time."""
        if wait.on_report:
            left_ns = wait.at_ns - self.now_ns()
            self._serve(max(0, min(left_ns, 5 * NS_PER_MS)) / NS_PER_SECOND)
            return
        while self.order() <= Order.GO and (left_ns := wait.at_ns - self.now_ns()) > 0:
            if (whole_ms := (left_ns - WAKE_NS) // NS_PER_MS) > 0:
                # The client wakes up for a report: no report is served late.
                record_at = 1 if left_ns > LONG_NS else RECORD_GAP_AT
                self._serve(min(whole_ms, 100) / 1_000, record_at=record_at)
            elif left_ns > IDLE_NS and self._record(RECORD_GAP_AT):
                continue
            elif left_ns > wait.spin_ns:
                self._nap(left_ns - wait.spin_ns)

    def _nap(self, left_ns: int) -> None:
        """Sleep, and serve the reports that came where more sleep follows: a nap cannot be ended by a report."""
        if left_ns <= NAP_NS or not self.client.in_flight():
            self.sleep(left_ns / NS_PER_SECOND)
            return
        self.sleep(NAP_NS / NS_PER_SECOND)
        self._poll(0.0)

    def attend(self) -> None:
        """Serve the delivery reports of a producer whose wait is not over, while others have their turn."""
        self._serve(0.0, record_at=RECORD_IDLE_AT)

    @property
    def is_stopped(self) -> bool:
        """Whether the supervisor wants no more messages."""
        return self.order() > Order.GO

    def _send_paced(self, schedule: Schedule) -> Steps:
        """Send each message when it is due; what is late goes at once."""
        self._plan_stop()
        while self.order() <= Order.GO and (next_ns := schedule.next_ns()) is not None and self._seq < self._end_seq:
            now_ns = self.now_ns()
            if self._seq >= self._stop_seq or now_ns >= self._stop_ns:
                yield from self._stop()
            elif self._rows.again and now_ns <= schedule.end_ns + GRACE_NS:
                yield from self._send_again()
            elif next_ns <= now_ns:
                if now_ns > schedule.end_ns + GRACE_NS:
                    return
                if self._is_held(now_ns, schedule):
                    yield Wait(now_ns + LOOK_NS, 0)
                    continue
                due_ns = schedule.due(now_ns, min(BLOCK, self._stop_seq - self._seq))
                schedule.advance((yield from self._send(due_ns, len(due_ns))))
                self._serve()
                yield NOW
            elif schedule.is_closer_than(QUANTUM_NS):
                yield Wait(min(max(next_ns, now_ns + QUANTUM_NS), self._stop_ns), 0)
            else:
                yield Wait(min(next_ns, self._stop_ns))
        while self._stop_ns < schedule.end_ns and self.order() <= Order.GO:
            yield Wait(self._stop_ns)
            yield from self._stop()
        if not schedule.is_exhausted:
            yield Wait(schedule.end_ns, 0)

    def _is_held(self, now_ns: int, schedule: Schedule | None = None) -> bool:
        """Whether a policy lets nothing go now; what is due is passed over where the source loses it."""
        if self.throttle is None or self.throttle.room(now_ns):
            return False
        if schedule and self.sending.drops_held:
            self.throttle.drop(self._pass_over(schedule, now_ns, min(BLOCK, self._stop_seq - self._seq)))
        self._serve(record_at=RECORD_IDLE_AT)
        return True

    def _send_unpaced(self, times: Times) -> Steps:
        """Send as fast as the client takes messages, or batch after batch."""
        wanted = self.sending.measured_messages
        yield Wait(times.start_ns)
        self._plan_stop()
        while self.order() <= Order.GO and (now_ns := self.now_ns()) < times.end_ns and self._seq < self._end_seq:
            if wanted is not None and self._end_seq == NEVER and now_ns >= times.measure_ns:
                self._end_seq = self._seq + wanted
                self._plan_stop()
            if self._seq >= self._stop_seq or now_ns >= self._stop_ns:
                yield from self._stop()
                continue
            if self._rows.again:
                yield from self._send_again()
                continue
            if self._is_held(now_ns):
                yield Wait(now_ns + LOOK_NS, 0)
                continue
            yield from self._send(None, min(UNPACED_BLOCK, self._stop_seq - self._seq))
            self._serve()
            yield NOW

    def _send(self, due_ns: Int64s | None, asked: int) -> CountedSend:
        """Hand over the next messages, or as many of them as there is room for; returns how many."""
        room = self.client.room()
        if room < asked:
            room = yield from self._await_room(UNPACED_ROOM if due_ns is None else asked)
        count = min(asked, room, self.throttle.room(self.now_ns()) if self.throttle else asked)
        if count <= 0:
            return 0
        if self.throttle:
            self.throttle.claim(count)
        # Before the first of them can be anywhere: whoever counts after a death must not count too few.
        self.slot[Slot.NEXT_SEQ] = self._seq + count
        seqs = np.arange(self._seq, self._seq + count, dtype=np.int64)
        due_ns = None if due_ns is None else due_ns[:count]
        if self._batches:
            self._batches.begin(self.now_ns())
        yield from self._insist(seqs, due_ns)
        self._seq += count
        self.slot[Slot.MESSAGES] = self._seq
        return count

    def _insist(self, seqs: Int64s, due_ns: Int64s | None) -> Steps:
        """Hand over a block; what finds no room is stamped and tried again, in its order, while the load lasts."""
        while no_room := self._hand_over(seqs, due_ns):
            again = np.asarray(no_room)
            seqs, due_ns = seqs[again], None if due_ns is None else due_ns[again]
            yield from self._await_room(len(seqs), refused=True)
            if self.order() > Order.GO or self.now_ns() > self._end_ns + GRACE_NS:
                self._rows.give_back([UNSENT] * len(seqs))
                self._rows.never(seqs, due_ns, [UNSENT] * len(seqs))
                return

    def _hand_over(self, seqs: Int64s, due_ns: Int64s | None) -> Sequence[int]:
        """Hand over a block once; returns the places for which there was no room."""
        sent_ns = self.now_ns()
        refused = self.client.send(self.composer.compose(seqs, due_ns, sent_ns))
        self._handed.block(sent_ns, self.now_ns())
        if refused.failed:
            self._rows.refuse(refused, seqs, due_ns)
        return refused.no_room

    def _await_room(self, wanted: int, *, refused: bool = False) -> CountedSend:
        """Wait, at most 50 ms, until the queue has room for so many; returns the room, 0 when the load is stopped.

        A queue that just refused a message has no room, whatever the client counts: it may be full by its bytes. Then
        only what becomes free meanwhile is room. The time counts as blocked.
        """
        counted = self.client.room() if refused else 0
        enough = min(wanted, max(1, (self.client.queue_limit - counted) // 10))
        began_ns = self.now_ns()
        room = self.client.room() - counted
        while room < enough and self.order() <= Order.GO and self.now_ns() - began_ns < ROOM_NS:
            yield Wait(began_ns + ROOM_NS, on_report=True)
            room = self.client.room() - counted
        ended_ns = self.now_ns()
        self.slot[Slot.BLOCKED_NS] += ended_ns - began_ns
        self._handed.wait(began_ns, ended_ns)
        return room if self.order() <= Order.GO else 0

    def _send_again(self) -> Steps:
        """Hand messages that failed over once more, with the stamps that they had, sent now.

        What finds no room waits for its turn once more, and keeps the error that it had.
        """
        for again in self._rows.turn_again():
            for at in range(0, len(again.seqs), BLOCK):
                block = again.chosen(range(at, min(at + BLOCK, len(again.seqs))))
                # Behind one that found no room all others wait: none overtakes another.
                no_room = range(len(block.seqs)) if self._rows.again else self._hand_over(block.seqs, block.due_ns)
                if no_room:
                    self._rows.again.append(block.chosen(no_room))
        if self._rows.again:
            yield from self._await_room(sum(len(block.seqs) for block in self._rows.again), refused=True)

    def _plan_stop(self) -> None:
        """Work out where the flow of messages is interrupted next."""
        stops = [self._end_seq]
        if self._batches:
            stops.append(self._batches.next_seq)
        if self._transacted:
            stops.append(self._transacted.next_seq)
            self._stop_ns = self._transacted.end_ns
        self._stop_seq = min(stops)

    def _stop(self) -> Steps:
        """Do what comes between two messages: wait for reports, end a transaction."""
        if self._batches and self._seq >= self._batches.next_seq:
            yield from self._await_batch(self._batches)
        if self._transacted and self._transacted.is_over(self._seq, self.now_ns()):
            self._end_transaction(self._transacted)
            self._begin_transaction()
        self._plan_stop()

    def _await_batch(self, batches: Batches) -> Steps:
        """Wait for the reports of all that was sent, and note how long the batch took."""
        waited_ns = self.now_ns()
        while self._is_awaited() and self.order() <= Order.GO and self.now_ns() < self._end_ns:
            # A message that is sent again belongs to its batch.
            if self._rows.again:
                yield from self._send_again()
            if batches.hurries:
                self.client.hurry()
            yield Wait(self.now_ns() + ROOM_NS, on_report=True)
        self._handed.wait(waited_ns, self.now_ns())
        self._end_batch(batches, waited_ns)

    def _end_batch(self, batches: Batches, waited_ns: int) -> None:
        """Record a batch whose reports have all come; one that was given up leaves no row."""
        row, took_ns = batches.end(self._seq, waited_ns, self.now_ns())
        if self.sinks.batches and not self.client.in_flight():
            self.sinks.batches.append(row, 1)
            self.latencies.take_batch(took_ns)

    def _is_awaited(self) -> bool:
        """Whether there are messages without a report, those that are to be sent again included."""
        while self.sending.resend and self._record(1):
            pass
        return bool(self._rows.again) or self.client.in_flight() > 0

    def _begin_transaction(self) -> None:
        if self._transacted:
            self.client.begin()
            self._transacted.begin(self._seq, self.now_ns())

    def _end_transaction(self, transacted: Transacted) -> None:
        """Commit or abort what was sent since the transaction began; blocks, as it does in any producer."""
        if self._seq == transacted.first_seq:
            self.client.end(commit=True)
            return
        began_ns = self.now_ns()
        self._gap.begin(began_ns)
        outcome = self.client.end(commit=not transacted.aborts)
        ended_ns = self.now_ns()
        self._gap.end(ended_ns)
        self._handed.wait(began_ns, ended_ns)
        row = transacted.end(self._seq, began_ns, self.now_ns(), outcome)
        if self.sinks.transactions:
            self.sinks.transactions.append(row, 1)

    def _serve(self, timeout_seconds: float = 0.0, record_at: int | None = None) -> None:
        """Serve delivery reports, and record them once there are enough."""
        self._poll(timeout_seconds)
        self._record(record_at or self._record_at)

    def _poll(self, timeout_seconds: float) -> None:
        """Serve delivery reports."""
        self._gap.begin(self.now_ns())
        self.client.serve(timeout_seconds)
        self._gap.end(self.now_ns())

    def _record(self, at_least: int) -> int:
        """Read the reports that came, if there are so many, or write those read the last time; returns how many.

        Not both at once: the messages that are due meanwhile wait for half as long.
        """
        if self._read is None:
            block, count = self.client.reports(at_least)
            self._read = (block, count) if count else None
            return count
        block, count = self._read
        self._read = None
        self._rows.take(block, count, may_try_again=not self._is_over)
        return count

    def _finish(self, drain_ns: int) -> Steps:
        """Wait for the reports of all that is in flight; what has none by the limit is given up and recorded so."""
        over_ns = self.now_ns()
        self.slot[Slot.OVER_NS] = over_ns
        limit_ns = over_ns + drain_ns
        while self._is_awaited() and self.order() < Order.FINISH and self.now_ns() < limit_ns:
            if self._rows.again:
                yield from self._send_again()
            yield Wait(self.now_ns() + 20 * NS_PER_MS, on_report=True)
        self._is_over = True
        for seqs, due_ns, errors in self._rows.turn_again():
            self._rows.never(seqs, due_ns, errors)
        if self._batches and self._batches.is_open:
            self._end_batch(self._batches, over_ns)
        if self._transacted and self.order() < Order.ABORT:
            self._end_transaction(self._transacted)
        if self.client.in_flight() and self.order() < Order.ABORT:
            self.client.abandon()
            self._serve(0.1)
        self._serve(0.0)
        while self._record(1):
            pass
        self.latencies.count()
        self.slot[Slot.STATE] = State.FLUSHED

    def _record_unsent(self, schedule: Schedule, stopped_ns: int) -> None:
        """Record what was due while the load lasted and was never sent."""
        while self.order() < Order.ABORT and self._seq < self._end_seq:
            if not self._pass_over(schedule, stopped_ns, min(8 * BLOCK, self._end_seq - self._seq)):
                return

    def _pass_over(self, schedule: Schedule, until_ns: int, most: int) -> int:
        """Record as never sent what was due by a time, at most so many; returns how many."""
        due_ns = schedule.due(until_ns, most)
        if len(due_ns):
            seqs = np.arange(self._seq, self._seq + len(due_ns), dtype=np.int64)
            self._rows.never(seqs, due_ns, [UNSENT] * len(seqs))
            schedule.advance(len(due_ns))
            self._seq += len(due_ns)
            self.slot[Slot.NEXT_SEQ] = self._seq
        return len(due_ns)
