"""The rows of `received` for what a poll delivered: whose message each is, and whether it is intact."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain import stamp
from streamgauge.domain.blocks import NULL_BOOL, NULL_INT32, NULL_INT64, Block, Fetched

_TIME_BYTES: Final = 8
_NO_TIME: Final = bytes(_TIME_BYTES)
_YEAR_9999_MS: Final = 253_402_300_000_000
"""Random bytes are no time of this era."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a consumer reads stamps: whose, and how many checksums it verifies."""

    tag: int | None
    """Tag of the run whose stamps count; None where the messages are somebody else's load."""
    verify_every: int | None
    """The n where messages with `seq % n == 0` are verified; None for none."""
    time_in_value: bool = False
    """Whether values that are somebody else's load begin with the time at which they were sent."""


def rows(fetched: Fetched, reading: Reading, poll: int, received_ns: int, *, takes_all: bool = True) -> Block:
    """The rows of `received` (without the constant columns) for what one poll delivered.

    A consumer that does not take all it could leaves messages in the client on purpose: `empty_ns` says nothing then.
    """
    stamps = fetched.stamps
    ours = stamp.is_stamp(stamps, reading.tag)
    # Stamps of another run come from a clock that cannot be compared with this one.
    timed = ours if reading.tag is not None else np.zeros_like(ours)
    scheduled = timed & (stamps["flags"] & stamp.NO_SCHEDULE == 0)
    return {
        "topic": fetched.topic,
        "poll": poll,
        "producer": _known(ours, stamps["producer"].astype(np.int32), NULL_INT32),
        "seq": _known(ours, stamps["seq"].astype(np.int64), NULL_INT64),
        "partition": fetched.partition,
        "offset": fetched.offset,
        # What the value says takes the place of what the record says of its age, which the broker may have stamped.
        "append_ms": None if reading.time_in_value else fetched.append_ms,
        "created_ms": _created_ms(fetched, reading),
        "due_ns": _known(scheduled, stamps["due_ns"], NULL_INT64),
        "sent_ns": _known(timed, stamps["sent_ns"], NULL_INT64),
        "received_ns": received_ns,
        "started_ns": None,
        "processed_ns": None,
        "size_bytes": fetched.size_bytes,
        **redelivering(fetched),
        "empty_ns": fetched.empty_ns if takes_all else None,
        "intact": intact(fetched, ours, reading.verify_every),
    }


def _created_ms(fetched: Fetched, reading: Reading) -> NDArray[np.int64] | None:
    """When messages were made; asked for only where nothing else tells it: it costs as much as decoding the message."""
    if reading.tag is not None:
        return None
    return times_in(fetched.values) if reading.time_in_value else fetched.created_ms()


def times_in(values: Sequence[bytes]) -> NDArray[np.int64]:
    """The milliseconds since 1970 that values begin with, NULL where they are too short, or where it is no time."""
    heads = b"".join(value[:_TIME_BYTES] if len(value) >= _TIME_BYTES else _NO_TIME for value in values)
    found = np.frombuffer(heads, "<i8").astype(np.int64)
    return np.where((found > 0) & (found < _YEAR_9999_MS), found, NULL_INT64)


def redelivering(fetched: Fetched) -> Block:
    """The columns of which nothing is known where nothing redelivers."""
    if fetched.deliveries is None:
        return {}
    return {"delivery_count": fetched.deliveries, "deadline_ms": fetched.deadline_ms}


def _known(known: NDArray[np.bool_], numbers: NDArray[Any], null: int) -> NDArray[Any] | None:
    """The numbers that are known; None where none is, which costs nothing to record."""
    count = np.count_nonzero(known)
    if count == len(known):
        return numbers
    return np.where(known, numbers, numbers.dtype.type(null)) if count else None


def intact(fetched: Fetched, ours: NDArray[np.bool_], verify_every: int | None) -> NDArray[np.int8] | None:
    """Whether the checksum of each message agrees: 1, 0, or NULL where it was not verified."""
    if verify_every is None:
        return None
    stamps: Any = fetched.stamps
    chosen = np.flatnonzero(ours & (stamps["seq"] % np.uint64(verify_every) == 0))
    out = np.full(fetched.count, NULL_BOOL, np.int8)
    in_header = np.broadcast_to(np.asarray(fetched.in_header), ours.shape)
    starts = np.where(in_header[chosen], 0, stamp.SIZE).tolist()
    said = stamps["crc"][chosen].tolist()
    values = fetched.values
    out[chosen] = [
        zlib.crc32(values[place][start:]) == crc
        for place, start, crc in zip(chosen.tolist(), starts, said, strict=True)
    ]
    return out
