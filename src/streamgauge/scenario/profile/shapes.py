"""What rates a shape is made of, one after the other, and how many messages that makes."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.text.quantities import fraction
from streamgauge.scenario.model.pacing import pace, shapes


class Rates(NamedTuple):
    """Messages a second at the begin and at the end of a stretch of time, evenly between, and how long it lasts."""

    begin: Fraction
    end: Fraction
    for_ns: int

    def asked_in(self, span_ns: int) -> Fraction:
        """How many messages its first `span_ns` ask for."""
        reached = self.begin + (self.end - self.begin) * span_ns / self.for_ns
        return (self.begin + reached) * span_ns / (2 * NS_PER_SECOND)


def due_before(rate: pace.Pacing, warmup_ns: int, at_ns: int) -> float | None:
    """How many messages are due in the first `at_ns` of a load that begins with `warmup_ns` of warm-up.

    On average where they are drawn; None without a schedule, and where only a file tells.
    """
    shape = rate.chosen[1] if isinstance(rate, pace.Pace) else None
    once, again = from_start(shape, warmup_ns)
    if once or again:
        return float(_asked(once, again, at_ns))
    if isinstance(shape, shapes.Windows):
        # One window begins with the measure phase, the others before and after it.
        windows = Fraction(max(0, at_ns - warmup_ns % shape.window), shape.window)
        return shape.mean * float(windows if shape.spread else math.ceil(windows))
    mean = pace.mean_rate(rate)
    return None if mean is None else mean * at_ns / NS_PER_SECOND


def from_start(shape: object, warmup_ns: int) -> tuple[list[Rates], list[Rates]]:
    """As `rates_of`, but from the begin of the warm-up on, which has the initial rate."""
    once, again = rates_of(shape)
    if warmup_ns and (once or again):
        initial = once[0].begin if once else again[-1].end
        once = [Rates(initial, initial, warmup_ns), *once]
    return [rates for rates in once if rates.for_ns], again


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


def _asked(once: Sequence[Rates], again: Sequence[Rates], span_ns: int) -> Fraction:
    """How many messages these ask for in so many ns."""
    lasting_ns = sum(rates.for_ns for rates in again)
    turns, rest_ns = divmod(max(0, span_ns - sum(rates.for_ns for rates in once)), lasting_ns or 1)
    return _row(once, span_ns) + turns * _row(again, lasting_ns) + _row(again, rest_ns)


def _row(row: Sequence[Rates], span_ns: int) -> Fraction:
    """How many messages the first `span_ns` of a row ask for."""
    asked, left_ns = Fraction(0), span_ns
    for rates in row:
        within_ns = min(left_ns, rates.for_ns)
        asked, left_ns = asked + rates.asked_in(within_ns), left_ns - within_ns
    return asked


def _hold(rate: float) -> list[Rates]:
    return [_rates(rate, rate, NS_PER_SECOND)]


def _rates(begin: float, end: float, for_ns: int) -> Rates:
    return Rates(fraction(begin), fraction(end), for_ns)
