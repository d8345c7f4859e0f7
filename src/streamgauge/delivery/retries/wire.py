"""How a message stands in a retry topic: its name, and headers that tell where it is from and when it is due.

`<topic>__retry_1` has the messages whose first delivery failed, and so on; each has as many partitions as the topic,
and a message stays in that of its number. All headers that it had are kept. Ours tell where it stood first, how often
it was redelivered (one byte where that fits a signed one, otherwise an int32), and when it is due, in milliseconds
since 1970.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from streamgauge.delivery.markers.redelivery import dead_letter_headers
from streamgauge.delivery.markers.wire import Header, count_value

COUNT_HEADER: Final = "streamgauge-retry-count"
"""Name of the header with the number of redeliveries."""
DUE_HEADER: Final = "streamgauge-retry-due-ms"
"""Name of the header with the time before which the message is not to be delivered."""
_TOPIC: Final = "streamgauge-retry-topic"
_PARTITION: Final = "streamgauge-retry-partition"
_OFFSET: Final = "streamgauge-retry-offset"
_ORIGIN: Final = (_TOPIC, _PARTITION, _OFFSET)
AT_ONCE_MS: Final = 0
"""A message that does not say when it is due is due at once."""


class Origin(NamedTuple):
    """Where a message stood first."""

    topic: str
    partition: int
    offset: int


def retry_headers(headers: Sequence[Header], origin: Origin, redeliveries: int, due_ms: int) -> tuple[Header, ...]:
    """The headers of a message that is written to a retry topic, to be redelivered for the so many-th time."""
    ours = {
        _TOPIC: origin.topic.encode(), _PARTITION: str(origin.partition).encode(),
        _OFFSET: str(origin.offset).encode(), COUNT_HEADER: count_value(redeliveries), DUE_HEADER: str(due_ms).encode(),
    }  # fmt: skip
    return (*_kept(headers), *ours.items())


def dead_headers(headers: Sequence[Header], origin: Origin, redeliveries: int, now_ms: int) -> tuple[Header, ...]:
    """The headers of a message that is given up: why, and after how many redeliveries."""
    reason = f"processing failed after {redeliveries} redeliveries"
    return (*_kept(headers), *dead_letter_headers(*origin, redeliveries, now_ms, reason))


def origin_in(headers: Sequence[Header], place: Origin) -> Origin:
    """Where a message with these headers stood first: that `place` where they do not say."""
    known = {name: value for name, value in headers if name in _ORIGIN and value}
    try:
        return Origin(known[_TOPIC].decode(), int(known[_PARTITION]), int(known[_OFFSET]))
    except (KeyError, ValueError):
        return place


def due_in(headers: Sequence[Header]) -> int:
    """When a message with these headers is due; AT_ONCE_MS where they do not say."""
    value = next((value for name, value in headers if name == DUE_HEADER), None)
    try:
        return int(value or b"")
    except ValueError:
        return AT_ONCE_MS


def _kept(headers: Sequence[Header]) -> tuple[Header, ...]:
    """The headers without ours."""
    return tuple(header for header in headers if header[0] not in {*_ORIGIN, COUNT_HEADER, DUE_HEADER})
