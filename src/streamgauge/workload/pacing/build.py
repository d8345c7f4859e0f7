"""From the rate of a scenario to the pacer of a producer.

Apart from the pacers, so that workers, which need only those, start without a validation library.
"""

from streamgauge.domain.text.quantities import fraction
from streamgauge.scenario.model.pacing import pace, shapes
from streamgauge.scenario.profile.shapes import from_start
from streamgauge.workload.pacing.constant import constant
from streamgauge.workload.pacing.pacer import Int64s, Pacer
from streamgauge.workload.pacing.random import PoissonPacer, WindowPacer
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
        raise ValueError("a replay without arrivals")
    return Recorded.share(arrivals, fraction(rate.replay.scale), warmup_ns, producer, producers)


def _whole(rate: pace.Pace, seed: int, warmup_ns: int) -> Whole:
    """The schedule of all producers together."""
    match rate.chosen[1]:
        case shapes.Poisson(rate=mean):
            return PoissonPacer(seed, mean)
        case shapes.Windows() as shape:
            return WindowPacer(
                seed,
                messages=shape.messages,
                deviation=shape.deviation,
                most=shape.most,
                hold=shape.hold,
                window_ns=shape.window,
                spread=shape.spread,
                # One window begins with the measure phase, the others before and after it.
                start_ns=warmup_ns % shape.window,
            )
        case shape:
            return _varying(shape, warmup_ns)


def _varying(shape: object, warmup_ns: int) -> VaryingRate:
    """The warm-up at the initial rate, the pieces of a shape, and those that follow again and again."""
    once, again = ([Piece(*rates) for rates in each] for each in from_start(shape, warmup_ns))
    return VaryingRate(once, again)
