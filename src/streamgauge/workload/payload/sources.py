"""Where bodies come from that no pool of one kind can hold."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from streamgauge.workload.pacing import Int64s
from streamgauge.workload.payload.pool import Body, Crcs
from streamgauge.workload.payload.sizes import Sizes

TURNS: Final = 100_000
_POSITION_BYTES: Final = 8


class PayloadSource(Protocol):
    """The bodies of one producer's messages with their CRC-32, by sequence; one by one or many at once, the same."""

    def one(self, seq: int) -> tuple[Body, int]:
        """Body and checksum of a message."""
        ...

    def many(self, seqs: Int64s) -> tuple[Sequence[Body], Crcs]:
        """Bodies and checksums of messages."""
        ...


@dataclass(slots=True)
class Sequential:
    """Each message's sequence plus an offset: 8 bytes, little endian, followed by zeros or cut to the size."""

    offset: int
    sizes: Sizes
    _tables: Crcs = field(init=False)
    _crc_of_zeros: int = field(init=False)

    def __post_init__(self) -> None:
        """Make the tables that a checksum is put together from."""
        size = self.sizes.draws[0]
        self._crc_of_zeros = zlib.crc32(bytes(size))
        self._tables = _crc_tables(min(size, _POSITION_BYTES), size)

    def one(self, seq: int) -> tuple[Body, int]:
        """Body and checksum of a message."""
        size = self.sizes.of(seq)
        body = ((seq + self.offset) % (1 << 64)).to_bytes(_POSITION_BYTES, "little")[:size].ljust(size, b"\0")
        return body, zlib.crc32(body)

    def many(self, seqs: Int64s) -> tuple[Sequence[Body], Crcs]:
        """Bodies and checksums of messages."""
        if len(self.sizes.draws) > 1:
            return one_by_one(self, seqs)
        width, tail = len(self._tables), bytes(max(0, self.sizes.draws[0] - _POSITION_BYTES))
        positions = (seqs.astype("<u8") + np.uint64(self.offset)).view(np.uint8).reshape(-1, _POSITION_BYTES)
        heads = np.ascontiguousarray(positions[:, :width])
        crcs = np.full(len(seqs), self._crc_of_zeros, np.uint32)
        for table, column in zip(self._tables, heads.T, strict=True):
            crcs ^= table[column]
        if not width:
            return [b""] * len(seqs), crcs
        return [head + tail for head in heads.view(f"V{width}").ravel().tolist()], crcs


@dataclass(slots=True)
class Weighted:
    """Each message's body comes from one of several sources; `turns` says from which, and begins anew at its end."""

    components: Sequence[PayloadSource]
    turns: bytes

    def one(self, seq: int) -> tuple[Body, int]:
        """Body and checksum of a message."""
        return self.components[self.turns[seq % len(self.turns)]].one(seq)

    def many(self, seqs: Int64s) -> tuple[Sequence[Body], Crcs]:
        """Bodies and checksums of messages."""
        chosen = np.frombuffer(self.turns, np.uint8)[seqs % len(self.turns)]
        bodies, crcs = np.empty(len(seqs), object), np.empty(len(seqs), np.uint32)
        for number, component in enumerate(self.components):
            places = np.flatnonzero(chosen == number)
            if len(places):
                bodies[places], crcs[places] = component.many(seqs[places])
        return bodies.tolist(), crcs


def turns_of(percents: Sequence[float], seeds: Sequence[int]) -> bytes:
    """Numbers of components in an order that is drawn, each as often among `TURNS` as its percentage says."""
    ends = np.rint(np.cumsum(percents) * (TURNS / 100)).astype(np.int64)
    numbers = np.repeat(np.arange(len(percents), dtype=np.uint8), np.diff(ends, prepend=0))
    return np.random.default_rng(seeds).permutation(numbers).tobytes()


def one_by_one(source: PayloadSource, seqs: Int64s) -> tuple[Sequence[Body], Crcs]:
    """Many messages of a source that makes each by itself."""
    made = [source.one(seq) for seq in seqs.tolist()]
    return [body for body, _ in made], np.array([crc for _, crc in made], np.uint32)


def _crc_tables(width: int, size: int) -> Crcs:
    """Shape (width, 256): by how much a byte at one of the first places changes the CRC-32 of `size` zeros.

    A CRC is affine: crc(a ^ b) = crc(a) ^ crc(b) ^ crc(0) for values of one size. So the tables of single bits give
    those of bytes, and these the checksum of any head, without going through its tail.
    """
    tables = np.zeros((width, 256), np.uint32)
    crc_of_zeros = zlib.crc32(bytes(size))
    for place in range(width):
        for bit in range(8):
            change = zlib.crc32(bytes([1 << bit]).rjust(place + 1, b"\0").ljust(size, b"\0")) ^ crc_of_zeros
            tables[place] ^= np.where(np.arange(256) >> bit & 1, change, 0).astype(np.uint32)
    return tables
