"""The consume loop: poll, decode, record, store the offsets of what is recorded."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain import clock, stamp
from streamgauge.domain.blocks import NULL_BOOL, NULL_INT32, NULL_INT64, Block, Fetched
from streamgauge.domain.pacing import Int64s
from streamgauge.engine.live import Latencies, Order, PollGap, Slot
from streamgauge.engine.ports import ConsumerClient, Sink

LIMIT: Final = 2_000
"""Messages taken by one poll at most."""
POLL_SECONDS: Final = 0.1
POLL_ROWS: Final = 256
"""Rows of `polls` are recorded in blocks of so many."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a consumer reads stamps: whose, and how many checksums it verifies."""

    tag: int | None
    """Tag of the run whose stamps count; None where the messages are somebody else's load."""
    verify_every: int | None
    """The n where messages with `seq % n == 0` are verified; None for none."""


@dataclass(slots=True)
class Consumer:
    """One consumer at work. `slot` and `positions` are its rows of the shared cells."""

    client: ConsumerClient
    reading: Reading
    received: Sink
    polls: Sink
    slot: Int64s
    positions: Int64s
    latencies: Latencies
    order: Callable[[], Order]
    now_ns: Callable[[], int] = clock.monotonic_ns
    _poll: int = 0
    _rows: list[tuple[int, int, int, int]] = field(default_factory=list)
    _gap: PollGap = field(init=False)

    def __post_init__(self) -> None:
        """Begin to watch the gaps between polls."""
        self._gap = PollGap(self.slot, self.now_ns())

    def run(self, until: Order) -> None:
        """Consume until the supervisor wants `until` or more."""
        while self.order() < until:
            self.turn()
        self._record_polls()

    def turn(self) -> None:
        """One poll and what follows from it."""
        began_ns = self.now_ns()
        self._gap.begin(began_ns)
        fetched = self.client.poll(POLL_SECONDS, LIMIT)
        received_ns = self.now_ns()
        self._gap.end(received_ns)
        if fetched is not None:
            self._record(fetched, received_ns)
        self._rows.append((self._poll, began_ns, received_ns, fetched.count if fetched else 0))
        self._poll += 1
        if len(self._rows) >= POLL_ROWS:
            self._record_polls()
        self.slot[Slot.ASSIGNED] = self.client.assigned()

    def _record(self, fetched: Fetched, received_ns: int) -> None:
        """Record first, then store: what a commit covers is always in the rows."""
        block = rows(fetched, self.reading, self._poll, received_ns)
        self.received.append(block, fetched.count)
        # Within one poll the offsets of a partition rise, and the last assignment to an index is the one that stays.
        self.positions[fetched.partition] = fetched.offset + 1
        touched = np.unique(fetched.partition)
        self.client.store(touched, self.positions[touched])
        self.slot[Slot.MESSAGES] += fetched.count
        self.slot[Slot.BYTES] += int(fetched.size_bytes.sum())
        self.latencies.take(received_ns, block["due_ns"], block["sent_ns"], fetched.count, received_ns)

    def _record_polls(self) -> None:
        self.latencies.count()
        if self._rows:
            columns = np.array(self._rows, np.int64).T
            names = ("poll", "started_ns", "returned_ns", "count")
            self.polls.append(dict(zip(names, columns, strict=True)), len(self._rows))
            self._rows.clear()


def rows(fetched: Fetched, reading: Reading, poll: int, received_ns: int) -> Block:
    """The rows of `received` (without the constant columns) for what one poll delivered."""
    stamps = fetched.stamps
    ours = stamp.is_stamp(stamps, reading.tag)
    # Stamps of another run come from a clock that cannot be compared with this one.
    timed = ours if reading.tag is not None else np.zeros_like(ours)
    scheduled = timed & (stamps["flags"] & stamp.NO_SCHEDULE == 0)
    return {
        "poll": poll,
        "producer": _known(ours, stamps["producer"].astype(np.int32), NULL_INT32),
        "seq": _known(ours, stamps["seq"].astype(np.int64), NULL_INT64),
        "partition": fetched.partition,
        "offset": fetched.offset,
        "append_ms": fetched.append_ms,
        "due_ns": _known(scheduled, stamps["due_ns"], NULL_INT64),
        "sent_ns": _known(timed, stamps["sent_ns"], NULL_INT64),
        "received_ns": received_ns,
        "started_ns": None,
        "processed_ns": None,
        "size_bytes": fetched.size_bytes,
        "intact": intact(fetched, ours, reading.verify_every),
    }


def _known(known: NDArray[np.bool_], numbers: NDArray[Any], null: int) -> NDArray[Any] | None:
    """The numbers that are known; None where none is, which costs nothing to record."""
    if known.all():
        return numbers
    return np.where(known, numbers, numbers.dtype.type(null)) if known.any() else None


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
