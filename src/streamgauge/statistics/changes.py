"""Where a series of runs changed its level: change points, and what chance alone would show as one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from ruptures import KernelCPD

from streamgauge.domain.latency.buckets import Floats
from streamgauge.statistics import limits

_SEED: Final = 1
_ORDERS: Final = 1_000
"""Random orders in which the runs are looked at."""


@dataclass(frozen=True, slots=True)
class RunLevel:
    """Runs in a row at one level: the places from `begin` to `end`, which is not included."""

    begin: int
    end: int
    mean: float
    """Geometric where every value of the series is positive, else arithmetic."""


def levels(values: Sequence[float], seed: int = _SEED) -> list[RunLevel] | None:
    """The levels of a series in the order of its runs; None with fewer runs than `FEWEST_IN_ORDER`.

    The cost of a level is the sum of squares around its mean, on logarithms where every value is positive; the levels
    are those with the least cost together, of at least `FEWEST_RUNS` runs each, where every change costs a penalty
    (PELT: Killick, Fearnhead and Eckley, 2012). The penalty is what the best single change saves in the same runs in a
    random order, in all but `CHANGE_LEVEL` of the orders; no distribution and no variance need to be known.
    """
    if len(values) < limits.FEWEST_IN_ORDER:
        return None
    given = np.asarray(values, np.float64)
    is_positive = bool((given > 0).all())
    scaled = np.log(given) if is_positive else given
    varies = bool(given.min() < given.max())
    ends = _ends(scaled, _penalty(scaled, seed)) if varies else [len(scaled)]
    found = [(begin, end, float(scaled[begin:end].mean())) for begin, end in pairwise([0, *ends])]
    return [RunLevel(begin, end, math.exp(mean) if is_positive else mean) for begin, end, mean in found]


def _ends(scaled: Floats, penalty: float) -> list[int]:
    search = KernelCPD(kernel="linear", min_size=limits.FEWEST_RUNS).fit(scaled.reshape(-1, 1))
    return [int(each) for each in search.predict(pen=penalty)]


def _penalty(scaled: Floats, seed: int) -> float:
    """What the best single change saves, in all but `CHANGE_LEVEL` of the random orders."""
    centred = scaled - scaled.mean()
    orders = np.random.default_rng(seed).permuted(np.tile(centred, (_ORDERS, 1)), axis=1)
    count, fewest = len(centred), limits.FEWEST_RUNS
    before = np.arange(fewest, count - fewest + 1)
    # Splitting centred values whose first k sum to s saves s^2 / k + s^2 / (n - k).
    sums = orders.cumsum(axis=1)[:, before - 1]
    saved = (sums**2 * (count / (before * (count - before)))).max(axis=1)
    # Of values that come several times, many orders save the same: rounding must not make one of them save more.
    return float(np.quantile(saved, 1 - limits.CHANGE_LEVEL, method="higher")) * (1 + 1e-9)
