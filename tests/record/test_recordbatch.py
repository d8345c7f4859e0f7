"""Record batches: their encoding against what a real broker keeps, and how many messages make one."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka as ck
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.record.compression import codec_of
from streamgauge.record.recordbatch import (
    HEADER_BYTES,
    Limits,
    Record,
    batches,
    encode,
    limits,
    messages_in_linger,
    varint,
)

HEADER = struct.Struct(">qiibIhiqqqhii")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
APART = {"none": 0, "gzip": 0.001, "snappy": 0.015, "lz4": 0, "zstd": 0.03}
"""Snappy is another implementation; the client does not tell zstd the size, and small batches come out otherwise."""
MANY = 200
LONG = b"a text that says the same again and again, " * 4


@dataclass(frozen=True, slots=True)
class Kept:
    """A batch as it lies in a segment."""

    codec: str
    count: int
    size: int
    records: bytes


def kept_batches(segment: bytes) -> Iterator[Kept]:
    at = 0
    while at < len(segment):
        _, length, _, magic, _, attributes, _, _, _, _, _, _, count = HEADER.unpack_from(segment, at)
        assert magic == 2
        size = 12 + length
        yield Kept(CODECS[attributes & 7], count, size, segment[at + HEADER_BYTES : at + size])
        at += size


def segment(broker: EmbeddedBroker, topic: str) -> bytes:
    (path,) = Path(broker.entry.data).glob(f"**/{topic}-0/*.log")
    return path.read_bytes()


def produce(broker: EmbeddedBroker, topic: str, records: list[Record], **settings: str | int) -> None:
    given = {"bootstrap.servers": broker.bootstrap, "linger.ms": 10_000, "message.max.bytes": 2_000_000}
    producer = ck.Producer(given | settings)
    # Records of a topic that is not known yet are handed over one by one, beside the flush that sends what is there.
    producer.list_topics(topic, 10)
    for each in records:
        producer.produce(topic, each.value, each.key, headers=list(each.headers), timestamp=each.timestamp_ms)
    assert producer.flush(20) == 0


ALL_KINDS = [
    Record(b"v", b"k", [("streamgauge", bytes(40))], 1_700_000_000_000),
    Record(None, None, (), 1_700_000_000_001),
    Record(b"", b"", [("", None), ("empty", b"")], 1_700_000_000_001),
    Record(LONG, None, [("ü", b"\x00\xff")], 1_699_999_990_000),
    *(Record(LONG[: index % 150], b"%d" % index, (), 1_700_000_000_000 + 7 * index) for index in range(MANY)),
]


@pytest.mark.kafka
@pytest.mark.parametrize("codec", CODECS)
def test_the_records_are_those_that_a_broker_keeps(
    broker: EmbeddedBroker, fresh_topic: Callable[[int], str], codec: str
) -> None:
    """Byte for byte, with null and empty keys and values, headers, and times that go back."""
    topic, ours = fresh_topic(1), encode(ALL_KINDS)

    produce(broker, topic, ALL_KINDS, **{"compression.type": codec})
    (kept,) = kept_batches(segment(broker, topic))

    assert (kept.codec, kept.count, kept.size) == (codec, len(ALL_KINDS), HEADER_BYTES + len(kept.records))
    assert codec_of(codec).decode(kept.records, len(ours)) == ours
    assert len(codec_of(codec).encode(ours)) == pytest.approx(len(kept.records), rel=APART[codec])


@pytest.mark.kafka
def test_batches_are_filled_as_the_client_fills_them(broker: EmbeddedBroker, fresh_topic: Callable[[int], str]) -> None:
    """Up to `batch.size`, and up to `batch.num.messages`."""
    records = [Record(b"x" * 400, b"key%05d" % index, (), 1_700_000_000_000) for index in range(600)]

    full, counted = fresh_topic(1), fresh_topic(1)
    produce(broker, full, records, **{"batch.size": 50_000})
    produce(broker, counted, records, **{"batch.num.messages": 250})

    by_size = [len(each) for each in batches(records, Limits(10_000, 50_000, ""))]
    kept = [each.count for each in kept_batches(segment(broker, full))]
    assert max(abs(ours - theirs) for ours, theirs in zip(by_size, kept, strict=True)) <= 1
    assert [each.count for each in kept_batches(segment(broker, counted))] == [250, 250, 100]


@pytest.mark.parametrize(
    ("number", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (-65, "8101"), (300, "d804")],
)
def test_numbers_are_encoded_in_zigzag(number: int, encoded: str) -> None:
    assert varint(number).hex() == encoded


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_numbers_come_back(number: int) -> None:
    encoded = varint(number)
    rest = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(encoded))

    assert (rest >> 1) ^ -(rest & 1) == number
    assert len(encoded) <= 10
    assert all(byte & 0x80 for byte in encoded[:-1])


def test_a_record_weighs_what_is_in_it() -> None:
    """Attributes, time, offset, two lengths and the number of headers are one byte each here, its own length is two."""
    assert len(encode([Record(b"v" * 50, b"k" * 10)])) == 50 + 10 + 8


@given(st.lists(st.integers(0, 300), min_size=1), st.integers(1, 20), st.integers(1, 1_000))
def test_batches_keep_every_record_within_the_limits(sizes: list[int], messages: int, most_bytes: int) -> None:
    """A record that is too large alone makes a batch of its own."""
    records = [Record(bytes(size)) for size in sizes]
    made = list(batches(records, Limits(messages, most_bytes, "")))

    assert [each for batch in made for each in batch] == records
    assert max(map(len, made)) <= messages
    assert all(len(batch) == 1 or HEADER_BYTES + len(encode(batch)) <= most_bytes for batch in made)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"batch.num.messages": 10_000}, (10_000, "batch.num.messages")),
        ({"batch.num.messages": 10_000, "linger.ms": 26.4}, (26, "linger.ms")),
        ({"batch.num.messages": 10, "linger.ms": 26.4}, (10, "batch.num.messages")),
        ({"batch.num.messages": 10_000, "linger.ms": 0.2}, (1, "linger.ms")),
    ],
)
def test_the_lowest_count_decides(counts: dict[str, float], expected: tuple[int, str]) -> None:
    found = limits(1_000_000, counts)
    assert (found.messages, found.bound, found.bytes) == (*expected, 1_000_000)


@pytest.mark.parametrize(
    ("per_second", "linger_ms", "sticky_ms", "measured"),
    [
        (2_000, 5, 10, 10.8),
        (5_000, 5, 10, 26.9),
        (5_000, 20, 40, 101.8),
        (5_000, 50, 100, 252.1),
        (5_000, 50, 0, 21.9),
        (5_000, 5, 0, 3.1),
        (500, 5, 0, 1.2),
    ],
)
def test_what_gathers_in_a_linger_is_what_was_measured(
    per_second: float, linger_ms: float, sticky_ms: float, measured: float
) -> None:
    """Mean batches of one producer on 12 partitions of an embedded broker, told by the client's statistics."""
    assert messages_in_linger(per_second, linger_ms, sticky_ms, 12) == pytest.approx(measured, rel=0.05)


def test_beyond_the_time_that_a_partition_is_stuck_to_it_gets_its_share() -> None:
    assert messages_in_linger(1_000, 50, 10, 10) == 1 + 10 + 4
    assert messages_in_linger(1_000, 0, 10, 10) == 1
