"""A run without a broker: lag over time from a model, with the policies that real runs use.

Time passes in ticks. In each, what consumers finished meanwhile is counted first; then whatever is due of commits,
samples and decisions happens; then producers send. Nothing is a surprise but the draws: processing times, partitions of
sticky producers, and where in its interval each clock begins, all by the seed.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from streamgauge.control.credit import Credits, Seen
from streamgauge.control.hysteresis import PAUSE, RESUME, LagHysteresis
from streamgauge.control.simulation import TICK_NS, LagModel
from streamgauge.control.stations import OPEN, Clock, Producers, SimulatedSlots, Totals
from streamgauge.domain.clock import NS_PER_SECOND

_DRAWS: Final = 41
"""What is drawn, in the seed: processing times have other numbers."""


class SimulatedMoment(NamedTuple):
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

    rows: tuple[SimulatedMoment, ...]
    summary: Summary
    waiting: int
    """Messages that were with no slot at the end, on their way to consumers included."""
    in_slots: int
    """Messages that were being processed at the end."""
    finished: int
    """Messages whose processing was over, in whatever order."""


def simulate(model: LagModel, every_ns: int = NS_PER_SECOND) -> Simulated:
    """Carry out a model; a row at the begin of the measure phase and every `every_ns` from then on."""
    return _Run(model).carried_out(every_ns)


class _Run:
    """The state of one simulation."""

    def __init__(self, model: LagModel) -> None:
        self.model = model
        random = np.random.default_rng([model.seed, _DRAWS])
        self.slots, self.producers = SimulatedSlots(model), Producers(model, random)
        self.due = model.due(TICK_NS).tolist()
        self.begin_ns = -model.warmup_ns
        poll_ns = model.policy.poll_ns if model.policy else None
        self.commits, self.samples, self.decisions = (
            Clock(every_ns, self.begin_ns + int(random.integers(every_ns or 1)))
            for every_ns in (model.commit_ns, model.sampling_ns, poll_ns)
        )
        self.ends, self.end = [0] * model.partitions, 0
        self.committed, self.commit = [0] * model.partitions, 0
        self.lag: int | None = None
        self.transit: deque[tuple[int, dict[int, int]]] = deque()
        self.moving = 0
        self.totals = Totals()
        hysteresis, credit = (model.policy.hysteresis, model.policy.credit) if model.policy else (None, None)
        self.by_lag = LagHysteresis(hysteresis.max_lag, hysteresis.resume) if hysteresis else None
        self.by_credit = Credits.none(credit.limit, model.producers) if credit else None
        self.granted: Sequence[int] = [OPEN] * model.producers
        if self.by_credit:
            self._decide()

    def carried_out(self, every_ns: int) -> Simulated:
        """From the begin of the warm-up to the end of the measure phase."""
        rows, shows, at_zero = [], Clock(every_ns, 0), (0, 0)
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
                self.granted = [0 if self.by_lag.paused else OPEN] * self.model.producers
                self.totals.pauses += reason == PAUSE
                self.totals.resumed |= reason == RESUME

    def _row(self, now_ns: int, due: int) -> SimulatedMoment:
        lags = [end - committed for end, committed in zip(self.ends, self.committed, strict=True)]
        worst_lag = max(lags)
        return SimulatedMoment(
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
