"""Which deliveries fail, as arithmetic: drawn from the seed, the message, and the number of its delivery.

Nothing depends on who receives a message or when, so that the deliveries and dead letters that a run should have can be
computed from its seed alone (`delivery.redelivery`).
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_FAIL, _POISON, _OVERRUN = 33, 34, 35
"""What is drawn, in the seed of each: no two kinds of draws share their numbers."""
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)
_UNIT: Final = 2.0**-53


@dataclass(frozen=True, slots=True)
class Failing:
    """Shares of deliveries, and of messages, whose processing fails or takes too long."""

    fail: float = 0.0
    """Share of the deliveries that fail."""
    poison: float = 0.0
    """Share of the messages of which every delivery fails."""
    overrun: float = 0.0
    """Share of the deliveries that take too long."""
    overrun_ns: int = 0
    """How long these take."""

    @property
    def fails(self) -> bool:
        """Whether anything can fail."""
        return self.fail > 0 or self.poison > 0

    def failed(self, seed: int, producers: Any, seqs: Any, deliveries: Any) -> NDArray[np.bool_]:
        """Whether each delivery fails: columns of producer, sequence, and number of the delivery, from 1."""
        fails = uniform(seed, _FAIL, producers, seqs, deliveries) < self.fail
        return fails | (uniform(seed, _POISON, producers, seqs, 0) < self.poison)

    def overran(self, seed: int, producers: Any, seqs: Any, deliveries: Any) -> NDArray[np.bool_]:
        """Whether each delivery takes too long."""
        return uniform(seed, _OVERRUN, producers, seqs, deliveries) < self.overrun


NEVER_FAILS: Final = Failing()


def uniform(seed: int, kind: int, producers: Any, seqs: Any, deliveries: Any) -> NDArray[np.float64]:
    """A number in [0, 1) for each row, by Steele, Lea and Flood's SplitMix64 over seed, kind and columns."""
    mixed = _mixed(np.full(1, seed, np.uint64), np.uint64(kind))
    for column in (producers, seqs, deliveries):
        mixed = _mixed(mixed, np.asarray(column).astype(np.uint64))
    unit: NDArray[np.float64] = (mixed >> np.uint64(11)).astype(np.float64) * _UNIT
    return unit


def _mixed(state: NDArray[np.uint64], value: Any) -> NDArray[np.uint64]:
    """The state with one more value mixed in; arithmetic is modulo 2^64."""
    with np.errstate(over="ignore"):
        mixed = (state ^ value) + _STEP
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        out: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return out
