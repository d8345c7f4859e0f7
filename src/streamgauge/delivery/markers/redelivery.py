"""What becomes of a message that is due: it is sent again, or becomes a dead letter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.delivery.markers.wire import COUNT_HEADER, Header, count_in, count_value

DEAD_LETTERS: Final = "__undelivered"
"""What the name of a topic of dead letters ends with, by default."""
_ORIGIN: Final = "streamgauge-dead-letter-"
"""How the headers of a dead letter begin that tell where it came from."""


@dataclass(frozen=True, slots=True)
class Resent:
    """Where a message goes that is due, and with which headers; key and value stay."""

    is_dead: bool
    """Whether it goes to the topic of dead letters, and not to its own partition."""
    headers: tuple[Header, ...]


def resent(
    topic: str, partition: int, offset: int, headers: Sequence[Header], limit: int | None, now_ms: int
) -> Resent:
    """What becomes of the message that was read there, which is due at `now_ms`.

    It is redelivered at most `limit` times; None for no limit. All of its headers are kept. Raises BadValue where its
    header does not tell how often it was redelivered.
    """
    count = count_in(headers)
    kept = tuple(header for header in headers if header[0] != COUNT_HEADER)
    if limit is None or count < limit:
        return Resent(False, (*kept, (COUNT_HEADER, count_value(count + 1))))
    reason = f"not acknowledged after {count} redeliveries"
    origin = dead_letter_headers(topic, partition, offset, count, now_ms, reason)
    return Resent(True, (*kept, (COUNT_HEADER, count_value(count)), *origin))


def dead_letter_headers(
    topic: str, partition: int, offset: int, redeliveries: int, now_ms: int, reason: str
) -> tuple[Header, ...]:
    """Headers of a dead letter, as texts: where it is from, when and why it was given up."""
    told = {
        "topic": topic, "partition": partition, "offset": offset, "redeliveries": redeliveries, "at-ms": now_ms,
        "reason": reason,
    }  # fmt: skip
    return tuple((f"{_ORIGIN}{name}", str(value).encode()) for name, value in told.items())
