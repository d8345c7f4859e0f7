"""What figures of latencies are drawn from: percentile curve and heat map, out of the buckets of the percentiles."""

from dataclasses import dataclass

import numpy as np

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.buckets import Int64s, upper_edge_ns
from streamgauge.domain.latency.percentiles import Buckets

TICKS_PER_HALVING = 10
"""Points of the curve while the share beyond a percentile halves, as in HdrHistogram's percentile output."""
HEAT_COLUMNS = 120
"""The longest run is drawn in so many columns."""
HEAT_STEPS_PER_DECADE = 10
HEAT_LOWEST_MS = 0.01
"""What is faster shares the lowest cell."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One percentile: `low_ns` counts messages that never came at their age, `high_ns` as infinite (None)."""

    percent: float
    low_ns: int
    high_ns: int | None

    @property
    def is_interval(self) -> bool:
        """Whether messages that never came make the percentile uncertain."""
        return self.high_ns != self.low_ns


def missing_shares(population: int) -> list[tuple[int, int]]:
    """The shares beyond the points of a curve, as fractions, falling down to the last message; the last one is 0."""
    shares = []
    halvings = 0
    while population >> halvings:
        whole = 2 * TICKS_PER_HALVING << halvings
        shares += [(part, whole) for part in range(2 * TICKS_PER_HALVING, TICKS_PER_HALVING, -1)]
        halvings += 1
    kept = [(part, whole) for part, whole in shares if part * population >= whole]
    return [*kept, (0, 1)] if population else []


def curve(delivered: Buckets, censored_ages: Buckets, max_ns: int | None) -> list[CurvePoint]:
    """The percentile curve, each point by nearest rank as `latency.summarise` has it; empty where there is nothing."""
    everything = delivered.plus(censored_ages)
    population = everything.total
    shares = missing_shares(population)
    ranks = np.array([max(1, population - part * population // whole) for part, whole in shares], np.int64)
    clip = None if censored_ages.total else max_ns
    lows = _at_ranks(everything, ranks, clip)
    highs = _at_ranks(delivered, ranks, max_ns) if censored_ages.total else lows
    return [
        CurvePoint(100 * (1 - part / whole), low, high)
        for (part, whole), low, high in zip(shares, lows, highs, strict=True)
        if low is not None
    ]


def _at_ranks(buckets: Buckets, ranks: Int64s, clip_ns: int | None) -> list[int | None]:
    """The value at each rank; None beyond the last."""
    places = np.searchsorted(np.cumsum(buckets.count), ranks)
    edges = [*upper_edge_ns(buckets.index).tolist(), None]
    values = [edges[place] for place in places.tolist()]
    return [value if value is None or clip_ns is None else min(value, clip_ns) for value in values]


@dataclass(frozen=True, slots=True)
class HeatCell:
    """How many messages of [from_second, to_second) took more than `above_ms` and at most `le_ms`."""

    from_second: int
    to_second: int
    above_ms: float
    le_ms: float
    count: int


def heat(seconds: Int64s, buckets: Int64s, counts: Int64s) -> list[HeatCell]:
    """The heat map of equally long columns: second, bucket and count; cells without messages are left out."""
    if not len(seconds):
        return []
    first = int(seconds.min())
    width = -(-(int(seconds.max()) - first + 1) // HEAT_COLUMNS)
    across = (seconds - first) // width
    edges_ms = np.maximum(upper_edge_ns(buckets) / NS_PER_MS, HEAT_LOWEST_MS)
    # A bucket is far narrower than a cell: it belongs where its edge lies.
    up = np.ceil(np.log10(edges_ms / HEAT_LOWEST_MS) * HEAT_STEPS_PER_DECADE - 1e-9).astype(np.int64)
    merged = Buckets.merged(across << 16 | up, counts)
    return [
        HeatCell(begin, begin + width, _step_ms(step - 1) if step else 0.0, _step_ms(step), count)
        for begin, step, count in zip(
            (first + (merged.index >> 16) * width).tolist(),
            (merged.index & 0xFFFF).tolist(),
            merged.count.tolist(),
            strict=True,
        )
    ]


def _step_ms(step: int) -> float:
    return float(HEAT_LOWEST_MS * 10 ** (step / HEAT_STEPS_PER_DECADE))
