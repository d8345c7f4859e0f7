"""Readers with retry topics, in memory and on a real broker: one contract, and what only a broker shows."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import confluent_kafka as ck
import numpy as np
import pytest
from tests.kafka.test_markers import read_all
from tests.waiting import until

from streamgauge.acknowledge import Cluster
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.delivery.markers.redelivery import DEAD_LETTERS
from streamgauge.delivery.markers.wire import count_in
from streamgauge.delivery.retries.decisions import Retries
from streamgauge.delivery.retries.wire import COUNT_HEADER, Origin, origin_in
from streamgauge.domain import clock, stamp
from streamgauge.domain.blocks import NULL_INT64, Block, ClientSpec, Fetched
from streamgauge.domain.clock import NS_PER_MS, clock_pair, monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.consume.retrying import FakeRetryLogs, FakeRetryReader
from streamgauge.engine.fake import FakeTime
from streamgauge.kafka.carriers.retries.reader import OpenRetryReader
from streamgauge.scenario.topic_names import retry_topic

COUNT, PARTITIONS = 8, 2
DELAYS_NS = (100 * NS_PER_MS, 150 * NS_PER_MS)
RETRIES = Retries(DELAYS_NS, 2)
Make = Callable[[int], str]


def values() -> list[bytes]:
    stamps = np.zeros(COUNT, stamp.STAMP)
    stamps["magic"], stamps["version"], stamps["tag"], stamps["producer"] = stamp.MAGIC, stamp.VERSION, 77, 3
    stamps["seq"] = np.arange(COUNT)
    return [each.tobytes() + b"rest" for each in stamps]


@dataclass
class Bench:
    """A reader, and what is asked beside it."""

    reader: Any
    now_ns: Callable[[], int]
    dead: Callable[[], list[int]]
    """Sequences of the dead letters."""
    committed: Callable[[], dict[tuple[int, int], int]]
    ahead_ns: Callable[[], int] = lambda: 0
    """How far the wall clock is ahead."""
    received: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Sequence, number of the delivery, topic, and when it came."""
    told: list[tuple[int, int, str, int]] = field(default_factory=list)
    """Sequence, number of the delivery, outcome, and when that was told."""
    due_ms: dict[tuple[int, int], int] = field(default_factory=dict)
    """Of each sequence and number of a delivery, when it was due, as it is told."""

    def poll(self) -> Fetched | None:
        """One poll, noted."""
        fetched: Fetched | None = self.reader.poll(0.02, 100)
        if fetched:
            topics = np.broadcast_to(np.asarray(fetched.topic), fetched.count).tolist()
            assert fetched.deliveries is not None
            seqs, numbers = fetched.stamps["seq"].tolist(), fetched.deliveries.tolist()
            now_ns = self.now_ns()
            self.received += [(*row, now_ns) for row in zip(seqs, numbers, topics, strict=True)]
            assert fetched.deadline_ms is not None
            self.due_ms |= dict(zip(zip(seqs, numbers, strict=True), fetched.deadline_ms.tolist(), strict=True))
        return fetched

    def settle(self, fetched: Fetched, fails: Callable[[int, int], bool]) -> None:
        """Settle what came, and tell how far partitions are done with."""
        assert fetched.deliveries is not None
        seqs, numbers = fetched.stamps["seq"].astype(np.int64), fetched.deliveries
        rows: Block = {
            "topic": fetched.topic, "partition": fetched.partition, "offset": fetched.offset, "producer": 3,
            "seq": seqs, "delivery_count": numbers,
        }  # fmt: skip
        sound = [not fails(*row) for row in zip(seqs.tolist(), numbers.tolist(), strict=True)]
        self.reader.acknowledgements.settle(rows, np.array(sound))
        topics = np.broadcast_to(np.asarray(fetched.topic), fetched.count).tolist()
        places = zip(topics, fetched.partition.tolist(), strict=True)
        ends = {place: offset + 1 for place, offset in zip(places, fetched.offset.tolist(), strict=True)}
        self.reader.commits.store([(*place, offset) for place, offset in ends.items()])

    def hear(self, answer: tuple[Block, int]) -> None:
        """Note what is told of deliveries."""
        block, count = answer
        if count:
            rows: Any = (block["seq"], block["attempt"], block["outcome"], block["at_ns"])
            self.told += [
                (int(seq), int(number), outcome, int(at_ns)) for seq, number, outcome, at_ns in zip(*rows, strict=True)
            ]

    def run(self, fails: Callable[[int, int], bool], deliveries: int) -> None:
        """Consume until so many deliveries came, and end in order."""

        def is_all() -> bool:
            if fetched := self.poll():
                self.settle(fetched, fails)
                self.reader.commits.commit(asynchronous=True)
            self.hear(self.reader.acknowledgements.answered())
            return len(self.received) >= deliveries

        until(is_all)
        self.hear(self.reader.acknowledgements.finish())
        self.reader.commits.commit(asynchronous=False)
        self.hear(self.reader.acknowledgements.answered())


