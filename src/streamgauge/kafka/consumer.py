"""The consumer of the engine over confluent-kafka: blocks out, offsets stored when their rows are recorded."""

import threading
from itertools import compress
from typing import Any, Final

import confluent_kafka as ck
import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition
from numpy.typing import NDArray

from streamgauge.domain import stamp
from streamgauge.domain.blocks import ClientSpec, Fetched
from streamgauge.domain.errors import BrokerError
from streamgauge.domain.stamp import Stamps
from streamgauge.kafka.messages import NO_STAMP, log, note_error, sizes_and_stamps, sizes_of, values_of, words_of
from streamgauge.kafka.settings import Settings

_CLOSE_SECONDS: Final = 5.0


class KafkaConsumer:
    """A member of a consumer group; offsets are stored only when the caller says that their rows are recorded."""

    def __init__(self, spec: ClientSpec) -> None:
        self._topic = spec.topics[0]
        self._in_header = spec.stamp_in_header
        self._partitions: set[int] = set()
        self._held = False
        self._withheld = False
        self._incremental = _assigns_incrementally(spec.settings)
        self._errors: dict[str, None] = {}
        settings = {**spec.settings, "enable.auto.offset.store": False, "error_cb": self._note}
        try:
            self._client = ck.Consumer(settings, logger=log)
            self._client.subscribe(
                list(spec.topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked
            )
        except KafkaException as error:
            raise BrokerError(f"{spec.worker}: {words_of(error)}") from error

    def poll(self, timeout_seconds: float, limit: int) -> Fetched | None:
        """Wait for one message, then take what is there: a call that waits for a whole block would add latency."""
        first = self._client.poll(timeout_seconds)
        if first is None:
            return None
        messages = [first, *self._client.consume(limit - 1, 0)] if limit > 1 else [first]
        if any(map(Message.error, messages)):
            for message in messages:
                if error := message.error():
                    self._note(error)
            messages = [message for message in messages if message.error() is None]
        return self._decode(messages) if messages else None

    def assigned(self) -> int:
        """Partitions that this member has now."""
        return len(self._partitions)

    def hold(self, *, held: bool) -> None:
        """Pause or resume all partitions, those still to come included."""
        self._held = held
        partitions = [TopicPartition(self._topic, partition) for partition in self._partitions]
        if self._withheld and not held:
            self._withheld = False
            self._client.assign(partitions)
        else:
            self._apply_hold(partitions)

    def store(self, partitions: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Store offsets for the next commit."""
        pairs = zip(partitions.tolist(), offsets.tolist(), strict=True)
        mine = [TopicPartition(self._topic, *pair) for pair in pairs if pair[0] in self._partitions]
        try:
            self._client.store_offsets(offsets=mine)
        except KafkaException as error:
            # The partition went to another member meanwhile, which reads these messages again.
            self._note(error.args[0])

    def positions(self) -> list[tuple[int, int | None]]:
        """Position of each partition of this member; where nothing was read, what is committed."""
        mine = [TopicPartition(self._topic, partition) for partition in sorted(self._partitions)]
        if not mine:
            return []
        known = {each.partition: each.offset for each in self._client.position(mine) if each.offset >= 0}
        unread = [each for each in mine if each.partition not in known]
        try:
            committed = self._client.committed(unread, timeout=5.0) if unread else []
        except KafkaException as error:
            self._note(error.args[0])
            committed = []
        known.update({each.partition: each.offset for each in committed if each.offset >= 0})
        return [(each.partition, known.get(each.partition)) for each in mine]

    def errors(self) -> list[str]:
        """Errors that the client met since the last call, each once."""
        out = list(self._errors)
        self._errors.clear()
        return out

    def close(self) -> None:
        """Commit what is stored and leave the group; without a broker, give that up after some seconds."""
        closing = threading.Thread(target=self._client.close, daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)

    def _decode(self, messages: list[Any]) -> Fetched:
        values = values_of(messages)
        sizes, stamps, in_header = self._find_stamps(messages, values)
        return Fetched(
            partition=np.fromiter(map(Message.partition, messages), np.int32, len(messages)),
            offset=np.fromiter(map(Message.offset, messages), np.int64, len(messages)),
            append_ms=_append_ms(messages),
            size_bytes=sizes,
            stamps=stamps,
            values=values,
            in_header=in_header,
        )

    def _find_stamps(
        self, messages: list[Any], values: list[bytes]
    ) -> tuple[NDArray[np.int32], Stamps, NDArray[np.bool_] | bool]:
        """Size and stamp of each message, and whether the stamp is in its headers."""
        if self._in_header:
            return sizes_of(values), stamp.decode(b"".join(map(_header_stamp, messages))), True
        sizes, from_values = sizes_and_stamps(values)
        if self._in_header is False:
            return sizes, from_values, False
        # Nobody told where they are. Looking into the headers of every message would cost a quarter of all the time.
        missing = ~stamp.is_stamp(from_values, None)
        if not missing.any():
            return sizes, from_values, False
        found = stamp.decode(b"".join(map(_header_stamp, compress(messages, missing))))
        in_header = missing.copy()
        in_header[missing] = stamp.is_stamp(found, None)
        stamps = from_values.copy()
        stamps[in_header] = found[in_header[missing]]
        return sizes, stamps, in_header

    def _assigned(self, _consumer: Any, partitions: list[TopicPartition]) -> None:
        self._partitions.update(each.partition for each in partitions)
        if self._held and self._incremental:
            # Assigned first: only a partition that is assigned can be paused.
            self._client.incremental_assign(partitions)
            self._apply_hold(partitions)
        elif self._held:
            # Paused before librdkafka knows the committed offset, a partition is fetched a second after it is resumed.
            self._client.assign([])
            self._withheld = True

    def _revoked(self, _consumer: Any, partitions: list[TopicPartition]) -> None:
        self._partitions.difference_update(each.partition for each in partitions)
        self._withheld = self._withheld and bool(self._partitions)

    def _apply_hold(self, partitions: list[TopicPartition]) -> None:
        if partitions:
            (self._client.pause if self._held else self._client.resume)(partitions)

    def _note(self, error: KafkaError) -> None:
        note_error(error)
        self._errors[f"{error.name()}: {error.str()}"] = None


def _assigns_incrementally(settings: Settings) -> bool:
    """Whether a rebalance tells only what changes, as the cooperative assignor and the new group protocol do."""
    cooperative = "cooperative" in str(settings.get("partition.assignment.strategy", ""))
    return cooperative or settings.get("group.protocol") == "consumer"


def _header_stamp(message: Any) -> bytes:
    """The stamp in the headers of a message, or what cannot be taken for one."""
    found = next((value for key, value in message.headers() or () if key == stamp.HEADER_KEY), None)
    return found if found is not None and len(found) == stamp.SIZE else NO_STAMP


def _append_ms(messages: list[Any]) -> NDArray[np.int64] | None:
    """The broker's time of the append, where the topic stamps it; all messages of a topic are stamped alike."""
    if messages[0].timestamp()[0] != ck.TIMESTAMP_LOG_APPEND_TIME:
        return None
    return np.fromiter((message.timestamp()[1] for message in messages), np.int64, len(messages))
