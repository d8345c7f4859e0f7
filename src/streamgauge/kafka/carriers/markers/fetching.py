"""Messages that are due, read again from their topic."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamgauge.domain.blocks import Settings
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.kafka.clients.messages import log, note_error

Messages = dict[int, ck.Message | None]
"""Messages of one partition by offset; None for one that is gone."""
_AT_ONCE: Final = 1_000
_NEAR: Final = 2_000
"""A message that is so many offsets away is read up to; one that is farther is looked for anew."""
_POLL_SECONDS: Final = 0.2


@dataclass(slots=True)
class Sought:
    """The messages of one partition that are still wanted, and those that were read."""

    left: deque[int]
    """Their offsets, rising."""
    at: int = 0
    """Offset of the next message that the client hands over."""
    end: int = 0
    """Up to here messages are read one after the other; what is wanted behind it is looked for."""
    found: Messages = field(default_factory=dict)

    def begin(self) -> int:
        """Go on at the first that is wanted; returns its offset."""
        self.at = self.end = self.left[0]
        for offset in self.left:
            if offset - self.end > _NEAR:
                break
            self.end = offset
        return self.at

    @property
    def span(self) -> int:
        """How many offsets lie before the end."""
        return self.end + 1 - self.at if self.left else 0

    def take(self, offset: int, message: ck.Message) -> None:
        """A message that was read; offsets without one were deleted, compacted away, or are transaction markers'."""
        self.pass_over(offset)
        self.at = offset + 1
        if self.left and self.left[0] == offset:
            self.found[self.left.popleft()] = message

    def pass_over(self, offset: int) -> None:
        """There was no message below this offset that was not read."""
        self.at = max(self.at, offset)
        while self.left and self.left[0] < offset:
            self.found[self.left.popleft()] = None


class Fetching:
    """Reads single messages by partition and offset, without a group."""

    def __init__(self, settings: Settings, topic: str) -> None:
        own = {
            "group.id": "streamgauge-marker-tracker-reads-without-a-group",
            "enable.auto.commit": False,
            # An offset that is gone leads to the oldest message that is there, which tells that it is gone.
            "auto.offset.reset": "earliest",
            # Where nothing is left of a partition, its end tells that.
            "enable.partition.eof": True,
            "fetch.queue.backoff.ms": 10,
            # What is fetched beyond the last message that is wanted is thrown away.
            "max.partition.fetch.bytes": 1 << 18,
        }
        self._topic = topic
        self._client = ck.Consumer({**settings, **own}, logger=log)

    def fetch(self, wanted: Mapping[int, Sequence[int]], seconds: float) -> dict[int, Messages]:
        """The messages at these offsets, which rise, by partition; those that did not come in time are missing.

        All partitions are read at once: each of them by itself would wait for the broker for some milliseconds.
        """
        limit_ns = monotonic_ns() + round(seconds * NS_PER_SECOND)
        sought = {partition: Sought(deque(offsets)) for partition, offsets in wanted.items() if offsets}
        places = [self._place(partition, each.begin()) for partition, each in sought.items()]
        self._client.assign(places)
        left = dict(sought)
        while left and monotonic_ns() < limit_ns:
            # No more than there is to read: the client would wait for the others.
            for message in self._consume(min(_AT_ONCE, max(1, sum(each.span for each in left.values())))):
                partition, offset = message.partition(), message.offset()
                if partition in left and offset is not None:
                    each = left[partition]
                    each.pass_over(offset) if message.error() else each.take(offset, message)
            self._go_on(left)
        # The client would remember which were left alone, for the next time, too.
        self._client.resume(places)
        self._client.unassign()
        return {partition: each.found for partition, each in sought.items()}

    def serve(self) -> None:
        """Let the client tell what it has to tell of itself: it keeps all of that until it is asked."""
        self._client.poll(0)

    def close(self) -> None:
        """Let go of the client."""
        self._client.close()

    def _go_on(self, left: dict[int, Sought]) -> None:
        """Leave alone what is complete, and look for what is far away."""
        done = [partition for partition, each in left.items() if not each.left]
        if done:
            self._client.pause([self._place(partition) for partition in done])
        for partition in done:
            del left[partition]
        for partition, each in left.items():
            if each.at > each.end:
                self._client.seek(self._place(partition, each.begin()))

    def _place(self, partition: int, offset: int = ck.OFFSET_INVALID) -> TopicPartition:
        return TopicPartition(self._topic, partition, offset)

    def _consume(self, most: int) -> list[ck.Message]:
        """Messages, and ends of partitions."""
        try:
            polled = self._client.consume(most, _POLL_SECONDS)
        except KafkaException as error:
            note_error(error.args[0])
            return []
        sound = []
        for message in polled:
            failure = message.error()
            if failure is None or failure.code() == KafkaError._PARTITION_EOF:
                sound.append(message)
            else:
                note_error(failure)
        return sound
