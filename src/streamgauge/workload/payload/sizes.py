"""How large messages are: laws of sizes, and draws from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.workload.pacing import Int64s

Float64s = NDArray[np.float64]

DRAWS: Final = 65_536
"""Sizes that are drawn where no pool of bodies limits their number."""
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every size from `least` to `most` bytes, both included, with the same probability."""

    least: int
    most: int
    hold: int = 1
    """Messages that follow each other and have the same size."""

    @property
    def mean(self) -> float:
        """Expected size in bytes."""
        return (self.least + self.most) / 2

    def quantiles(self, shares: Float64s) -> Int64s:
        """The sizes below which these shares of all sizes lie."""
        return self.least + np.floor(shares * (self.most - self.least + 1)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A normal distribution, rounded to whole bytes; what lies beyond `least` and `most` is set to them."""

    mean: float
    deviation: float
    least: int
    most: int
    hold: int = 1
    """Messages that follow each other and have the same size."""

    def quantiles(self, shares: Float64s) -> Int64s:
        """The sizes below which these shares of all sizes lie."""
        normal = np.array([_NORMAL.inv_cdf(share) for share in shares.tolist()])
        return np.clip(np.rint(self.mean + self.deviation * normal), self.least, self.most).astype(np.int64)


Law = Uniform | Gaussian


def draw(law: Law, seeds: Sequence[int], count: int) -> Int64s:
    """`count` sizes, one from each of `count` parts of equal probability, in an order that is drawn as well.

    So even a few hundred of them have the mean and the deviation of the law.
    """
    drawing = np.random.default_rng(seeds)
    shares = (drawing.permutation(count) + drawing.random(count)) / count
    return law.quantiles(np.maximum(shares, np.finfo(np.float64).tiny))


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of one producer's messages, by sequence."""

    draws: tuple[int, ...]
    hold: int = 1

    def of(self, seq: int) -> int:
        """Bytes of message `seq`."""
        return self.draws[seq // self.hold % len(self.draws)]


def drawn(law: Law, seeds: Sequence[int], less: int = 0) -> Sizes:
    """Sizes by a law, each `less` so many bytes; they repeat after `DRAWS` draws."""
    count = 1 if law.least == law.most else DRAWS
    return Sizes(tuple((draw(law, seeds, count) - less).tolist()), law.hold)
