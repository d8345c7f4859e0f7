"""Producer and consumer of the engine over confluent-kafka: blocks in, blocks out, librdkafka's words kept."""

import logging
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any, Final

import confluent_kafka as ck
import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition
from numpy.typing import NDArray

from streamgauge.domain import stamp
from streamgauge.domain.blocks import ALL_TAKEN, NULL_INT32, NULL_INT64, Block, ClientSpec, Fetched, Refused
from streamgauge.domain.clock import monotonic_ns
from streamgauge.domain.errors import BrokerError, Fault
from streamgauge.domain.secrets import without_secrets
from streamgauge.domain.shown import shown
from streamgauge.domain.stamp import Stamps

QUEUE_LIMIT: Final = "queue.buffering.max.messages"
_QUEUE_LIMIT_DEFAULT: Final = 100_000
_WHOLE_VALUES: Final = 1024
"""Up to this size it is cheaper to join whole values than to cut off each stamp."""
_NO_STAMP: Final = bytes(stamp.SIZE)
_METADATA_SECONDS: Final = 15.0
_CLOSE_SECONDS: Final = 5.0
_SEE_CONFIGURATION: Final = "Names and values are those of librdkafka's CONFIGURATION.md"

_NO_SUCH: Final = "No such configuration property"
_TOGETHER: Final = "Failed to create"
"""How librdkafka begins when each setting is right by itself, but not all of them together."""

Settings = Mapping[str, str | int | float | bool]
NO_SETTINGS: Final[Settings] = {}
_log = logging.getLogger("streamgauge.kafka")


