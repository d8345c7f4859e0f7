"""Which key a message has."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from streamgauge.workload.pacing import Int64s
from streamgauge.workload.payload.sizes import Float64s

KeysOf = Callable[[Sequence[int]], list[bytes | None]]
"""Sequences of messages -> their keys."""
Draw = Callable[[np.random.Generator, int], Int64s]
"""How many numbers of keys, drawn from a generator."""

CHUNK: Final = 1_024
"""Keys that are drawn at once: some 60 us, which delay the messages that are due meanwhile."""
_KEPT: Final = 4
_READY: Final = 65_536
"""Up to so many keys are written out once, not each time."""
_KEYS: Final = 0x6B65_7973
"""What is drawn, in the seed: no two kinds of draws share their numbers."""


def sequential_keys(seqs: Sequence[int]) -> list[bytes | None]:
    """Each message's sequence in decimal."""
    return [b"%d" % seq for seq in seqs]


def constant_keys(text: str) -> KeysOf:
    """The same key for all."""
    key = text.encode()
    return lambda seqs: [key] * len(seqs)


def listed_keys(keys: Sequence[bytes | None]) -> KeysOf:
    """Keys one after the other, from the first again when they are used up."""
    count = len(keys)
    return lambda seqs: [keys[seq % count] for seq in seqs]


def drawn_keys(draw: Draw, keys: int, seed: int, producer: int) -> KeysOf:
    """Keys among the decimals from 0 to `keys - 1`; those of messages n * CHUNK and after from (seed, producer, n)."""
    ready = [b"%d" % number for number in range(keys)] if keys <= _READY else None

    @lru_cache(_KEPT)
    def chunk(number: int) -> list[bytes]:
        numbers = draw(np.random.default_rng([seed, _KEYS, producer, number]), CHUNK).tolist()
        return [ready[each] for each in numbers] if ready else [b"%d" % each for each in numbers]

    def keys_of(seqs: Sequence[int]) -> list[bytes | None]:
        found: list[bytes | None] = []
        number, current = -1, []
        for seq in seqs:
            if seq // CHUNK != number:
                number = seq // CHUNK
                current = chunk(number)
            found.append(current[seq % CHUNK])
        return found

    return keys_of


def uniform(keys: int) -> Draw:
    """Every key with the same probability."""
    return lambda drawing, count: drawing.integers(0, keys, count)


def zipf(keys: int, exponent: float) -> Draw:
    """Key k with a probability proportional to `1 / (k + 1) ** exponent`: key 0 is the hottest.

    Exact, by the inverse of the cumulative probabilities.
    """
    upto = cumulative(keys, exponent)
    return lambda drawing, count: np.searchsorted(upto, drawing.random(count), side="right").astype(np.int64)


def cumulative(keys: int, exponent: float) -> Float64s:
    """Probability of keys 0 to k, for every k; the last is 1."""
    sums: Float64s = np.cumsum(np.arange(1, keys + 1, dtype=np.float64) ** -exponent)
    sums /= sums[-1]
    return sums
