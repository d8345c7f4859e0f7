"""What so many runs can show: the smallest effect, and the rounds that an effect needs. By Student's t."""

import math

from scipy import optimize, stats

from streamgauge.statistics import limits


def smallest_shift(
    deviation: float,
    ones: int,
    others: int | None = None,
    power: float = limits.POWER,
    level: float = limits.LEVEL,
) -> float:
    """The shift that a share `power` of such experiments find.

    `deviation` is that of the differences of pairs, and `ones` their number. With `others` it is that of one run, and
    these are the numbers of runs of two variants. On the scale of the deviation; infinite with a single pair.
    """
    freedom = ones - 1 if others is None else ones + others - 2
    if freedom < 1:
        return math.inf
    error = deviation * math.sqrt(1 / ones if others is None else 1 / ones + 1 / others)
    return error * _noncentrality(freedom, power, level)


def rounds_for(
    shift: float, deviation: float, power: float = limits.PLANNED_POWER, level: float = limits.LEVEL
) -> int | None:
    """How many pairs find this shift with this power, if their differences have this deviation.

    None where more would be needed than anybody should be asked for.
    """
    if deviation == 0:
        return limits.FEWEST_RUNS
    wanted = (each for each in range(limits.FEWEST_RUNS, limits.MOST_ROUNDS + 1))
    return next(
        (each for each in wanted if smallest_shift(deviation, each, power=power, level=level) <= abs(shift)), None
    )


def _noncentrality(freedom: int, power: float, level: float) -> float:
    """The noncentrality at which t is above its critical value with this power.

    A t beyond the other critical value would show the opposite.
    """
    critical = float(stats.t.ppf(1 - level / 2, freedom))
    high = critical
    while stats.nct.sf(critical, freedom, high) < power:
        high *= 1.5
    return float(optimize.brentq(lambda each: float(stats.nct.sf(critical, freedom, each)) - power, 0.0, high))
