"""Writes messages that failed where they come again, and tells what became of each delivery.

A delivery that succeeded is acknowledged when the commit of an offset behind it is confirmed.
"""

import heapq
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import confluent_kafka as ck
import numpy as np
from confluent_kafka import KafkaError, TopicPartition
from numpy.typing import NDArray

from streamgauge.delivery.attempts import ACCEPTED, DEAD_LETTER, REDELIVERED, REJECTED, RELEASED
from streamgauge.delivery.deliveries import DeliveryKey, attempt_rows, each_settled
from streamgauge.delivery.markers.redelivery import DEAD_LETTERS
from streamgauge.delivery.retries.decisions import HeldBack, Retries, after_failure, due_ms, number_at
from streamgauge.delivery.retries.wire import Origin, dead_headers, origin_in, retry_headers
from streamgauge.domain.blocks import Block, Place
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.carriers.markers.clients import ANY_PARTITION, FLUSH_SECONDS, hand_over
from streamgauge.kafka.clients.messages import log

CONFIRMED_NS: Final = 5 * NS_PER_SECOND
"""The last commits are waited for so long."""


class RetryTopics:
    """What is told of the deliveries of one consumer; it has the messages that are in work."""

    def __init__(
        self, producer: ck.Producer, topics: Sequence[str], retries: Retries, sent_topics: int, ahead_ns: int
    ) -> None:
        """`topics` are all topics by their numbers: those that are sent to, and the retry topics, level by level."""
        self.held = HeldBack()
        self.confirm: Callable[[], None] = lambda: None
        """Has what may be committed be committed, and hears of it."""
        self._producer, self._topics, self._retries = producer, topics, retries
        self._sent_topics, self._ahead_ns = sent_topics, ahead_ns
        self._numbers = {name: number for number, name in enumerate(topics)}
        self._in_work: dict[tuple[int, int, int], Any] = {}
        self._accepted: dict[Place, list[tuple[int, DeliveryKey]]] = {}
        """Of each partition a heap of deliveries that succeeded, by their offsets, until they are committed."""
        self._known: list[tuple[int, DeliveryKey, str]] = []
        self._error: tuple[str, KafkaError] | None = None

    @property
    def unwritten(self) -> int:
        """Messages that failed and are not yet written again."""
        return len(self.held)

    def take(self, messages: Sequence[Any]) -> None:
        """Keep messages that are handed over until they are settled."""
        for message in messages:
            self._in_work[self._numbers[message.topic()], message.partition(), message.offset()] = message

    def settle(self, deliveries: Block, accepted: NDArray[np.bool_]) -> None:
        """Write those that failed to the next retry topic, or to that of dead letters; does not wait."""
        now_ns = monotonic_ns()
        for delivery, is_accepted in each_settled(deliveries, accepted):
            message = self._in_work.pop(delivery[:3], None)
            if is_accepted:
                heapq.heappush(self._accepted.setdefault(delivery[:2], []), (delivery[2], delivery))
            elif message is not None:
                # Of an offset that was in work twice, after a rebalance, the first failure is enough.
                self._write(delivery, message, now_ns)
        self._producer.poll(0)

    def serve(self) -> None:
        """Hear what was written. Raises BrokerError where something could not be."""
        self._producer.poll(0)
        if self._error:
            topic, error = self._error
            raise BrokerError(f"{topic}: a message that failed could not be written: {error.str()}")

    def flush(self) -> None:
        """Wait until everything is written, in bounded time."""
        if self.unwritten and (left := self._producer.flush(FLUSH_SECONDS)):
            log.warning("%s messages that failed are not written again: they are not committed", left)
        self.serve()

    def covered(self, partitions: Sequence[TopicPartition]) -> None:
        """The group confirmed these offsets: what lies below is acknowledged."""
        now_ns = monotonic_ns()
        for each in partitions:
            heap = self._accepted.get((self._numbers[each.topic], each.partition), [])
            while heap and heap[0][0] < each.offset:
                self._known.append((now_ns, heapq.heappop(heap)[1], ACCEPTED))

    def forget(self, places: Sequence[Place], *, is_lost: bool) -> None:
        """Others have these partitions: what is in work of them is theirs. Where they were lost, no commit counts."""
        gone = set(places)
        self._in_work = {place: message for place, message in self._in_work.items() if place[:2] not in gone}
        for place in gone:
            self.held.forget(place)
            if is_lost:
                self._accepted.pop(place, None)

    def answered(self) -> tuple[Block, int]:
        """Rows of `attempts` of what became known since the last call."""
        self._producer.poll(0)
        known, self._known = self._known, []
        return attempt_rows(known)

    def finish(self) -> tuple[Block, int]:
        """The same, once everything is written and committed, or that took too long."""
        until_ns = monotonic_ns() + CONFIRMED_NS
        self.confirm()
        while any(self._accepted.values()) and monotonic_ns() < until_ns:
            self.confirm()
        return self.answered()

    def _write(self, delivery: DeliveryKey, message: Any, now_ns: int) -> None:
        topic, partition, offset = delivery[:3]
        number, wall_ns = delivery[5], now_ns + self._ahead_ns
        headers = message.headers() or []
        origin = origin_in(headers, Origin(self._topics[topic], partition, offset))
        again = after_failure(number, self._retries)
        if again:
            target = self._topics[number_at(topic, again.level, self._sent_topics)]
            ours = retry_headers(headers, origin, number, due_ms(wall_ns, again.delay_ns))
        else:
            target = f"{self._topics[topic % self._sent_topics]}{DEAD_LETTERS}"
            ours = dead_headers(headers, origin, number - 1, wall_ns // NS_PER_MS)
        self._known.append((now_ns, delivery, RELEASED if again else REJECTED))
        self.held.add((topic, partition), offset)
        told = partial(self._written, delivery, REDELIVERED if again else DEAD_LETTER, target)
        # A dead letter goes wherever the partitioner of its topic says.
        at = partition if again else ANY_PARTITION
        hand_over(self._producer, target, message.value(), message.key(), at, told, ours)

    def _written(
        self, delivery: DeliveryKey, outcome: str, topic: str, error: KafkaError | None, _message: ck.Message | None
    ) -> None:
        if error is not None:
            self._error = topic, error
            return
        self.held.written(delivery[:2], delivery[2])
        self._known.append((monotonic_ns(), delivery, outcome))