class KafkaProducer:
    """Sends blocks to one topic and tells the fate of every message by what its delivery report carries."""

    def __init__(self, spec: ClientSpec, metadata_seconds: float = _METADATA_SECONDS) -> None:
        self._topic = spec.topic
        self._in_header = bool(spec.stamp_in_header)
        self._acks_none = str(spec.settings.get("acks", "")) == "0"
        self._limit = int(spec.settings.get(QUEUE_LIMIT, _QUEUE_LIMIT_DEFAULT))
        self._messages: list[Any] = []
        self._times = array("q")
        self._errors: dict[int, str] = {}
        self._heads: list[bytes] = []
        self._taken = 0
        self._told = 0
        settings = {**spec.settings, "on_delivery": self._reporter(), "error_cb": _note_error}
        try:
            self._client = ck.Producer(settings, logger=_log)
            # The first message must not wait for what can be known before: who leads which partition.
            self._client.list_topics(spec.topic, timeout=metadata_seconds)
        except KafkaException as error:
            raise BrokerError(f"{spec.worker}: {_text(error)}") from error

    @property
    def queue_limit(self) -> int:
        """How many messages the local queue holds at most."""
        return self._limit

    def room(self) -> int:
        """How many messages the local queue still takes."""
        return self._limit - self.in_flight()

    def in_flight(self) -> int:
        """Messages taken whose delivery report was not served."""
        return self._taken - self._told - len(self._messages)

    def send(self, values: Sequence[bytes], stamps: Stamps) -> Refused:
        """Hand a block over to librdkafka's queue."""
        return self._send_headers(values, stamps) if self._in_header else self._send_values(values)

    def serve(self, timeout_seconds: float) -> None:
        """Serve delivery reports."""
        self._client.poll(timeout_seconds)

    def fates(self, at_least: int) -> tuple[Block, int]:
        """Rows of `sent` from the delivery reports served since the last call."""
        count = len(self._messages)
        if count < max(1, at_least):
            return {}, 0
        messages, times, errors, heads = self._messages[:], self._times[:], dict(self._errors), self._heads[:]
        self._told += count
        # The callback holds on to these very lists.
        self._messages.clear()
        del self._times[:]
        self._errors.clear()
        self._heads.clear()
        return self._rows(messages, times, errors, heads), count

    def abandon(self) -> None:
        """Give up what is queued and in flight; the reports say so."""
        self._client.purge(in_queue=True, in_flight=True, blocking=True)

    def close(self) -> None:
        """Drop the client without waiting for anything."""
        self._client.purge(in_queue=True, in_flight=True, blocking=True)
        self._client.poll(0)

    def _reporter(self) -> Callable[[KafkaError | None, Message], None]:
        """The delivery callback: it runs once for each message, so it does nothing that can wait."""
        messages, errors = self._messages, self._errors
        keep, keep_time = messages.append, self._times.append

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                errors[len(messages)] = error.name()
            keep(message)
            keep_time(monotonic_ns())

        return delivered

    def _send_values(self, values: Sequence[bytes]) -> Refused:
        """One call for each message, which is cheaper than a batch of dictionaries that the client looks into."""
        produce, topic, taken = self._client.produce, self._topic, 0
        failed: list[tuple[int, str]] = []
        try:
            for value in values:
                try:
                    produce(topic, value)
                except KafkaException as error:
                    failed.append((taken + len(failed), error.args[0].name()))
                else:
                    taken += 1
        except BufferError:
            return Refused(no_room=range(taken + len(failed), len(values)), failed=failed)
        finally:
            self._taken += taken
        return Refused(failed=failed) if failed else ALL_TAKEN

    def _send_headers(self, values: Sequence[bytes], stamps: Stamps) -> Refused:
        """One call for each message: a batch takes no headers, and a delivery report returns none."""
        report = self._reporter()
        failed: list[tuple[int, str]] = []
        for place, value in enumerate(values):
            head = stamps[place].tobytes()
            try:
                self._client.produce(
                    self._topic,
                    value,
                    headers=[(stamp.HEADER_KEY, head)],
                    on_delivery=partial(self._with_head, head, report),
                )
                self._taken += 1
            except BufferError:
                return Refused(no_room=range(place, len(values)), failed=failed)
            except KafkaException as error:
                failed.append((place, error.args[0].name()))
        return Refused(failed=failed) if failed else ALL_TAKEN

    def _with_head(self, head: bytes, report: Callable[[Any, Any], None], error: Any, message: Any) -> None:
        self._heads.append(head)
        report(error, message)

    def _rows(self, messages: list[Any], times: "array[int]", errors: dict[int, str], heads: list[bytes]) -> Block:
        count = len(messages)
        values = _values(messages)
        if self._in_header:
            sizes, stamps = _sizes(values), stamp.decode(b"".join(heads))
        else:
            sizes, stamps = _sizes_and_stamps(values)
        offsets = _numbers(Message.offset, messages)
        partitions = _numbers(Message.partition, messages)
        return {
            "seq": stamps["seq"].astype(np.int64),
            "partition": np.where(partitions < 0, NULL_INT32, partitions).astype(np.int32),
            "offset": None if self._acks_none else np.where(offsets < 0, NULL_INT64, offsets),
            "due_ns": np.where(stamps["flags"] & stamp.NO_SCHEDULE, NULL_INT64, stamps["due_ns"]),
            "sent_ns": stamps["sent_ns"],
            "acked_ns": None if self._acks_none else np.frombuffer(times, np.int64),
            "size_bytes": sizes,
            "error": [errors.get(place) for place in range(count)] if errors else None,
        }


