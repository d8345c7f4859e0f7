"""The runs of one variant: median and range, and intervals of mean and median where so many runs allow them."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from streamgauge.domain.latency.buckets import Floats
from streamgauge.statistics import limits
from streamgauge.statistics.null import between

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class OfRuns:
    """A figure of several runs. Intervals are None with too few runs, and where all runs have the same value."""

    count: int
    median: float
    least: float
    most: float
    mean: float
    """Geometric where every value is positive, else arithmetic."""
    deviation: float | None
    """The standard deviation of one run: of its logarithm where every value is positive. None for a single run."""
    mean_interval: Interval | None
    """Of the mean, by Student's t; on logarithms where every value is positive."""
    median_interval: Interval | None
    """Of the median, by order statistics, which hold whatever the distribution."""
    bootstrap_interval: Interval | None
    """Of the median, by the bias-corrected and accelerated bootstrap (Efron, 1987)."""


def summary(values: Sequence[float], seed: int = 0, level: float = limits.LEVEL) -> OfRuns:
    """The summary of at least one run; `seed` is that of the bootstrap, and intervals leave out a share `level`.

    Raises ValueError without a run.
    """
    if not values:
        raise ValueError("no runs")
    ordered = np.sort(np.asarray(values, np.float64))
    is_positive = bool(ordered[0] > 0)
    scaled = np.log(ordered) if is_positive else ordered
    mean, varies = float(scaled.mean()), bool(ordered[0] < ordered[-1])
    deviation = float(scaled.std(ddof=1)) if len(ordered) > 1 else None
    found = _mean_interval(mean, deviation, len(ordered), level) if varies and deviation else None
    return OfRuns(
        count=len(ordered),
        median=float(np.median(ordered)),
        least=float(ordered[0]),
        most=float(ordered[-1]),
        mean=math.exp(mean) if is_positive else mean,
        deviation=deviation,
        mean_interval=(math.exp(found[0]), math.exp(found[1])) if found and is_positive else found,
        median_interval=_median_interval(ordered, level) if varies else None,
        bootstrap_interval=_bootstrap_interval(ordered, seed, level) if varies else None,
    )


def _mean_interval(mean: float, deviation: float, count: int, level: float) -> Interval:
    half = float(stats.t.ppf(1 - level / 2, count - 1)) * deviation / math.sqrt(count)
    return mean - half, mean + half


def _median_interval(ordered: Floats, level: float) -> Interval | None:
    """The values at two ranks: the median lies outside if too few of the runs lie on one side of it (sign test)."""
    return between(ordered, stats.binom.pmf(np.arange(len(ordered) + 1), len(ordered), 0.5), level)


def _bootstrap_interval(ordered: Floats, seed: int, level: float) -> Interval | None:
    if len(ordered) < limits.BOOTSTRAP_FROM:
        return None
    # Where most values are the same, hardly a resample has another median, and nothing can be accelerated.
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        found = stats.bootstrap(
            (ordered,), np.median, confidence_level=1 - level, method="BCa", rng=np.random.default_rng(seed)
        ).confidence_interval
    low, high = float(found.low), float(found.high)
    return None if math.isnan(low) or math.isnan(high) else (low, high)