def in_memory() -> Iterator[Bench]:
    logs, time = FakeRetryLogs(RETRIES, PARTITIONS), FakeTime()
    for number, value in enumerate(values()):
        logs.topics[0].records[number % PARTITIONS].append((value, bytes(stamp.SIZE)))

    def dead() -> list[int]:
        found = [value for records in logs.dead.records for value, _ in records]
        return sorted(int(stamp.decode(value[: stamp.SIZE])["seq"][0]) for value in found)

    reader = FakeRetryReader(logs, time.now_ns, time.sleep)
    yield Bench(reader, time.now_ns, dead, lambda: {each: at for each, at in logs.committed.items() if at})


@pytest.fixture
def topic(broker: EmbeddedBroker, fresh_topic: Make) -> Iterator[str]:
    """A topic of two partitions with COUNT stamped messages, and its retry topics and that of dead letters."""
    cluster, name = Cluster(broker.bootstrap, {}), fresh_topic(PARTITIONS)
    beside = [*(retry_topic(name, level) for level in (1, 2)), f"{name}{DEAD_LETTERS}"]
    for each in beside:
        cluster.create_topic(each, PARTITIONS, 1)
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap})
    for number, value in enumerate(values()):
        producer.produce(name, value, b"k%d" % number, number % PARTITIONS, headers=[("trace", b"t%d" % number)])
    assert producer.flush(10) == 0
    yield name
    for each in beside:
        cluster.delete_topic(each)


def reader_of(broker: EmbeddedBroker, topic: str, group: str, **producer: Any) -> Any:
    settings = {"bootstrap.servers": broker.bootstrap}
    own: dict[str, Any] = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    topics = (topic, *(retry_topic(topic, level) for level in (1, 2)))
    opened = OpenRetryReader({**settings, **producer}, RETRIES, 1, clock_pair().ahead_ns)
    return opened(ClientSpec("consumer-0", topics, {**settings, **own}))


def on_a_broker(broker: EmbeddedBroker, topic: str) -> Iterator[Bench]:
    settings, group = {"bootstrap.servers": broker.bootstrap}, secrets.token_hex(4)
    topics = (topic, *(retry_topic(topic, level) for level in (1, 2)))

    def dead() -> list[int]:
        found = [each.value() or b"" for each in read_all(settings, f"{topic}{DEAD_LETTERS}", PARTITIONS)]
        return sorted(int(stamp.decode(value[: stamp.SIZE])["seq"][0]) for value in found)

    def committed() -> dict[tuple[int, int], int]:
        known = Cluster(broker.bootstrap, {}).offsets(topics, PARTITIONS, (group,)).committed(0)
        return {divmod(place, PARTITIONS): offset for place, offset in enumerate(known) if offset}

    with closing(reader_of(broker, topic, group)) as reader:
        yield Bench(reader, monotonic_ns, dead, committed, lambda: clock_pair().ahead_ns)


@pytest.fixture(params=["in memory", pytest.param("on a broker", marks=pytest.mark.kafka)])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    if request.param == "in memory":
        yield from in_memory()
    else:
        yield from on_a_broker(request.getfixturevalue("broker"), request.getfixturevalue("topic"))


def fails_as_often_as_its_number_says(seq: int, number: int) -> bool:
    """Of four messages one succeeds at once, one in the second delivery, one in the third, and one never."""
    return number <= seq % 4


