"""A run without a broker: lag over time from a model, with the policies that real runs use.

Time passes in ticks. In each, what consumers finished meanwhile is counted first; then whatever is due of commits,
samples and decisions happens; then producers send. Nothing is a surprise but the draws: processing times, partitions of
sticky producers, and where in its interval each clock begins, all by the seed.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import repeat
from typing import Final, NamedTuple

import numpy as np

from streamgauge.control.credit import Credits, Seen
from streamgauge.control.hysteresis import PAUSE, RESUME, LagHysteresis
from streamgauge.control.simulation import TICK_NS, Model, Sticky
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.workload.processing import Delays

_DRAWS: Final = 41
"""What is drawn, in the seed: processing times have other numbers."""
_OPEN: Final = 1 << 62
"""What is granted where everything may go."""


class Row(NamedTuple):
    """One moment. Counts are messages since the begin of the load."""

    at_ns: int
    """After the begin of the measure phase."""
    due: int
    """Messages that the schedule asked for."""
    end: int
    """Log ends, summed: messages sent."""
    committed: int
    """Committed offsets, summed; a group has committed its begin."""
    processed: int
    """Messages processed, in each partition up to the first that is not."""
    worst: int
    """The partition whose committed lag is largest."""
    worst_lag: int
    paused: bool | None
    """Whether all producers are paused; None where no policy pauses them."""
    granted: int | None
    """Messages that producers may have sent; None where no policy counts them."""

    @property
    def lag(self) -> int:
        """Committed lag: log ends less committed offsets."""
        return self.end - self.committed

    @property
    def outstanding(self) -> int:
        """Messages sent and not processed."""
        return self.end - self.processed


class Summary(NamedTuple):
    """The measure phase in numbers; messages, shares, and messages a second."""

    offered_per_second: float
    sent_per_second: float
    processed_per_second: float
    utilisation: float
    """Share of the time of all slots in which they process."""
    peak_lag: int
    mean_lag: float
    peak_outstanding: int
    mean_outstanding: float
    first_peak_lag: int
    """Until producers that were paused go on for the first time."""
    first_peak_outstanding: int
    held_share: float
    """Share of the time in which messages were due and might not be sent."""
    pauses: int
    """How often all producers were paused."""
    held: int
    """Messages that were due and not sent when it ended."""
    dropped: int
    """Messages that will never be sent, because they were due while they might not be."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a simulation found."""

    rows: tuple[Row, ...]
    summary: Summary
    waiting: int
    """Messages that were with no slot at the end, on their way to consumers included."""
    in_slots: int
    """Messages that were being processed at the end."""
    finished: int
    """Messages whose processing was over, in whatever order."""


def simulate(model: Model, every_ns: int = NS_PER_SECOND) -> Simulated:
    """Carry out a model; a row at the begin of the measure phase and every `every_ns` from then on."""
    return _Run(model).carried_out(every_ns)


@dataclass(slots=True)
class _Slots:
    """Consumers: queues of messages, and slots that take them in order."""

    model: Model
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
        self._delays = Delays(model.processing, model.seed, (0,))
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
class _Producers:
    """Producers: message j of the schedule is the business of producer j modulo their number."""

    model: Model
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
    until_ns: int = -_OPEN
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
        self.until_ns = _OPEN if lasts_ns is None else now_ns + lasts_ns
        self.left = 1 if lasts_ns == 0 else messages or _OPEN


@dataclass(slots=True)
class _Clock:
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
class _Totals:
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


