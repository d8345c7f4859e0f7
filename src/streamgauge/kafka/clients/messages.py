"""Columns of what librdkafka gives as objects: values, sizes, stamps and numbers of many messages at once."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message
from numpy.typing import NDArray

from streamgauge.domain import stamp
from streamgauge.domain.stamp import Stamps

_WHOLE_VALUES: Final = 1024
"""Up to this size it is cheaper to join whole values than to cut off each stamp."""
NO_STAMP: Final = bytes(stamp.SIZE)
log = logging.getLogger("streamgauge.kafka")


def values_of(messages: list[Any]) -> list[bytes]:
    """The bytes of each value; a null value has none."""
    values: list[Any] = list(map(Message.value, messages))
    return values if all(values) else [value or b"" for value in values]


def sizes_of(values: Sequence[bytes]) -> NDArray[np.int32]:
    """Bytes of each value."""
    return np.fromiter(map(len, values), np.int32, len(values))


def sizes_and_stamps(values: Sequence[bytes]) -> tuple[NDArray[np.int32], Stamps]:
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
    return sizes_of(values), stamp.decode(
        b"".join(v[: stamp.SIZE] if len(v) >= stamp.SIZE else NO_STAMP for v in values)
    )


def numbers(get: Callable[[Any], int | None], messages: list[Any]) -> NDArray[np.int64]:
    """One number of each message, -1 for what librdkafka does not know."""
    try:
        return np.fromiter(map(get, messages), np.int64, len(messages))
    except TypeError:
        known = (get(message) for message in messages)
        return np.array([-1 if number is None else number for number in known], np.int64)


def note_error(error: KafkaError) -> None:
    """Write an error of a client to the log of its worker."""
    log.warning("%s: %s", error.name(), error.str())


def words_of(error: KafkaException) -> str:
    """What librdkafka says an error is."""
    return str(error.args[0].str())
