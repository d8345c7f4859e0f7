"""From the rate of a scenario to the pacer of a producer.

Apart from the pacers, so that workers, which need only those, start without a validation library.
"""

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.text.quantities import fraction
from streamgauge.scenario.model import pace
from streamgauge.workload.pacing.constant import constant
from streamgauge.workload.pacing.drawn import Poisson, Windows
from streamgauge.workload.pacing.pacer import Int64s, Pacer
from streamgauge.workload.pacing.recorded import Recorded
from streamgauge.workload.pacing.share import Share, Whole
from streamgauge.workload.pacing.varying import Piece, VaryingRate


def pacer_of(
    rate: pace.Pacing, *, producer: int, producers: int, seed: int, warmup_ns: int, arrivals: Int64s | None = None
) -> Pacer | None:
    """The schedule of one of `producers` producers that share a load; None for `max` and closed loops, which have none.

    The zero of a shape is `warmup_ns` after the start of the load; before, it runs at its initial rate. `arrivals` are
    those of a replay, in ns from the first one, never falling; ValueError where a replay has none.
    """
    if isinstance(rate, float):
        return constant(rate, producer, producers)
    if isinstance(rate, str) or rate.closed:
        return None
    if rate.replay is None:
        return Share(_whole(rate, seed, warmup_ns), producer, producers)
    if arrivals is None:
        raise ValueError("a replay without its arrivals")
    return Recorded.share(arrivals, fraction(rate.replay.scale), warmup_ns, producer, producers)


def _whole(rate: pace.Pace, seed: int, warmup_ns: int) -> Whole:
    """The schedule of all producers together."""
    match rate.chosen[1]:
        case pace.Poisson(rate=mean):
            return Poisson(seed, mean)
        case pace.Windows() as shape:
            return Windows(
                seed,
                messages=shape.messages,
                deviation=shape.deviation,
                hold=shape.hold,
                window_ns=shape.window,
                spread=shape.spread,
                # One window begins with the measure phase, the others before and after it.
                start_ns=warmup_ns % shape.window,
            )
        case shape:
            return _varying(shape, warmup_ns)


def _varying(shape: pace.Ramp | pace.Steps | pace.Spike | pace.Burst | pace.Segments, warmup_ns: int) -> VaryingRate:
    """The warm-up at the initial rate, the pieces of a shape, and those that follow again and again."""
    match shape:
        case pace.Ramp():
            initial, once, again = shape.from_, [_piece(shape.from_, shape.to, shape.over)], _hold(shape.to)
        case pace.Steps():
            initial, once, again = shape.from_, _stairs(shape), _hold(shape.to)
        case pace.Spike():
            once = [_piece(shape.base, shape.base, shape.at), _piece(shape.peak, shape.peak, shape.for_)]
            initial, again = shape.base, _hold(shape.base)
        case pace.Burst():
            burst = _piece(shape.burst, shape.burst, shape.for_)
            initial, once, again = shape.base, [], [burst, _piece(shape.base, shape.base, shape.every - shape.for_)]
        case pace.Segments():
            pieces = [_piece(each.rate, each.end, each.for_) for each in shape.segments]
            initial, once = shape.segments[0].rate, pieces
            again = {"hold": _hold(shape.segments[-1].end), "repeat": pieces, "stop": []}[shape.then]
    first = [_piece(initial, initial, warmup_ns), *once]
    return VaryingRate([piece for piece in first if piece.duration_ns], again)


def _stairs(shape: pace.Steps) -> list[Piece]:
    first, last = fraction(shape.from_), fraction(shape.to)
    rates = [first + (last - first) * step / (shape.steps - 1) for step in range(shape.steps)]
    return [Piece(rate, rate, shape.each) for rate in rates]


def _hold(rate: float) -> list[Piece]:
    return [_piece(rate, rate, NS_PER_SECOND)]


def _piece(begin: float, end: float, duration_ns: int) -> Piece:
    return Piece(fraction(begin), fraction(end), duration_ns)
