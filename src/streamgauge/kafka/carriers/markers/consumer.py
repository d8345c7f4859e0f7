"""A consumer of a group whose messages are acknowledged one by one, with markers."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamgauge.delivery.markers.wire import END_VALUE, key_of, start_value
from streamgauge.domain.blocks import Settings
from streamgauge.domain.errors import BadInput, BrokerError, Fault
from streamgauge.kafka.carriers.markers.clients import FLUSH_SECONDS, hand_over, note_or_raise
from streamgauge.kafka.carriers.markers.topics import SUFFIX
from streamgauge.kafka.clients.messages import log, note_error, words_of

AT_ONCE: Final = 1_000
"""Messages taken by one poll at most."""
_OWNED: Final = {
    "group.id": "name the group with `group`",
    "enable.auto.commit": "polled positions are committed once their markers are written",
    "enable.auto.offset.store": "polled positions are committed once their markers are written",
}
"""Settings that this consumer decides, and what to do instead."""


class MarkerConsumer:
    """Polls messages, and acknowledges each of them when `processed` is called.

    A message that is not acknowledged within `redeliver_after_ms` is delivered again by a tracker. Delivery is at least
    once: a message may come again although it was acknowledged, if its end marker was not written in time.

    One poll writes a start marker for each message, waits for all of them, and commits the polled positions; nothing is
    handed over before. Not for use by several threads.
    """

    def __init__(
        self,
        settings: Settings,
        topic: str,
        group: str,
        *,
        redeliver_after_ms: int,
        markers: str | None = None,
        consumer: Mapping[str, Any] | None = None,
        producer: Mapping[str, Any] | None = None,
    ) -> None:
        """`settings` are those of all clients, such as `bootstrap.servers`; the others are added to them.

        Raises BadInput for settings that this class decides, and for others that the client refuses.
        """
        added = {**settings, **(consumer or {})}
        if owned := sorted(added.keys() & _OWNED.keys()):
            raise BadInput([Fault(name, "is set by the consumer", f"Leave it out: {_OWNED[name]}") for name in owned])
        if redeliver_after_ms < 1:
            raise BadInput.single("redeliver_after_ms", f"{redeliver_after_ms} is not positive", "Write at least 1")
        self.topic, self.markers = topic, markers or f"{topic}{SUFFIX}"
        self.lost_ends = 0
        """End markers that were not written: their messages will be delivered again."""
        self._start = start_value(redeliver_after_ms)
        self._unstarted = 0
        """Start markers that were not written."""
        # A group that has committed nothing has read nothing.
        own = {"group.id": group, "enable.auto.commit": False, "enable.auto.offset.store": False}
        try:
            self._consumer = ck.Consumer({"auto.offset.reset": "earliest", **added, **own}, logger=log)
            self._producer = ck.Producer({"acks": "all", "linger.ms": 1, **settings, **(producer or {})}, logger=log)
        except KafkaException as error:
            raise BadInput.single("client settings", words_of(error), "See librdkafka's CONFIGURATION.md") from error
        self._consumer.subscribe([topic])

    def poll(self, timeout_seconds: float, most: int = AT_ONCE) -> list[ck.Message]:
        """Messages to process, waiting at most so long for the first; their start markers are written.

        Raises BrokerError where markers could not be written: these messages are polled again.
        """
        self._producer.poll(0)
        messages = [each for each in self._consumer.consume(most, timeout_seconds) if self._is_sound(each)]
        if not messages:
            return []
        for message in messages:
            self._write(message, self._start, self._started)
        left = self._producer.flush(FLUSH_SECONDS)
        if left or self._unstarted:
            self._unstarted = 0
            self._go_back(messages)
            raise BrokerError(f"{self.markers}: start markers could not be written")
        self._commit(messages)
        return messages

    def processed(self, message: ck.Message) -> None:
        """Acknowledge a message; does not wait for its end marker."""
        self._write(message, END_VALUE, self._ended)
        self._producer.poll(0)

    def close(self) -> None:
        """Write what is left of end markers, and leave the group."""
        self.lost_ends += self._producer.flush(FLUSH_SECONDS)
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _is_sound(self, message: ck.Message) -> bool:
        error = message.error()
        if error is None:
            return True
        note_or_raise(error, self.topic)
        return False

    def _write(self, message: ck.Message, value: bytes, told: Any) -> None:
        partition, offset = _place(message)
        hand_over(self._producer, self.markers, value, key_of(partition, offset), partition, told)

    def _started(self, error: KafkaError | None, _marker: ck.Message | None) -> None:
        if error is not None:
            note_error(error)
            self._unstarted += 1

    def _ended(self, error: KafkaError | None, _marker: ck.Message | None) -> None:
        if error is not None:
            note_error(error)
            self.lost_ends += 1

    def _commit(self, messages: list[ck.Message]) -> None:
        """Commit the positions after these messages; one that fails is made up for by the next."""
        positions = {place[0]: place[1] + 1 for place in map(_place, messages)}
        try:
            self._consumer.commit(
                offsets=[TopicPartition(self.topic, partition, offset) for partition, offset in positions.items()],
                asynchronous=False,
            )
        except KafkaException as error:
            # Its messages have start markers: whoever polls them, too, or a tracker, takes care of them.
            note_error(error.args[0])

    def _go_back(self, messages: list[ck.Message]) -> None:
        """Poll these messages again, of partitions that we still have."""
        firsts: dict[int, int] = {}
        for partition, offset in map(_place, messages):
            firsts.setdefault(partition, offset)
        for partition, offset in firsts.items():
            try:
                self._consumer.seek(TopicPartition(self.topic, partition, offset))
            except KafkaException as error:
                note_error(error.args[0])


def _place(message: ck.Message) -> tuple[int, int]:
    """Partition and offset of a message that was read or written; librdkafka knows both of every such message."""
    partition, offset = message.partition(), message.offset()
    return (-1 if partition is None else partition), (-1 if offset is None else offset)
