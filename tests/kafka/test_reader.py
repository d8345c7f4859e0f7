"""What consumers do beyond reading: topics, partitions of their own, room, commits, ends, and what others take away."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka import TopicPartition

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.blocks import NULL_INT64, ClientSpec, Committed, Fetched, Place
from streamgauge.domain.clock import monotonic_ns
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.clients import stock
from streamgauge.kafka.clients.reader import KafkaReader

PARTITIONS = 4
PATIENCE_NS = 120_000_000_000


@dataclass
class Ground:
    """A cluster, mocked or real, with two topics of four partitions."""

    bootstrap: str
    topics: tuple[str, ...]

    def fill(self, *counts: tuple[int, int, int]) -> None:
        """Append (topic, partition, count) messages, whose values are their offsets."""
        producer = ck.Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 1})
        for topic, partition, count in counts:
            for offset in range(count):
                producer.produce(self.topics[topic], b"%d" % offset, b"key", partition)
            assert producer.flush(20) == 0

    def member(self, group: str | None = None, **given: Any) -> KafkaReader:
        """A consumer that its group gives partitions."""
        return self.consumer(group, assigned=None, **given)

    def consumer(self, group: str | None = None, topics: int = 1, **given: Any) -> KafkaReader:
        """A consumer of a group, its own where none is named, that reads all partitions of the first topics."""
        given = {"assigned": tuple(product(range(topics), range(PARTITIONS)))} | given
        settings = {
            "bootstrap.servers": self.bootstrap,
            "group.id": group or secrets.token_hex(4),
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 1,
            "enable.auto.commit": False,
            **given.pop("settings", {}),
        }
        return KafkaReader(ClientSpec("c", self.topics[:topics], settings, **given))

    def committed(self, group: str, count: int = 1) -> list[int]:
        """Committed offsets of the first partitions of the first topic."""
        asking = ck.Consumer({"bootstrap.servers": self.bootstrap, "group.id": group})
        places = [TopicPartition(self.topics[0], partition) for partition in range(count)]
        offsets = [each.offset for each in asking.committed(places, timeout=60)]
        asking.close()
        return offsets

    def commit(self, group: str, *offsets: int) -> None:
        """Commit offsets of the first partitions of the first topic for a group without members."""
        asking = ck.Consumer({"bootstrap.servers": self.bootstrap, "group.id": group})
        places = [TopicPartition(self.topics[0], partition, offset) for partition, offset in enumerate(offsets)]
        asking.commit(offsets=places, asynchronous=False)
        asking.close()


@pytest.fixture
def mock() -> Iterator[Ground]:
    """librdkafka's mock cluster."""
    client = ck.Producer({"bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = client.list_topics(timeout=30).brokers.values()
    yield Ground(f"{broker.host}:{broker.port}", ("first", "second"))
    client.flush(0)


@pytest.fixture(params=[pytest.param("mock", marks=pytest.mark.mock), pytest.param("kafka", marks=pytest.mark.kafka)])
def ground(request: pytest.FixtureRequest) -> Ground:
    if request.param == "mock":
        mocked: Ground = request.getfixturevalue("mock")
        return mocked
    make = request.getfixturevalue("fresh_topic")
    return Ground(request.getfixturevalue("broker").bootstrap, (make(PARTITIONS), make(PARTITIONS)))


def read(
    consumer: KafkaReader, count: int, limit: int = 1000, room: Callable[[Place], int] | None = None
) -> list[tuple[int, int, int]]:
    """(topic, partition, offset) of so many messages, waited for in bounded time."""
    found: list[tuple[int, int, int]] = []
    limit_ns = monotonic_ns() + PATIENCE_NS
    while len(found) < count and monotonic_ns() < limit_ns:
        if fetched := consumer.poll(0.05, limit, room):
            found += places_of(fetched)
    return found


def places_of(fetched: Fetched) -> list[tuple[int, int, int]]:
    topics = [fetched.topic] * fetched.count if isinstance(fetched.topic, int) else fetched.topic.tolist()
    return list(zip(topics, fetched.partition.tolist(), fetched.offset.tolist(), strict=True))


def until(consumer: KafkaReader, reached: Callable[[], object]) -> None:
    """Poll for nothing until something is so, in bounded time."""
    limit_ns = monotonic_ns() + PATIENCE_NS
    while not reached() and monotonic_ns() < limit_ns:
        consumer.poll(0.02, 0)
    assert reached()


def answered(consumer: KafkaReader) -> list[Committed]:
    """The first commits that are answered."""
    limit_ns = monotonic_ns() + PATIENCE_NS
    while not (told := consumer.commits.committed()) and monotonic_ns() < limit_ns:
        consumer.poll(0.02, 0)
    return told


def test_topics_have_their_numbers(ground: Ground) -> None:
    """In what is fetched, in positions, and in what is stored."""
    ground.fill((0, 1, 5), (1, 1, 3), (1, 2, 2))
    consumer = ground.member("numbers-" + ground.topics[0], topics=2)
    found = read(consumer, 10)

    assert sorted(found) == sorted(
        [(0, 1, offset) for offset in range(5)]
        + [(1, 1, offset) for offset in range(3)]
        + [(1, 2, offset) for offset in range(2)]
    )
    assert consumer.assigned() == 2 * PARTITIONS
    known = {each[:2]: each[2] for each in consumer.positions()}
    assert len(known) == 2 * PARTITIONS
    assert (known[0, 1], known[1, 1], known[1, 2], known[1, 3]) == (5, 3, 2, None)
    consumer.commits.store([(0, 1, 4), (1, 1, 3)])
    consumer.commits.commit(asynchronous=False)
    assert ground.committed("numbers-" + ground.topics[0], 2) == [-1001, 4]
    consumer.close()


@pytest.mark.parametrize("held", [False, True])
def test_partitions_of_ones_own_are_read_from_what_is_committed(ground: Ground, held: bool) -> None:
    """Whatever other consumers of the group do."""
    group = "own-" + ground.topics[0]
    ground.fill((0, 0, 10), (0, 1, 10), (0, 2, 10))
    ground.commit(group, 4, 0, 7)
    consumer = ground.consumer(group, assigned=((0, 0), (0, 2)), settings={"auto.offset.reset": "error"})
    other = ground.consumer(group, assigned=((0, 1),))
    assert (consumer.assigned(), other.assigned()) == (2, 1)
    consumer.hold(held=held)
    if held:
        assert all(consumer.poll(0.02, 100) is None for _ in range(10))
        consumer.hold(held=False)

    assert sorted(read(consumer, 9)) == [(0, 0, offset) for offset in range(4, 10)] + [
        (0, 2, offset) for offset in range(7, 10)
    ]
    assert consumer.positions() == [(0, 0, 10), (0, 2, 10)]
    consumer.commits.store([(0, 0, 9), (0, 1, 5), (0, 2, 10)])
    consumer.commits.commit(asynchronous=False)
    assert ground.committed(group, 3) == [9, 0, 10]
    assert consumer.errors() == []
    assert sorted(read(other, 10)) == [(0, 1, offset) for offset in range(10)]
    consumer.close()
    other.close()


def test_decoding_is_no_part_of_what_the_client_took(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message is received when the client has returned it."""
    ground.fill((0, 1, 5))
    consumer = ground.consumer()
    decode, began_ns = consumer._decoder.decode, list[int]()

    def decoding(*given: Any) -> Fetched:
        began_ns.append(monotonic_ns())
        return decode(*given)

    monkeypatch.setattr(consumer._decoder, "decode", decoding)
    limit_ns = monotonic_ns() + PATIENCE_NS
    while (fetched := consumer.poll(0.05, 5)) is None and monotonic_ns() < limit_ns:
        pass

    assert fetched
    assert fetched.returned_ns is not None
    assert fetched.returned_ns <= began_ns[-1]


def test_commits_are_told(ground: Ground) -> None:
    """Begin, time and kind of each; one without anything new is none; what is under way is awaited when closing."""
    group = "commits-" + ground.topics[0]
    ground.fill((0, 0, 30))
    consumer = ground.consumer(group)
    began_ns = monotonic_ns()
    read(consumer, 30)
    assert consumer.commits.committed() == []

    consumer.commits.store([(0, 0, 10)])
    consumer.commits.commit(asynchronous=False)
    (committed,) = consumer.commits.committed()
    assert began_ns < committed.at_ns < monotonic_ns()
    assert 0 < (committed.took_ns or 0) < monotonic_ns() - began_ns
    assert (committed.asynchronous, committed.error) == (False, None)
    assert ground.committed(group) == [10]

    consumer.commits.commit(asynchronous=False)
    consumer.commits.commit(asynchronous=True)
    until(consumer, lambda: not consumer.commits._under_way)
    consumer.commits.store([(0, 0, 20)])
    consumer.commits.commit(asynchronous=True)
    (committed,) = answered(consumer)
    assert (committed.asynchronous, committed.error, (committed.took_ns or 0) > 0) == (True, None, True)
    assert ground.committed(group) == [20]

    consumer.commits.store([(0, 0, 30)])
    consumer.commits.commit(asynchronous=True)
    consumer.close()
    assert ground.committed(group) == [30]


def test_a_consumer_that_never_commits(ground: Ground) -> None:
    """Not even when it is closed."""
    group = "never-" + ground.topics[0]
    ground.fill((0, 0, 30))
    consumer = ground.consumer(group)
    read(consumer, 30)
    consumer.commits.store([(0, 0, 10)])
    consumer.close()

    assert ground.committed(group) == [-1001]


def test_commits_of_the_client_itself_are_told_too(ground: Ground) -> None:
    """When they were answered; how long they took only the client knows."""
    group = "auto-" + ground.topics[0]
    ground.fill((0, 0, 30))
    consumer = ground.consumer(group, settings={"enable.auto.commit": True, "auto.commit.interval.ms": 50})
    read(consumer, 30)
    consumer.commits.store([(0, 0, 10)])

    assert [each[1:] for each in answered(consumer)] == [(None, True, None)]
    assert ground.committed(group) == [10]
    consumer.commits.store([(0, 0, 20)])
    consumer.close()
    assert ground.committed(group) == [20]


def test_times_of_creation_and_contents(ground: Ground) -> None:
    """As they came: a null value is none."""
    producer = ck.Producer({"bootstrap.servers": ground.bootstrap})
    for number, (value, key) in enumerate(((b"v", b"k"), (None, b"k"), (b"", None))):
        producer.produce(ground.topics[0], value, key, 0, timestamp=1_700_000_000_000 + number)
    assert producer.flush(20) == 0
    for topics in (1, 2):
        consumer = ground.consumer(topics=topics)
        fetched: list[Fetched] = []
        limit_ns = monotonic_ns() + PATIENCE_NS
        while sum(each.count for each in fetched) < 3 and monotonic_ns() < limit_ns:
            fetched += [each for each in (consumer.poll(0.05, 10),) if each]
        consumer.close()

        assert [each.append_ms for each in fetched] == [None] * len(fetched)
        created = [at for each in fetched for at in each.created_ms().tolist()]  # type: ignore[union-attr]
        assert created == [1_700_000_000_000, 1_700_000_000_001, 1_700_000_000_002]
        assert [each for block in fetched for each in block.contents()] == [(b"v", b"k"), (None, b"k"), (b"", None)]


@pytest.mark.kafka
def test_a_topic_keeps_one_time_or_the_other(broker: EmbeddedBroker) -> None:
    """What stamps the append forgets when a message was made."""
    cluster, names = Cluster(broker.bootstrap, {}), tuple(f"times-{kind}-{secrets.token_hex(4)}" for kind in "ab")
    cluster.create_topic(names[0], 1, 1, {"message.timestamp.type": "LogAppendTime"})
    cluster.create_topic(names[1], 1, 1, {})
    ground = Ground(broker.bootstrap, names)
    ground.fill((0, 0, 1), (1, 0, 1))
    consumer = ground.consumer(topics=2, assigned=((0, 0), (1, 0)))
    rows: list[tuple[Any, ...]] = []
    limit_ns = monotonic_ns() + PATIENCE_NS
    while len(rows) < 2 and monotonic_ns() < limit_ns:
        if fetched := consumer.poll(0.05, 10):
            append, created = (
                [NULL_INT64] * fetched.count if each is None else each.tolist()
                for each in (fetched.append_ms, fetched.created_ms())
            )
            rows += zip([place[0] for place in places_of(fetched)], append, created, strict=True)
    consumer.close()
    for name in names:
        cluster.delete_topic(name)

    assert [(topic, append > 0, created > 0) for topic, append, created in sorted(rows)] == [
        (0, True, False),
        (1, False, True),
    ]


def test_without_room_nothing_is_delivered_and_the_group_is_served(ground: Ground) -> None:
    """What comes all the same is kept for later, and no more than that."""
    ground.fill((0, 0, 100), (0, 1, 100))
    consumer = ground.member()
    until(consumer, lambda: consumer.assigned() == PARTITIONS)
    for _ in range(20):
        assert consumer.poll(0.05, 0) is None
    assert all(not position for _, _, position in consumer.positions())

    found: list[tuple[int, int, int]] = []
    for _ in range(6):
        found += read(consumer, 1, limit=5)
    assert not consumer.stock
    found += read(consumer, 200 - len(found))
    assert sorted(found) == [(0, partition, offset) for partition in range(2) for offset in range(100)]
    consumer.close()


def test_a_partition_without_room_stands_in_nobodys_way(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its messages come first and are set aside, up to a bound; later all of them are delivered, once and in order."""
    monkeypatch.setattr(stock, "MOST_MESSAGES", 300)
    ground.fill((0, 0, 4_000), (0, 1, 50))
    consumer = ground.consumer()
    first = read(consumer, 50, limit=64, room=lambda place: 1000 * place[1])
    assert [each[1:] for each in first] == [(1, offset) for offset in range(50)]
    assert dict(each[1:] for each in consumer.positions())[0] in {0, None}

    rest: list[tuple[int, int, int]] = []
    limit_ns = monotonic_ns() + PATIENCE_NS
    while len(rest) < 4_000 and monotonic_ns() < limit_ns:
        limit = 64 if len(rest) % 3 else 7
        if fetched := consumer.poll(0.05, limit, lambda _place: 10):
            assert fetched.count <= min(limit, 10)
            rest += places_of(fetched)

    assert [each[1:] for each in rest] == [(0, offset) for offset in range(4_000)]
    assert consumer.poll(0.1, 64) is None
    assert dict(each[1:] for each in consumer.positions())[0] == 4_000
    consumer.close()


def test_what_is_set_aside_is_bounded_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever bound is reached first; half of it lets more come."""
    monkeypatch.setattr(stock, "MOST_BYTES", 100)
    kept = stock.Stock()
    for _ in range(21):
        kept.add((0, 1), [b"12345"])
        kept.add((0, 2), [b"1"])
    assert kept.too_many() == {(0, 1)}
    assert len(kept.take(30, stock.Left(lambda place: 5 if place == (0, 1) else 0))) == 5
    assert (kept.too_many(), kept.too_many_still({(0, 1), (0, 3)})) == (set(), {(0, 1)})
    assert len(kept.take(30, stock.Left(lambda place: 6 if place == (0, 1) else 0))) == 6

    assert kept.too_many_still({(0, 1), (0, 3)}) == set()
    assert (kept.too_many(), (0, 1) in kept, (0, 3) in kept) == (set(), True, False)
    kept.drop((0, 1))
    kept.drop((0, 2))
    assert not kept


def test_most_is_taken_of_the_partition_that_needs_it_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """And where there is little of one, more should be taken from the client."""
    monkeypatch.setattr(stock, "FEW_MESSAGES", 3)
    kept = stock.Stock()
    for partition in range(3):
        kept.add((0, partition), [b"%d%d" % (partition, number) for number in range(6)])
    assert not kept.is_short([(0, 0), (0, 1), (0, 2)])
    assert kept.is_short([(0, 0), (0, 3)])

    taken = kept.take(7, stock.Left(lambda place: (1, 9, 3)[place[1]]))

    assert taken == [b"10", b"11", b"12", b"13", b"14", b"15", b"20"]
    assert kept.take(7, stock.Left(lambda place: (1, 9, 3)[place[1]])) == [b"21", b"22", b"23", b"00"]
    assert kept.is_short([(0, 2)])


@pytest.mark.kafka
def test_partitions_that_go_are_told_while_they_can_be_committed(
    broker: EmbeddedBroker, fresh_topic: Callable[[int], str]
) -> None:
    """What is stored until then is committed, and the next owner reads on from there."""
    ground = Ground(broker.bootstrap, (fresh_topic(PARTITIONS),))
    group = "going-" + ground.topics[0]
    ground.fill(*((0, partition, 10) for partition in range(PARTITIONS)))
    first = ground.member(group)
    read(first, 40)
    gone: list[Place] = []

    def leave(places: Any) -> None:
        gone.extend(places)
        first.commits.store([(*place, 6) for place in places])
        first.commits.commit(asynchronous=False)

    first.commits.watch(leave)
    second = ground.member(group)
    limit_ns = monotonic_ns() + PATIENCE_NS
    found: list[tuple[int, int, int]] = []

    def is_shared() -> bool:
        # The second may have all of its messages before the first is told what it keeps.
        return bool(second.assigned()) and first.assigned() + second.assigned() == PARTITIONS

    while not (is_shared() and len(found) >= 4 * second.assigned()) and monotonic_ns() < limit_ns:
        first.poll(0.02, 100)
        if fetched := second.poll(0.02, 100):
            found += places_of(fetched)
    taken = {each[:2] for each in found}

    assert set(gone) == {(0, partition) for partition in range(PARTITIONS)}
    assert first.assigned() + second.assigned() == PARTITIONS
    assert sorted(found) == sorted((*place, offset) for place in taken for offset in range(6, 10))
    assert [each.error for each in first.commits.committed()] == [None]
    first.close()
    second.close()


def test_the_end_of_a_log_is_told_when_all_before_it_is_delivered(ground: Ground) -> None:
    """Nothing is told where nobody asked."""
    ground.fill((0, 0, 2_000), (0, 1, 5))
    consumer, blind = ground.consumer(sees_ends=True), ground.consumer()
    ends: dict[Place, int] = {}
    seen = 0
    limit_ns = monotonic_ns() + PATIENCE_NS
    while len(ends) < PARTITIONS and monotonic_ns() < limit_ns:
        if fetched := consumer.poll(0.02, 100, lambda place: 10 if place[1] == 0 else 100):
            seen += sum(place[1] == 0 for place in places_of(fetched))
        for topic, partition, offset in consumer.ends():
            assert partition != 0 or seen == 2_000
            ends[topic, partition] = offset

    assert ends == {(0, 0): 2_000, (0, 1): 5, (0, 2): 0, (0, 3): 0}
    assert consumer.errors() == []
    read(blind, 2_005)
    assert blind.ends() == []
    consumer.close()
    blind.close()


@pytest.mark.kafka
def test_behind_the_last_message_lie_ends_of_transactions(
    broker: EmbeddedBroker, fresh_topic: Callable[[int], str]
) -> None:
    """Messages of aborted transactions are never seen; the end of the log lies behind them."""
    topic = fresh_topic(1)
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(20)
    for commit in (True, False):
        producer.begin_transaction()
        for number in range(5):
            producer.produce(topic, b"%d" % number, partition=0)
        assert producer.flush(20) == 0
        (producer.commit_transaction if commit else producer.abort_transaction)(20)
    consumer = Ground(broker.bootstrap, (topic,)).consumer(sees_ends=True, assigned=((0, 0),))
    found: list[tuple[int, int, int]] = []
    ends: list[tuple[int, int, int]] = []
    limit_ns = monotonic_ns() + PATIENCE_NS
    while not ends and monotonic_ns() < limit_ns:
        if fetched := consumer.poll(0.05, 100):
            found += places_of(fetched)
        ends += consumer.ends()

    assert found == [(0, 0, offset) for offset in range(5)]
    assert ends == [(0, 0, 12)]
    assert consumer.positions() == [(0, 0, 12)]
    consumer.close()