class _Run:
    """The state of one simulation."""

    def __init__(self, model: Model) -> None:
        self.model = model
        random = np.random.default_rng([model.seed, _DRAWS])
        self.slots, self.producers = _Slots(model), _Producers(model, random)
        self.due = model.due(TICK_NS).tolist()
        self.begin_ns = -model.warmup_ns
        poll_ns = model.policy.poll_ns if model.policy else None
        self.commits, self.samples, self.decisions = (
            _Clock(every_ns, self.begin_ns + int(random.integers(every_ns or 1)))
            for every_ns in (model.commit_ns, model.sampling_ns, poll_ns)
        )
        self.ends, self.end = [0] * model.partitions, 0
        self.committed, self.commit = [0] * model.partitions, 0
        self.lag: int | None = None
        self.transit: deque[tuple[int, dict[int, int]]] = deque()
        self.moving = 0
        self.totals = _Totals()
        hysteresis, credit = (model.policy.hysteresis, model.policy.credit) if model.policy else (None, None)
        self.by_lag = LagHysteresis(hysteresis.max_lag, hysteresis.resume) if hysteresis else None
        self.by_credit = Credits.none(credit.limit, model.producers) if credit else None
        self.granted: Sequence[int] = [_OPEN] * model.producers
        if self.by_credit:
            self._decide()

    def carried_out(self, every_ns: int) -> Simulated:
        """From the begin of the warm-up to the end of the measure phase."""
        rows, shows, at_zero = [], _Clock(every_ns, 0), (0, 0)
        for tick, due in enumerate(self.due):
            now_ns = self.begin_ns + tick * TICK_NS
            if now_ns == 0:
                at_zero = self.end, self.slots.processed
            self._turn(now_ns, tick, due)
            if now_ns >= 0:
                self.totals.add(self.end - self.commit, self.end - self.slots.processed, self.producers.held)
                if shows.strikes(now_ns):
                    rows.append(self._row(now_ns, due))
        summary = self._summary(*at_zero)
        waiting = self.slots.waiting + self.moving
        return Simulated(tuple(rows), summary, waiting, self.slots.in_slots, self.slots.finished)

    def _turn(self, now_ns: int, tick: int, due: int) -> None:
        self.slots.work(now_ns)
        self._arrive(now_ns)
        if self.commits.strikes(now_ns):
            self.committed, self.commit = self.slots.frontiers.copy(), self.slots.processed
        if self.samples.strikes(now_ns):
            self.lag = self.end - self.commit
        if self.decisions.strikes(now_ns):
            self._decide()
        sent = self.producers.send(now_ns, tick, due, self.granted)
        for partition, count in sent.items():
            self.ends[partition] += count
            self.end += count
            self.moving += count
        if sent:
            self.transit.append((now_ns + self.model.transit_ns, sent))

    def _arrive(self, now_ns: int) -> None:
        while self.transit and self.transit[0][0] <= now_ns:
            for partition, count in self.transit.popleft()[1].items():
                self.slots.arrive(partition, count, now_ns)
                self.moving -= count

    def _decide(self) -> None:
        if self.by_credit:
            self.by_credit = self.by_credit.decide(Seen(self.slots.processed, self.producers.claimed))
            self.granted = self.by_credit.granted
        elif self.by_lag:
            self.by_lag, reason = self.by_lag.decide(self.lag)
            if reason:
                self.granted = [0 if self.by_lag.paused else _OPEN] * self.model.producers
                self.totals.pauses += reason == PAUSE
                self.totals.resumed |= reason == RESUME

    def _row(self, now_ns: int, due: int) -> Row:
        lags = [end - committed for end, committed in zip(self.ends, self.committed, strict=True)]
        worst_lag = max(lags)
        return Row(
            now_ns,
            due,
            self.end,
            self.commit,
            self.slots.processed,
            lags.index(worst_lag),
            worst_lag,
            self.by_lag.paused if self.by_lag else None,
            sum(self.by_credit.granted) if self.by_credit else None,
        )

    def _summary(self, end_before: int, processed_before: int) -> Summary:
        seconds = self.model.measure_ns / NS_PER_SECOND
        totals, dropped = self.totals, sum(self.producers.dropped)
        due_before = self.due[self.model.warmup_ns // TICK_NS]
        return Summary(
            offered_per_second=(self.due[-1] - due_before) / seconds,
            sent_per_second=(self.end - end_before) / seconds,
            processed_per_second=(self.slots.processed - processed_before) / seconds,
            utilisation=self.slots.busy_ns / (self.model.slots * self.model.measure_ns),
            peak_lag=totals.peak_lag,
            mean_lag=totals.lag / totals.ticks,
            peak_outstanding=totals.peak_outstanding,
            mean_outstanding=totals.outstanding / totals.ticks,
            first_peak_lag=totals.first_peak_lag,
            first_peak_outstanding=totals.first_peak_outstanding,
            held_share=totals.held_ticks / totals.ticks,
            pauses=totals.pauses,
            held=0 if self.model.held == "drop" else self.producers.held,
            dropped=dropped,
        )
