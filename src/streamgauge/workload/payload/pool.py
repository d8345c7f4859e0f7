"""Bodies that are made once, with their checksums, and repeat.

A pool is far longer than a batch, so that a codec finds no repetition that real messages would not have.
"""

import zlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from streamgauge.workload.pacing import Int64s
from streamgauge.workload.payload.sizes import Law, draw

POOL_BYTES: Final = 16 << 20
LONGEST_PERIOD: Final = 4_000
LONGEST_RAGGED_PERIOD: Final = 8_000
"""Bodies of many sizes repeat later: with them repeat the sizes."""
SHORTEST_PERIOD: Final = 20
FEWEST_SIZES: Final = 16
"""However long a size is held, a pool has so many of them."""

Body = bytes | None
"""None for a tombstone, whose checksum is that of no bytes."""
Crcs = NDArray[np.uint32]
Make = Callable[[int, int], bytes]
"""(index, bytes) -> body."""
_Place = TypeVar("_Place", int, Int64s)
_Item = TypeVar("_Item")


@dataclass(slots=True)
class Pool:
    """The bodies of one producer and their checksums.

    Groups of `each` bodies follow each other, and each group serves `hold` messages, beginning anew within it.
    """

    bodies: Sequence[Body]
    each: int = 1
    hold: int = 1
    crcs: Crcs = field(init=False)
    """CRC-32 of each body."""
    _crcs: "array[int]" = field(init=False)
    """The same memory: a single number is read from it in half the time."""

    def __post_init__(self) -> None:
        """Compute the checksums."""
        self._crcs = array("I", (zlib.crc32(body or b"") for body in self.bodies))
        self.crcs = np.frombuffer(self._crcs, np.uint32)

    @property
    def period(self) -> int:
        """After how many messages the bodies repeat."""
        return len(self.bodies) // self.each * self.hold

    def matrix(self, largest: int) -> NDArray[np.uint8] | None:
        """The bodies as one array of shape (bodies, bytes of each); None where they differ in size or are larger."""
        sizes = {-1 if body is None else len(body) for body in self.bodies}
        size = sizes.pop()
        if sizes or not 0 <= size <= largest:
            return None
        return np.frombuffer(b"".join(body or b"" for body in self.bodies), np.uint8).reshape(len(self.bodies), size)

    def place(self, seq: _Place) -> _Place:
        """Where the body of message `seq` stands, of one or of many."""
        if self.each == self.hold:
            return seq % len(self.bodies)
        group, within = seq // self.hold, seq % self.hold
        return group % (len(self.bodies) // self.each) * self.each + within % self.each

    def one(self, seq: int) -> tuple[Body, int]:
        """Body and checksum of a message."""
        place = seq % len(self.bodies) if self.each == self.hold else self.place(seq)
        return self.bodies[place], self._crcs[place]

    def many(self, seqs: Int64s) -> tuple[list[Body], Crcs]:
        """Bodies and checksums of messages."""
        places = self.place(seqs)
        return list(map(self.bodies.__getitem__, places.tolist())), self.crcs[places]


def fill(make: Make, law: Law, seeds: Sequence[int], less: int = 0) -> Pool:
    """A pool of bodies whose sizes follow a law, each `less` so many bytes."""
    total = period_of(int(law.mean) - less, LONGEST_PERIOD if law.least == law.most else LONGEST_RAGGED_PERIOD)
    each = min(law.hold, max(1, total // FEWEST_SIZES))
    sizes = np.repeat(draw(law, seeds, total // each) - less, each)
    return Pool([make(index, size) for index, size in enumerate(sizes.tolist())], each, law.hold)


def period_of(body_bytes: int, longest: int = LONGEST_PERIOD) -> int:
    """How many bodies of this size a pool holds: a multiple of 5, so that `mixed` stays in step."""
    fits = POOL_BYTES // max(1, body_bytes) // 5 * 5
    return max(SHORTEST_PERIOD, min(longest, fits))


def share_of(items: Sequence[_Item], producer: int, producers: int) -> list[_Item]:
    """The items of producer k of n, in its order: of the list repeated without end, every n-th beginning with k."""
    count = len(items)
    return [items[(producer + producers * turn) % count] for turn in range(count // gcd(count, producers))]
