"""What a latency can have been without the instrument: the low ends of its figures, from the width of each message.

The width of a message is how much of its latency the instrument may have added. Widths are counted in classes, rounded
up: exact to the microsecond below 16, then 8 classes for each power of two, so that a class is at most an eighth wider
than the width. The low end of a percentile is the percentile of the low ends, never a percentile less a percentile.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.clock import NS_PER_US
from streamgauge.domain.latency.buckets import Int64s, bucket_of, lower_edge_ns, upper_edge_ns
from streamgauge.domain.latency.percentiles import EMPTY, PERCENTILES, Buckets, rank_of

SUB_BITS: Final = 3
MAX_EXPONENT: Final = 28
WIDEST_US: Final = (2 << SUB_BITS << MAX_EXPONENT) - 1
"""Larger widths are told as this: 71 minutes."""
WIDEST: Final = (MAX_EXPONENT << SUB_BITS) + (2 << SUB_BITS) - 1
"""Their class."""
UNKNOWN: Final = 255
"""The class of a width that is not known; no other is so large."""
_HALVINGS: Final = 64
"""Of the range of a latency, which is below 2**63 ns: what is left is below a nanosecond."""
_PLACES: Final = 17
"""Where the median is tried. An interval of it of half a millisecond leaves 16 us between two."""


def width_class(widths_ns: Int64s) -> Int64s:
    """The class of each width; of one below zero that of 0."""
    microseconds = -(-np.maximum(np.asarray(widths_ns, np.int64), 0) // NS_PER_US)
    return bucket_of(np.minimum(microseconds, WIDEST_US), SUB_BITS)


def widest_ns(classes: Int64s) -> Int64s:
    """The largest width of each class."""
    return upper_edge_ns(classes, SUB_BITS) * NS_PER_US


@dataclass(frozen=True, slots=True)
class Widths:
    """Messages counted by the bucket of their latency and the class of their width: columns of equal length."""

    bucket: Int64s
    width: Int64s
    count: Int64s

    @property
    def are_known(self) -> bool:
        """Whether the width of every message is known."""
        return not (self.width == UNKNOWN).any()

    def widest_in(self, part: Buckets) -> "Widths | None":
        """The widths that a part of the messages can have had at most; None where a width is not known.

        Of each bucket, the messages of the part are taken to be the widest.
        """
        if not self.are_known:
            return None
        order = np.lexsort((-self.width, self.bucket))
        bucket, width, count = self.bucket[order], self.width[order], self.count[order]
        before = np.cumsum(count) - count
        wider = before - before[np.searchsorted(bucket, bucket)]
        if not len(part.index):
            return Widths(bucket[:0], width[:0], count[:0])
        place = np.minimum(np.searchsorted(part.index, bucket), len(part.index) - 1)
        wanted = np.where(part.index[place] == bucket, part.count[place], 0)
        taken = np.clip(wanted - wider, 0, count)
        is_taken = taken > 0
        found = Widths(bucket[is_taken], width[is_taken], taken[is_taken])
        return found if int(taken.sum()) == part.total else None


@dataclass(frozen=True, slots=True)
class LowEnds:
    """The low ends of a latency, in ns."""

    min_ns: int
    mean_ns: float
    max_ns: int
    percentiles_ns: Mapping[str, int]
    stddev_ns: tuple[float, float]
    """The least and the most that the standard deviation can have been."""
    mad_ns: tuple[float, float]
    """The least and the most that the median absolute deviation can have been."""


@dataclass(frozen=True, slots=True)
class HighEnds:
    """The high ends of a duration that may also have been longer, in ns."""

    min_ns: int
    mean_ns: float
    max_ns: int
    percentiles_ns: Mapping[str, int]


def low_ends(widths: Widths, ages: Buckets = EMPTY, less_ns: int = 0) -> LowEnds | None:
    """The low ends of messages, of which those in `ages` never came; None where nothing came.

    The low end of a message is the lower edge of its bucket less its width, and less `less_ns` where its begin is
    rounded down by so much; it is not below 0 unless the bucket is. What never came counts in percentiles as it does in
    their values: at its age.
    """
    if not len(widths.count):
        return None
    low, high, total = _low_ns(widths, less_ns), upper_edge_ns(widths.bucket), int(widths.count.sum())
    of_all, counts = np.append(low, lower_edge_ns(ages.index)), np.append(widths.count, ages.count)
    return LowEnds(
        min_ns=int(low.min()),
        mean_ns=float((low * widths.count).sum() / total),
        max_ns=int(low.max()),
        percentiles_ns=_percentiles_ns(of_all, counts),
        stddev_ns=_stddev_ns(low.astype(np.float64), high.astype(np.float64), widths.count),
        mad_ns=_mad_ns(low, high, widths.count),
    )


def low_percentiles_ns(widths: Widths) -> dict[str, int]:
    """The low ends of the percentiles of what came alone, of which there is at least one message."""
    return _percentiles_ns(_low_ns(widths), widths.count)


def _low_ns(widths: Widths, less_ns: int = 0) -> Int64s:
    edges = lower_edge_ns(widths.bucket)
    return edges - np.minimum(widest_ns(widths.width) + less_ns, np.maximum(edges, 0))


def low_ends_of(widths: Widths | None, part: Buckets, ages: Buckets) -> LowEnds | None:
    """The low ends of a part of the messages that `widths` are of, as wide as they can be; None where not known."""
    widest = None if widths is None else widths.widest_in(part)
    return None if widest is None else low_ends(widest, ages)


def high_ends(widths: Widths, more_ns: int, *, moves: bool) -> HighEnds | None:
    """The high ends of messages whose end is rounded down by up to `more_ns`; None where there are none.

    If their begin `moves`, it may have been earlier by their width, and their end where it was.
    """
    if not len(widths.count):
        return None
    high = upper_edge_ns(widths.bucket) + more_ns + (widest_ns(widths.width) if moves else 0)
    mean_ns = float((high * widths.count).sum() / widths.count.sum())
    return HighEnds(int(high.min()), mean_ns, int(high.max()), _percentiles_ns(high, widths.count))


def _percentiles_ns(values: Int64s, count: Int64s) -> dict[str, int]:
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(count[order])
    places = {name: np.searchsorted(up_to, rank_of(each, int(up_to[-1]))) for name, each in PERCENTILES.items()}
    return {name: int(values[order[place]]) for name, place in places.items()}


def _stddev_ns(low: NDArray[np.float64], high: NDArray[np.float64], count: Int64s) -> tuple[float, float]:
    """The ends of the standard deviation of values that each lie between `low` and `high`.

    A variance is the least mean square of distances to any one point. So its low end is that of the distances to the
    nearest points of all intervals, and its high end is at most that of those to the farthest ends. Both are convex in
    the point, which lies where the points reached have it as their mean.
    """
    middle = (low + high) / 2
    reached: tuple[Callable[[float], NDArray[np.float64]], ...] = (
        lambda point: np.clip(point, low, high),
        lambda point: np.where(point < middle, high, low),
    )
    least, most = (_deviation(each, float(low.min()), float(high.max()), count) for each in reached)
    return least, most


def _deviation(reached: Callable[[float], NDArray[np.float64]], low: float, high: float, count: Int64s) -> float:
    """The least root mean square of the distances from a point between `low` and `high` to what is reached from it."""
    for _ in range(_HALVINGS):
        point = (low + high) / 2
        if ((point - reached(point)) * count).sum() > 0:
            high = point
        else:
            low = point
    return min(float(np.sqrt(((reached(end) - end) ** 2 * count).sum() / count.sum())) for end in (low, high))


def _mad_ns(low: Int64s, high: Int64s, count: Int64s) -> tuple[float, float]:
    """The ends of the median absolute deviation of values that each lie between `low` and `high`.

    The median lies between those of the ends. For each place of it, the deviation of a value lies between the least and
    the most that its ends leave, and medians rise with what they are medians of. From one place to another, deviations
    and their median change by no more than the places are apart: some places, and half of what lies between two, stand
    for all.
    """
    least, most = _median(low, count), _median(high, count)
    places = np.linspace(least, most, _PLACES)
    nearest = [_median(np.maximum(np.maximum(low - each, each - high), 0.0), count) for each in places]
    farthest = [_median(np.maximum(high - each, each - low), count) for each in places]
    between = (most - least) / (_PLACES - 1) / 2
    return max(0.0, min(nearest) - between), max(farthest) + between


def _median(values: Int64s | NDArray[np.float64], count: Int64s) -> float:
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(count[order])
    return float(values[order][np.searchsorted(up_to, -(-up_to[-1] // 2))])
