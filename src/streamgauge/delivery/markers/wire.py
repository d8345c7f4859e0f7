"""How markers are written: kmq's format, so that clients and trackers of both can share topics.

A marker's key names a message: 12 bytes, big-endian, the partition (int32) and the offset (int64). The value of a start
marker is the byte 1 and how many milliseconds later the message is due again (int64); that of an end marker is the byte
0, and a compacted topic may have no value instead. A redelivered message tells in a header how often it was redelivered
before: one byte where that fits a signed one, otherwise an int32.
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from streamgauge.domain.errors import BadValue

COUNT_HEADER: Final = "kmq-redelivery-count"
"""Name of the header with the number of redeliveries."""
END_VALUE: Final = b"\x00"
_KEY: Final = struct.Struct(">iq")
_START: Final = struct.Struct(">Bq")
_STARTED: Final = 1
_COUNT: Final = struct.Struct(">i")
_LARGEST_BYTE: Final = 127
_NO_MARKER: Final = "Give this topic to markers alone"


Header = tuple[str, bytes | None]


class Marker(NamedTuple):
    """What a client does with one message."""

    partition: int
    """Partition of the message; the marker is in the partition of the same number."""
    offset: int
    redeliver_after_ms: int | None
    """Of a start marker, when the message is due again if no end marker follows; None for an end marker."""


def key_of(partition: int, offset: int) -> bytes:
    """The key of the markers of a message."""
    return _KEY.pack(partition, offset)


def start_value(redeliver_after_ms: int) -> bytes:
    """The value of a start marker."""
    return _START.pack(_STARTED, redeliver_after_ms)


def read_marker(key: bytes | None, value: bytes | None) -> Marker:
    """The marker that a record is; raises BadValue if it is none."""
    if key is None or len(key) != _KEY.size:
        raise BadValue(f"a key of {len(key or b'')} bytes is not a marker's", _NO_MARKER)
    partition, offset = _KEY.unpack(key)
    if not value or value == END_VALUE:
        return Marker(partition, offset, None)
    if len(value) != _START.size or value[0] != _STARTED:
        raise BadValue(f"a value of {len(value)} bytes that begins with {value[0]} is not a marker's", _NO_MARKER)
    return Marker(partition, offset, _START.unpack(value)[1])


def count_value(count: int) -> bytes:
    """The value of the header of a message that was redelivered `count` times."""
    return bytes([count]) if count <= _LARGEST_BYTE else _COUNT.pack(count)


def read_count(value: bytes | None) -> int:
    """How often a message was redelivered before; 0 without a header. Raises BadValue for what is no such number."""
    if value is None:
        return 0
    if len(value) not in {1, _COUNT.size}:
        raise BadValue(f"{COUNT_HEADER} has {len(value)} bytes", "Write 1 byte, or 4")
    count = int.from_bytes(value, "big", signed=True)
    if count < 0:
        raise BadValue(f"{COUNT_HEADER} is {count}", "Write how often the message was redelivered")
    return count


def count_in(headers: Sequence[Header], name: str = COUNT_HEADER) -> int:
    """How often a message with these headers was redelivered before, by the last of that name; as `read_count`."""
    return read_count(next((value for each, value in reversed(headers) if each == name), None))
