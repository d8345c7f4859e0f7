"""The stamp: 40 bytes, little endian, that tell a consumer which message it holds and when it was due and sent.

At the head of the value, or in the record header `HEADER_KEY`, where it leaves the value untouched. Blocks of stamps
are numpy structured arrays of `STAMP`; encoding and decoding are therefore views, not loops.
"""

import struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

STAMP = np.dtype(
    [
        ("magic", "<u2"),
        ("version", "u1"),
        ("flags", "u1"),
        ("tag", "<u4"),
        ("producer", "<u4"),
        ("crc", "<u4"),
        ("seq", "<u8"),
        ("due_ns", "<i8"),
        ("sent_ns", "<i8"),
    ]
)
SIZE = STAMP.itemsize
ONE: Final = struct.Struct("<HBBIIIQqq")
"""The same layout for a single stamp, where numpy's cost per call would dominate."""
MAGIC = 0x6753
VERSION = 1
NO_SCHEDULE = 0x01
"""Flag: the load has no schedule, `due_ns` says nothing."""
HEADER_KEY = "streamgauge"

Stamps = NDArray[Any]


def blank(count: int, tag: int, producer: int, *, scheduled: bool) -> Stamps:
    """`count` stamps of one producer with tag and flags set; sequence, times and checksum still to come."""
    stamps = np.zeros(count, STAMP)
    stamps["magic"] = MAGIC
    stamps["version"] = VERSION
    stamps["flags"] = 0 if scheduled else NO_SCHEDULE
    stamps["tag"] = tag
    stamps["producer"] = producer
    return stamps


def decode(heads: bytes) -> Stamps:
    """The stamps in a run of 40-byte heads; whether each is one of ours is `is_stamp`'s to say."""
    return np.frombuffer(heads, STAMP)


def is_stamp(stamps: Stamps, tag: int | None) -> NDArray[np.bool_]:
    """Which heads are stamps of the run with this tag; with tag None, of any run."""
    ours: NDArray[np.bool_] = (stamps["magic"] == MAGIC) & (stamps["version"] == VERSION)
    return ours if tag is None else ours & (stamps["tag"] == tag)
