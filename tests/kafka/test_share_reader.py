"""Members of share groups: the contract that the reader over a real broker and the one in memory both keep."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import confluent_kafka as ck
import numpy as np
import pytest
from tests.kafka.test_markers import read_all
from tests.sharing import FakeShareGroup, FakeShareReader
from tests.waiting import until

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.delivery.markers.redelivery import DEAD_LETTERS
from streamgauge.domain import stamp
from streamgauge.domain.blocks import Block, ClientSpec, Fetched
from streamgauge.domain.clock import NS_PER_MS, clock_pair, monotonic_ns
from streamgauge.domain.errors import BadInput
from streamgauge.engine.fake import FakeLog
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.carriers.share.group import GroupSettings, ShareGroups
from streamgauge.kafka.carriers.share.reader import OpenShareReader

TAG, COUNT, LOCK_MS, DELIVERIES = 77, 6, 1_000, 2
Make = Callable[[int], str]


def values() -> list[bytes]:
    """Messages of producer 3, sequence 0 and up."""
    stamps = np.zeros(COUNT, stamp.STAMP)
    stamps["magic"], stamps["version"], stamps["tag"], stamps["producer"] = stamp.MAGIC, stamp.VERSION, TAG, 3
    stamps["seq"] = np.arange(COUNT)
    return [each.tobytes() + b"rest" for each in stamps]


@dataclass
class InMemory:
    """A group without a broker."""

    partitions: int
    group: FakeShareGroup = field(init=False)

    def __post_init__(self) -> None:
        log = FakeLog(self.partitions)
        for number, value in enumerate(values()):
            log.records[number % self.partitions].append((value, b""))
        self.group = FakeShareGroup(log, LOCK_MS * NS_PER_MS, DELIVERIES)

    def opened(self, *, dead_letters: bool = True) -> FakeShareReader:
        """A member."""
        return FakeShareReader(self.group, dead_letters=dead_letters)

    def lag(self) -> int:
        """Messages without a final outcome."""
        return self.group.lag

    def dead(self) -> list[int]:
        """Sequences of dead letters."""
        records = self.group.log.records
        return sorted(int(stamp.decode(records[part][at][0][: stamp.SIZE])["seq"][0]) for part, at in self.group.dead)


@dataclass
class OnBroker:
    """A group of a real broker."""

    cluster: Cluster
    topic: str
    partitions: int
    group: str = field(default_factory=lambda: f"share-{secrets.token_hex(4)}")
    groups: ShareGroups = field(init=False)

    def __post_init__(self) -> None:
        self.groups = ShareGroups(self.cluster, [self.group], GroupSettings(LOCK_MS, DELIVERIES - 1))
        self.groups.prepare()
        self.groups.begin(self.group, self.topic, [0] * self.partitions)
        self.offsets = self.groups.offsets((self.topic,), self.partitions)

    def opened(self, *, dead_letters: bool = True) -> Any:
        """A member."""
        settings = {**self.cluster.settings, "group.id": self.group}
        reader = OpenShareReader(self.cluster.settings, LOCK_MS, DELIVERIES, dead_letters=dead_letters)
        return reader(ClientSpec("consumer-0", (self.topic,), settings))

    def lag(self) -> int:
        """Messages without a final outcome."""
        return COUNT - sum(done or 0 for done in self.offsets.committed(0))

    def dead(self) -> list[int]:
        """Sequences of dead letters."""
        settings = dict(self.cluster.settings)
        letters = read_all(settings, f"{self.topic}{DEAD_LETTERS}", 1)
        for each in letters:
            told = dict(each.headers() or ())
            assert told["streamgauge-dead-letter-topic"] == self.topic.encode()
            assert told["streamgauge-dead-letter-redeliveries"] == b"1"
        return sorted(int(stamp.decode((each.value() or b"")[: stamp.SIZE])["seq"][0]) for each in letters)


PLACES = ("in memory", pytest.param("on a broker", marks=pytest.mark.kafka))


@pytest.fixture(params=PLACES)
def make_group(request: pytest.FixtureRequest) -> Iterator[Callable[[int], Any]]:
    """Makes a share group of a topic of so many partitions with COUNT messages."""
    made: list[OnBroker] = []

    def on_broker(partitions: int) -> OnBroker:
        broker: EmbeddedBroker = request.getfixturevalue("broker")
        cluster, name = Cluster(broker.bootstrap, {}), request.getfixturevalue("fresh_topic")(partitions)
        cluster.create_topic(f"{name}{DEAD_LETTERS}", 1, 1)
        producer = ck.Producer({"bootstrap.servers": broker.bootstrap})
        for number, value in enumerate(values()):
            producer.produce(name, value, None, number % partitions)
        assert producer.flush(10) == 0
        made.append(OnBroker(cluster, name, partitions))
        return made[-1]

    yield InMemory if request.param == "in memory" else on_broker
    for each in made:
        each.offsets.close()
        each.cluster.delete_topic(f"{each.topic}{DEAD_LETTERS}")
        each.groups.leave(each.group)


@pytest.fixture
def group(make_group: Callable[[int], Any]) -> Any:
    """A share group of a topic of two partitions."""
    return make_group(2)


def polled(reader: Any, count: int, limit: int = 100) -> list[tuple[int, int]]:
    """Sequence and number of what polls bring, until so many messages came."""
    found: list[Fetched] = []

    def is_all() -> bool:
        if block := reader.poll(0.05, limit):
            found.append(block)
        return sum(each.count for each in found) >= count

    until(is_all)
    return [row for each in found for row in rows_of(each)]


def rows_of(fetched: Fetched) -> list[tuple[int, int]]:
    assert fetched.deliveries is not None
    return list(zip(fetched.stamps["seq"].astype(int).tolist(), fetched.deliveries.tolist(), strict=True))


def settle(
    reader: Any, rows: list[tuple[int, int]], fails: Callable[[int], bool] = lambda _: False, partitions: int = 2
) -> None:
    """Tell what became of messages."""
    seqs, numbers = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    block: Block = {
        "topic": 0, "partition": seqs % partitions, "offset": seqs // partitions, "producer": 3, "seq": seqs,
        "delivery_count": numbers,
    }  # fmt: skip
    reader.acknowledgements.settle(block, np.array([not fails(seq) for seq in seqs.tolist()]))


def told(reader: Any, count: int) -> list[tuple[int, int, str]]:
    """Sequence, number and outcome of deliveries, as they are answered, until there are so many."""
    found: list[tuple[int, int, str]] = []

    def is_all() -> bool:
        block, some = reader.acknowledgements.answered()
        if some:
            found.extend(zip(block["seq"].tolist(), block["attempt"].tolist(), block["outcome"], strict=True))
        return len(found) >= count

    until(is_all)
    return sorted(found)


def until_settled(reader: Any, count: int, fails: Callable[[int], bool], partitions: int = 2) -> list[tuple[int, int]]:
    """Take and settle messages until so many deliveries took place."""
    found: list[tuple[int, int]] = []

    def is_all() -> bool:
        if block := reader.poll(0.05, 100):
            rows = rows_of(block)
            found.extend(rows)
            settle(reader, rows, fails, partitions)
        return len(found) >= count

    until(is_all)
    return sorted(found)


def test_what_is_accepted_is_done_with(group: Any) -> None:
    with closing(group.opened()) as reader:
        assert group.lag() == COUNT
        assert until_settled(reader, COUNT, lambda _: False) == [(seq, 1) for seq in range(COUNT)]
        assert told(reader, COUNT) == [(seq, 1, "accepted") for seq in range(COUNT)]
        until(lambda: group.lag() == 0)
        assert reader.poll(0.05, 100) is None
        assert reader.acknowledgements.finish() == ({}, 0)


@pytest.mark.parametrize("dead_letters", [True, False])
def test_what_fails_comes_again_at_once_and_is_given_up_in_the_end(group: Any, dead_letters: bool) -> None:
    """With a dead letter before the last delivery is rejected; without, the broker archives it."""
    with closing(group.opened(dead_letters=dead_letters)) as reader:
        assert until_settled(reader, COUNT + 2, lambda seq: seq >= 4) == [
            (0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (4, 2), (5, 1), (5, 2),
        ]  # fmt: skip
        last = [("dead_letter",), ("rejected",)] if dead_letters else [("released",)]
        expected = [(seq, 1, "accepted" if seq < 4 else "released") for seq in range(COUNT)]
        expected += [(seq, 2, *each) for seq in (4, 5) for each in last]
        assert told(reader, len(expected)) == sorted(expected)
        until(lambda: group.lag() == 0)
        assert group.dead() == ([4, 5] if dead_letters else [])


def test_nothing_more_is_polled_until_all_is_acknowledged(group: Any) -> None:
    """What was polled is handed over as there is room for it, and has its deadline."""
    before_ms = clock_pair().wall_ns // NS_PER_MS
    with closing(group.opened()) as reader:
        first = polled(reader, 1, limit=1)
        assert len(first) == 1
        assert reader.poll(0, 100, lambda _place: 0) is None
        rest = reader.poll(0, 100, lambda _place: 1)
        rows = first + (rows_of(rest) if rest else [])
        while more := reader.poll(0, 100):
            rows += rows_of(more)
            assert more.deadline_ms is not None
            assert (more.deadline_ms >= before_ms + LOCK_MS).all()
        settle(reader, rows[1:]) if len(rows) > 1 else None
        assert reader.poll(0.02, 100) is None
        settle(reader, rows[:1])
        left = COUNT - len(rows)
        assert len(until_settled(reader, left, lambda _: False) if left else []) == left


def after_the_lock() -> Callable[[], bool]:
    """Whether a lock that began by now is over."""
    until_ns = monotonic_ns() + LOCK_MS * NS_PER_MS
    return lambda: monotonic_ns() > until_ns


def test_a_lock_that_is_over_lets_a_message_come_again(make_group: Callable[[int], Any]) -> None:
    """Who acknowledges it then is too late, though a broker that finds it accepted says nothing against it."""
    group = make_group(1)
    with closing(group.opened()) as slow, closing(group.opened()) as other:
        late = polled(slow, 1)
        is_over = after_the_lock()
        again = until_settled(other, COUNT, lambda _: False, partitions=1)
        assert set(late) <= {(seq, number - 1) for seq, number in again if number == 2}
        assert {seq for seq, _ in again} == set(range(COUNT))
        until(is_over)
        settle(slow, late, partitions=1)
        assert {outcome for _, _, outcome in told(slow, len(late))} == {"timed_out"}


def test_who_is_too_late_for_the_last_delivery_has_not_accepted_it(make_group: Callable[[int], Any]) -> None:
    """The message is archived by then, and a broker refuses nothing of what it has given up."""
    group = make_group(1)
    with closing(group.opened(dead_letters=False)) as reader:
        for number in (1, 2):
            rows = polled(reader, COUNT)
            is_over = after_the_lock()
            assert rows == [(seq, number) for seq in range(COUNT)]
            until(is_over)
            if number == DELIVERIES:
                until(lambda: group.lag() == 0)
            settle(reader, rows, partitions=1)
            assert told(reader, COUNT) == [(seq, number, "timed_out") for seq in range(COUNT)]
        assert reader.poll(0.05, 100) is None


def test_who_leaves_gives_back_what_he_had(make_group: Callable[[int], Any]) -> None:
    """Not when its lock is over, but at once; it counts as a delivery."""
    group = make_group(1)
    leaving = group.opened()
    had = polled(leaving, COUNT)
    with closing(group.opened()) as reader:
        leaving.close()
        assert until_settled(reader, COUNT, lambda _: False, partitions=1) == [(seq, 2) for seq, _ in sorted(had)]


@pytest.mark.kafka
def test_no_other_way_to_acknowledge_is_taken(broker: EmbeddedBroker) -> None:
    """The client takes every value without a word."""
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "x", "share.acknowledgement.mode": "implict"}
    with pytest.raises(BadInput, match=r"share\.acknowledgement\.mode: is set by the run"):
        OpenShareReader({}, LOCK_MS, DELIVERIES, dead_letters=False)(ClientSpec("consumer-0", ("x",), settings))


@pytest.mark.kafka
def test_a_cluster_without_share_groups_is_refused(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is set on it. The brokers of this suite have them."""
    groups = ShareGroups(Cluster(broker.bootstrap, {}), ["share-x"], GroupSettings(LOCK_MS, 3))
    monkeypatch.setattr(
        "streamgauge.kafka.carriers.share.asking.lacking", lambda features, versions: f"{sorted(features)}"
    )
    monkeypatch.setattr(Cluster, "set_group", lambda *_: pytest.fail("a setting was made"))
    refused = pytest.raises(BadInput, match=r"consume\.acknowledge\.share: \[.*share\.version.*Use another cluster")
    with closing(groups), refused:
        groups.prepare()


@pytest.mark.kafka
def test_what_a_cluster_does_not_allow_is_told_at_its_place(broker: EmbeddedBroker) -> None:
    """All of it at once, before a topic is made."""
    cluster = Cluster(broker.bootstrap, {})
    groups = ShareGroups(cluster, [f"share-{secrets.token_hex(4)}"], GroupSettings(lock_ms=10, limit=30))
    with closing(groups), pytest.raises(BadInput) as caught:
        groups.prepare()
    faults = {fault.where.rpartition(".")[2]: fault.what for fault in caught.value.faults}
    assert faults.keys() == {"lock", "limit"}
    assert faults["lock"].startswith("share.record.lock.duration.ms=10: ")
    assert faults["limit"].startswith("share.delivery.count.limit=31: ")
