"""HdrHistogram's compressed encodings: versions 0, 1 and 2 are read into cells, version 2 is written from them.

Counts are read as they are, so that a histogram of any range takes no more memory than it has counts.
"""

import base64
import binascii
import struct
import zlib
from dataclasses import dataclass
from typing import Final

import numpy as np

from streamgauge.domain.latency.buckets import Int64s
from streamgauge.foreign.results.measured import ForeignError
from streamgauge.foreign.results.spread import ValueCells

MOST_BYTES: Final = 1 << 24
"""Of one histogram without its compression; a full one of 5 digits has less than half of it."""

_COOKIES: Final = {0x1C849309: 0x1C849308, 0x1C849302: 0x1C849301, 0x1C849304: 0x1C849303}
"""What envelopes of versions 0, 1 and 2 begin with, and what is in each."""
_COOKIE: Final = 0x1C849303
_COMPRESSED_COOKIE: Final = 0x1C849304
_OF_V0: Final = 0x1C849308
_WORD: Final = 0xF0
"""Bits of a cookie that say how long numbers are; of versions 0 and 1 in bytes, without the lowest of them."""
_WORD_OF_V2: Final = 0x10
_HEADER: Final = struct.Struct(">iiiiqqd")
_HEADER_OF_V0: Final = struct.Struct(">iiqqq")
_ENVELOPE: Final = struct.Struct(">ii")
_MOST_COUNTS: Final = 1 << 22
_MOST_DIGITS: Final = 5
_LARGEST: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Layout:
    """How HdrHistogram numbers its cells: significant digits, and the least value that it tells from 0."""

    digits: int
    lowest: int = 1

    @property
    def _sub_bits(self) -> int:
        return int(np.ceil(np.log2(2 * 10**self.digits)))

    def cells(self, index: Int64s) -> tuple[Int64s, Int64s]:
        """The least and the largest value of cells."""
        half_bits = self._sub_bits - 1
        shift = np.maximum((index >> half_bits) - 1, 0)
        sub = index - (shift << half_bits)
        unit = shift + (self.lowest.bit_length() - 1)
        low = sub << unit
        return low, low + (np.int64(1) << unit) - 1

    def index_of(self, value: int) -> int:
        """The number of the cell of a value."""
        unit, sub_bits = self.lowest.bit_length() - 1, self._sub_bits
        shift = max(0, (value >> unit).bit_length() - sub_bits)
        return (shift << (sub_bits - 1)) + (value >> (unit + shift))


def decode(text: str) -> ValueCells:
    """The cells of a histogram that is written as `HISTFAAA...`; raises ForeignError."""
    try:
        content = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error) as error:
        raise ForeignError("has a histogram that is cut off or no base64") from error
    if len(content) < _ENVELOPE.size:
        raise ForeignError("has a histogram that is cut off")
    cookie, length = _ENVELOPE.unpack_from(content)
    inner = _COOKIES.get(cookie & ~_WORD)
    if inner is None:
        raise ForeignError("has a histogram of an encoding that is not V0, V1 or V2", "Write it with HdrHistogram")
    return _cells(_inflated(content[_ENVELOPE.size : _ENVELOPE.size + max(length, 0)]), inner)


