"""Messages as columns: where each was read, what its stamp says, when it was made or appended."""

from collections.abc import Sequence
from functools import partial
from itertools import compress
from typing import Any

import confluent_kafka as ck
import numpy as np
from confluent_kafka import Message
from numpy.typing import NDArray

from streamgauge.delivery.markers.wire import count_in
from streamgauge.domain import stamp
from streamgauge.domain.blocks import NULL_INT64, Fetched
from streamgauge.domain.errors import BadValue
from streamgauge.domain.stamp import Stamps
from streamgauge.kafka.clients.messages import NO_STAMP, sizes_and_stamps, sizes_of, values_of


class Decoder:
    """Decodes messages of these topics; `in_header` says where stamps are, None where nobody told.

    `counted_in` names the header in which messages tell how often they were redelivered; None where nothing redelivers.
    """

    def __init__(self, topics: Sequence[str], in_header: bool | None, counted_in: str | None = None) -> None:
        self._numbers = {name: number for number, name in enumerate(topics)}
        self._in_header = in_header
        self._counted_in = counted_in

    def decode(self, messages: list[Any], empty_ns: int | None = None, returned_ns: int | None = None) -> Fetched:
        """The columns of messages, of which there is at least one; the times as `Fetched` has them."""
        values = values_of(messages)
        sizes, stamps, in_header = self._find_stamps(messages, values)
        topic: NDArray[np.int32] | int = 0
        if len(self._numbers) > 1:
            topic = np.fromiter((self._numbers[message.topic()] for message in messages), np.int32, len(messages))
        return Fetched(
            partition=np.fromiter(map(Message.partition, messages), np.int32, len(messages)),
            offset=np.fromiter(map(Message.offset, messages), np.int64, len(messages)),
            append_ms=_times_ms(messages, topic, ck.TIMESTAMP_LOG_APPEND_TIME),
            size_bytes=sizes,
            stamps=stamps,
            values=values,
            in_header=in_header,
            topic=topic,
            created_ms=partial(_times_ms, messages, topic, ck.TIMESTAMP_CREATE_TIME),
            empty_ns=empty_ns,
            returned_ns=returned_ns,
            deliveries=self._deliveries(messages),
            contents=lambda: [(message.value(), message.key()) for message in messages],
        )

    def _deliveries(self, messages: list[Any]) -> NDArray[np.int32] | None:
        """Which delivery each message is, by its header."""
        header = self._counted_in
        if header is None:
            return None
        counts = (1 + _redeliveries(message.headers(), header) for message in messages)
        return np.fromiter(counts, np.int32, len(messages))

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


def _redeliveries(headers: Any, name: str) -> int:
    """How often a message was redelivered: 0 without the header, and where that is not what it should be."""
    try:
        return count_in(headers, name) if headers else 0
    except BadValue:
        return 0


def _header_stamp(message: Any) -> bytes:
    """The stamp in the headers of a message, or what cannot be taken for one."""
    found = next((value for key, value in message.headers() or () if key == stamp.HEADER_KEY), None)
    return found if found is not None and len(found) == stamp.SIZE else NO_STAMP


def _times_ms(messages: list[Any], topic: NDArray[np.int32] | int, kind: int) -> NDArray[np.int64] | None:
    """The timestamps of messages where they are of this kind, else NULL; None for none: a topic has one kind."""
    firsts = [0] if isinstance(topic, int) else np.unique(topic, return_index=True)[1].tolist()
    of_kind = [messages[place].timestamp()[0] == kind for place in firsts]
    if not any(of_kind):
        return None
    if all(of_kind):
        return np.fromiter((message.timestamp()[1] for message in messages), np.int64, len(messages))
    pairs = (message.timestamp() for message in messages)
    return np.fromiter((at_ms if each == kind else NULL_INT64 for each, at_ms in pairs), np.int64, len(messages))