def test_what_fails_comes_again_from_its_retry_topics_and_is_dead_in_the_end(bench: Bench) -> None:
    bench.run(fails_as_often_as_its_number_says, 2 * (1 + 2 + 3 + 3))

    assert sorted(row[:3] for row in bench.received) == sorted(
        (seq, number, number - 1) for seq in range(COUNT) for number in range(1, min(seq % 4, 2) + 2)
    )
    outcomes = {(seq, number): outcome for seq, number, outcome, _ in bench.told if outcome not in AGAIN}
    assert outcomes == {
        (seq, number): "accepted" if number > seq % 4 else "rejected" if number == 3 else "released"
        for seq, number, *_ in bench.received
    }
    again = {(seq, number): outcome for seq, number, outcome, _ in bench.told if outcome in AGAIN}
    assert again == {
        key: "redelivered" if outcome == "released" else "dead_letter"
        for key, outcome in outcomes.items()
        if outcome != "accepted"
    }
    assert bench.dead() == [3, 7]
    assert bench.reader.acknowledgements.unwritten == 0
    # Retry topics have what failed: 6 and 4 messages, in the partitions where they were.
    assert bench.committed() == {(0, 0): 4, (0, 1): 4, (1, 0): 2, (1, 1): 4, (2, 0): 2, (2, 1): 2}


AGAIN = ("redelivered", "dead_letter")


def test_nothing_comes_before_it_is_due(bench: Bench) -> None:
    """By the clock that tells when it failed; and what is held back is not passed."""
    bench.run(lambda _seq, number: number < 3, 3 * COUNT)
    came = {(seq, number): at_ns for seq, number, _, at_ns in bench.received}
    failed = {(seq, number): at_ns for seq, number, outcome, at_ns in bench.told if outcome == "released"}
    assert len(failed) == 2 * COUNT
    assert all(came[seq, number + 1] - at_ns >= DELAYS_NS[number - 1] for (seq, number), at_ns in failed.items())


def test_each_redelivery_tells_when_it_was_due(bench: Bench) -> None:
    """In milliseconds of the wall clock, from when it failed; what comes first from the topic was not due again."""
    bench.run(lambda _seq, number: number < 3, 3 * COUNT)
    came = {(seq, number): at_ns for seq, number, _, at_ns in bench.received}
    failed = {(seq, number): at_ns for seq, number, outcome, at_ns in bench.told if outcome == "released"}
    ahead_ms = bench.ahead_ns() / NS_PER_MS
    assert {bench.due_ms[seq, 1] for seq in range(COUNT)} == {NULL_INT64}
    for (seq, number), at_ns in failed.items():
        wanted_ms = (at_ns + DELAYS_NS[number - 1]) / NS_PER_MS + ahead_ms
        due_ms = bench.due_ms[seq, number + 1]
        assert wanted_ms - 20 <= due_ms <= wanted_ms + 1
        assert due_ms <= came[seq, number + 1] / NS_PER_MS + ahead_ms + 1


