"""Producers and consumers, that behave as those of the engine do and note the same columns by the same rules."""

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from tests.simulated.system import System
from tests.simulated.threads import Queue, Steps, Thread

from streamgauge.domain.clock import NS_PER_MS, NS_PER_US
from streamgauge.domain.latency.arrivals import WAKE_NS, Arrivals
from streamgauge.engine.produce.handed import Handed

BLOCK: Final = 4
"""Messages that are handed over at once, at most."""
TIMEOUT_NS: Final = 20 * NS_PER_MS
"""How long a consumer's poll waits."""
COMMIT_NS: Final = NS_PER_MS
"""How long it takes to end a transaction."""
Row = dict[str, Any]
Cost = Callable[[int], int]
"""What something takes that takes at most so long, in ns; nothing in the ideal."""


@dataclass
class Client:
    """Takes from one queue."""

    number: int
    system: System
    queue: Queue
    cost: Cost
    rows: list[Row]
    arrivals: Arrivals = field(default_factory=lambda: Arrivals(0))
    delay_ns: int | None = None
    """The run delay in the last call that waited; None where that is not known."""

    def run(self) -> Thread:
        """What it does until it is over."""
        raise NotImplementedError

    def _wait(self, now: int, timeout: int) -> Steps:
        """Wait until anything is ready, at most so long."""
        counts, self.delay_ns = self.system.plan.counts_delay, None
        if timeout and not self.queue.is_ready(now):
            now = yield now + timeout, self.queue
            self.queue.sleeper = None
            ready = min(now, self.queue.items[0][0]) if self.queue.items else now
            now = yield now + self.cost(WAKE_NS // 2), None
            self.delay_ns = self.system.loop.current.waits(ready, now) if counts else None
        elif timeout:
            self.delay_ns = 0 if counts else None
        return now


@dataclass
class ProducerThread(Client):
    """Sends what is due, serves reports, and waits: for reports between two flushes, for what is due next."""

    handed: Handed = field(default_factory=Handed)
    sent: list[int] = field(default_factory=list)
    """`sent_ns` of each message."""
    told: dict[int, tuple[int, int]] = field(default_factory=dict)
    """When the report of each message was served, and since when it may have been ready."""
    commits: list[int] = field(default_factory=list)

    def run(self) -> Thread:
        """The whole load, and the rows of it."""
        plan, dues = self.system.plan, self.system.plan.dues[self.number]
        now = yield 0, None
        while (seq := len(self.sent)) < len(dues):
            if plan.flush and seq and seq % plan.flush == 0:
                now = yield from self._flush(now)
            now = yield from self._until(now, dues[seq])
            count = min(BLOCK, bisect(dues, now) - seq)
            now = yield from self._hand_over(now, min(count, plan.flush - seq % plan.flush) if plan.flush else count)
            now = yield from self._serve(now, 0)
        yield from self._flush(now)
        self._tell()

    def _until(self, now: int, due: int) -> Steps:
        while now < due:
            if due - now > 2 * NS_PER_MS:
                now = yield from self._serve(now, due - now - NS_PER_MS)
            else:
                now = yield due + self.cost(60 * NS_PER_US), None
        return now

    def _hand_over(self, now: int, count: int) -> Steps:
        stamp = now
        for _ in range(count):
            now = yield now + self.cost(30 * NS_PER_US), None
            self.sent.append(stamp)
            self.system.enter(now, self.number, len(self.sent) - 1)
        self.handed.block(stamp, now)
        return now

    def _serve(self, now: int, timeout: int) -> Steps:
        began = now
        now = yield from self._wait(now, timeout)
        ready = self.arrivals.ready_ns(began, now, self.delay_ns)
        self.told.update(dict.fromkeys(self.queue.take(now), (now, ready)))
        self.arrivals.seen_empty_ns = max(began, ready)
        return now

    def _flush(self, now: int) -> Steps:
        """Wait for all reports, and end the transaction; that the thread is starved meanwhile is in no column."""
        began, thread = now, self.system.loop.current
        thread.is_exempt = True
        while len(self.told) < len(self.sent):
            now = yield from self._serve(now, 5 * NS_PER_MS)
        if self.system.plan.transactional:
            now = yield now + COMMIT_NS, None
            self.commits.append(len(self.sent))
            self.system.commit(now, self.number, range(len(self.sent)))
        thread.is_exempt = False
        self.handed.wait(began, now)
        return now

    def _tell(self) -> None:
        dues, sent = np.array(self.system.plan.dues[self.number]), np.array(self.sent)
        returned, waited = self.handed.returned_ns(sent), self.handed.waited_ns(dues, sent)
        for seq, (sent_ns, lane) in enumerate(zip(self.sent, self.system.lanes[self.number], strict=True)):
            acked, ready = self.told[seq]
            row: Row = {"topic": 0, "producer": self.number, "seq": seq, "partition": lane, "error": None}
            row |= {"due_ns": int(dues[seq]), "sent_ns": sent_ns, "handed_ns": int(returned[seq]), "admitted_ns": None}
            row |= {"waited_ns": None if waited is None else int(waited[seq]), "acked_ns": acked, "polled_ns": ready}
            row["transaction"] = bisect(self.commits, seq) if self.system.plan.transactional else None
            self.rows.append(row)


@dataclass
class ConsumerThread(Client):
    """Polls until it has all that is to come."""

    def run(self) -> Thread:
        """All polls, and the rows of them."""
        plan, poll = self.system.plan, 0
        left = sum(lane % plan.consumers == self.number for lanes in self.system.lanes for lane in lanes)
        now = yield 0, None
        while left:
            began = now
            now = yield from self._wait(now, TIMEOUT_NS)
            ready, first = self.arrivals.ready_ns(began, now, self.delay_ns), now
            came = self.queue.take(now, plan.limit)
            seen = first if len(came) < plan.limit else ready
            self.arrivals.seen_empty_ns = seen if came else max(began, ready)
            now = yield now + self.cost(20 * NS_PER_US), None
            for producer, seq, lane in came:
                row: Row = {"topic": 0, "group": 0, "consumer": self.number, "poll": poll, "partition": lane}
                row |= {"producer": producer, "seq": seq, "received_ns": now, "processed_ns": None, "empty_ns": ready}
                self.rows.append(row)
            poll, left = poll + 1, left - len(came)
            now = yield now + self.cost(40 * NS_PER_US), None
