"""Percentiles and moments of a latency from merged buckets: what one latency object of result.json says.

Nearest rank over buckets; the upper edge of the bucket is reported, clipped to the exact maximum. Messages that were
never delivered are censored: every percentile is an interval, whose low end counts them at their age at the end of the
drain and whose high end counts them as infinite.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.buckets import Int64s, upper_edge_ns

PERCENTILES: Mapping[str, int] = {
    "p50": 50_00,
    "p75": 75_00,
    "p90": 90_00,
    "p95": 95_00,
    "p99": 99_00,
    "p99_5": 99_50,
    "p99_9": 99_90,
    "p99_99": 99_99,
}
"""Name of each percentile and its rank in hundredths of a percent."""

SAMPLES_NEEDED: Mapping[str, int] = {"p99_9": 10_000, "p99_99": 100_000}

NOTHING = "no message was measured"
INFINITE = "the percentile lies among messages that were never delivered"


def percentile_words(percentile: str) -> str:
    """A percentile in words: `p99_9` is `99.9th percentile`."""
    return f"{percentile.removeprefix('p').replace('_', '.')}th percentile"


def too_few(needed: int, population: int) -> str:
    """Why there is no percentile that needs more samples than there are."""
    return f"needs {needed:,} samples, has {population:,}"


CDF_EDGES_MS = tuple(
    digit * 10.0**power for power in range(-2, 6) for digit in (1, 2, 5) if 0.05 <= digit * 10.0**power <= 500_000
)
"""Upper edges at which the distribution is tabulated: 0.05 ms to 500 s, three to the decade."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Exact figures of the delivered messages: count, extremes, sum and sum of squares, in ns."""

    count: int
    min_ns: int | None
    max_ns: int | None
    sum_ns: float
    sum_squares_ns2: float


@dataclass(frozen=True, slots=True)
class Buckets:
    """A histogram: bucket indices, ascending and unique, and the count in each."""

    index: Int64s
    count: Int64s

    @classmethod
    def merged(cls, index: Int64s, count: Int64s) -> "Buckets":
        """Buckets from rows in any order, equal indices added up."""
        unique, place = np.unique(np.asarray(index, np.int64), return_inverse=True)
        total = np.zeros(len(unique), np.int64)
        np.add.at(total, place, np.asarray(count, np.int64))
        return cls(unique, total)

    @property
    def total(self) -> int:
        """How many values were counted."""
        return int(self.count.sum())

    def plus(self, other: "Buckets") -> "Buckets":
        """Both histograms added up."""
        return Buckets.merged(np.concatenate([self.index, other.index]), np.concatenate([self.count, other.count]))


EMPTY = Buckets(np.zeros(0, np.int64), np.zeros(0, np.int64))


