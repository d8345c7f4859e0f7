"""The contract of the clients: the fake, the modelled broker, librdkafka's mock cluster and a real broker keep it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import confluent_kafka as ck
import numpy as np
import pytest

from streamgauge.domain import stamp
from streamgauge.domain.blocks import Block, ClientSpec, Outgoing, Place, Settings
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.board import Cells, Latencies, Order, Slot
from streamgauge.engine.consume.loop import Reading, rows
from streamgauge.engine.fake import FakeLog, FakeProducer, FakeReader
from streamgauge.engine.ports.clients import ProducerClient, Reader
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.loop import LARGEST_BLOCK, Producer, Times
from streamgauge.engine.produce.sent import ProducerSinks
from streamgauge.engine.produce.sources import Recipe
from streamgauge.kafka.clients.producer import KafkaProducer
from streamgauge.kafka.clients.reader import KafkaReader
from streamgauge.kafka.clients.settings import consumer_faults, producer_faults
from streamgauge.modelled.broker import ModelledBroker
from streamgauge.modelled.memory import Shape
from streamgauge.modelled.model import Model, Server
from streamgauge.scenario import Setting

TAG = 77
PARTITIONS = 4
PATIENCE_NS = 120_000_000_000


class Ground(Protocol):
    """Where the contract is tested: one topic of four partitions."""

    def producer(self, *, in_header: bool = False, limit: int = 10_000) -> ProducerClient:
        """A producer whose queue holds `limit` messages."""
        ...

    def stuck_producer(self, limit: int) -> ProducerClient:
        """A producer whose broker never answers."""
        ...

    def consumer(self, *, in_header: bool = False) -> Reader:
        """The only member of a new group that starts at the beginning."""
        ...


@dataclass
class FakeGround:
    """A log in memory."""

    log: FakeLog = field(default_factory=lambda: FakeLog(PARTITIONS))

    def producer(self, *, in_header: bool = False, limit: int = 10_000) -> ProducerClient:
        return FakeProducer(self.log, ClientSpec("p", ("t",), {}, in_header), limit)

    def stuck_producer(self, limit: int) -> ProducerClient:
        return FakeProducer(self.log, ClientSpec("p", ("t",), {}), limit, stopped=lambda _now: True)

    def consumer(self, *, in_header: bool = False) -> Reader:
        return FakeReader(self.log, list(range(PARTITIONS)))


@dataclass
class ModelledGround:
    """A modelled broker; one that never answers is another one."""

    folder: Path

    def __post_init__(self) -> None:
        self.broker, self.stuck = (self.modelled(name, delay) for name, delay in (("quick", 1_000), ("stuck", 1 << 60)))

    def modelled(self, name: str, delay_ns: int) -> ModelledBroker:
        shape = Shape(self.folder / name, (Model((Server(1 / PARTITIONS, (delay_ns,), (delay_ns,)),) * PARTITIONS),))
        shape.file.write_bytes(bytes(shape.size))
        return ModelledBroker(shape)

    def producer(self, *, in_header: bool = False, limit: int = 10_000) -> ProducerClient:
        return self.broker.open_producer(ClientSpec("producer-0", ("t",), {}, in_header), limit)

    def stuck_producer(self, limit: int) -> ProducerClient:
        return self.stuck.open_producer(ClientSpec("producer-0", ("t",), {}), limit)

    def consumer(self, *, in_header: bool = False) -> Reader:
        return self.broker.open_reader(ClientSpec("consumer-0", ("t",), {}))


@dataclass
class KafkaGround:
    """A cluster, mocked or real."""

    bootstrap: str
    topic: str
    groups: int = 0

    def producer(self, *, in_header: bool = False, limit: int = 10_000) -> ProducerClient:
        settings: dict[str, Setting] = {
            "bootstrap.servers": self.bootstrap,
            "linger.ms": 1,
            "queue.buffering.max.messages": limit,
        }
        return KafkaProducer(ClientSpec("p", (self.topic,), settings, in_header))

    def stuck_producer(self, limit: int) -> ProducerClient:
        # It lingers for longer than the test lasts: nothing leaves the queue.
        settings: dict[str, Setting] = {
            "bootstrap.servers": self.bootstrap,
            "linger.ms": 60_000,
            "message.timeout.ms": 120_000,
            "queue.buffering.max.messages": limit,
        }
        return KafkaProducer(ClientSpec("p", (self.topic,), settings))

    def consumer(self, *, in_header: bool = False) -> Reader:
        self.groups += 1
        settings: dict[str, Setting] = {
            "bootstrap.servers": self.bootstrap,
            "group.id": f"{self.topic}-{self.groups}",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 1,
        }
        return KafkaReader(ClientSpec("c", (self.topic,), settings, in_header))


@pytest.fixture(
    params=[
        "fake",
        "modelled",
        pytest.param("mock", marks=pytest.mark.mock),
        pytest.param("kafka", marks=pytest.mark.kafka),
    ]
)
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    if request.param == "fake":
        yield FakeGround()
    elif request.param == "modelled":
        yield ModelledGround(tmp_path)
    elif request.param == "mock":
        mock = ck.Producer({"bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0})
        (broker,) = mock.list_topics(timeout=30).brokers.values()
        yield KafkaGround(f"{broker.host}:{broker.port}", "contract")
        mock.flush(0)
    else:
        topic = request.getfixturevalue("fresh_topic")(PARTITIONS)
        yield KafkaGround(request.getfixturevalue("broker").bootstrap, topic)


def compose(first: int, count: int, *, in_header: bool = False, due: int | None = 5) -> Outgoing:
    recipe = Recipe(3, TAG, "text", 100, 42, in_header, scheduled=due is not None)
    composer = Composer(recipe, count)
    seqs = np.arange(first, first + count, dtype=np.int64)
    return composer.compose(seqs, None if due is None else seqs + due, monotonic_ns())


def listed(values: Any, count: int) -> list[Any]:
    """A column of a block as a list."""
    if isinstance(values, np.ndarray):
        return list(values.tolist())
    return values if isinstance(values, list) else [values] * count


def reports(client: ProducerClient, count: int) -> dict[str, list[Any]]:
    """The reports of `count` messages, waited for in bounded time, as columns ordered by sequence."""
    known: list[dict[str, Any]] = []
    limit_ns = monotonic_ns() + PATIENCE_NS
    while len(known) < count and monotonic_ns() < limit_ns:
        client.serve(0.05)
        block, number = client.reports(1)
        columns = {
            name: values.tolist()
            if isinstance(values, np.ndarray)
            else values
            if isinstance(values, list)
            else [values] * number
            for name, values in block.items()
        }
        known += [{name: values[place] for name, values in columns.items()} for place in range(number)]
    known.sort(key=lambda row: row["seq"])
    return {name: [row[name] for row in known] for name in known[0]} if known else {}


def received(client: Reader, count: int) -> list[tuple[Any, Any, Any]]:
    """(sequence, partition, offset) of `count` messages that are ours and intact, waited for in bounded time."""
    found: list[tuple[Any, Any, Any]] = []
    limit_ns = monotonic_ns() + PATIENCE_NS
    while len(found) < count and monotonic_ns() < limit_ns:
        fetched = client.poll(0.05, 1000)
        if fetched is None:
            continue
        block: Any = rows(fetched, Reading(TAG, 1), 0, monotonic_ns())
        assert block["intact"].tolist() == [1] * fetched.count
        assert client.commits
        client.commits.store([(0, partition, 1) for partition in np.unique(fetched.partition).tolist()])
        found += zip(*(block[name].tolist() for name in ("seq", "partition", "offset")), strict=True)
    return found


@pytest.mark.parametrize("in_header", [False, True])
@pytest.mark.slow
def test_every_message_is_acknowledged_and_received_intact(ground: Ground, in_header: bool) -> None:
    """Stamps in values and in headers; partition and offset of the report are those of the delivery."""
    producer = ground.producer(in_header=in_header)
    for first in range(0, 300, 100):
        block = compose(first, 100, in_header=in_header)
        refused = producer.send(block)
        assert (list(refused.no_room), list(refused.failed)) == ([], [])
    told = reports(producer, 300)

    consumer = ground.consumer(in_header=in_header)
    got = received(consumer, 300)

    assert told["seq"] == list(range(300))
    assert told["due_ns"] == list(range(5, 305))
    assert set(told["error"]) == {None}
    assert set(told["size_bytes"]) == {100}
    assert all(sent <= acked for sent, acked in zip(told["sent_ns"], told["acked_ns"], strict=True))
    assert sorted(got) == list(zip(told["seq"], told["partition"], told["offset"], strict=True))
    assert producer.in_flight() == 0
    producer.close()
    consumer.close()


def test_a_full_queue_refuses_and_loses_nothing(ground: Ground) -> None:
    """What found no room is named by its place; what was taken waits for its report."""
    producer = ground.stuck_producer(10)
    block = compose(0, 25)

    refused = producer.send(block)

    assert list(refused.no_room) == list(range(10, 25))
    assert list(refused.failed) == []
    assert producer.room() == 0
    assert producer.queue_limit == producer.in_flight() == 10
    producer.abandon()
    told = reports(producer, 10)
    assert told["seq"] == list(range(10))
    assert set(told["error"]) == {"_PURGE_QUEUE"}
    assert set(told["offset"]) == {-(1 << 63)}
    assert producer.room() == 10
    producer.close()


def test_reports_come_in_blocks(ground: Ground) -> None:
    """Nothing before there are as many as asked for."""
    producer = ground.producer()
    producer.send(compose(0, 20, due=None))
    limit_ns = monotonic_ns() + PATIENCE_NS
    while producer.in_flight() and monotonic_ns() < limit_ns:
        producer.serve(0.05)

    assert producer.reports(21) == ({}, 0)
    told = reports(producer, 20)
    assert set(told["due_ns"]) == {-(1 << 63)}
    assert producer.reports(1) == ({}, 0)
    producer.close()


def test_it_is_known_since_when_a_report_may_have_been_ready(ground: Ground) -> None:
    """Not before anybody asked, and not after it was served; of messages that failed, too."""
    began_ns = monotonic_ns()
    producer, stuck = ground.producer(), ground.stuck_producer(10)
    producer.send(compose(0, 50))
    stuck.send(compose(0, 10))
    stuck.serve(0.0)
    stuck.abandon()
    for told in (reports(producer, 50), reports(stuck, 10)):
        times = zip(told["polled_ns"], told["acked_ns"], strict=True)
        assert all(began_ns <= ready <= served for ready, served in times)
    producer.close()
    stuck.close()


def test_it_is_known_since_when_a_message_may_have_been_ready(ground: Ground) -> None:
    """Unless the consumer leaves messages in the client on purpose."""
    producer = ground.producer()
    producer.send(compose(0, 20))
    reports(producer, 20)
    began_ns = monotonic_ns()
    consumer, choosy = ground.consumer(), ground.consumer()
    room: dict[str, Any] = {"room": lambda _place: 5}
    for reader, more in ((consumer, {}), (choosy, room)):
        limit_ns = monotonic_ns() + PATIENCE_NS
        while (fetched := reader.poll(0.05, 10, **more)) is None and monotonic_ns() < limit_ns:
            pass
        assert fetched
        if more:
            assert fetched.empty_ns is None
        else:
            assert fetched.empty_ns is not None
            returned_ns = fetched.returned_ns or monotonic_ns()
            assert began_ns <= fetched.empty_ns <= returned_ns <= monotonic_ns()
        reader.close()
    producer.close()


def test_a_held_consumer_takes_nothing(ground: Ground) -> None:
    """Until it is let go, whether its partitions came before or after."""
    producer = ground.producer()
    producer.send(compose(0, 50))
    reports(producer, 50)
    consumer = ground.consumer()
    consumer.hold(held=True)
    limit_ns = monotonic_ns() + PATIENCE_NS
    while consumer.assigned() < PARTITIONS and monotonic_ns() < limit_ns:
        assert consumer.poll(0.05, 1000) is None
    assert consumer.assigned() == PARTITIONS
    assert all(consumer.poll(0.02, 1000) is None for _ in range(5))

    consumer.hold(held=False)

    assert sorted(seq for seq, _, _ in received(consumer, 50)) == list(range(50))
    producer.close()
    consumer.close()


@pytest.mark.slow
def test_positions_follow_what_was_read(ground: Ground) -> None:
    """Next offset of every partition of the member; together they are what was sent."""
    producer = ground.producer()
    for first in range(0, 40, 10):
        producer.send(compose(first, 10))
        reports(producer, 10)
    consumer = ground.consumer()
    received(consumer, 40)

    positions = consumer.positions()

    assert [each[:2] for each in positions] == [(0, partition) for partition in range(PARTITIONS)]
    assert sum(position or 0 for _, _, position in positions) == 40
    producer.close()
    consumer.close()


def test_a_commit_that_was_waited_for_is_answered(ground: Ground) -> None:
    """Once, with how long it took; partitions that stay with the reader are taken from nobody."""
    producer = ground.producer()
    producer.send(compose(0, 20))
    reports(producer, 20)
    consumer, taken = ground.consumer(), list[Place]()
    assert consumer.commits
    consumer.commits.watch(taken.extend)
    received(consumer, 20)
    consumer.commits.commit(asynchronous=False)
    answered = [each for each in consumer.commits.committed() if not each.asynchronous]

    assert [each.error for each in answered] == [None]
    assert (answered[0].took_ns or 0) > 0
    assert [each for each in consumer.commits.committed() if not each.asynchronous] == []
    assert taken == []
    producer.close()
    consumer.close()


@dataclass
class Sent:
    """A sink that keeps which messages were sent, and their errors."""

    seqs: list[Any] = field(default_factory=list)
    errors: list[Any] = field(default_factory=list)

    def append(self, block: Block, count: int) -> None:
        self.seqs += listed(block["seq"], count)
        self.errors += listed(block["error"], count)

    def close(self) -> None:
        """Nothing to write."""


@pytest.fixture
def mock_cluster() -> Iterator[str]:
    mock = ck.Producer({"bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = mock.list_topics(timeout=30).brokers.values()
    yield f"{broker.host}:{broker.port}"
    mock.flush(0)


@pytest.mark.mock
def test_without_acknowledgements_neither_offset_nor_time_is_known(mock_cluster: str) -> None:
    """acks 0: the message counts as acknowledged, and what nobody said is null."""
    producer = KafkaProducer(ClientSpec("p", ("t",), {"bootstrap.servers": mock_cluster, "acks": 0}))
    producer.send(compose(0, 10))

    told = reports(producer, 10)

    assert set(told["error"]) == {None}
    assert set(told["offset"]) == set(told["acked_ns"]) == {None}
    assert all(partition >= 0 for partition in told["partition"])
    producer.close()


@pytest.mark.mock
def test_a_queue_that_is_full_by_its_bytes_holds_a_producer_up_and_no_longer(mock_cluster: str) -> None:
    """It counts with room for 100,000 messages, and has room for three: reports are what makes room."""
    settings: Settings = {"bootstrap.servers": mock_cluster, "queue.buffering.max.kbytes": 64, "linger.ms": 0}
    client, sent, board = KafkaProducer(ClientSpec("p", ("t",), settings)), Sent(), Cells.new(1, 1)
    begin_ns = monotonic_ns()
    late_ns = begin_ns + PATIENCE_NS
    producer = Producer(
        client,
        Composer(Recipe(0, TAG, "zeros", 20 << 10, 1, in_headers=False, scheduled=False), LARGEST_BLOCK),
        ProducerSinks(sent),
        board.slots[0],
        Latencies(board.latencies[0], begin_ns),
        lambda: Order.GO if monotonic_ns() < late_ns else Order.ABORT,
    )

    producer.run(Times(begin_ns, begin_ns, begin_ns + NS_PER_SECOND // 2, PATIENCE_NS // 2))
    client.close()

    assert monotonic_ns() < late_ns
    assert set(sent.errors) <= {None, "unsent"}
    assert sent.errors.count(None) > 20
    assert sorted(sent.seqs) == list(range(int(board.slots[0, Slot.NEXT_SEQ])))


@pytest.mark.mock
def test_foreign_messages_carry_no_stamp(mock_cluster: str) -> None:
    """Null values, short values and bytes of others are delivered as what they are."""
    plain = ck.Producer({"bootstrap.servers": mock_cluster})
    for value in (None, b"short", b"z" * 60):
        plain.produce("t", value, partition=0)
    plain.flush(10)
    settings = {"bootstrap.servers": mock_cluster, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = KafkaReader(ClientSpec("c", ("t",), settings, stamp_in_header=None))
    sizes: list[int] = []
    ours: list[bool] = []
    limit_ns = monotonic_ns() + PATIENCE_NS
    while len(sizes) < 3 and monotonic_ns() < limit_ns:
        if fetched := consumer.poll(0.05, 10):
            sizes += fetched.size_bytes.tolist()
            ours += stamp.is_stamp(fetched.stamps, None).tolist()

    assert sizes == [0, 5, 60]
    assert not any(ours)
    consumer.close()


@pytest.mark.mock
def test_where_nobody_told_where_the_stamps_are_each_message_tells(mock_cluster: str) -> None:
    """Stamps in values, in headers and nowhere, mixed in one topic, as a consumer finds them that only reads."""
    plain = ck.Producer({"bootstrap.servers": mock_cluster})
    (in_value,) = compose(0, 1).values
    apart = compose(1, 1, in_header=True)
    (body,), header = apart.values, [(stamp.HEADER_KEY, apart.stamps[0].tobytes())]
    for value, headers in ((in_value, []), (body, header), (b"short", []), (None, header), (b"x" * 100, [])):
        plain.produce("t", value, headers=headers, partition=0)
    assert plain.flush(10) == 0
    settings = {"bootstrap.servers": mock_cluster, "group.id": "mixed", "auto.offset.reset": "earliest"}
    consumer = KafkaReader(ClientSpec("c", ("t",), settings, stamp_in_header=None))
    found: list[tuple[bool, bool, int]] = []
    limit_ns = monotonic_ns() + PATIENCE_NS
    while len(found) < 5 and monotonic_ns() < limit_ns:
        if fetched := consumer.poll(0.05, 10):
            in_header = np.broadcast_to(np.asarray(fetched.in_header), fetched.count).tolist()
            ours = stamp.is_stamp(fetched.stamps, TAG).tolist()
            found += zip(ours, in_header, fetched.stamps["seq"].tolist(), strict=True)
    consumer.close()

    assert [each[:2] for each in found] == [(True, False), (True, True), (False, False), (True, True), (False, False)]
    assert [found[place][2] for place in (0, 1, 3)] == [0, 1, 1]


def test_a_cluster_that_cannot_be_reached_is_one_clear_error() -> None:
    """No traceback of a library, and no endless wait."""
    spec = ClientSpec("producer-0", ("t",), {"bootstrap.servers": "127.0.0.1:1"})

    with pytest.raises(BrokerError, match="producer-0"):
        KafkaProducer(spec, metadata_seconds=0.5)


@pytest.mark.parametrize(
    ("check", "settings", "expected"),
    [
        (producer_faults, {"lingerr.ms": 5}, "lingerr.ms: No such configuration property"),
        (producer_faults, {"lingerr.ms": 5}, '"lingerr.ms". Did you mean `linger.ms`? Names and values are those of'),
        (producer_faults, {"linger": 5}, '"linger". Did you mean `linger.ms`?'),
        (producer_faults, {"no.such": 5}, '"no.such". Names and values are those of'),
        (producer_faults, {"linger.ms": "abc"}, "linger.ms: 'abc': Invalid value for configuration property"),
        (producer_faults, {"acks": 1, "enable.idempotence": True}, "`acks` must be set to `all`"),
        (consumer_faults, {"session.timeout.ms": -5}, "session.timeout.ms"),
        (consumer_faults, {"group.protocol": "new"}, "group.protocol: 'new': Invalid value"),
    ],
)
def test_wrong_settings_are_found_before_anything_starts(
    check: Callable[..., list[Any]], settings: dict[str, Any], expected: str
) -> None:
    """By librdkafka itself, without a connection."""
    (fault,) = check("load.client", settings)

    assert expected in str(fault)


def test_right_settings_have_no_fault() -> None:
    """Values as YAML gives them: numbers, texts, truth values."""
    assert (
        producer_faults("x", {"acks": "all", "linger.ms": 0.5, "enable.idempotence": True, "compression.type": "lz4"})
        == []
    )
    assert consumer_faults("x", {"fetch.min.bytes": 1, "group.protocol": "classic"}) == []
