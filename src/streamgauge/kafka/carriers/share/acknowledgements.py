"""What a share consumer is told of each delivery, and what the broker answers.

The client answers by offsets, not by deliveries: of one offset the answers come in the order in which it was told.
Deliveries are kept in batches of one partition, which mostly are answered as they were told.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import confluent_kafka as ck
import numpy as np
from confluent_kafka import IllegalStateException, KafkaError
from numpy.typing import NDArray

from streamgauge.delivery.attempts import ACCEPTED, DEAD_LETTER, REJECTED, RELEASED, TIMED_OUT
from streamgauge.domain.blocks import Block, Place
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns, sleep_seconds
from streamgauge.kafka.carriers.share.letters import DeadLetters
from streamgauge.kafka.clients.messages import log, note_error

_FINISH_NS: Final = 10 * NS_PER_SECOND
"""Within which everything that was told is to be answered."""
_PAUSE_SECONDS: Final = 0.001
_WAYS: Final[Mapping[str, Any]] = {
    ACCEPTED: ck.AcknowledgeType.ACCEPT,
    RELEASED: ck.AcknowledgeType.RELEASE,
    REJECTED: ck.AcknowledgeType.REJECT,
}
_COLUMNS: Final = ("topic", "partition", "offset", "producer", "seq", "attempt")
_OFFSET, _NUMBER = 2, 5
_Rows = NDArray[np.int64]
"""Deliveries: a row for each of `_COLUMNS`."""


@dataclass(slots=True)
class _Batch:
    """Deliveries of one partition that were told together."""

    rows: _Rows
    outcome: str
    told_ns: int
    until_ns: int
    """When the lock of all of them was over, at the latest."""

    @property
    def settled(self) -> str:
        """What it means that the broker took it: who tells too late of what has a final outcome is not refused."""
        return self.outcome if self.told_ns <= self.until_ns else TIMED_OUT

    def part(self, offsets: set[int]) -> "tuple[_Batch | None, _Batch | None]":
        """Those at these offsets, and the others; None for none."""
        mine = self.rows[_OFFSET].tolist()
        if offsets.issuperset(mine):
            return self, None
        chosen = np.fromiter((offset in offsets for offset in mine), np.bool_, len(mine))
        if not chosen.any():
            return None, self
        parts = (replace(self, rows=self.rows[:, mask]) for mask in (chosen, ~chosen))
        return next(parts), next(parts)


class ShareAcknowledgements:
    """Accepts, releases and rejects the deliveries of one share consumer, from the thread that polls.

    A delivery that fails is released, to come again at once; after the last one it is rejected, once its dead letter is
    written. Without `letters`, or where that fails, it is released, and the broker archives it.
    """

    def __init__(self, client: Any, topics: Sequence[str], deliveries: int, letters: DeadLetters | None) -> None:
        """`deliveries` is how often the broker delivers a message at most."""
        self._client = client
        self._numbers = {name: number for number, name in enumerate(topics)}
        self._last = deliveries
        self._letters = letters
        self._open: dict[Place, dict[int, Any]] = {}
        """Of each partition the messages of the last poll that are not acknowledged, by their offsets."""
        self._until_ns = 0
        """When their lock is over, at the latest."""
        self._asked: dict[Place, deque[_Batch]] = {}
        """Of each partition what was told and is not answered, in its order."""
        self._known: list[tuple[_Batch, str, int]] = []
        """What is answered, with its outcome and time."""

    @property
    def is_open(self) -> bool:
        """Whether the client polls nothing more: not each message of its last poll is acknowledged."""
        return bool(self._open)

    @property
    def unwritten(self) -> int:
        """None: the broker delivers again, and a message whose dead letter is on its way has no final outcome there."""
        return 0

    def polled(self, place: Place, messages: Sequence[Any], until_ns: int) -> None:
        """These messages of a partition are to be acknowledged, by when their lock is over at the latest."""
        self._until_ns = until_ns
        offsets: Any = map(ck.Message.offset, messages)
        self._open.setdefault(place, {}).update(zip(offsets, messages, strict=True))

    def settle(self, deliveries: Block, accepted: NDArray[np.bool_]) -> None:
        """Accept those that are accepted; release or reject the others. Does not wait."""
        rows = np.array([np.broadcast_to(np.asarray(each), len(accepted)) for each in deliveries.values()], np.int64)
        now_ns = monotonic_ns()
        is_last = ~accepted & (rows[_NUMBER] >= self._last if self._letters else False)
        for outcome, mask in ((ACCEPTED, accepted), (RELEASED, ~accepted & ~is_last)):
            for batch in _by_place(rows[:, mask]):
                self._tell(_Batch(batch, outcome, now_ns, self._until_ns))
        if self._letters:
            for delivery in rows[:, is_last].T:
                topic, partition, offset = delivery[: _OFFSET + 1].tolist()
                message = self._open[topic, partition][offset]
                self._letters.write(message, int(delivery[_NUMBER]), partial(self._buried, delivery.reshape(-1, 1)))
        self.serve()

    def serve(self) -> None:
        """Send what was told at once, and hear what is answered.

        What is only told goes with the next poll, and a message that is released then comes again only when that has
        waited in vain for others, `fetch.wait.max.ms`.
        """
        if self._letters and self._letters.waiting:
            self._letters.serve()
        self._client.commit_async()

    def wait(self, seconds: float) -> None:
        """Let time pass, at most so long, in which a dead letter may be written."""
        if self._letters and self._letters.waiting:
            self._letters.serve(seconds)
        elif seconds:
            sleep_seconds(seconds)
        self.serve()

    def answered(self) -> tuple[Block, int]:
        """Rows of `attempts` of what became known since the last call."""
        self.serve()
        return self._take()

    def finish(self) -> tuple[Block, int]:
        """The same, once all is answered that was told, in bounded time."""
        until_ns = monotonic_ns() + _FINISH_NS
        if self._letters:
            self._letters.flush(_FINISH_NS / NS_PER_SECOND)
        self.serve()
        while self._asked and monotonic_ns() < until_ns:
            sleep_seconds(_PAUSE_SECONDS)
            self.serve()
        if self._asked:
            log.warning("acknowledgements of %s partitions were not answered", len(self._asked))
        return self._take()

    def on_answer(self, offsets: Mapping[Any, set[int]], error: Any) -> None:
        """What the broker says of offsets that it was told of; called by the client within its calls."""
        now_ns = monotonic_ns()
        code = None if error is None else error.args[0].code()
        if code not in {None, KafkaError.INVALID_RECORD_STATE}:
            note_error(error.args[0])
        for where, found in offsets.items():
            for batch in self._answered_of((self._numbers[where.topic], where.partition), set(found)):
                if code is None:
                    at_ns = batch.told_ns if batch.settled == RELEASED else now_ns
                    self._known.append((batch, batch.settled, at_ns))
                elif code == KafkaError.INVALID_RECORD_STATE:
                    # Its lock was over: it was delivered again, or will be.
                    self._known.append((batch, TIMED_OUT, now_ns))

    def _answered_of(self, place: Place, offsets: set[int]) -> Iterator[_Batch]:
        """What was told of these offsets first; nothing of what the client told by itself, of gaps."""
        asked = self._asked.pop(place, deque())
        left: deque[_Batch] = deque()
        while asked and offsets:
            taken, rest = asked.popleft().part(offsets)
            if taken:
                offsets.difference_update(taken.rows[_OFFSET].tolist())
                yield taken
            if rest:
                left.append(rest)
        if left or asked:
            self._asked[place] = left + asked

    def _tell(self, batch: _Batch) -> None:
        topic, partition = batch.rows[:_OFFSET, 0].tolist()
        opened, way, tell = self._open[topic, partition], _WAYS[batch.outcome], self._client.acknowledge
        try:
            for offset in batch.rows[_OFFSET].tolist():
                tell(opened.pop(offset), way)
        except IllegalStateException as error:
            # Its partition went to another consumer: the broker gives all of it to somebody again.
            log.warning("topic %s, partition %s: %s", topic, partition, error)
            for offset in batch.rows[_OFFSET].tolist():
                opened.pop(offset, None)
        else:
            self._asked.setdefault((topic, partition), deque()).append(batch)
        if not opened:
            del self._open[topic, partition]

    def _buried(self, delivery: _Rows, is_written: bool) -> None:
        """A dead letter is written, or failed to be."""
        batch = _Batch(delivery, REJECTED if is_written else RELEASED, monotonic_ns(), self._until_ns)
        if is_written:
            self._known.append((batch, DEAD_LETTER, batch.told_ns))
        self._tell(batch)

    def _take(self) -> tuple[Block, int]:
        known, self._known = self._known, []
        if not known:
            return {}, 0
        counts = [batch.rows.shape[1] for batch, _, _ in known]
        rows = np.concatenate([batch.rows for batch, _, _ in known], axis=1)
        block: dict[str, Any] = dict(zip(_COLUMNS, rows, strict=True))
        block["at_ns"] = np.repeat(np.array([at_ns for *_, at_ns in known], np.int64), counts)
        outcomes = [outcome for (_, outcome, _), count in zip(known, counts, strict=True) for _ in range(count)]
        return {**block, "outcome": outcomes}, len(outcomes)


def _by_place(rows: _Rows) -> Iterator[_Rows]:
    """The deliveries of each partition."""
    if not rows.shape[1]:
        return
    order = np.lexsort((rows[1], rows[0]))
    rows = rows[:, order]
    edges = np.flatnonzero((np.diff(rows[:_OFFSET]) != 0).any(axis=0)) + 1
    yield from np.split(rows, edges, axis=1)
