"""What a scenario changes while it runs, apart from the faults that it injects: delays, and the edges of bursts."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from streamgauge.domain.text.numbers import per_second
from streamgauge.domain.text.quantities import format_duration
from streamgauge.scenario import Scenario
from streamgauge.scenario.model.pacing.pace import Pace
from streamgauge.workload.processing import stretches

CHANGES: Final = frozenset({("delay", "consumers"), ("burst", "producers")})
"""Their kinds and targets: rows of `faults` with others are faults."""


class ScenarioChange(NamedTuple):
    """One change, by the time after the begin of the measure phase."""

    at_ns: int
    kind: str
    """`delay` or `burst`."""
    target: str
    """`consumers` or `producers`."""
    action: str
    """`begin` where consumers become slower or producers faster, `end` where it is the other way round."""
    detail: str


def changes(scenario: Scenario, measured_ns: int) -> list[ScenarioChange]:
    """The changes that took place in a measure phase that lasted so long, in the order of their times."""
    found = [*_delays(scenario), *_bursts(scenario, measured_ns)]
    return sorted((each for each in found if each.at_ns < measured_ns), key=lambda each: each.at_ns)


def _delays(scenario: Scenario) -> Iterator[ScenarioChange]:
    processing = scenario.consume.processing if scenario.consume else None
    if processing is None:
        return
    for before, after in pairwise(stretches(processing)):
        slower = after.delay_ns + after.jitter_ns / 2 > before.delay_ns + before.jitter_ns / 2
        jitter = f" + {format_duration(after.jitter_ns)} jitter" if after.jitter_ns else ""
        detail = f"{format_duration(after.delay_ns)}{jitter}"
        yield ScenarioChange(after.at_ns, "delay", "consumers", "begin" if slower else "end", detail)


def _bursts(scenario: Scenario, measured_ns: int) -> Iterator[ScenarioChange]:
    rate = scenario.load.rate if scenario.load else None
    if not isinstance(rate, Pace):
        return
    if burst := rate.burst:
        for begin_ns in range(0, measured_ns, burst.every):
            yield ScenarioChange(begin_ns, "burst", "producers", "begin", per_second(burst.burst))
            yield ScenarioChange(begin_ns + burst.for_, "burst", "producers", "end", per_second(burst.base))
    if spike := rate.spike:
        yield ScenarioChange(spike.at, "burst", "producers", "begin", per_second(spike.peak))
        yield ScenarioChange(spike.at + spike.for_, "burst", "producers", "end", per_second(spike.base))
