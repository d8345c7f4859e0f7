"""Single messages that are read again: of several partitions at once, far from each other, or gone."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.kafka.carriers.markers.fetching import Fetching, Sought

COUNT = 6_000
PATIENCE_SECONDS = 60.0


@pytest.mark.parametrize(
    ("left", "end", "span"),
    [
        ([5], 5, 1),
        ([5, 6, 2_006], 2_006, 2_002),
        # What is farther than that is looked for by itself.
        ([5, 6, 2_007], 6, 2),
        ([5, 2_005, 4_005, 9_000], 4_005, 4_001),
    ],
)
def test_what_is_near_is_read_in_one_go(left: list[int], end: int, span: int) -> None:
    sought = Sought(deque(left), 0)

    assert sought.begin() == left[0]
    assert (sought.end, sought.span) == (end, span)


def test_offsets_without_a_message_are_gone() -> None:
    """Whether another message follows, or the end of the partition."""
    one, another = ck.Message(), ck.Message()
    sought = Sought(deque([3, 4, 7, 8]), 0)
    sought.begin()
    sought.take(2, another)
    sought.take(4, one)
    sought.take(6, another)
    sought.pass_over(8)

    assert sought.found == {3: None, 4: one, 7: None}
    assert (list(sought.left), sought.at) == ([8], 8)
    sought.pass_over(9)
    assert sought.found[8] is None
    assert sought.span == 0


@pytest.fixture
def topic(broker: EmbeddedBroker, fresh_topic: Callable[[int], str]) -> str:
    """A topic of three partitions with messages that tell where they are."""
    name = fresh_topic(3)
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap})
    for partition in range(3):
        for offset in range(COUNT):
            producer.produce(name, f"{partition} {offset}", partition=partition)
    assert producer.flush(PATIENCE_SECONDS) == 0
    return name


@pytest.fixture
def fetching(broker: EmbeddedBroker, topic: str) -> Iterator[Fetching]:
    opened = Fetching({"bootstrap.servers": broker.bootstrap}, topic)
    yield opened
    opened.close()


@pytest.mark.kafka
def test_all_partitions_are_read_at_once(fetching: Fetching) -> None:
    """The same client reads again what lies behind."""
    calls: list[dict[int, list[int]]] = [
        {0: [0, 1, 3_000, 5_999], 1: [7], 2: list(range(100, 4_100, 2))},
        {0: [2], 2: [99, 100]},
        {1: []},
        {},
    ]
    for wanted in calls:
        found = fetching.fetch(wanted, PATIENCE_SECONDS)
        told: dict[int, dict[int, Any]] = {
            partition: {offset: message and message.value() for offset, message in messages.items()}
            for partition, messages in found.items()
        }
        assert told == {
            partition: {offset: f"{partition} {offset}".encode() for offset in offsets}
            for partition, offsets in wanted.items()
            if offsets
        }


@pytest.mark.kafka
def test_what_was_deleted_is_gone(fetching: Fetching, broker: EmbeddedBroker, topic: str) -> None:
    """A part of a partition, or all that it had; what was never written does not come."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    deleted = [ck.TopicPartition(topic, 0, 1_000), ck.TopicPartition(topic, 1, COUNT)]
    for answer in admin.delete_records(deleted).values():
        answer.result(PATIENCE_SECONDS)
    begun_ns = monotonic_ns()

    found = fetching.fetch({0: [5, 999, 1_000], 1: [0, COUNT - 1]}, PATIENCE_SECONDS)
    assert {offset: message is None for offset, message in found[0].items()} == {5: True, 999: True, 1_000: False}
    assert found[1] == {0: None, COUNT - 1: None}
    assert monotonic_ns() - begun_ns < PATIENCE_SECONDS * NS_PER_SECOND
    assert fetching.fetch({2: [COUNT - 1, COUNT]}, 0.5)[2].keys() == {COUNT - 1}