class KafkaConsumer:
    """A member of a consumer group; offsets are stored only when the caller says that their rows are recorded."""

    def __init__(self, spec: ClientSpec) -> None:
        self._topic = spec.topic
        self._in_header = spec.stamp_in_header
        self._partitions: set[int] = set()
        self._held = False
        self._withheld = False
        self._incremental = _assigns_incrementally(spec.settings)
        self._errors: dict[str, None] = {}
        settings = {**spec.settings, "enable.auto.offset.store": False, "error_cb": self._note}
        try:
            self._client = ck.Consumer(settings, logger=_log)
            self._client.subscribe(
                [spec.topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked
            )
        except KafkaException as error:
            raise BrokerError(f"{spec.worker}: {_text(error)}") from error

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
        values = _values(messages)
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
            return _sizes(values), stamp.decode(b"".join(map(_header_stamp, messages))), True
        sizes, from_values = _sizes_and_stamps(values)
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
        _note_error(error)
        self._errors[f"{error.name()}: {error.str()}"] = None


def producer_faults(where: str, settings: Settings, connection: Settings = NO_SETTINGS) -> list[Fault]:
    """What librdkafka has against these settings of a producer, one fault for each; opens no connection.

    `connection` is what the client is given beside them.
    """
    return _faults(where, settings, ck.Producer, connection)


def consumer_faults(where: str, settings: Settings, connection: Settings = NO_SETTINGS) -> list[Fault]:
    """What librdkafka has against these settings of a consumer, one fault for each; opens no connection.

    `connection` is what the client is given beside them.
    """
    return _faults(where, settings, ck.Consumer, {**connection, "group.id": "check"})


def _faults(where: str, settings: Settings, kind: type[Any], needed: Settings) -> list[Fault]:
    """Each setting alone, then those that are right all together, for what contradicts each other."""
    faults = []
    right = dict(settings)
    for name, value in settings.items():
        text = _refusal(kind, {**needed, name: value})
        if text and text.startswith(_NO_SUCH):
            faults.append(Fault(f"{where}.{name}", text, _SEE_CONFIGURATION))
        elif text and not text.startswith(_TOGETHER):
            faults.append(Fault(f"{where}.{name}", f"{shown(name, value)}: {text}", _SEE_CONFIGURATION))
        else:
            continue
        del right[name]
    if text := _refusal(kind, {**needed, **right}):
        faults.append(Fault(where, text, _SEE_CONFIGURATION))
    return faults


def _refusal(kind: type[Any], settings: Settings) -> str | None:
    try:
        kind(dict(settings), logger=_log)
    except KafkaException as error:
        return without_secrets(" ".join(_text(error).split()), settings)
    except (TypeError, ValueError) as error:
        return without_secrets(str(error), settings)
    return None


def _assigns_incrementally(settings: Settings) -> bool:
    """Whether a rebalance tells only what changes, as the cooperative assignor and the new group protocol do."""
    cooperative = "cooperative" in str(settings.get("partition.assignment.strategy", ""))
    return cooperative or settings.get("group.protocol") == "consumer"


def _values(messages: list[Any]) -> list[bytes]:
    """The bytes of each value; a null value has none."""
    values: list[Any] = list(map(Message.value, messages))
    return values if all(values) else [value or b"" for value in values]


def _sizes(values: Sequence[bytes]) -> NDArray[np.int32]:
    return np.fromiter(map(len, values), np.int32, len(values))


def _sizes_and_stamps(values: Sequence[bytes]) -> tuple[NDArray[np.int32], Stamps]:
    """The size of each value, and its first 40 bytes as a stamp; a shorter value has none."""
    count, size = len(values), len(values[0])
    if stamp.SIZE <= size <= _WHOLE_VALUES:
        joined = b"".join(values)
        if len(joined) == count * size:
            heads = np.frombuffer(joined, np.uint8).reshape(count, size)[:, : stamp.SIZE]
            stamps = np.ascontiguousarray(heads).view(stamp.STAMP).ravel()
            # Were one value longer and another shorter, what lies between them would not begin with a stamp.
            if bool(stamp.is_stamp(stamps, None).all()):
                return np.full(count, size, np.int32), stamps
    return _sizes(values), stamp.decode(
        b"".join(v[: stamp.SIZE] if len(v) >= stamp.SIZE else _NO_STAMP for v in values)
    )


def _header_stamp(message: Any) -> bytes:
    """The stamp in the headers of a message, or what cannot be taken for one."""
    found = next((value for key, value in message.headers() or () if key == stamp.HEADER_KEY), None)
    return found if found is not None and len(found) == stamp.SIZE else _NO_STAMP


def _numbers(get: Callable[[Any], int | None], messages: list[Any]) -> NDArray[np.int64]:
    """One number of each message, -1 for what librdkafka does not know."""
    try:
        return np.fromiter(map(get, messages), np.int64, len(messages))
    except TypeError:
        known = (get(message) for message in messages)
        return np.array([-1 if number is None else number for number in known], np.int64)


def _append_ms(messages: list[Any]) -> NDArray[np.int64] | None:
    """The broker's time of the append, where the topic stamps it; all messages of a topic are stamped alike."""
    if messages[0].timestamp()[0] != ck.TIMESTAMP_LOG_APPEND_TIME:
        return None
    return np.fromiter((message.timestamp()[1] for message in messages), np.int64, len(messages))


def _note_error(error: KafkaError) -> None:
    _log.warning("%s: %s", error.name(), error.str())


def _text(error: KafkaException) -> str:
    return str(error.args[0].str())
