"""Kafka's record batch, version 2: what messages weigh in a log, and how many of them make a batch.

Layout: https://kafka.apache.org/documentation/#recordbatch. A batch is a header of 61 bytes and the records one after
the other. A codec compresses the records alone, all of a batch together, so that a ratio depends on how large batches
get. The rules by which librdkafka fills them are those of its `CONFIGURATION.md`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

HEADER_BYTES: Final = 61
"""Base offset, length, leader epoch, magic, checksum, attributes, last offset delta, two timestamps, producer, its
epoch, base sequence, count."""


@dataclass(frozen=True, slots=True)
class Record:
    """One message as a batch carries it; None is a null key or value."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp_ms: int = 0


def varint(number: int) -> bytes:
    """A signed number in zigzag and in groups of seven bits, the lowest first; at most ten bytes for 64 bits."""
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def encode(records: Sequence[Record]) -> bytes:
    """The records of one batch: what a codec compresses, and what follows the header where there is none."""
    base_ms = records[0].timestamp_ms
    return b"".join(_record(each, place, each.timestamp_ms - base_ms) for place, each in enumerate(records))


def _record(record: Record, offset_delta: int, delta_ms: int) -> bytes:
    headers = b"".join(_field(name.encode()) + _field(value) for name, value in record.headers)
    fields = (
        b"\0",  # attributes, of which there are none
        varint(delta_ms),
        varint(offset_delta),
        _field(record.key),
        _field(record.value),
        varint(len(record.headers)),
        headers,
    )
    body = b"".join(fields)
    return varint(len(body)) + body


def _field(content: bytes | None) -> bytes:
    """Bytes behind their length; null has the length -1."""
    return varint(-1) if content is None else varint(len(content)) + content


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a batch gets at most."""

    messages: int
    bytes: int
    bound: str
    """The setting that the number of messages comes from."""


def limits(most_bytes: int, counts: Mapping[str, float]) -> Limits:
    """The limits of a batch, of which the lowest count decides; `counts` are messages by the name of the setting."""
    bound = min(counts, key=counts.__getitem__)
    return Limits(max(1, round(counts[bound])), most_bytes, bound)


def messages_in_linger(per_second: float, linger_ms: float, sticky_ms: float, partitions: int) -> float:
    """How many messages one producer that sends `per_second` puts into one batch while it lingers; an estimate.

    The first message begins the wait. While a partition is stuck to (`sticky.partitioning.linger.ms`; 0 for messages
    with keys) it gets all that follow, and afterwards its share.
    """
    stuck_ms = min(linger_ms, sticky_ms)
    return 1 + per_second * (stuck_ms + (linger_ms - stuck_ms) / partitions) / 1_000


def batches(records: Iterable[Record], limits: Limits) -> Iterator[list[Record]]:
    """The records in batches as librdkafka fills them: until the next one would exceed a limit; one always fits."""
    batch: list[Record] = []
    size = HEADER_BYTES
    for record in records:
        weight = len(_record(record, len(batch), 0))
        if batch and (len(batch) == limits.messages or size + weight > limits.bytes):
            yield batch
            batch, size = [], HEADER_BYTES
        batch.append(record)
        size += weight
    if batch:
        yield batch
