"""The system under test: clients' batches, first-in-first-out servers, and consumers' queues."""

from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from tests.simulated.threads import Loop, Queue, Stalls

from streamgauge.domain.clock import NS_PER_MS

LANES: Final = 3
"""Partitions; each producer has its own, unless servers are shared."""
Message = tuple[int, int]
"""Producer and sequence."""


@dataclass(frozen=True)
class Plan:
    """One run. Times in ns; of several clients, producers come first."""

    seed: int
    dues: tuple[tuple[int, ...], ...]
    """Of each producer."""
    consumers: int = 1
    stalls: tuple[Stalls, ...] = ()
    """Of each client."""
    counts_delay: bool = True
    """Whether the kernel counts for how long threads were ready to run."""
    limit: int = 100
    """Messages that a poll takes at most."""
    flush: int = 0
    """After how many messages a producer waits for all reports; 0 for never."""
    transactional: bool = False
    """Whether what lies between two flushes is a transaction, and consumers read only what is committed."""
    tick_ns: int = 0
    """The server begins only at multiples of this, as one does that works in batches."""
    full: int = 0
    """How many messages of a producer and a partition leave the client together; 0 for each by itself."""
    linger_ns: int = 0
    """How long a client waits for them."""
    slow_ns: int = NS_PER_MS
    """The longest service."""
    shared: bool = False
    """Whether producers share the servers, so that a message of one may overtake one of another that is late."""

    @property
    def ideal(self) -> "Plan":
        """The same without the instrument's own doing."""
        return replace(self, stalls=())


@dataclass
class System:
    """Takes messages, and says when each is ready: its report for the producer, and itself for the consumer."""

    plan: Plan
    loop: Loop
    acked: dict[Message, int] = field(default_factory=dict)
    delivered: dict[Message, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plan, draw = self.plan, np.random.default_rng(self.plan.seed)
        counts, own = [len(dues) for dues in plan.dues], 0 if plan.shared else LANES
        self.lanes = [(draw.integers(LANES, size=count) + own * each).tolist() for each, count in enumerate(counts)]
        self._first = [draw.integers(0, plan.slow_ns // 4 + 1, count).tolist() for count in counts]
        self._second = [draw.integers(0, plan.slow_ns + 1, count).tolist() for count in counts]
        self._way_ns, self._report_ns = draw.integers(0, NS_PER_MS, 2).tolist()
        self.reports = [Queue() for _ in counts]
        self.fetched = [Queue() for _ in range(plan.consumers)]
        self._free, self._lane_free = defaultdict[int, int](int), defaultdict[int, int](int)
        self._log = defaultdict[int, deque[Message]](deque)
        self._committed = set[Message]()
        self._batches = defaultdict[tuple[int, int], list[int]](list)

    def enter(self, now: int, producer: int, seq: int) -> None:
        """A message is in the client's queue."""
        key = producer, self.lanes[producer][seq]
        batch = self._batches[key]
        batch.append(seq)
        if len(batch) >= self.plan.full:
            self._leave(now, *key)
        elif len(batch) == 1:
            self.loop.at(now + self.plan.linger_ns, lambda now: self._leave(now, *key) if batch else None)

    def _leave(self, now: int, producer: int, lane: int) -> None:
        """A batch goes through the producer's server and that of its partition, and is written as a whole."""
        batch, tick, server = self._batches.pop((producer, lane)), self.plan.tick_ns, -self.plan.shared or producer
        messages = [(producer, seq) for seq in batch]
        batch.clear()
        for _, seq in messages:
            begin = max(now, self._free[server])
            self._free[server] = (-(-begin // tick) * tick if tick else begin) + self._first[producer][seq]
            self._lane_free[lane] = max(self._free[server], self._lane_free[lane]) + self._second[producer][seq]
        for message in messages:
            self.acked[message] = ready = self._lane_free[lane] + self._report_ns
            self.loop.put(self.reports[producer], ready, message[1])
        self._log[lane].extend(messages)
        if not self.plan.transactional:
            self._show(self._lane_free[lane], lane, messages)

    def commit(self, now: int, producer: int, seqs: range) -> None:
        """These messages may be read."""
        for lane in sorted(set(self.lanes[producer])):
            self._show(now, lane, [(producer, seq) for seq in seqs if self.lanes[producer][seq] == lane])

    def _show(self, now: int, lane: int, messages: list[Message]) -> None:
        """What is committed can be fetched, as far as all before it is."""
        self._committed |= set(messages)
        while self._log[lane] and self._log[lane][0] in self._committed:
            message = self._log[lane].popleft()
            self.delivered[message] = ready = now + self._way_ns
            self.loop.put(self.fetched[lane % self.plan.consumers], ready, (*message, lane))
