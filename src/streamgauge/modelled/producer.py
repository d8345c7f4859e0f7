"""A producer of a modelled broker: what it hands over has arrived at once, and is reported when the model says."""

import heapq
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from streamgauge.domain import clock, stamp
from streamgauge.domain.blocks import ALL_TAKEN, NULL_INT32, NULL_INT64, Block, ClientSpec, Outcome, Outgoing, Refused
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.modelled.memory import APART, CELLS, HEAD, LOST, TAKEN, Memory, Shape
from streamgauge.modelled.model import Anomaly, Releaser

QUEUE_LIMIT: Final = 100_000
_Pending = tuple[int, int, bytes, int, int, int]
"""When it is acknowledged, a number that rises, stamp, partition, offset, size."""


class ModelledProducer:
    """Sends blocks to the partitions of one producer, of which it is the only writer."""

    def __init__(
        self,
        shape: Shape,
        spec: ClientSpec,
        queue_limit: int = QUEUE_LIMIT,
        now_ns: Callable[[], int] = clock.monotonic_ns,
        sleep: Callable[[float], None] = clock.sleep_seconds,
    ) -> None:
        number = int(spec.worker.rpartition("-")[2])
        self.queue_limit = queue_limit
        self._memory, self._now_ns, self._sleep = Memory(shape), now_ns, sleep
        self._line, self._first = Releaser(shape.models[number]), shape.first_lane(number)
        self._apart = bool(spec.stamp_in_header)
        self._slots, self._slot_bytes = shape.slots, shape.slot_bytes
        # Single numbers are written faster through these views than through arrays.
        memory = self._memory
        parts: list[Any] = [memory.cells, memory.data, memory.facts, memory.readable_ns]
        self._cells, self._data, self._facts, self._readable_ns = (memoryview(part.ravel()) for part in parts)
        self._heads: list[int] = memory.cells[:, HEAD].tolist()
        self._limits = [0] * shape.lanes
        """The first offset for which there may be no room, of each partition."""
        self._withheld: set[int] = set()
        """Partitions whose last message waits for the one that is to stand before it."""
        self._full: int | None = None
        """The partition that had no room."""
        self._pending: list[_Pending] = []
        self._taken = 0
        self._known: list[tuple[bytes, int, int, int, int, int, str | None]] = []
        self._served_ns = now_ns()

    def room(self) -> int:
        """How many messages the queue still takes."""
        if self._full is not None and not self._has_room(self._full):
            return 0
        return self.queue_limit - len(self._pending)

    def send(self, block: Outgoing) -> Refused:
        """Let a block arrive: now, all of it."""
        arrived_ns = self._now_ns()
        heads, seqs = block.stamps.tobytes(), block.stamps["seq"].tolist()
        failed: list[tuple[int, str]] = []
        for place, (seq, value) in enumerate(zip(seqs, block.values, strict=True)):
            lane = self._first + self._line.lane(seq)
            if len(self._pending) >= self.queue_limit or not self._has_room(lane):
                return Refused(no_room=range(place, len(seqs)), failed=failed)
            head = heads[place * stamp.SIZE : (place + 1) * stamp.SIZE]
            content = (head + (value or b"")) if self._apart else (value or b"")
            if len(content) > self._slot_bytes:
                failed.append((place, "MSG_SIZE_TOO_LARGE"))
                continue
            acked_ns, readable_ns, anomaly = self._line.take(arrived_ns, seq)
            offset = self._write(lane, content, readable_ns, anomaly)
            self._taken += 1
            heapq.heappush(self._pending, (acked_ns, self._taken, head, lane, offset, len(value or b"")))
        return Refused(failed=failed) if failed else ALL_TAKEN

    def _has_room(self, lane: int) -> bool:
        """Whether a partition takes a message, be it twice."""
        if self._heads[lane] + 2 >= self._limits[lane]:
            self._limits[lane] = self._memory.readers(lane) + self._slots
        is_full = self._heads[lane] + 2 >= self._limits[lane]
        self._full = lane if is_full else None if self._full == lane else self._full
        return not is_full

    def _write(self, lane: int, content: bytes, readable_ns: int, anomaly: int) -> int:
        """Write a message where its anomaly wants it, and let readers see it; returns its offset."""
        head = self._heads[lane]
        self._cells[lane * CELLS + TAKEN] += 1
        if anomaly == Anomaly.REORDERED:
            self._put(lane, head + 1, content, readable_ns, anomaly)
            self._withheld.add(lane)
            return head + 1
        self._put(lane, head, content, readable_ns, anomaly)
        written = 1
        if anomaly == Anomaly.DUPLICATED:
            self._put(lane, head + 1, content, readable_ns, anomaly)
            written = 2
        elif lane in self._withheld:
            self._withheld.remove(lane)
            self._readable_ns[lane * self._slots + (head + 1) % self._slots] = readable_ns
            written = 2
        # Last: what is below the head is there.
        self._heads[lane] = self._cells[lane * CELLS + HEAD] = head + written
        return head

    def _put(self, lane: int, offset: int, content: bytes, readable_ns: int, anomaly: int) -> None:
        slot = lane * self._slots + offset % self._slots
        if anomaly == Anomaly.CORRUPTED:
            content = content[:-1] + bytes([content[-1] ^ 1])
        at = slot * self._slot_bytes
        self._data[at : at + len(content)] = content
        self._facts[slot] = len(content) + (APART if self._apart else 0) + (LOST if anomaly == Anomaly.LOST else 0)
        self._readable_ns[slot] = readable_ns

    def serve(self, timeout_seconds: float) -> None:
        """Take the acknowledgements that are due, waiting for the first at most so long."""
        began_ns = at_ns = self._now_ns()
        pending = self._pending
        if timeout_seconds and not (pending and pending[0][0] <= began_ns):
            end_ns = began_ns + int(timeout_seconds * NS_PER_SECOND)
            wake_ns = min(end_ns, pending[0][0]) if pending else end_ns
            self._sleep(max(0, wake_ns - began_ns) / NS_PER_SECOND)
            at_ns = self._now_ns()
        while pending and pending[0][0] <= at_ns:
            _, _, head, lane, offset, size = heapq.heappop(pending)
            self._known.append((head, lane, offset, size, self._served_ns, at_ns, None))
        self._served_ns = began_ns

    def reports(self, at_least: int) -> tuple[Block, int]:
        """What became known since the last call."""
        known = self._known
        if len(known) < max(1, at_least):
            return {}, 0
        self._known = []
        heads, lanes, offsets, sizes, polled_ns, acked_ns, errors = zip(*known, strict=True)
        stamps = stamp.decode(b"".join(heads))
        return {
            "seq": stamps["seq"].astype(np.int64),
            "partition": np.array(lanes, np.int32),
            "offset": np.array(offsets, np.int64),
            "due_ns": np.where(stamps["flags"] & stamp.NO_SCHEDULE, NULL_INT64, stamps["due_ns"]),
            "sent_ns": stamps["sent_ns"],
            "acked_ns": np.array(acked_ns, np.int64),
            "polled_ns": np.array(polled_ns, np.int64),
            "size_bytes": np.array(sizes, np.int32),
            "error": _none_if_all_none(errors),
        }, len(known)

    def hurry(self) -> None:
        """Nothing lingers here."""

    def begin(self) -> None:
        """Raises BrokerError: there are no transactions."""
        raise BrokerError("the modelled broker has no transactions")

    def end(self, *, commit: bool) -> Outcome:
        """Raises BrokerError: there are no transactions."""
        raise BrokerError(f"the modelled broker has no transactions to {'commit' if commit else 'abort'}")

    def in_flight(self) -> int:
        """Messages taken and not acknowledged."""
        return len(self._pending)

    def statistics(self) -> tuple[Block, int]:
        """It keeps none."""
        return {}, 0

    def abandon(self) -> None:
        """Report all that is in flight as given up."""
        now_ns = self._now_ns()
        for _, _, head, _, _, size in sorted(self._pending):
            self._known.append((head, NULL_INT32, NULL_INT64, size, self._served_ns, now_ns, "_PURGE_QUEUE"))
        self._pending.clear()

    def close(self) -> None:
        """Forget what is in flight."""
        self._pending.clear()


def _none_if_all_none(errors: Sequence[str | None]) -> list[str | None] | None:
    return list(errors) if any(errors) else None
