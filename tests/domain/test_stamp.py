"""The stamp is 40 bytes, little endian, in the order that the format says."""

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain import stamp

LAYOUT = "<HBBIIIQqq"


def test_the_layout_is_the_documented_one() -> None:
    """An independent writer, `struct`, makes the same bytes."""
    stamps = stamp.blank(1, tag=7, producer=3, scheduled=False)
    stamps["crc"], stamps["seq"], stamps["due_ns"], stamps["sent_ns"] = 9, 11, -13, 17

    assert stamp.SIZE == struct.calcsize(LAYOUT) == 40
    assert struct.pack(LAYOUT, stamp.MAGIC, 1, stamp.NO_SCHEDULE, 7, 3, 9, 11, -13, 17) == stamps.tobytes()


@given(
    tag=st.integers(0, 2**32 - 1),
    producer=st.integers(0, 2**32 - 1),
    crc=st.integers(0, 2**32 - 1),
    seq=st.integers(0, 2**64 - 1),
    due=st.integers(-(2**63), 2**63 - 1),
)
def test_what_is_written_is_read_back(tag: int, producer: int, crc: int, seq: int, due: int) -> None:
    """Every value of every field survives."""
    written = struct.pack(LAYOUT, stamp.MAGIC, stamp.VERSION, 0, tag, producer, crc, seq, due, -1)

    read = stamp.decode(written)[0]

    assert (tag, producer, crc, seq, due, -1) == tuple(
        int(read[name]) for name in ("tag", "producer", "crc", "seq", "due_ns", "sent_ns")
    )


def test_only_stamps_of_the_run_count() -> None:
    """Another tag, another version and plain bytes are not ours; without a tag every run's stamps are."""
    ours = stamp.blank(1, tag=1, producer=0, scheduled=True)
    others = stamp.blank(1, tag=2, producer=0, scheduled=True)
    future = stamp.blank(1, tag=1, producer=0, scheduled=True)
    future["version"] = 2
    heads = np.concatenate([ours, others, future, stamp.decode(bytes(40))])

    assert stamp.is_stamp(heads, 1).tolist() == [True, False, False, False]
    assert stamp.is_stamp(heads, None).tolist() == [True, True, False, False]