def _inflated(content: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(content, MOST_BYTES)
    except zlib.error as error:
        raise ForeignError("has a damaged histogram") from error
    if unpacker.unconsumed_tail:
        raise ForeignError(f"has a histogram of more than {MOST_BYTES >> 20} MiB")
    if not unpacker.eof:
        raise ForeignError("has a histogram that is cut off")
    return found


def _cells(content: bytes, expected: int) -> ValueCells:
    header = _HEADER_OF_V0 if expected == _OF_V0 else _HEADER
    if len(content) < header.size:
        raise ForeignError("has a histogram that is cut off")
    if expected == _OF_V0:
        cookie, digits, lowest, *_ = header.unpack_from(content)
        length, offset = len(content) - header.size, 0
    else:
        cookie, length, offset, digits, lowest, *_ = header.unpack_from(content)
    if cookie & ~_WORD != expected or offset or not 0 <= digits <= _MOST_DIGITS or lowest < 1:
        raise ForeignError("has a damaged histogram")
    payload = content[header.size : header.size + max(length, 0)]
    if len(payload) < length:
        raise ForeignError("has a histogram that is cut off")
    index, count = _counts(payload) if expected == _COOKIE else _words(payload, (cookie & _WORD) >> 4 & 0xE)
    layout = Layout(digits, lowest)
    most = layout.index_of(_LARGEST)
    if index and index[-1] > most:
        raise ForeignError("has a damaged histogram")
    low, high = layout.cells(np.array(index, np.int64))
    return ValueCells.of_cells(low, high, np.array(count, np.int64))


def _counts(payload: bytes) -> tuple[list[int], list[int]]:
    """Places and counts: ZigZag LEB128 numbers, a negative one for so many empty cells."""
    index, count, place, at = [], [], 0, 0
    while at < len(payload):
        number, at = _number(payload, at)
        if number < 0:
            place -= number
        else:
            if number:
                index.append(place)
                count.append(number)
            place += 1
        if place > _MOST_COUNTS:
            raise ForeignError("has a damaged histogram")
    if sum(count) > _LARGEST:
        raise ForeignError("has a damaged histogram: its counts are too large")
    return index, count


def _words(payload: bytes, size: int) -> tuple[list[int], list[int]]:
    """Places and counts of versions 0 and 1: a number of so many bytes for each cell, the highest byte first."""
    if size not in {2, 4, 8} or len(payload) % size:
        raise ForeignError("has a damaged histogram")
    numbers = np.frombuffer(payload, f">i{size}").astype(np.int64)
    if (numbers < 0).any() or sum(numbers.tolist()) > _LARGEST:
        raise ForeignError("has a damaged histogram: its counts are too large")
    places = np.flatnonzero(numbers)
    return places.tolist(), numbers[places].tolist()


def _number(payload: bytes, at: int) -> tuple[int, int]:
    """One number, and where the next one begins: the ninth byte has eight bits."""
    raw = 0
    for place in range(9):
        if at >= len(payload):
            raise ForeignError("has a histogram that is cut off")
        byte = payload[at]
        at += 1
        if place == 8:
            raw |= byte << 56
            break
        raw |= (byte & 0x7F) << (7 * place)
        if not byte & 0x80:
            break
    return (raw >> 1) ^ -(raw & 1), at


def encode(spread: ValueCells, layout: Layout) -> str:
    """A histogram as `HISTFAAA...`, each value recorded at the upper edge of its cell."""
    counts: dict[int, int] = {}
    for value, count in zip(spread.high.tolist(), spread.count.tolist(), strict=True):
        place = layout.index_of(value)
        counts[place] = counts.get(place, 0) + count
    payload, at = bytearray(), 0
    for place in sorted(counts):
        if place > at:
            payload += _written(at - place)
        payload += _written(counts[place])
        at = place + 1
    highest = max(int(spread.high.max(initial=0)), 2 * layout.lowest)
    header = _HEADER.pack(_COOKIE | _WORD_OF_V2, len(payload), 0, layout.digits, layout.lowest, highest, 1.0)
    packed = zlib.compress(header + bytes(payload))
    return base64.b64encode(_ENVELOPE.pack(_COMPRESSED_COOKIE | _WORD_OF_V2, len(packed)) + packed).decode("ascii")


def _written(number: int) -> bytes:
    raw = (number << 1) ^ (number >> 63)
    raw &= (1 << 64) - 1
    found = bytearray()
    for _ in range(8):
        if raw < 0x80:
            found.append(raw)
            return bytes(found)
        found.append(raw & 0x7F | 0x80)
        raw >>= 7
    found.append(raw)
    return bytes(found)
