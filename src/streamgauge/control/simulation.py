"""What is simulated: a load, consumers and a policy as numbers, from a scenario."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadInput, Fault
from streamgauge.scenario import Consume, Load, Scenario
from streamgauge.scenario.model.backpressure import Backpressure
from streamgauge.scenario.model.consume import Commit
from streamgauge.scenario.model.pacing.pace import Pace
from streamgauge.scenario.model.pacing.processing import Processing
from streamgauge.workload.pacing import Int64s, Pacer, count_before
from streamgauge.workload.pacing.build import pacer_of
from streamgauge.workload.processing import Stretch, stretches

TICK_NS: Final = NS_PER_MS
"""Time passes in steps of so long; consumers finish messages at any time in between."""
LONGEST_NS: Final = 600 * NS_PER_SECOND
MOST_MESSAGES: Final = 20_000_000
"""More would not be over in a minute."""
FASTEST: Final = 200_000.0
"""What all producers together send, and all consumers together take, at most: messages a second."""

_LINGER_MS: Final = 5.0
_AUTO_COMMIT_MS: Final = 5000.0
"""librdkafka's own."""

Overdue = Literal["keep", "drop"]
"""What becomes of messages that are due and may not be sent: they are sent later, or never."""


@dataclass(frozen=True, slots=True)
class Sticky:
    """A producer stays with a partition that it drew, until one of these is over; None never is."""

    lasts_ns: int | None = None
    """As librdkafka does it: `sticky.partitioning.linger.ms`. 0 draws for each message, as keys do."""
    messages: int | None = None
    """A batch's worth, as Java's producer does it."""


@dataclass(frozen=True, slots=True)
class LagModel:
    """A load, consumers and a policy. Times are in ns; those of the run begin with the measure phase."""

    schedule: Pacer
    """Of all producers together; its zero is the begin of the warm-up."""
    processing: Processing
    measure_ns: int
    warmup_ns: int = 0
    partitions: int = 12
    queues: int = 12
    """Partitions are dealt out to so many queues, which wait for slots of their own."""
    slots_each: int = 1
    producers: int = 1
    sticky: Sticky | None = None
    """How partitions are drawn; None is round robin."""
    policy: Backpressure | None = None
    sampling_ns: int | None = NS_PER_SECOND
    """Between two samples of the lag; None for none."""
    commit_ns: int | None = NS_PER_SECOND
    """Between two commits of what was processed; None for none."""
    transit_ns: int = 5 * NS_PER_MS
    """From the send of a message until a consumer has it: linger, broker and fetch."""
    held: Overdue = "keep"
    fastest: float = FASTEST
    seed: int = 42

    @property
    def slots(self) -> int:
        """Messages that are processed at once, at most."""
        return self.queues * self.slots_each

    @property
    def least_ns(self) -> float:
        """What a message takes even where nothing is done with it."""
        return self.slots * NS_PER_SECOND / self.fastest

    def capacity(self, at_ns: int) -> float:
        """Messages a second that busy consumers process at this time."""
        now = [each for each in stretches(self.processing) if each.at_ns <= at_ns][-1]
        return self.slots * NS_PER_SECOND / max(_mean_ns(now), self.least_ns)

    def due(self, every_ns: int) -> Int64s:
        """How many messages are due by the begin of the load, by `every_ns` later, and so on to the end.

        Raises BadInput where they are too many.
        """
        load_ns = self.warmup_ns + self.measure_ns
        count = count_before(self.schedule, load_ns + 1, MOST_MESSAGES)
        if count == MOST_MESSAGES:
            what = f"asks for {MOST_MESSAGES:,} messages or more, which is too many to simulate"
            raise BadInput.single("load.rate", what, "Write a lower rate, or simulate less time")
        times = self.schedule.due_ns(0, count)
        by: Int64s = np.searchsorted(times, np.arange(0, load_ns + 1, every_ns), side="right").astype(np.int64)
        return by


def _mean_ns(stretch: Stretch) -> float:
    return stretch.delay_ns + stretch.jitter_ns / 2