def test_what_is_held_back_is_not_passed(bench: Bench) -> None:
    def is_all() -> bool:
        if fetched := bench.poll():
            bench.settle(fetched, lambda _seq, _number: True)
        return len(bench.received) == COUNT and bench.reader.acknowledgements.unwritten == 0

    until(is_all)
    for _ in range(3):
        assert bench.reader.poll(0.005, 100) is None
    known = {(topic, number): offset for topic, number, offset in bench.reader.positions()}
    assert {known[1, number] or 0 for number in range(PARTITIONS)} <= {0, -1}
    assert {known[0, number] for number in range(PARTITIONS)} == {COUNT // PARTITIONS}


def test_a_delivery_is_acknowledged_when_it_is_committed(bench: Bench) -> None:
    def is_all() -> bool:
        if fetched := bench.poll():
            bench.settle(fetched, lambda _seq, _number: False)
        bench.hear(bench.reader.acknowledgements.answered())
        return len(bench.received) == COUNT

    until(is_all)
    assert bench.told == []
    bench.reader.commits.commit(asynchronous=False)
    bench.hear(bench.reader.acknowledgements.answered())
    assert sorted(row[:3] for row in bench.told) == [(seq, 1, "accepted") for seq in range(COUNT)]


@pytest.mark.kafka
def test_a_message_keeps_key_value_and_headers_and_tells_where_it_is_from(broker: EmbeddedBroker, topic: str) -> None:
    settings = {"bootstrap.servers": broker.bootstrap}
    with closing(reader_of(broker, topic, secrets.token_hex(4))) as reader:
        Bench(reader, monotonic_ns, list, dict).run(lambda seq, _number: seq == 5, COUNT + 2)
    sent = values()[5]
    for level in (1, 2):
        (again,) = read_all(settings, retry_topic(topic, level), PARTITIONS)
        headers: Any = again.headers()
        assert (again.value(), again.key(), again.partition()) == (sent, b"k5", 1)
        assert headers[0] == ("trace", b"t5")
        assert (origin_in(headers, Origin("", 0, 0)), count_in(headers, COUNT_HEADER)) == (Origin(topic, 1, 2), level)
    (dead,) = read_all(settings, f"{topic}{DEAD_LETTERS}", PARTITIONS)
    told = dict(dead.headers() or [])
    assert (dead.value(), dead.key()) == (sent, b"k5")
    begin = "streamgauge-dead-letter-"
    assert [told[f"{begin}{name}"] for name in ("topic", "partition", "offset", "redeliveries")] == [
        topic.encode(), b"1", b"2", b"2",
    ]  # fmt: skip
    assert told["trace"] == b"t5"
    assert COUNT_HEADER not in told


@pytest.mark.kafka
def test_nothing_is_committed_behind_a_message_that_is_not_written_again(broker: EmbeddedBroker, topic: str) -> None:
    """Who reads after a crash reads it again. Retry topics that are gone end the reader."""
    group = secrets.token_hex(4)
    with closing(reader_of(broker, topic, group, **{"linger.ms": 60_000, "batch.num.messages": 1_000})) as reader:
        bench = Bench(reader, monotonic_ns, list, dict)

        def is_all() -> bool:
            if fetched := bench.poll():
                bench.settle(fetched, lambda seq, _number: seq in {4, 5})
            return len(bench.received) == COUNT

        until(is_all)
        assert reader.acknowledgements.unwritten == 2
        reader.commits.commit(asynchronous=True)
        cluster = Cluster(broker.bootstrap, {})
        until(lambda: cluster.offsets((topic,), PARTITIONS, (group,)).committed(0) == [2, 2])
        # It is asked to wait now.
        reader.commits.commit(asynchronous=False)
        assert cluster.offsets((topic,), PARTITIONS, (group,)).committed(0) == [4, 4]
        assert reader.acknowledgements.unwritten == 0


@pytest.mark.kafka
def test_a_message_that_cannot_be_written_again_ends_the_reader(broker: EmbeddedBroker, topic: str) -> None:
    with closing(reader_of(broker, topic, secrets.token_hex(4), **{"message.max.bytes": 1_000})) as reader:
        bench = Bench(reader, monotonic_ns, list, dict)
        producer = ck.Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce(topic, values()[0] + bytes(2_000), None, 0)
        assert producer.flush(10) == 0

        def is_all() -> bool:
            if fetched := bench.poll():
                bench.settle(fetched, lambda _seq, _number: True)
            return False

        with pytest.raises(BrokerError, match="__retry_1: a message that failed could not be written"):
            until(is_all)


@pytest.mark.kafka
def test_what_is_due_does_not_wait_for_a_backlog(broker: EmbeddedBroker, topic: str) -> None:
    """A consumer that is behind has always more of the topic: of two polls, one is for what is due."""
    with closing(reader_of(broker, topic, secrets.token_hex(4))) as reader:
        bench = Bench(reader, monotonic_ns, list, dict)

        def has_failed() -> bool:
            fetched = reader.poll(0.02, 1)
            if fetched:
                bench.settle(fetched, lambda _seq, _number: True)
            return fetched is not None

        until(has_failed)
        reader.commits.commit(asynchronous=False)

        def is_aside() -> bool:
            assert reader.poll(0.02, 0) is None
            stock = reader._reader.stock
            behind = sum(len(stock.waiting((0, number))) for number in range(PARTITIONS))
            return behind == COUNT - 1 and any(topic == 1 for topic, _ in stock.places())

        until(is_aside)
        clock.sleep_seconds(DELAYS_NS[0] / clock.NS_PER_SECOND)
        two = [reader.poll(0, 3) for _ in range(2)]
    numbers = [number for each in two if each for number in each.deliveries.tolist()]
    assert sorted(numbers) == [1, 1, 1, 2]
