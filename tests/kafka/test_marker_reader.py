"""The reader of the engine that acknowledges with markers, and its trackers, on a real broker."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import confluent_kafka as ck
import numpy as np
import pytest
from tests.kafka.test_markers import read_all
from tests.waiting import until

from streamgauge.acknowledge import Cluster, Tracked, make_marker_topic
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.delivery.markers.redelivery import DEAD_LETTERS
from streamgauge.delivery.markers.wire import Marker, read_marker
from streamgauge.domain import stamp
from streamgauge.domain.blocks import Block, ClientSpec, Fetched
from streamgauge.domain.clock import NS_PER_MS, clock_pair
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.carriers.markers.reader import MarkerReader, OpenMarkerReader
from streamgauge.kafka.carriers.markers.role import OpenTrackers, TopicTrackers

pytestmark = pytest.mark.kafka

TAG, AFTER_MS, COUNT = 77, 200, 6
Make = Callable[[int], str]


@pytest.fixture
def settings(broker: EmbeddedBroker) -> dict[str, Any]:
    return {"bootstrap.servers": broker.bootstrap}


@pytest.fixture
def topic(settings: dict[str, Any], broker: EmbeddedBroker, fresh_topic: Make) -> Iterator[str]:
    """A topic of two partitions with COUNT stamped messages, and its topics of markers and of dead letters."""
    cluster, name = Cluster(broker.bootstrap, {}), fresh_topic(2)
    make_marker_topic(cluster, name)
    cluster.create_topic(f"{name}{DEAD_LETTERS}", 1, 1)
    stamps = np.zeros(COUNT, stamp.STAMP)
    stamps["magic"], stamps["version"], stamps["tag"], stamps["producer"] = stamp.MAGIC, stamp.VERSION, TAG, 3
    stamps["seq"] = np.arange(COUNT)
    producer = ck.Producer(settings)
    for number, each in enumerate(stamps):
        producer.produce(name, each.tobytes() + b"rest", None, number % 2)
    assert producer.flush(10) == 0
    yield name
    cluster.delete_topic(f"{name}-markers")
    cluster.delete_topic(f"{name}{DEAD_LETTERS}")


def reader_of(settings: dict[str, Any], *topics: str) -> MarkerReader:
    own: dict[str, Any] = {
        "group.id": secrets.token_hex(4),
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    spec = ClientSpec("consumer-0", topics, {**settings, **own})
    return OpenMarkerReader(settings, AFTER_MS)(spec)


def trackers_of(settings: dict[str, Any], topic: str, limit: int = 1) -> TopicTrackers:
    tracked = Tracked(limit=limit, silence_ms=50)
    return OpenTrackers(settings, (topic,), secrets.token_hex(4), tracked, TAG, stamp_in_header=False)()


def markers_in(settings: dict[str, Any], topic: str) -> list[Marker]:
    """All markers that are written, each partition in its order."""
    return [read_marker(each.key(), each.value()) for each in read_all(settings, f"{topic}-markers", 2)]


def polled(reader: MarkerReader, count: int) -> list[Fetched]:
    """What polls bring until so many messages came."""
    found: list[Fetched] = []

    def is_all() -> bool:
        if block := reader.poll(0.05, 100):
            found.append(block)
        return sum(each.count for each in found) >= count

    until(is_all)
    return found


def settled(reader: MarkerReader, blocks: list[Fetched], fails: Callable[[int], bool]) -> list[tuple[int, str]]:
    """Sequence and outcome of each delivery, as it is answered."""
    answers: list[tuple[Block, int]] = []
    for each in blocks:
        seqs = each.stamps["seq"].astype(np.int64)
        rows: Block = {
            "topic": 0, "partition": each.partition, "offset": each.offset, "producer": 3, "seq": seqs,
            "delivery_count": each.deliveries,
        }  # fmt: skip
        reader.acknowledgements.settle(rows, np.array([not fails(seq) for seq in seqs.tolist()]))
    answers.append(reader.acknowledgements.answered())
    answers.append(reader.acknowledgements.finish())
    columns: list[Any] = [block for block, count in answers if count]
    return sorted(row for block in columns for row in zip(block["seq"].tolist(), block["outcome"], strict=True))


def test_a_message_is_handed_over_when_its_start_marker_is_written(settings: dict[str, Any], topic: str) -> None:
    """It knows its deadline by the broker's clock; until then its position is not passed."""
    with closing(reader_of(settings, topic)) as reader:
        before_ms = clock_pair().wall_ns // NS_PER_MS
        found: list[Fetched] = []

        def is_all() -> bool:
            # Without time to wait, what was polled is not handed over by the same call.
            if block := reader.poll(0, 100):
                found.append(block)
            known = {number: offset for _, number, offset in reader.positions()}
            handed = [(number, offset) for each in found for number, offset in _places(each)]
            assert all(
                (known[number] or 0) <= 1 + max([-1, *(o for n, o in handed if n == number)]) for number in known
            )
            return len(handed) == COUNT

        until(is_all)
        after_ms = clock_pair().wall_ns // NS_PER_MS
        for each in found:
            assert each.deadline_ms is not None
            assert each.deliveries is not None
            # When the client had returned it, its start marker was still to be written.
            assert each.returned_ns is None
            assert ((before_ms <= each.deadline_ms - AFTER_MS) & (each.deadline_ms - AFTER_MS <= after_ms)).all()
            assert set(each.deliveries.tolist()) == {1}
        assert {marker.redeliver_after_ms for marker in markers_in(settings, topic)} == {AFTER_MS}
        assert settled(reader, found, lambda _: False) == [(seq, "accepted") for seq in range(COUNT)]
        assert reader.acknowledgements.answered() == ({}, 0)
    ends = [marker for marker in markers_in(settings, topic) if marker.redeliver_after_ms is None]
    assert len(ends) == COUNT


