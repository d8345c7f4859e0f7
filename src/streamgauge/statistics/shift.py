"""How far two variants differ: an estimate, its interval and how often chance alone would differ as much.

Everything is on one scale, on which a shift is a difference: logarithms, or the values themselves.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from scipy import stats

from streamgauge.domain.latency.buckets import Floats
from streamgauge.statistics import limits
from streamgauge.statistics.null import between, rank_sums, signed_rank_sums

_SEED: Final = 1
"""Of arrangements that are drawn: the same runs get the same answer."""


@dataclass(frozen=True, slots=True)
class Shift:
    """How far the second variant lies above the first."""

    method: str
    estimate: float
    low: float | None
    """Both ends are None where so few runs have no interval."""
    high: float | None
    p: float
    """Two-sided."""
    direction: float
    """Above 0 where the test finds the second variant higher, below where it finds it lower. Where most values are the
    same, the estimate does not tell: it is 0, also where all others lie on one side."""


def paired_t(differences: Floats, level: float = limits.LEVEL) -> Shift:
    """Student's t of the differences of pairs, which must vary; the interval leaves out a share `level`."""
    count = len(differences)
    mean, error = float(differences.mean()), float(differences.std(ddof=1)) / math.sqrt(count)
    half = float(stats.t.ppf(1 - level / 2, count - 1)) * error
    p = float(2 * stats.t.sf(abs(mean) / error, count - 1))
    return Shift("paired t", mean, mean - half, mean + half, p, mean)


def signed_rank(differences: Floats, level: float = limits.LEVEL) -> Shift:
    """Wilcoxon's signed ranks, and the median of Walsh averages (Hodges and Lehmann, 1963) of the differences of pairs.

    Ties share their ranks, and differences of 0 count for neither side.
    """
    count = len(differences)
    ranks = stats.rankdata(np.abs(differences)) * np.sign(differences)
    upper = np.triu_indices(count)
    averages = np.sort(((differences[:, None] + differences[None, :]) / 2)[upper])
    low, high = between(averages, signed_rank_sums(count), level) or (None, None)
    return Shift("signed ranks", float(np.median(averages)), low, high, sign_flip_p(ranks), float(ranks.sum()))


def rank_sum(ones: Floats, others: Floats, level: float = limits.LEVEL) -> Shift:
    """Mann-Whitney's test, and the median of all differences (Hodges and Lehmann, 1963) between two variants."""
    ranks = stats.rankdata(np.concatenate([ones, others]))
    of_ones, of_others = ranks[: len(ones)], ranks[len(ones) :]
    has_ties = len(np.unique(ranks)) < len(ranks)
    differences = np.sort((others[None, :] - ones[:, None]).ravel())
    low, high = between(differences, rank_sums(len(ones), len(others)), level) or (None, None)
    p = _rearranged(of_ones, of_others) if has_ties else float(stats.mannwhitneyu(ones, others, method="exact").pvalue)
    direction = float(of_others.mean() - of_ones.mean())
    return Shift("rank sums", float(np.median(differences)), low, high, p, direction)


def has_outliers(values: Floats) -> bool:
    """Whether one of them is further from the mean than the farthest of so many normal values is (Grubbs, 1969)."""
    count = len(values)
    deviation = float(values.std(ddof=1)) if count > 2 else 0.0
    if deviation <= 1e-12 * float(np.abs(values).max(initial=0.0)):
        return False
    beyond = float(stats.t.ppf(1 - limits.OUTLIER_LEVEL / (2 * count), count - 2)) ** 2
    critical = (count - 1) / math.sqrt(count) * math.sqrt(beyond / (count - 2 + beyond))
    return bool(np.abs(values - values.mean()).max() > critical * deviation)


def sign_flip_p(differences: Floats) -> float:
    """How often the mean of pairs is as far from 0 if each difference might as well have the other sign (Fisher)."""
    if len(differences) < 2:
        return 1.0
    found = stats.permutation_test(
        (differences,),
        lambda sample, axis: np.mean(sample, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=limits.MOST_ARRANGEMENTS,
        rng=np.random.default_rng(_SEED),
    )
    return float(found.pvalue)


def _rearranged(ones: Floats, others: Floats) -> float:
    """How often the mean ranks of two variants differ as much if runs are dealt out at random."""
    if min(len(ones), len(others)) < 2:
        return 1.0
    return _dealt_out(tuple(sorted(ones)), tuple(sorted(others)))


@lru_cache(1024)
def _dealt_out(ones: tuple[float, ...], others: tuple[float, ...]) -> float:
    """The same of ranks. Many figures of the same runs, such as counts of 0, are ranked alike."""
    found = stats.permutation_test(
        (ones, others),
        lambda one, other, axis: np.mean(one, axis=axis) - np.mean(other, axis=axis),
        permutation_type="independent",
        vectorized=True,
        n_resamples=limits.MOST_ARRANGEMENTS,
        rng=np.random.default_rng(_SEED),
    )
    return float(found.pvalue)
