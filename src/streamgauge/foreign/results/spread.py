"""How often which values were measured: cells with edges and counts, which merge without loss."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from streamgauge.domain.latency.buckets import Floats, Int64s


@dataclass(frozen=True, slots=True)
class ValueCells:
    """Cells in ascending order: the least and the largest value of each, in the unit of the file, and its count."""

    low: Int64s
    high: Int64s
    count: Int64s

    @classmethod
    def of_cells(cls, low: Int64s, high: Int64s, count: Int64s) -> Self:
        """Cells in any order; equal ones are added up, empty ones left out."""
        edges = np.stack([np.asarray(high, np.int64), np.asarray(low, np.int64)])
        unique, place = np.unique(edges, axis=1, return_inverse=True)
        total = np.zeros(unique.shape[1], np.int64)
        np.add.at(total, place.reshape(-1), np.asarray(count, np.int64))
        filled = total > 0
        return cls(unique[1][filled], unique[0][filled], total[filled])

    @classmethod
    def merged(cls, spreads: Iterable["ValueCells"]) -> Self:
        """All of these together, exactly: cells of other widths stay apart."""
        parts = list(spreads)
        if not parts:
            nothing = np.zeros(0, np.int64)
            return cls(nothing, nothing, nothing)
        return cls.of_cells(
            *(np.concatenate([getattr(each, name) for each in parts]) for name in ("low", "high", "count"))
        )

    @property
    def total(self) -> int:
        """How many values there are."""
        return int(self.count.sum())

    def at(self, percent: float) -> tuple[int, int]:
        """The edges of the cell in which the nearest rank of a percentile lies; there must be a value."""
        # A rank that is whole but for the error of the division is that rank.
        rank = max(1, int(np.ceil(self.total * percent / 100 - 1e-9)))
        place = int(np.searchsorted(np.cumsum(self.count), rank))
        return int(self.low[place]), int(self.high[place])

    @property
    def _middles(self) -> Floats:
        return self.low + (self.high - self.low + 1) // 2 * 1.0

    @property
    def mean(self) -> float:
        """The mean, each value taken as the middle of its cell."""
        return float((self._middles * self.count).sum() / self.total)

    @property
    def stddev(self) -> float:
        """The standard deviation, likewise."""
        return float(np.sqrt(((self._middles - self.mean) ** 2 * self.count).sum() / self.total))

    @property
    def mad(self) -> int:
        """The median absolute deviation from the median, by upper edges."""
        deviations = np.abs(self.high - self.at(50)[1])
        order = np.argsort(deviations, kind="stable")
        middle = -(-self.total // 2)
        return int(deviations[order][np.searchsorted(np.cumsum(self.count[order]), middle)])