def _places(fetched: Fetched) -> list[tuple[int, int]]:
    return list(zip(fetched.partition.tolist(), fetched.offset.tolist(), strict=True))


def test_what_failed_comes_again_and_is_dead_in_the_end(settings: dict[str, Any], topic: str) -> None:
    """Polled positions are committed: nothing comes again but by the tracker, which tells each message by its stamp."""
    told: list[tuple[int, int, str]] = []
    with closing(trackers_of(settings, topic)) as tracker, closing(reader_of(settings, topic)) as reader:
        assert not tracker.is_current
        until(lambda: tracker.turn(0.02)[1] == 0 and tracker.is_current)
        assert settled(reader, polled(reader, COUNT), lambda seq: seq >= 4) == [
            (0, "accepted"), (1, "accepted"), (2, "accepted"), (3, "accepted"), (4, "released"), (5, "released"),
        ]  # fmt: skip

        def tracked() -> None:
            block, count = tracker.turn(0.02)
            if count:
                columns: Any = block
                told.extend(zip(columns["seq"].tolist(), columns["attempt"].tolist(), columns["outcome"], strict=True))

        def is_told(count: int) -> bool:
            tracked()
            return len(told) >= count

        until(lambda: is_told(2))
        again = polled(reader, 2)
        assert {seq: number for each in again for seq, number in _numbered(each)} == {4: 2, 5: 2}
        assert settled(reader, again, lambda seq: seq == 5) == [(4, "accepted"), (5, "released")]
        until(lambda: is_told(3) and tracker.open == 0)
        assert sorted(told) == [(4, 1, "redelivered"), (5, 1, "redelivered"), (5, 2, "dead_letter")]
        assert {each.error for each in reader.commits.committed()} == {None}


def _numbered(fetched: Fetched) -> list[tuple[int, int]]:
    assert fetched.deliveries is not None
    return list(zip(fetched.stamps["seq"].tolist(), fetched.deliveries.tolist(), strict=True))


def test_markers_that_cannot_be_written_are_an_error(settings: dict[str, Any], topic: str) -> None:
    """Nothing is handed over that nobody would deliver again."""
    refused = {**settings, "message.timeout.ms": 200, "linger.ms": 0, "message.max.bytes": 1_000_000, "acks": "all"}
    own: dict[str, Any] = {
        "group.id": secrets.token_hex(4),
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    wrong = {**refused, "bootstrap.servers": "127.0.0.1:1", "log_level": 0}
    with (
        closing(MarkerReader(ClientSpec("consumer-0", (topic,), {**settings, **own}), wrong, AFTER_MS)) as reader,
        pytest.raises(BrokerError, match="start markers could not be written"),
    ):
        polled(reader, COUNT)
