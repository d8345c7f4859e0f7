"""How wrong this instrument was on a machine when what it measured was known: which calibration speaks for a run."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.scenario.profile.model import PaceProfile

OLD_DAYS: Final = 30.0
"""An older calibration speaks only where there is no younger one."""
MACHINE: Final = ("system", "architecture", "processor", "cores", "usable_cores", "cpu_quota_cores")
"""The facts that tell machines apart."""
_DAY_NS: Final = 86_400 * NS_PER_SECOND


@dataclass(frozen=True, slots=True)
class Calibration:
    """Signed errors at one rate."""

    machine: Mapping[str, Any]
    version: str
    """Of streamgauge."""
    rate: float
    """Messages a second."""
    wall_ns: int
    """When it was made, on the wall clock."""
    errors_ms: Mapping[str, float]
    """Measured less planted, by figures like `end_to_end.response.p99`."""
    miscounted: tuple[str, ...] = ()
    """Counts of the delivery that were not what was planted."""

    def age_days(self, wall_ns: int) -> float:
        """How old it is; not below zero, whatever was done to the clock."""
        return max(0.0, (wall_ns - self.wall_ns) / _DAY_NS)

    def is_old(self, wall_ns: int) -> bool:
        """Whether it should be made again."""
        return self.age_days(wall_ns) > OLD_DAYS


def machine_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What tells a machine from others, of the facts in run.json."""
    return {name: facts.get(name) for name in MACHINE}


def of_machine(calibrations: Iterable[Calibration], machine: Mapping[str, Any]) -> list[Calibration]:
    """Those of a machine; `machine` is what run.json says of it."""
    wanted = machine_of(machine)
    return [each for each in calibrations if machine_of(each.machine) == wanted]


def of_version(calibrations: Iterable[Calibration], version: str) -> list[Calibration]:
    """Those made with a version."""
    return [each for each in calibrations if each.version == version]


def nearest(
    calibrations: Iterable[Calibration], machine: Mapping[str, Any], version: str, rate: float | None, wall_ns: int
) -> Calibration | None:
    """The calibration that speaks for a run at a rate; None where this version has none on this machine.

    That of the nearest rate by ratio, of those that are not old where there are any; of one rate the youngest. For a
    run without a target rate (None) that of the highest. `rate` is that of `rate_of`.
    """
    return min(
        of_version(of_machine(calibrations, machine), version),
        key=lambda each: (each.is_old(wall_ns), _apart(each.rate, rate), each.age_days(wall_ns)),
        default=None,
    )


def rate_of(pace: PaceProfile | None) -> float | None:
    """The rate in messages a second that a calibration should have been made at; None without a target.

    Of a shape without a mean the highest rate: the busiest seconds have the largest errors, and most of its messages.
    """
    if pace is None or pace.per_second is not None:
        return pace.per_second if pace else None
    rates = [rate for each in (*pace.segments, *pace.then) for rate in (each.from_per_second, each.to_per_second)]
    return max(rates, default=0.0) or None


def _apart(one: float, other: float | None) -> float:
    """How far two rates are apart, by ratio; of nothing, the highest is the nearest."""
    return abs(math.log(one / other)) if other else -one
