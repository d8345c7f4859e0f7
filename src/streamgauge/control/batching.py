"""The size of batches: as many messages as a batch of the wanted length can hold.

A batch takes a + b x messages: some of it is the same whatever it holds. Scaling its size by wanted / taken comes
nearer to (wanted - a) / b each time, by the factor a / wanted, so that neither a nor b need be known; where a alone is
longer than wanted, nothing helps, and the size falls to the least that is allowed.
"""

from dataclasses import dataclass, replace
from typing import Final

BAND: Final = 1.25
"""A batch that took so many times what was wanted, or so much less, changes the size."""
STRIDE: Final = 4.0
"""No change is larger than this."""
FULL: Final = 0.9
"""A batch that holds so much of what it might was held back by its size."""
SETTLING: Final = 1
"""Batches that may be under way with the former size when a new one is set."""


@dataclass(frozen=True, slots=True)
class BatchSize:
    """How many messages a batch may hold, chosen so that it takes about as long as wanted."""

    wanted_ns: int
    least: int
    most: int
    limit: int
    first: int = 0
    """Number of the first batch that is sure to have this limit."""

    def decide(self, batch: int, messages: int, took_ns: int, lag: int | None) -> "BatchSize":
        """What follows from a batch: a smaller size where it took too long, a larger one where that is of use.

        `lag` is what was left to read after it; it is of use when that fills more than one batch, or is not known.
        """
        if batch < self.first or not messages or took_ns <= 0:
            return self
        scale = min(STRIDE, max(1 / STRIDE, self.wanted_ns / took_ns))
        if scale < 1 / BAND:
            return self._with(round(min(messages, self.limit) * scale), batch)
        is_held_back = messages >= FULL * self.limit and (lag is None or lag > self.limit)
        if scale > BAND and is_held_back:
            return self._with(round(self.limit * scale), batch)
        return self

    def _with(self, limit: int, batch: int) -> "BatchSize":
        """Another limit, within the bounds; the same object where it stays."""
        limit = min(self.most, max(self.least, limit))
        return self if limit == self.limit else replace(self, limit=limit, first=batch + 1 + SETTLING)
