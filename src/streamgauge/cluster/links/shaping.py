"""When bytes of a link that something is done to may go on; arithmetic only, in seconds."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

SEGMENT_BYTES: Final = 1448
"""What one TCP segment carries on an Ethernet: so many bytes are lost, or are not, together."""
PIECE_SECONDS: Final = 0.02
"""A limited rate is kept by pieces of so long, but for very low ones."""

DISTRIBUTIONS: Final[Mapping[str, Callable[[random.Random], float]]] = {
    # Each of mean 0 and standard deviation 1, but `uniform`, which lies between -1 and 1.
    "uniform": lambda draws: draws.uniform(-1, 1),
    "normal": lambda draws: draws.gauss(0, 1),
    "exponential": lambda draws: draws.expovariate(1) - 1,
}
"""How the jitter of a delay is distributed."""


@dataclass(frozen=True, slots=True)
class Impairment:
    """What is done to the bytes that one end of a link sends to the other. With the defaults: nothing."""

    held: bool = False
    """Nothing goes on."""
    delay: float = 0.0
    """How long bytes are on their way."""
    jitter: float = 0.0
    """How far that varies."""
    distribution: str = "uniform"
    """How it varies: a key of DISTRIBUTIONS. No delay is below 0."""
    rate: float | None = None
    """Bytes a second, of all connections together; None for no limit."""
    loss: float = 0.0
    """The share of segments that are lost: then everything waits for `stall`, until TCP would have sent it again."""
    stall: float = 0.0
    close: float = 0.0
    """How long the end of a stream is kept back."""


@dataclass(slots=True)
class Shaper:
    """Says when bytes may go on, of all connections of one direction of a link."""

    impairment: Impairment
    draws: random.Random
    _free: float = field(default=-math.inf)
    """When the link has carried what it was given, where its rate is limited."""

    @property
    def piece(self) -> int | None:
        """Bytes that are to be carried at a time; None for any number."""
        rate = self.impairment.rate
        return None if rate is None else max(SEGMENT_BYTES, int(rate * PIECE_SECONDS))

    def leaves(self, now: float, size: int, after: float) -> float:
        """When `size` bytes that have come now go on; not before `after`, when those before them do.

        Size 0 is the end of a stream.
        """
        done, at = self.impairment, now
        if size == 0:
            at += done.close
        if done.delay or done.jitter:
            at += max(0.0, done.delay + done.jitter * DISTRIBUTIONS[done.distribution](self.draws))
        if done.loss and size and self.draws.random() < 1 - (1 - done.loss) ** math.ceil(size / SEGMENT_BYTES):
            at += done.stall
        if done.rate is not None:
            self._free = max(now, self._free) + size / done.rate
            at = max(at, self._free)
        return max(at, after)
