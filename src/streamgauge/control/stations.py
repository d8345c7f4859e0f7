"""The stations of a simulated stream: what producers, consumers and their clocks do in each moment."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import repeat
from typing import Final

import numpy as np

from streamgauge.control.simulation import TICK_NS, LagModel, Sticky
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.workload.processing import Delays, handling_of

OPEN: Final = 1 << 62
"""What is granted where everything may go."""


@dataclass(slots=True)
class SimulatedSlots:
    """Consumers: queues of messages, and slots that take them in order."""

    model: LagModel
    frontiers: list[int] = field(init=False)
    processed: int = 0
    finished: int = 0
    waiting: int = 0
    busy_ns: float = 0.0
    """Time of slots within the measure phase."""
    _running: list[tuple[float, int, int, int]] = field(default_factory=list)
    """When it ends, queue, partition and offset of each message in a slot."""
    _free: list[int] = field(init=False)
    _queues: list[deque[int]] = field(init=False)
    """The partitions of the messages that wait, in their order."""
    _taken: list[int] = field(init=False)
    _open: list[set[int]] = field(init=False)
    """Offsets in process, of each partition."""
    _delays: Delays = field(init=False)

    def __post_init__(self) -> None:
        model = self.model
        self.frontiers, self._taken = [0] * model.partitions, [0] * model.partitions
        self._open = [set() for _ in range(model.partitions)]
        self._free = [model.slots_each] * model.queues
        self._queues = [deque() for _ in range(model.queues)]
        self._delays = Delays(handling_of(model.processing), model.seed, (0,))
        self._delays.begin(0)

    @property
    def in_slots(self) -> int:
        """Messages in process."""
        return len(self._running)

    def arrive(self, partition: int, count: int, now_ns: int) -> None:
        """Messages of a partition can be taken from now on."""
        queue = partition % self.model.queues
        self._queues[queue].extend(repeat(partition, count))
        self.waiting += count
        while self._free[queue] and self._queues[queue]:
            self._free[queue] -= 1
            self._take(queue, now_ns)

    def work(self, until_ns: int) -> None:
        """Finish what ends by then, and take the next ones at that very moment."""
        while self._running and self._running[0][0] <= until_ns:
            end_ns, queue, partition, offset = heappop(self._running)
            self._finish(partition, offset)
            if self._queues[queue]:
                self._take(queue, end_ns)
            else:
                self._free[queue] += 1

    def _take(self, queue: int, now_ns: float) -> None:
        partition = self._queues[queue].popleft()
        offset = self._taken[partition]
        self._taken[partition] += 1
        self._open[partition].add(offset)
        self.waiting -= 1
        self._delays.look(int(now_ns))
        takes_ns = self.model.least_ns if self._delays.none else max(self._delays.next_ns(), self.model.least_ns)
        heappush(self._running, (now_ns + takes_ns, queue, partition, offset))
        self.busy_ns += max(0.0, min(now_ns + takes_ns, self.model.measure_ns) - max(now_ns, 0.0))

    def _finish(self, partition: int, offset: int) -> None:
        still = self._open[partition]
        still.remove(offset)
        self.finished += 1
        frontier = min(still, default=self._taken[partition])
        self.processed += frontier - self.frontiers[partition]
        self.frontiers[partition] = frontier


@dataclass(slots=True)
class Producers:
    """Producers: message j of the schedule is the business of producer j modulo their number."""

    model: LagModel
    random: np.random.Generator
    claimed: list[int] = field(init=False)
    dropped: list[int] = field(init=False)
    held: int = 0
    _next: int = 0
    """Whose turn it is in the round of partitions."""
    stuck: "list[_Stuck]" = field(init=False)

    def __post_init__(self) -> None:
        model = self.model
        self.claimed, self.dropped = [0] * model.producers, [0] * model.producers
        self.stuck = [_Stuck(model.sticky or Sticky(), model.partitions, self.random) for _ in self.claimed]

    def send(self, now_ns: int, tick: int, due: int, granted: Sequence[int]) -> dict[int, int]:
        """What is sent now: messages of each partition; what is due and may not go is held, or dropped."""
        found: dict[int, int] = {}
        count, able = self.model.producers, self._able(tick)
        self.held = 0
        for producer in range(count):
            mine = (due + count - 1 - producer) // count
            wanted = mine - self.claimed[producer] - self.dropped[producer]
            sent = max(0, min(wanted, able, granted[producer] - self.claimed[producer]))
            if wanted > sent and self.model.held == "drop":
                self.dropped[producer] += wanted - sent
            self.held += wanted - sent
            if sent:
                self.claimed[producer] += sent
                for partition, share in self._partitions(producer, sent, now_ns):
                    found[partition] = found.get(partition, 0) + share
        return found

    def _able(self, tick: int) -> int:
        """What one producer can send in this tick."""
        per_tick = self.model.fastest * TICK_NS / NS_PER_SECOND / self.model.producers
        return int((tick + 1) * per_tick) - int(tick * per_tick)

    def _partitions(self, producer: int, count: int, now_ns: int) -> Iterator[tuple[int, int]]:
        partitions = self.model.partitions
        if self.model.sticky:
            yield from self.stuck[producer].partitions(count, now_ns)
            return
        whole, rest = divmod(count, partitions)
        yield from ((each, whole) for each in range(partitions if whole else 0))
        yield from (((self._next + each) % partitions, 1) for each in range(rest))
        self._next = (self._next + rest) % partitions


@dataclass(slots=True)
class _Stuck:
    """The partition that one producer stays with."""

    sticky: Sticky
    partitions_of_topic: int
    random: np.random.Generator
    partition: int = 0
    until_ns: int = -OPEN
    left: int = 0

    def partitions(self, count: int, now_ns: int) -> Iterator[tuple[int, int]]:
        """Where the next messages go."""
        while count:
            if self.left <= 0 or now_ns >= self.until_ns:
                self._draw(now_ns)
            share = min(count, self.left)
            yield self.partition, share
            self.left -= share
            count -= share

    def _draw(self, now_ns: int) -> None:
        lasts_ns, messages = self.sticky.lasts_ns, self.sticky.messages
        self.partition = int(self.random.integers(self.partitions_of_topic))
        self.until_ns = OPEN if lasts_ns is None else now_ns + lasts_ns
        self.left = 1 if lasts_ns == 0 else messages or OPEN


@dataclass(slots=True)
class Clock:
    """Something that happens again and again."""

    every_ns: int | None
    next_ns: int

    def strikes(self, now_ns: int) -> bool:
        """Whether it happens now."""
        if self.every_ns is None or now_ns < self.next_ns:
            return False
        self.next_ns += self.every_ns * ((now_ns - self.next_ns) // self.every_ns + 1)
        return True


@dataclass(slots=True)
class Totals:
    """What is added up over the ticks of the measure phase."""

    ticks: int = 0
    lag: int = 0
    outstanding: int = 0
    peak_lag: int = 0
    peak_outstanding: int = 0
    first_peak_lag: int = 0
    first_peak_outstanding: int = 0
    resumed: bool = False
    held_ticks: int = 0
    pauses: int = 0

    def add(self, lag: int, outstanding: int, held: int) -> None:
        """One tick."""
        self.ticks += 1
        self.lag += lag
        self.outstanding += outstanding
        self.peak_lag = max(self.peak_lag, lag)
        self.peak_outstanding = max(self.peak_outstanding, outstanding)
        self.held_ticks += held > 0
        if not self.resumed:
            self.first_peak_lag, self.first_peak_outstanding = self.peak_lag, self.peak_outstanding