def model_of(scenario: Scenario) -> LagModel:
    """What a scenario says, as a model; raises BadInput with everything in it that the model does not know."""
    faults = list(_unknown(scenario))
    if faults or scenario.load is None or scenario.consume is None:
        raise BadInput(faults)
    load, consume, phases = scenario.load, scenario.consume, scenario.phases
    processing = consume.processing or Processing()
    queues, slots_each = slots_of(scenario)
    rate = FASTEST if load.rate == "max" else load.rate
    schedule = pacer_of(rate, producer=0, producers=1, seed=scenario.seed, warmup_ns=phases.warmup)
    assert schedule is not None
    return LagModel(
        schedule=schedule,
        processing=processing,
        measure_ns=phases.measure_ns,
        warmup_ns=phases.warmup,
        partitions=1 if isinstance(load.partition, int) else scenario.places,
        queues=queues,
        slots_each=slots_each,
        producers=scenario.producers,
        sticky=_sticky(load),
        policy=scenario.backpressure,
        sampling_ns=scenario.lag.every if scenario.lag else None,
        commit_ns=_commit_ns(consume, scenario.consumers, queues * slots_each / max(processing.mean_delay_ns, 1)),
        transit_ns=_ms(load.client, _LINGER_MS, "linger.ms", "queue.buffering.max.ms"),
        held=scenario.backpressure.held if scenario.backpressure else "keep",
        seed=scenario.seed,
    )


def _unknown(scenario: Scenario) -> Iterator[Fault]:
    """What the model does not know."""
    load, consume, phases = scenario.load, scenario.consume, scenario.phases
    if load is None or consume is None:
        yield Fault("load, consume", "one of them is off", "Use a scenario that produces and consumes")
    if load and (load.is_closed or (isinstance(load.rate, Pace) and load.rate.replay)):
        yield Fault("load.rate", "closed loops and replays are not simulated", "Write a rate or another shape")
    if consume and consume.processing and (consume.processing.skip or consume.processing.function):
        yield Fault("consume.processing", "skip and function are not simulated", "Write a delay")
    if consume and consume.retry:
        yield Fault("consume.acknowledge", "retry topics are not simulated", "Write offsets")
    if scenario.rate_per_consumer:
        yield Fault("consume.rate", "is not simulated", "Write an equivalent delay")
    if scenario.faults:
        yield Fault("faults", "are not simulated", "Leave them out: --set faults=[]")
    if not isinstance(phases.measure, int):
        yield Fault("phases.measure", "this end condition is not simulated", "Write a duration")
    elif phases.warmup + phases.measure > LONGEST_NS:
        yield Fault("phases", "warm-up and measure phase are longer than 10 minutes", "Write shorter ones")


def slots_of(scenario: Scenario) -> tuple[int, int]:
    """Queues of a group, and slots of each."""
    processing = (scenario.consume and scenario.consume.processing) or Processing()
    places = 1 if scenario.load and isinstance(scenario.load.partition, int) else scenario.places
    if processing.order == "partitions":
        return places, 1
    return min(scenario.consumers, places), processing.slots


def _sticky(load: Load) -> Sticky | None:
    if load.partition != "client":
        return None
    if load.keys != "none":
        return Sticky(lasts_ns=0)
    linger_ms = _ms(load.client, _LINGER_MS, "linger.ms", "queue.buffering.max.ms") / NS_PER_MS
    return Sticky(lasts_ns=_ms(load.client, 2 * linger_ms, "sticky.partitioning.linger.ms"))


def _commit_ns(consume: Consume, consumers: int, per_ns: float) -> int | None:
    """Between two commits; those by number come as fast as messages are processed, `per_ns` in all."""
    if consume.commit == "never":
        return None
    if consume.commit == "batch":
        return TICK_NS
    if isinstance(consume.commit, Commit):
        by_number = (consume.commit.messages or 0) * consumers / per_ns
        return consume.commit.interval or max(TICK_NS, int(by_number))
    return _ms(consume.client, _AUTO_COMMIT_MS, "auto.commit.interval.ms")


def _ms(client: dict[str, Any], default: float, *names: str) -> int:
    """A setting in ms as ns."""
    given = next((client[name] for name in names if name in client), default)
    return int(float(given) * NS_PER_MS)
