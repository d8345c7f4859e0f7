"""Bytes as Trogdor's generators make them: functions of a seed and the position of a message, by java.util.Random.

Its linear congruential generator is documented with the class: 48 bits, of which the upper 32 are an `int`. After k
steps the state is `A(k) * state + C(k)`, so that the steps of many messages are one multiplication of arrays.
"""

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.workload.pacing import Int64s
from streamgauge.workload.payload.pool import Body, Crcs

TIME_BYTES: Final = 8
_MULTIPLIER: Final = 0x5DEECE66D
_ADDEND: Final = 0xB
_MASK: Final = (1 << 48) - 1
_STEPS: Final = 1_024
"""Steps at once: 4 KiB of each message."""
_PERCENT: Final = 100
_LARGEST_INT: Final = (1 << 31) - 1
States = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class PlainGenerator:
    """A generator as plain values; what its kind does not have is 0 or empty."""

    kind: str
    size: int = 0
    value: bytes = b""
    offset: int = 0
    seed: int = 0
    padding: int = 0
    mean: int = 0
    deviation: float = 0.0
    hold: int = 1
    components: "tuple[tuple[int, PlainGenerator], ...]" = ()
    """Percents and generators."""

    @property
    def is_timed(self) -> bool:
        """Whether what it makes begins with the time."""
        return "imestamp" in self.kind or any(part.is_timed for _, part in self.components)


