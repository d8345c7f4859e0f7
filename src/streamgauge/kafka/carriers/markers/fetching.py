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
_AHEAD: Final = 20_000
"""Messages that are kept for later, of all partitions together."""
_AHEAD_BYTES: Final = 1 << 24
_POLL_SECONDS: Final = 0.2


@dataclass(slots=True)
class Sought:
    """One partition: messages that are still wanted, those that were found, and those that are kept for later.

    A fetch brings what stands behind a message, too, and what is due next is mostly among it. It is kept: else each
    message would cross the network many times.
    """

    left: deque[int] = field(default_factory=deque)
    """Offsets of what is wanted, rising."""
    at: int = 0
    """Offset of the next message that the client hands over."""
    end: int = 0
    """Up to here messages are read one after the other; what is wanted behind it is looked for."""
    found: Messages = field(default_factory=dict)
    ahead: deque[tuple[int, ck.Message]] = field(default_factory=deque)
    """Messages behind the last one that was wanted, by offset."""
    since: int = 0
    """From here to `at`, every message is `ahead`, or is gone."""
    size: int = 0
    """Bytes of the values that are `ahead`."""

    def want(self, offsets: Sequence[int]) -> None:
        """Begin with what is wanted now; what is `ahead` is found at once."""
        self.left, self.found = deque(offsets), {}
        if not self.left:
            return
        if self.left[0] < self.since:
            self._forget()
        while self.left and self.ahead:
            offset, message = self.ahead.popleft()
            self.size -= len(message)
            self.since = offset + 1
            self._match(offset, message)
        # Nothing is known of what lies before `since`, nor behind `at`.
        if self.left and self.since <= self.left[0]:
            self.pass_over(self.at)

    def begin(self) -> int:
        """Go on at the first that is wanted; returns its offset."""
        self.at = self.end = self.since = self.left[0]
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
        if offset < self.at:
            return
        self.at = offset + 1
        if self.left:
            self.since = self.at
            self._match(offset, message)
        else:
            self.ahead.append((offset, message))
            self.size += len(message)

    def pass_over(self, offset: int) -> None:
        """There was no message below this offset that was not read."""
        self.at = max(self.at, offset)
        while self.left and self.left[0] < offset:
            self.found[self.left.popleft()] = None

    def _match(self, offset: int, message: ck.Message) -> None:
        self.pass_over(offset)
        if self.left and self.left[0] == offset:
            self.found[self.left.popleft()] = message

    def _forget(self) -> None:
        self.ahead.clear()
        self.size = 0
        self.since = self.at


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
            # What is fetched and not handed over when a call ends is thrown away.
            "max.partition.fetch.bytes": 1 << 18,
            "queued.min.messages": 1,
        }
        self._topic = topic
        self._client = ck.Consumer({**settings, **own}, logger=log)
        self._sought: dict[int, Sought] = {}

    def fetch(self, wanted: Mapping[int, Sequence[int]], seconds: float) -> dict[int, Messages]:
        """The messages at these offsets, which rise, by partition; those that did not come in time are missing.

        All partitions are read at once: each of them by itself would wait for the broker for some milliseconds.
        """
        limit_ns = monotonic_ns() + round(seconds * NS_PER_SECOND)
        sought = {partition: self._sought.setdefault(partition, Sought()) for partition in wanted if wanted[partition]}
        for partition, each in sought.items():
            each.want(wanted[partition])
        if left := {partition: each for partition, each in sought.items() if each.left}:
            self._read(left, limit_ns)
        return {partition: each.found for partition, each in sought.items()}

    def serve(self) -> None:
        """Let the client tell what it has to tell of itself: it keeps all of that until it is asked."""
        self._client.poll(0)

    def close(self) -> None:
        """Let go of the client."""
        self._client.close()

    def _read(self, left: dict[int, Sought], limit_ns: int) -> None:
        """Read what is left until then, and keep what comes with it."""
        places = [self._place(partition, each.begin()) for partition, each in left.items()]
        reading = dict(left)
        self._client.assign(places)
        while left and monotonic_ns() < limit_ns:
            # No more than there is to read: the client would wait for the others.
            most = min(_AT_ONCE, max(1, sum(each.span for each in left.values())))
            self._take(self._consume(most, _POLL_SECONDS), reading)
            self._go_on(left)
        while reading and (messages := self._consume(_AT_ONCE, 0)):
            self._take(messages, reading)
        # The client would remember which were left alone, for the next time, too.
        self._client.resume(places)
        self._client.unassign()

    def _take(self, messages: Sequence[ck.Message], reading: dict[int, Sought]) -> None:
        """Take these messages; partitions of which enough is kept are left alone."""
        most, most_bytes = _AHEAD // len(self._sought), _AHEAD_BYTES // len(self._sought)
        for message in messages:
            partition, offset = message.partition(), message.offset()
            if partition not in reading or offset is None:
                continue
            each = reading[partition]
            each.pass_over(offset) if message.error() else each.take(offset, message)
            if len(each.ahead) > most or each.size > most_bytes:
                self._client.pause([self._place(partition)])
                del reading[partition]

    def _go_on(self, left: dict[int, Sought]) -> None:
        """Forget what is complete, and look for what is far away."""
        for partition in [partition for partition, each in left.items() if not each.left]:
            del left[partition]
        for partition, each in left.items():
            if each.at > each.end:
                self._client.seek(self._place(partition, each.begin()))

    def _place(self, partition: int, offset: int = ck.OFFSET_INVALID) -> TopicPartition:
        return TopicPartition(self._topic, partition, offset)

    def _consume(self, most: int, seconds: float) -> list[ck.Message]:
        """Messages, and ends of partitions."""
        try:
            polled = self._client.consume(most, seconds)
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
