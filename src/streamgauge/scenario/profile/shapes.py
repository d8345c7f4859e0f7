"""What rates a shape is made of, one after the other."""

from fractions import Fraction
from typing import NamedTuple

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.text.quantities import fraction
from streamgauge.scenario.model.pacing import shapes


class Rates(NamedTuple):
    """Messages a second at the begin and at the end of a stretch of time, evenly between, and how long it lasts."""

    begin: Fraction
    end: Fraction
    for_ns: int


def rates_of(shape: object) -> tuple[list[Rates], list[Rates]]:
    """Those that come once, from the begin of the measure phase on, and then those that come again and again.

    None of a shape that is made of times or draws.
    """
    match shape:
        case shapes.Ramp():
            return [_rates(shape.from_, shape.to, shape.over)], _hold(shape.to)
        case shapes.Steps():
            first, last = fraction(shape.from_), fraction(shape.to)
            stairs = [first + (last - first) * step / (shape.steps - 1) for step in range(shape.steps)]
            return [Rates(rate, rate, shape.each) for rate in stairs], _hold(shape.to)
        case shapes.Spike():
            base, peak = _rates(shape.base, shape.base, shape.at), _rates(shape.peak, shape.peak, shape.for_)
            return [base, peak], _hold(shape.base)
        case shapes.Burst():
            burst = _rates(shape.burst, shape.burst, shape.for_)
            return [], [burst, _rates(shape.base, shape.base, shape.every - shape.for_)]
        case shapes.Segments():
            pieces = [_rates(each.rate, each.end, each.for_) for each in shape.segments]
            return pieces, {"hold": _hold(shape.segments[-1].end), "repeat": pieces, "stop": []}[shape.then]
    return [], []


def _hold(rate: float) -> list[Rates]:
    return [_rates(rate, rate, NS_PER_SECOND)]


def _rates(begin: float, end: float, for_ns: int) -> Rates:
    return Rates(fraction(begin), fraction(end), for_ns)