@dataclass(slots=True)
class Generated:
    """Values, or keys, of a generator. `at` says when they are sent; without it their time is 0."""

    generator: PlainGenerator
    ahead_ns: int = 0
    """How far the wall clock is ahead of the one that messages are sent by."""
    _time: bytes = field(default=bytes(TIME_BYTES), init=False)

    def at(self, sent_ns: int) -> None:
        """What is asked for next is sent now."""
        self._time = ((sent_ns + self.ahead_ns) // NS_PER_MS).to_bytes(TIME_BYTES, "little", signed=True)

    def one(self, seq: int) -> tuple[Body, int]:
        """Body and checksum of a message."""
        body = bodies(self.generator, np.array([seq], np.int64), self._time)[0]
        return body, zlib.crc32(body or b"")

    def many(self, seqs: Int64s) -> tuple[Sequence[Body], Crcs]:
        """Bodies and checksums of messages."""
        made = self.keys(seqs)
        return made, np.array([zlib.crc32(body or b"") for body in made], np.uint32)

    def keys(self, seqs: Sequence[int] | Int64s) -> list[Body]:
        """Keys of messages."""
        return bodies(self.generator, np.asarray(seqs, np.int64), self._time)


def bodies(generator: PlainGenerator, positions: Int64s, time: bytes = bytes(TIME_BYTES)) -> list[Body]:
    """The bytes at these positions, with `time` where a generator puts one; None for null."""
    return _MAKERS[generator.kind](generator, positions, time)


def _null(_generator: PlainGenerator, positions: Int64s, _time: bytes) -> list[Body]:
    return [None] * len(positions)


def _constant(generator: PlainGenerator, positions: Int64s, _time: bytes) -> list[Body]:
    unit = generator.value or b"\0"
    return [(unit * (generator.size // len(unit) + 1))[: generator.size]] * len(positions)


def _sequential(generator: PlainGenerator, positions: Int64s, _time: bytes) -> list[Body]:
    return [_number(position + generator.offset, generator.size) for position in positions.tolist()]


def _uniform(generator: PlainGenerator, positions: Int64s, _time: bytes) -> list[Body]:
    padding = random_bytes(seeded(np.array([generator.seed], np.int64)), generator.padding)[0].tobytes()
    drawn = random_bytes(_states(generator, positions), generator.size - generator.padding)
    return [row.tobytes() + padding for row in drawn]


def _timed_zeros(generator: PlainGenerator, positions: Int64s, time: bytes) -> list[Body]:
    return [time + bytes(generator.size - TIME_BYTES)] * len(positions)


def _timed_random(generator: PlainGenerator, positions: Int64s, time: bytes) -> list[Body]:
    return [time + row.tobytes() for row in random_bytes(_states(generator, positions), generator.size - TIME_BYTES)]


def seeded(seeds: Int64s) -> States:
    """The states of generators with these seeds."""
    return (seeds.astype(np.uint64) ^ np.uint64(_MULTIPLIER)) & np.uint64(_MASK)


def random_bytes(states: States, count: int) -> NDArray[np.uint8]:
    """`nextBytes`: shape (states, count). Each `int` gives four bytes, the lowest first."""
    made = np.empty((len(states), -(-count // 4) * 4), np.uint8)
    factors, terms = _jumps()
    for begin in range(0, made.shape[1], 4 * _STEPS):
        steps = min(_STEPS, (made.shape[1] - begin) // 4)
        after = (states[:, None] * factors[:steps] + terms[:steps]) & np.uint64(_MASK)
        numbers = (after >> np.uint64(16)).astype("<u4")
        made[:, begin : begin + 4 * steps] = numbers.view(np.uint8).reshape(len(states), 4 * steps)
        states = after[:, -1]
    return made[:, :count]


@lru_cache(1)
def _jumps() -> tuple[States, States]:
    """What leads from a state to those after 1, 2, 3 ... steps: factors and terms, modulo 2 ** 64."""
    factor, term = 1, 0
    factors, terms = [], []
    for _ in range(_STEPS):
        factor, term = factor * _MULTIPLIER & _MASK, (term * _MULTIPLIER + _ADDEND) & _MASK
        factors.append(factor)
        terms.append(term)
    return np.array(factors, np.uint64), np.array(terms, np.uint64)


def _states(generator: PlainGenerator, positions: Int64s) -> States:
    # As in Java, a sum that is too large begins again at the other end.
    return seeded((positions.astype(np.uint64) + np.uint64(generator.seed % (1 << 64))).view(np.int64))


def _number(number: int, size: int) -> bytes:
    return (number % (1 << 64)).to_bytes(TIME_BYTES, "little")[:size].ljust(size, b"\0")


def _components(generator: PlainGenerator, positions: Int64s, time: bytes) -> list[Body]:
    ends = np.cumsum([percent for percent, _ in generator.components])
    chosen = np.searchsorted(ends, percents(_states(generator, positions)), side="right")
    made: list[Body] = [None] * len(positions)
    for number, (_, part) in enumerate(generator.components):
        places = np.flatnonzero(chosen == number)
        for place, body in zip(places.tolist(), bodies(part, positions[places], time), strict=True):
            made[place] = body
    return made


def percents(states: States) -> Int64s:
    """`nextInt(100)`: 31 bits modulo 100; what would favour small numbers is drawn again."""
    drawn = _drawn(states)
    rest = drawn % _PERCENT
    while (again := drawn - rest + _PERCENT - 1 > _LARGEST_INT).any():
        states = np.where(again, _next(states), states)
        drawn = np.where(again, _drawn(states), drawn)
        rest = drawn % _PERCENT
    return rest


def _next(states: States) -> States:
    return (states * np.uint64(_MULTIPLIER) + np.uint64(_ADDEND)) & np.uint64(_MASK)


def _drawn(states: States) -> Int64s:
    return (_next(states) >> np.uint64(17)).astype(np.int64)


def _gaussians(generator: PlainGenerator, positions: Int64s, time: bytes) -> list[Body]:
    return [_gaussian(generator, position, time) for position in positions.tolist()]


def _gaussian(generator: PlainGenerator, position: int, time: bytes) -> bytes:
    """A size that some messages share: of the first of them, whose bytes follow the draw of it."""
    hold = max(1, generator.hold)
    drawn, after = normal(generator.seed + position // hold * hold)
    size = max(int(drawn * generator.deviation) + generator.mean, TIME_BYTES)
    if generator.kind == "gaussianTimestampConstant":
        return time + bytes(size - TIME_BYTES)
    first = position % hold == 0
    state = np.array([after], np.uint64) if first else _states(generator, np.array([position], np.int64))
    drawn_bytes: bytes = random_bytes(state, size)[0].tobytes()
    return time + drawn_bytes[TIME_BYTES:]


@lru_cache(64)
def normal(seed: int) -> tuple[float, int]:
    """The first `nextGaussian` of a seed, and the state behind it: the polar method.

    Its logarithm is the machine's, not Java's StrictMath; they differ in the last bit at most.
    """
    state = (seed ^ _MULTIPLIER) & _MASK
    while True:
        first, state = _double(state)
        second, state = _double(state)
        first, second = 2 * first - 1, 2 * second - 1
        square = first * first + second * second
        if 0 < square < 1:
            return first * math.sqrt(-2 * math.log(square) / square), state


def _double(state: int) -> tuple[float, int]:
    """`nextDouble`: 26 bits and 27 bits."""
    high = (state * _MULTIPLIER + _ADDEND) & _MASK
    low = (high * _MULTIPLIER + _ADDEND) & _MASK
    return ((high >> 22 << 27) + (low >> 21)) / (1 << 53), low


_MAKERS: Final[dict[str, Callable[[PlainGenerator, Int64s, bytes], list[Body]]]] = {
    "null": _null,
    "constant": _constant,
    "sequential": _sequential,
    "uniformRandom": _uniform,
    "timestampConstant": _timed_zeros,
    "timestampRandom": _timed_random,
    "randomComponent": _components,
    "gaussianTimestampConstant": _gaussians,
    "gaussianTimestampRandom": _gaussians,
}
