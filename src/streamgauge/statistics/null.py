"""What ranks look like by chance: how often each rank sum comes when nothing differs. Exact, without ties."""

import math

import numpy as np

from streamgauge.domain.latency.buckets import Floats
from streamgauge.statistics import limits


def rank_sums(ones: int, others: int) -> Floats:
    """The probabilities of each Mann-Whitney U, from 0 to ones * others.

    U counts the pairs in which the one is larger. The number of arrangements of each U is a coefficient of the Gaussian
    binomial (Mann and Whitney, 1947).
    """
    counts = np.ones(1)
    for place in range(1, ones + 1):
        factor = np.zeros(others + place + 1)
        factor[0], factor[-1] = 1, -1
        counts = _divided(np.convolve(counts, factor), place)
    return counts / math.comb(ones + others, ones)


def _divided(counts: Floats, step: int) -> Floats:
    """A polynomial divided by 1 - x^step, which leaves nothing over."""
    out = counts.copy()
    for place in range(step, len(out)):
        out[place] += out[place - step]
    return out[:-step]


def signed_rank_sums(pairs: int) -> Floats:
    """The probabilities of each sum of positive ranks, from 0 to pairs * (pairs + 1) / 2 (Wilcoxon, 1945)."""
    counts = np.ones(1)
    for rank in range(1, pairs + 1):
        factor = np.zeros(rank + 1)
        factor[0] = factor[-1] = 0.5
        counts = np.convolve(counts, factor)
    return counts


def least_rank_sum_p(ones: int, others: int) -> float:
    """The smallest two-sided p-value that so many runs of two variants can have: if none overlap."""
    return min(1.0, 2 / math.comb(ones + others, ones))


def least_signed_rank_p(pairs: int) -> float:
    """The smallest two-sided p-value that so many pairs can have: if all have the same sign."""
    return 2.0 ** (1 - pairs)


def between(ordered: Floats, probabilities: Floats, level: float = limits.LEVEL) -> tuple[float, float] | None:
    """The interval of a rank test: without so many of the values on either side as have ranks that are too rare.

    None where none may be left out.
    """
    outside = cut(probabilities, level)
    return None if outside is None else (float(ordered[outside - 1]), float(ordered[len(ordered) - outside]))


def cut(probabilities: Floats, level: float) -> int | None:
    """How many of the lowest values are so rare together that, with as many of the highest, they stay within `level`.

    None where even the lowest alone comes too often.
    """
    within = np.cumsum(probabilities) <= level / 2 * (1 + 1e-12)
    count = int(np.count_nonzero(within))
    return count or None
