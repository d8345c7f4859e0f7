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


def test_what_was_read_behind_a_message_is_found_without_reading_it_again() -> None:
    """Messages between those that were wanted are not kept, and what is before them is looked for."""
    messages = {offset: ck.Message(value=str(offset).encode()) for offset in (3, 4, 6, 7, 9)}
    sought = Sought()
    sought.want([3])
    sought.begin()
    for offset, message in messages.items():
        sought.take(offset, message)
    assert (sought.found, list(sought.left), sought.size) == ({3: messages[3]}, [], 4)

    # The one at 5 was compacted away: it would have come.
    sought.want([5, 6, 9, 10])
    assert sought.found == {5: None, 6: messages[6], 9: messages[9]}
    assert (list(sought.left), sought.at, sought.size) == ([10], 10, 0)

    assert sought.begin() == 10
    sought.take(10, messages[3])
    sought.take(11, messages[4])
    sought.want([7, 11])
    assert (sought.found, list(sought.left), len(sought.ahead)) == ({}, [7, 11], 0)


def test_what_comes_once_more_is_not_kept_twice() -> None:
    sought = Sought()
    sought.want([3])
    sought.begin()
    for offset in (3, 4, 3, 4, 5):
        sought.take(offset, ck.Message(value=b"1"))

    assert [offset for offset, _ in sought.ahead] == [4, 5]


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
def test_what_came_with_a_message_is_there_without_the_broker(fetching: Fetching) -> None:
    """No time is left to ask it; of what came, no more is kept than a limit allows."""
    assert fetching.fetch({0: [10], 1: [20]}, PATIENCE_SECONDS)[0].keys() == {10}

    kept = fetching.fetch({0: list(range(11, 211)), 1: list(range(21, 221))}, 0)
    assert {partition: len(messages) for partition, messages in kept.items()} == {0: 200, 1: 200}
    assert [message and message.value() for message in kept[1].values()][-1] == b"1 220"
    assert fetching.fetch({0: [0]}, 0) == {0: {}}


@pytest.mark.kafka
def test_no_more_is_kept_than_is_allowed(fetching: Fetching, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamgauge.kafka.carriers.markers.fetching._AHEAD", 300)
    first = fetching.fetch({0: [0, 5_000], 1: [0], 2: [0]}, PATIENCE_SECONDS)
    assert {partition: len(messages) for partition, messages in first.items()} == {0: 2, 1: 1, 2: 1}

    kept = fetching.fetch(dict.fromkeys(range(3), range(1, 5_000)), 0)
    assert 0 < len(kept[1]) <= 101
    assert 0 < len(kept[2]) <= 101
    found = fetching.fetch({1: range(len(kept[1]) + 1, 5_000)}, PATIENCE_SECONDS)
    assert [message and message.value() for message in found[1].values()] == [
        f"1 {offset}".encode() for offset in range(len(kept[1]) + 1, 5_000)
    ]


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
