"""What a share consumer is told of each delivery, and what the broker answers.

The client answers by offsets, not by deliveries: of one offset the answers come in the order in which it was told.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import confluent_kafka as ck
import numpy as np
from confluent_kafka import IllegalStateException, KafkaError
from numpy.typing import NDArray

from streamgauge.delivery.attempts import ACCEPTED, DEAD_LETTER, REJECTED, RELEASED, TIMED_OUT
from streamgauge.domain.blocks import Block
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns, sleep_seconds
from streamgauge.kafka.clients.messages import log, note_error
from streamgauge.kafka.markers.reader import attempt_rows
from streamgauge.kafka.share.letters import DeadLetters

_FINISH_NS: Final = 10 * NS_PER_SECOND
"""Within which everything that was told is to be answered."""
_PAUSE_SECONDS: Final = 0.001
_WAYS: Final[Mapping[str, Any]] = {
    ACCEPTED: ck.AcknowledgeType.ACCEPT,
    RELEASED: ck.AcknowledgeType.RELEASE,
    REJECTED: ck.AcknowledgeType.REJECT,
}
_Offset = tuple[int, int, int]
"""Topic, partition and offset."""
_Delivery = tuple[int, int, int, int, int, int]
"""Topic, partition, offset, producer, sequence and number of a delivery."""


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
        self._open: dict[_Offset, Any] = {}
        self._asked: dict[_Offset, deque[tuple[_Delivery, str, int]]] = {}
        """Of each offset what was told and is not answered: delivery, outcome, and when."""
        self._known: list[tuple[int, _Delivery, str]] = []

    @property
    def is_open(self) -> bool:
        """Whether the client polls nothing more: not each message of its last poll is acknowledged."""
        return bool(self._open)

    def polled(self, topics: Sequence[int], partitions: Sequence[int], messages: Sequence[Any]) -> None:
        """These messages, of one poll, are to be acknowledged."""
        offsets: Any = map(ck.Message.offset, messages)
        self._open = dict(zip(zip(topics, partitions, offsets, strict=True), messages, strict=True))

    def settle(self, deliveries: Block, accepted: NDArray[np.bool_]) -> None:
        """Accept those that are accepted; release or reject the others. Does not wait."""
        columns = [np.broadcast_to(np.asarray(deliveries[name]), len(accepted)).tolist() for name in deliveries]
        now_ns = monotonic_ns()
        for delivery, is_accepted in zip(zip(*columns, strict=True), accepted.tolist(), strict=True):
            if is_accepted:
                self._tell(delivery, ACCEPTED, now_ns)
            elif self._letters and delivery[5] >= self._last:
                self._letters.write(self._open[delivery[:3]], delivery[5], partial(self._buried, delivery))
            else:
                self._tell(delivery, RELEASED, now_ns)
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
        return attempt_rows(self._take())

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
            log.warning("%s acknowledgements were not answered", len(self._asked))
        return attempt_rows(self._take())

    def on_answer(self, offsets: Mapping[Any, set[int]], error: Any) -> None:
        """What the broker says of offsets that it was told of; called by the client within its calls."""
        now_ns = monotonic_ns()
        code = None if error is None else error.args[0].code()
        if code not in {None, KafkaError.INVALID_RECORD_STATE}:
            note_error(error.args[0])
        for place, found in offsets.items():
            topic = self._numbers[place.topic]
            for offset in found:
                if (first := self._first((topic, place.partition, offset))) is None:
                    continue
                delivery, outcome, told_ns = first
                if code is None:
                    self._known.append((told_ns if outcome == RELEASED else now_ns, delivery, outcome))
                elif code == KafkaError.INVALID_RECORD_STATE:
                    # Its lock was over: it was delivered again, or will be.
                    self._known.append((now_ns, delivery, TIMED_OUT))

    def _first(self, offset: _Offset) -> tuple[_Delivery, str, int] | None:
        """What was told of an offset first, which is answered now; None for what the client told by itself, of gaps."""
        asked = self._asked.get(offset)
        if asked is None:
            return None
        first = asked.popleft()
        if not asked:
            del self._asked[offset]
        return first

    def _tell(self, delivery: Any, outcome: str, now_ns: int) -> None:
        message = self._open.pop(delivery[:3])
        try:
            self._client.acknowledge(message, _WAYS[outcome])
        except IllegalStateException as error:
            # Its partition went to another consumer: the broker gives it to somebody again.
            log.warning("%s, partition %s, offset %s: %s", message.topic(), *delivery[1:3], error)
            return
        asked = self._asked.get(delivery[:3])
        if asked is None:
            asked = self._asked[delivery[:3]] = deque()
        asked.append((delivery, outcome, now_ns))

    def _buried(self, delivery: Any, is_written: bool) -> None:
        """A dead letter is written, or failed to be."""
        now_ns = monotonic_ns()
        if is_written:
            self._known.append((now_ns, delivery, DEAD_LETTER))
        self._tell(delivery, REJECTED if is_written else RELEASED, now_ns)

    def _take(self) -> list[tuple[int, _Delivery, str]]:
        known, self._known = self._known, []
        return known
