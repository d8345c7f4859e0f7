"""Messages that are due, read again from their topic."""

from collections.abc import Sequence
from typing import Final

import confluent_kafka as ck
from confluent_kafka import KafkaException, TopicPartition

from streamgauge.domain.blocks import Settings
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.kafka.clients.messages import log, note_error

_AT_ONCE: Final = 1_000
_NEAR: Final = 2_000
"""A message that is so many offsets away is read up to; one that is farther is looked for anew."""
_POLL_SECONDS: Final = 0.2


class Fetching:
    """Reads single messages by partition and offset, without a group."""

    def __init__(self, settings: Settings, topic: str) -> None:
        own = {
            "group.id": "streamgauge-marker-tracker-reads-without-a-group",
            "enable.auto.commit": False,
            # An offset that is gone leads to the oldest message that is there, which tells that it is gone.
            "auto.offset.reset": "earliest",
            "fetch.queue.backoff.ms": 10,
        }
        self._topic = topic
        self._client = ck.Consumer({**settings, **own}, logger=log)

    def fetch(self, partition: int, offsets: Sequence[int], seconds: float) -> dict[int, ck.Message | None]:
        """The messages at these offsets, which rise; None for one that is gone. Those that did not come are missing."""
        found: dict[int, ck.Message | None] = {}
        limit_ns = monotonic_ns() + round(seconds * NS_PER_SECOND)
        wanted, at = list(offsets), -_NEAR - 1
        while wanted and monotonic_ns() < limit_ns:
            if not 0 <= wanted[0] - at <= _NEAR:
                at = wanted[0]
                self._client.assign([TopicPartition(self._topic, partition, at)])
            # No more than there is to read: the client would wait for the others.
            for message in self._consume(min(_AT_ONCE, max(1, wanted[-1] - at + 1))):
                offset = message.offset()
                if offset is None or message.partition() != partition:
                    continue
                at = offset + 1
                # Offsets without a message were deleted, compacted away, or are those of transaction markers.
                while wanted and wanted[0] < offset:
                    found[wanted.pop(0)] = None
                if wanted and wanted[0] == offset:
                    found[wanted.pop(0)] = message
        self._client.unassign()
        return found

    def close(self) -> None:
        """Let go of the client."""
        self._client.close()

    def _consume(self, most: int) -> list[ck.Message]:
        try:
            polled = self._client.consume(most, _POLL_SECONDS)
        except KafkaException as error:
            note_error(error.args[0])
            return []
        sound = []
        for message in polled:
            failure = message.error()
            if failure is None:
                sound.append(message)
            else:
                note_error(failure)
        return sound
