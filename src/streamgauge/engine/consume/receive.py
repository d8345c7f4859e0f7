"""The rows of `received` for what a poll delivered: whose message each is, and whether it is intact."""

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain import stamp
from streamgauge.domain.blocks import NULL_BOOL, NULL_INT32, NULL_INT64, Block, Fetched


@dataclass(frozen=True, slots=True)
class Reading:
    """How a consumer reads stamps: whose, and how many checksums it verifies."""

    tag: int | None
    """Tag of the run whose stamps count; None where the messages are somebody else's load."""
    verify_every: int | None
    """The n where messages with `seq % n == 0` are verified; None for none."""


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
        "append_ms": fetched.append_ms,
        # Asked for only where nothing else tells a message's age: it costs as much as decoding the message.
        "created_ms": fetched.created_ms() if reading.tag is None else None,
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
