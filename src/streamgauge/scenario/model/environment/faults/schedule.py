"""The faults of a scenario one by one: repeated ones each time, those of a nemesis as they are drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from streamgauge.scenario.model.environment.faults.kinds import DoneFault, Injected
from streamgauge.scenario.model.environment.faults.nemesis import Nemesis


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One fault, once."""

    at_ns: int
    """After the start of the measure phase; with a condition, from when on it is looked at."""
    fault: DoneFault
    place: int
    """Place in the scenario of the fault that it is of: those of the same follow each other, and never overlap."""
    times: int = 0
    """How often it was done before, where it waits for its condition again."""

    @property
    def lasts_ns(self) -> int:
        """How long it lasts; 0 where it has no end, or ends by itself."""
        return self.fault.for_ or 0


def occurrences(faults: Sequence[Injected], measure_ns: int, seed: int) -> list[Occurrence]:
    """What is to be done in a measure phase of that length, in the order of the times.

    A repeated fault is done as often as it ends within the phase; one with a condition is named once.
    """
    found = [each for place, fault in enumerate(faults) for each in _of(fault, place, measure_ns, seed)]
    return sorted(found, key=lambda each: (each.at_ns, each.place))


def _of(fault: Injected, place: int, measure_ns: int, seed: int) -> Iterator[Occurrence]:
    if isinstance(fault, Nemesis):
        for drawn in fault.drawn(measure_ns, Random(f"{seed}-{place}")):  # noqa: S311 - no secret is drawn
            yield Occurrence(drawn.at, drawn, place)
        return
    yield Occurrence(fault.at, fault, place)
    if fault.when is None and fault.every is not None:
        for at_ns in range(fault.at + fault.every, measure_ns - (fault.for_ or 0), fault.every):
            yield Occurrence(at_ns, fault, place)