def rank_of(rank_in_10_000: int, population: int) -> int:
    """The nearest rank ceil(p * population), at least 1."""
    return max(1, -(-population * rank_in_10_000 // 10_000))


def percentile_ns(buckets: Buckets, rank_in_10_000: int, population: int, max_ns: int | None) -> int | None:
    """Nearest-rank percentile in ns: the upper edge of the bucket that holds rank ceil(p * population).

    `population` may exceed the buckets' total: the rest is infinite, and None is returned where the rank falls there.
    """
    place = int(np.searchsorted(np.cumsum(buckets.count), rank_of(rank_in_10_000, population)))
    if place >= len(buckets.index):
        return None
    edge = int(upper_edge_ns(buckets.index[place]))
    return edge if max_ns is None else min(edge, max_ns)


@dataclass(frozen=True, slots=True)
class Latency:
    """One latency: moments of what was delivered, percentiles over delivered and censored, and reasons for nulls."""

    selected_by: str
    moments: Moments
    censored: int
    percentiles_ns: Mapping[str, int | None]
    high_ends_ns: Mapping[str, int | None]
    mad_ns: int | None
    cdf: tuple[tuple[float, float], ...]
    reasons: Mapping[str, str] = field(default_factory=dict)

    def as_result(self) -> dict[str, Any]:
        """The latency object of result.json; times in ms, null where unknown, `_hi_ms` only where it differs."""
        count = self.moments.count
        mean = self.moments.sum_ns / count if count else None
        variance = max(0.0, self.moments.sum_squares_ns2 / count - mean * mean) if mean is not None else None
        out: dict[str, Any] = {
            "count": count,
            "censored": self.censored,
            "selected_by": self.selected_by,
            "min_ms": _ms(self.moments.min_ns),
            "mean_ms": _ms(mean),
            "stddev_ms": None if variance is None else variance**0.5 / NS_PER_MS,
            "variance_ms2": None if variance is None else variance / NS_PER_MS**2,
            "mad_ms": _ms(self.mad_ns),
        }
        for name, low in self.percentiles_ns.items():
            out[f"{name}_ms"] = _ms(low)
            if name in self.high_ends_ns:
                out[f"{name}_hi_ms"] = _ms(self.high_ends_ns[name])
        out["max_ms"] = _ms(self.moments.max_ns)
        out["cdf"] = [{"le_ms": edge, "share": share} for edge, share in self.cdf]
        out["reasons"] = dict(self.reasons)
        return out


def _ms(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / NS_PER_MS


def summarise(
    delivered: Buckets,
    moments: Moments,
    selected_by: str,
    censored_ages: Buckets = EMPTY,
    absent: str | None = None,
) -> Latency:
    """The latency of `delivered` messages with the `censored_ages` of those that never came.

    `absent` is the reason when there is no value at all; it stands for every null.
    """
    population = delivered.total + censored_ages.total
    if population == 0:
        reasons = {f"{name}_ms": absent or NOTHING for name in PERCENTILES}
        nothing: dict[str, int | None] = dict.fromkeys(PERCENTILES)
        return Latency(selected_by, moments, 0, nothing, {}, None, (), reasons)
    everything = delivered.plus(censored_ages)
    # The exact maximum is that of the delivered; an age may lie above it, so it clips only where nothing is censored.
    clip = moments.max_ns if censored_ages.total == 0 else None
    low: dict[str, int | None] = {}
    high: dict[str, int | None] = {}
    reasons = {}
    for name, rank in PERCENTILES.items():
        needed = SAMPLES_NEEDED.get(name, 1)
        if population < needed:
            low[name] = None
            reasons[f"{name}_ms"] = too_few(needed, population)
            continue
        low[name] = percentile_ns(everything, rank, population, clip)
        infinite = percentile_ns(delivered, rank, population, moments.max_ns)
        if censored_ages.total and infinite != low[name]:
            high[name] = infinite
            if infinite is None:
                reasons[f"{name}_hi_ms"] = INFINITE
    return Latency(
        selected_by, moments, censored_ages.total, low, high, _mad_ns(delivered), _cdf(delivered, population), reasons
    )


def _mad_ns(buckets: Buckets) -> int | None:
    """Median absolute deviation from the median, both by nearest rank over bucket edges."""
    if buckets.total == 0:
        return None
    edges = upper_edge_ns(buckets.index)
    middle = -(-buckets.total // 2)
    median = edges[np.searchsorted(np.cumsum(buckets.count), middle)]
    deviations = np.abs(edges - median)
    order = np.argsort(deviations, kind="stable")
    return int(deviations[order][np.searchsorted(np.cumsum(buckets.count[order]), middle)])


def _cdf(buckets: Buckets, population: int) -> tuple[tuple[float, float], ...]:
    """Share of the population delivered within each edge; a bucket counts once it lies wholly below the edge."""
    edges = upper_edge_ns(buckets.index)
    cumulated = np.concatenate([[0], np.cumsum(buckets.count)])
    places = np.searchsorted(edges, [int(edge * NS_PER_MS) for edge in CDF_EDGES_MS], side="right")
    return tuple((edge, float(cumulated[place] / population)) for edge, place in zip(CDF_EDGES_MS, places, strict=True))
