"""What the run asks of a cluster, against a real one."""

import secrets

import confluent_kafka as ck
import pytest

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.errors import BadInput, BrokerError
from streamgauge.kafka.admin import Cluster


@pytest.fixture
def cluster(broker: EmbeddedBroker) -> Cluster:
    return Cluster(broker.bootstrap, {})


@pytest.fixture
def name() -> str:
    """A name that no other test uses, for a topic or a group."""
    return f"admin-{secrets.token_hex(4)}"


def fill(broker: EmbeddedBroker, topic: str, counts: list[int]) -> None:
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap})
    for partition, count in enumerate(counts):
        for _ in range(count):
            producer.produce(topic, b"x", partition=partition)
    assert producer.flush(10) == 0


@pytest.mark.kafka
def test_a_topic_is_there_and_serves_once_it_is_made_and_gone_once_it_is_deleted(cluster: Cluster, name: str) -> None:
    assert cluster.partitions_of(name) is None

    cluster.create_topic(name, 12, 1, {"retention.ms": 60_000, "unclean.leader.election.enable": False})
    made, ends = cluster.partitions_of(name), cluster.offsets((name,), 12).log_ends()
    cluster.delete_topic(name)

    assert made == 12
    assert ends == [0] * 12
    assert cluster.partitions_of(name) is None


@pytest.mark.kafka
def test_a_topic_that_is_not_there_is_deleted_already(cluster: Cluster, name: str) -> None:
    cluster.delete_topic(name)

    assert cluster.partitions_of(name) is None


@pytest.mark.kafka
def test_looking_for_a_topic_does_not_make_it(cluster: Cluster, name: str) -> None:
    cluster.partitions_of(name)

    with pytest.raises(BrokerError, match=f"log ends of topic {name} were not read: .*No leaders found"):
        cluster.offsets((name,), 1).log_ends()
    assert cluster.partitions_of(name) is None


@pytest.mark.kafka
def test_what_the_cluster_refuses_is_told_in_its_words(cluster: Cluster, name: str) -> None:
    with pytest.raises(
        BrokerError, match=f"topic {name} could not be created: Unable to replicate the partition 3 time"
    ):
        cluster.create_topic(name, 1, 3)
    with pytest.raises(BrokerError, match=r"Unknown topic config name: no\.such"):
        cluster.create_topic(name, 1, 1, {"no.such": 1})


@pytest.mark.kafka
def test_log_offsets_are_those_of_each_partition(cluster: Cluster, broker: EmbeddedBroker, name: str) -> None:
    cluster.create_topic(name, 3, 1)
    fill(broker, name, [3, 0, 5])

    cluster.create_topic(f"{name}-2", 3, 1)
    fill(broker, f"{name}-2", [0, 2, 0])
    offsets = cluster.offsets((name, f"{name}-2"), 3)

    assert offsets.log_starts() == [0] * 6
    assert offsets.log_ends() == [3, 0, 5, 0, 2, 0]
    assert offsets.at(1) == [0] * 6
    assert offsets.at(1 << 42) == [3, 0, 5, 0, 2, 0]


@pytest.mark.kafka
def test_commits_are_read_back_and_missing_ones_are_unknown(cluster: Cluster, name: str) -> None:
    cluster.create_topic(name, 3, 1)
    groups = (f"{name}-other", f"{name}-group")
    offsets = cluster.offsets((name,), 3, groups)
    assert offsets.committed(1) == [None, None, None]

    cluster.set_committed(groups[1], name, [7, 0])

    assert offsets.committed(1) == [7, 0, None]
    assert offsets.committed(0) == [None, None, None]
    offsets.close()


@pytest.mark.kafka
def test_a_consumer_starts_at_the_commit(cluster: Cluster, broker: EmbeddedBroker, name: str) -> None:
    cluster.create_topic(name, 1, 1)
    fill(broker, name, [5])
    cluster.set_committed(name, name, [3])
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": name, "auto.offset.reset": "error"}
    consumer = ck.Consumer(settings)
    consumer.subscribe([name])

    message = consumer.poll(20)
    consumer.close()

    assert message is not None
    assert message.error() is None
    assert message.offset() == 3


@pytest.mark.kafka
def test_a_group_is_deleted_with_its_commits(cluster: Cluster, name: str) -> None:
    cluster.create_topic(name, 1, 1)
    cluster.set_committed(name, name, [7])

    cluster.delete_group(name)
    cluster.delete_group(name)

    assert cluster.offsets((name,), 1, (name,)).committed(0) == [None]


@pytest.mark.kafka
def test_a_group_with_members_is_not_deleted(broker: EmbeddedBroker, cluster: Cluster, name: str) -> None:
    cluster.create_topic(name, 1, 1)
    consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": name})
    assigned: list[int] = []
    consumer.subscribe([name], on_assign=lambda _, places: assigned.append(len(places)))
    while not assigned:
        consumer.poll(0.1)

    with pytest.raises(BrokerError, match=f"group {name} could not be deleted: .*not empty"):
        Cluster(broker.bootstrap, {}, timeout_seconds=0.3).delete_group(name)
    consumer.close()

    cluster.delete_group(name)


@pytest.mark.kafka
def test_a_broker_of_today_does_not_tell_its_version(cluster: Cluster) -> None:
    assert cluster.version() is None


@pytest.mark.timeout(20)
@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_named_with_remedies(capfd: pytest.CaptureFixture[str]) -> None:
    nowhere = Cluster("127.0.0.1:1", {}, timeout_seconds=0.3)

    with pytest.raises(BrokerError, match=r"127\.0\.0\.1:1 within 0\.3 s: .*Connection refused.*--client-config"):
        nowhere.reachable()
    with pytest.raises(BrokerError, match="topic t could not be described"):
        nowhere.partitions_of("t")
    with pytest.raises(BrokerError, match="log ends of topic t were not read: "):
        nowhere.offsets(("t",), 1).log_ends()
    with pytest.raises(BrokerError, match=r"offsets of group g could not be set: .*Waiting for coordinator"):
        nowhere.set_committed("g", "t", [0])
    with pytest.raises(BrokerError, match=r"no broker responds"):
        nowhere.delete_group("g")
    assert nowhere.version() is None

    assert capfd.readouterr() == ("", "")


def test_settings_that_no_client_takes_are_bad_input() -> None:
    with pytest.raises(BadInput, match='No such configuration property: "nope"'):
        Cluster("127.0.0.1:1", {"nope": 1})
