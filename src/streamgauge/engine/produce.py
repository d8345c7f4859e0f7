"""The produce loop: send what is due, serve delivery reports, wait for what is due next.

The schedule is absolute; whatever delays the loop makes messages late, never fewer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64, Block, Refused
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.events import UNSENT
from streamgauge.domain.pacing import Int64s, Pacer
from streamgauge.engine.compose import Composer
from streamgauge.engine.live import Latencies, Order, PollGap, Slot, State
from streamgauge.engine.ports import ProducerClient, Sink
from streamgauge.engine.schedule import Schedule

BLOCK: Final = 250
"""Messages handed over at once at most: they share one `sent_ns`, which a larger block would make stale."""
UNPACED_BLOCK: Final = 500
"""The same without a schedule: half a millisecond of a worker that does nothing else."""
LARGEST_BLOCK: Final = max(BLOCK, UNPACED_BLOCK)
UNPACED_ROOM: Final = 2_000
"""Without a schedule, a full queue is left alone until it has this much room, so that blocks stay whole."""
RECORD_AT: Final = 128
"""Fates are recorded in blocks of at least so many: a larger block would make the messages due meanwhile later."""
UNPACED_RECORD_AT: Final = 2_000
"""The same without a schedule, where nothing is due and large blocks cost less."""
RECORD_IDLE_AT: Final = 16
"""The same while nothing is due for `IDLE_NS`: then a small block delays nobody."""
IDLE_NS: Final = 50_000
SPIN_NS: Final = 40_000
"""The last stretch before a due time is spun through: a sleep would overshoot it."""
QUANTUM_NS: Final = 40_000
"""Where dues lie closer than this, the loop sleeps so long and sends together what has become due."""
GRACE_NS: Final = NS_PER_SECOND
"""A producer that is behind when the load ends may for so long send what was due before."""


@dataclass(slots=True)
class Producer:
    """One producer at work. `slot` is its row of the shared cells; `order` tells what the supervisor wants."""

    client: ProducerClient
    composer: Composer
    sink: Sink
    slot: Int64s
    latencies: Latencies
    order: Callable[[], Order]
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    _seq: int = 0
    _record_at: int = RECORD_AT
    _read: tuple[Block, int] | None = None
    _gap: PollGap = field(init=False)

    def __post_init__(self) -> None:
        """Begin to watch the gaps between polls."""
        self._gap = PollGap(self.slot, self.now_ns())

    def run(self, pacer: Pacer | None, start_ns: int, end_ns: int, drain_ns: int) -> None:
        """Send the load, flush for at most `drain_ns`, and record the fate of every message that was due."""
        # Nothing was polled while the worker waited for the start; that is no gap.
        self._gap.end(self.now_ns())
        if pacer is None:
            self._record_at = UNPACED_RECORD_AT
            self._send_unpaced(start_ns, end_ns)
            self._flush(drain_ns)
            return
        schedule = Schedule(pacer, start_ns, end_ns)
        self._send_paced(schedule)
        stopped_ns = self.now_ns()
        self._flush(drain_ns)
        self._record_unsent(schedule, stopped_ns)

    def _send_paced(self, schedule: Schedule) -> None:
        """Send each message when it is due; what is late goes at once."""
        while self.order() <= Order.GO and (next_ns := schedule.next_ns()) is not None:
            now_ns = self.now_ns()
            if next_ns <= now_ns:
                if now_ns > schedule.end_ns + GRACE_NS:
                    return
                schedule.advance(self._send(schedule.due(now_ns, BLOCK)))
                self._serve()
            elif schedule.is_closer_than(QUANTUM_NS):
                self._wait_until(max(next_ns, now_ns + QUANTUM_NS), spin_ns=0)
            else:
                self._wait_until(next_ns, SPIN_NS)
        self._wait_until(schedule.end_ns, spin_ns=0)

    def _send_unpaced(self, start_ns: int, end_ns: int) -> None:
        """Send as fast as the client takes messages."""
        self._wait_until(start_ns, SPIN_NS)
        while self.order() <= Order.GO and self.now_ns() < end_ns:
            self._send(None)
            self._serve()

    def _send(self, due_ns: Int64s | None) -> int:
        """Hand over the next messages, or as many of them as there is room for; returns how many."""
        asked = UNPACED_BLOCK if due_ns is None else len(due_ns)
        room = self.client.room()
        if room < asked:
            room = self._await_room(UNPACED_ROOM if due_ns is None else asked)
        count = min(asked, room)
        if count <= 0:
            return 0
        seqs = np.arange(self._seq, self._seq + count, dtype=np.int64)
        due_ns = None if due_ns is None else due_ns[:count]
        self._hand_over(seqs, due_ns)
        self._seq += count
        self.slot[Slot.MESSAGES] = self._seq
        return count

    def _hand_over(self, seqs: Int64s, due_ns: Int64s | None) -> None:
        """Hand over a block; what finds no room is stamped again and tried again, in its order."""
        while True:
            refused = self.client.send(self.composer.compose(seqs, due_ns, self.now_ns()))
            if refused.failed:
                self._record_refused(refused, seqs, due_ns)
            if not refused.no_room:
                return
            again = np.asarray(refused.no_room)
            seqs, due_ns = seqs[again], None if due_ns is None else due_ns[again]
            if not self._await_room(len(seqs)):
                if due_ns is not None:
                    self._record_never_sent(seqs, due_ns, [UNSENT] * len(seqs))
                return

    def _await_room(self, wanted: int) -> int:
        """Wait, at most 50 ms, until the queue has room for so many; returns the room, 0 when the load is stopped.

        The time counts as blocked.
        """
        enough = min(wanted, max(1, self.client.queue_limit // 10))
        began_ns = self.now_ns()
        room = self.client.room()
        while room < enough and self.order() <= Order.GO and self.now_ns() - began_ns < 50 * NS_PER_MS:
            self._serve(0.005)
            room = self.client.room()
        self.slot[Slot.BLOCKED_NS] += self.now_ns() - began_ns
        return room if self.order() <= Order.GO else 0

    def _serve(self, timeout_seconds: float = 0.0, record_at: int | None = None) -> None:
        """Serve delivery reports, and record the fates that they told once there are enough of them."""
        self._gap.begin(self.now_ns())
        self.client.serve(timeout_seconds)
        self._gap.end(self.now_ns())
        self._record(record_at or self._record_at)

    def _record(self, at_least: int) -> int:
        """Read the fates that are known, if there are so many, or write those read the last time; returns how many.

        Not both at once: the messages that are due meanwhile wait for half as long.
        """
        if self._read is None:
            block, count = self.client.fates(at_least)
            self._read = (block, count) if count else None
            return count
        block, count = self._read
        self._read = None
        self.sink.append(block, count)
        self._count(block, count)
        return count

    def _count(self, block: Block, count: int) -> None:
        """Tell those who watch."""
        errors = block["error"]
        self.slot[Slot.KNOWN] += count
        if isinstance(errors, Sequence):
            self.slot[Slot.FAILED] += sum(error is not None for error in errors)
        self.slot[Slot.BYTES] += int(np.sum(np.asarray(block["size_bytes"], np.int64)))
        self.latencies.take(block["acked_ns"], block["due_ns"], block["sent_ns"], count, self.now_ns())

    def _wait_until(self, at_ns: int, spin_ns: int) -> None:
        """Wait, serving delivery reports meanwhile, until `at_ns` or until the load is stopped."""
        while self.order() <= Order.GO and (left_ns := at_ns - self.now_ns()) > 0:
            if left_ns > 2 * NS_PER_MS:
                # The client waits in whole milliseconds and wakes for a report: no report is served late.
                self._serve(min(left_ns - NS_PER_MS, 100 * NS_PER_MS) / NS_PER_SECOND, record_at=1)
            elif left_ns > IDLE_NS and self._record(RECORD_IDLE_AT):
                continue
            elif left_ns > spin_ns:
                self.sleep((left_ns - spin_ns) / NS_PER_SECOND)

    def _flush(self, drain_ns: int) -> None:
        """Wait for the fates of all that is in flight; what has none by the limit is given up and recorded so."""
        limit_ns = self.now_ns() + drain_ns
        while self.client.in_flight() and self.order() < Order.FINISH and self.now_ns() < limit_ns:
            self._serve(0.02)
        if self.client.in_flight() and self.order() < Order.ABORT:
            self.client.abandon()
            self._serve(0.1)
        self._serve(0.0)
        while self._record(1):
            pass
        self.latencies.count()
        self.slot[Slot.STATE] = State.FLUSHED

    def _record_refused(self, refused: Refused, seqs: Int64s, due_ns: Int64s | None) -> None:
        """Record the messages of a block that the client refused for good."""
        places = np.asarray([place for place, _ in refused.failed])
        errors = [error for _, error in refused.failed]
        self.slot[Slot.FAILED] += len(errors)
        self._record_never_sent(seqs[places], None if due_ns is None else due_ns[places], errors)

    def _record_unsent(self, schedule: Schedule, stopped_ns: int) -> None:
        """Record what was due while the load lasted and was never sent."""
        while self.order() < Order.ABORT and len(due_ns := schedule.due(stopped_ns, 8 * BLOCK)):
            seqs = np.arange(self._seq, self._seq + len(due_ns), dtype=np.int64)
            self._record_never_sent(seqs, due_ns, [UNSENT] * len(seqs))
            self._seq += len(due_ns)
            schedule.advance(len(due_ns))

    def _record_never_sent(self, seqs: Int64s, due_ns: Int64s | None, errors: Sequence[str]) -> None:
        self.sink.append(never_sent(seqs, due_ns, errors), len(seqs))


def never_sent(seqs: Int64s, due_ns: Int64s | None, errors: Sequence[str]) -> dict[str, Int64s | Sequence[str] | None]:
    """Rows of `sent`, without the constant columns, for messages that no client ever took."""
    return {
        "seq": seqs,
        "partition": None,
        "offset": None,
        "due_ns": np.full(len(seqs), NULL_INT64) if due_ns is None else due_ns,
        "sent_ns": None,
        "acked_ns": None,
        "size_bytes": None,
        "error": errors,
    }
