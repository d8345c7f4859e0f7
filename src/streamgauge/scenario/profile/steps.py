"""The steps of a load: the stretches of the measure phase in which its rate stays the same, or changes evenly."""

from collections.abc import Iterator
from dataclasses import dataclass

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.scenario.profile.model import PaceProfile, PaceSegment


@dataclass(frozen=True, slots=True)
class LoadStep:
    """A step by its full seconds, counted from the start of the measure phase; `end` is no longer in it."""

    number: int
    """From 1 on, of all steps of the load."""
    begin: int
    end: int
    from_per_second: float
    to_per_second: float


def load_steps(pace: PaceProfile | None, measure_ns: int) -> list[LoadStep]:
    """The steps of ramps, steps, spikes and segments that are not repeated; none of loads without several of them.

    A step without a full second is left out.
    """
    # What is repeated has no end of steps.
    if pace is None or not pace.segments or pace.then == pace.segments:
        return []
    found = [step for step in _steps(pace, measure_ns) if step.begin < step.end]
    return found if len(found) > 1 else []


def _steps(pace: PaceProfile, measure_ns: int) -> Iterator[LoadStep]:
    at_ns = 0
    for number, piece in enumerate(_pieces(pace, measure_ns), 1):
        end_ns = min(at_ns + piece.for_ns, measure_ns)
        begin, end = -(-at_ns // NS_PER_SECOND), end_ns // NS_PER_SECOND
        yield LoadStep(number, begin, end, piece.from_per_second, piece.to_per_second)
        at_ns += piece.for_ns


def _pieces(pace: PaceProfile, measure_ns: int) -> list[PaceSegment]:
    """The pieces of a shape, and the rate that is kept afterwards: in a step of its own only if it is another one."""
    pieces = list(pace.segments)
    last, kept = pieces[-1], pace.then[:1]
    if kept and {last.from_per_second, last.to_per_second} == {kept[0].from_per_second}:
        pieces.pop()
    return [*pieces, *(each.model_copy(update={"for_ns": measure_ns}) for each in kept)]
