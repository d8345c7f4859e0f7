"""One of two log directories of a real broker is slow, full, unreadable or fails, while the other one goes on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import confluent_kafka as ck
import pytest
from tests.cluster.conftest import CONFIGS
from tests.cluster.test_disks import fault
from tests.waiting import until

from streamgauge.cluster.disks.mounts import why_not
from streamgauge.cluster.embedded import EmbeddedCluster, start_cluster
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.domain.clock import NS_PER_MS, monotonic_ns
from streamgauge.kafka.admin import Cluster
from streamgauge.processes.jvm.java import Java
from streamgauge.scenario.model.environment.faults.disks import SLOW
from streamgauge.scenario.model.environment.faults.families import ONE_DIRECTORY

pytestmark = pytest.mark.kafka

TOPIC: Final = "spread"
PARTITIONS: Final = 4
SLOWER_MS: Final = 300
KINDS: Final = [kind for kind in ONE_DIRECTORY if kind != SLOW]
"""Kafka gives a directory up for each of them, until the broker starts again."""


@pytest.fixture(scope="module")
def two_directories(
    java: Java, tmp_path_factory: pytest.TempPathFactory, _own_state: None
) -> Iterator[EmbeddedCluster]:
    """A broker whose second directory passes through us."""
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("directories")
    plan = ClusterPlan(heap="256m", configs=CONFIGS, data_dirs=2, passing=frozenset({(0, 2)}))
    with start_cluster(plan, logs=folder / "logs", data=folder / "data", java=java) as running:
        Cluster(running.bootstrap, {}).create_topic(TOPIC, PARTITIONS, 1, {})
        yield running


def partitions_in(directory: Path) -> list[int]:
    return sorted(int(path.name.rpartition("-")[2]) for path in directory.glob(f"{TOPIC}-[0-9]"))


def acknowledged(cluster: EmbeddedCluster, partition: int, seconds: float = 30) -> bool:
    """Whether a message of a client of its own is acknowledged in time."""
    done: list[bool] = []
    timeout = {"message.timeout.ms": int(seconds * 1000), "log_level": 0}
    producer = ck.Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", **timeout})
    producer.produce(TOPIC, bytes(2000), partition=partition, on_delivery=lambda error, _: done.append(error is None))
    producer.flush(seconds + 5)
    return done == [True]


def has_first(cluster: EmbeddedCluster, partition: int, seconds: float) -> bool:
    """Whether the first message of a partition can be read in time."""
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": "any", "log_level": 0}
    consumer = ck.Consumer(settings)
    try:
        consumer.assign([ck.TopicPartition(TOPIC, partition, 0)])
        message = consumer.poll(seconds)
        return message is not None and message.error() is None
    finally:
        consumer.close()


def test_a_slow_directory_delays_what_is_in_it(two_directories: EmbeddedCluster) -> None:
    (broker,) = two_directories.brokers
    until(lambda: sum(len(partitions_in(each)) for each in broker.disk.directories) == PARTITIONS)
    here, there = (partitions_in(each)[0] for each in broker.disk.directories)
    assert all(acknowledged(two_directories, each) for each in (here, there))

    broker.disk.begin(fault(SLOW, delay=f"{SLOWER_MS}ms"))
    began_ns = monotonic_ns()
    is_there = acknowledged(two_directories, there)
    took_ns = monotonic_ns() - began_ns
    broker.disk.end(fault(SLOW))

    assert is_there
    assert took_ns >= SLOWER_MS * NS_PER_MS
    assert broker.alive


@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_that_fails_is_given_up_and_the_other_is_not(kind: str, two_directories: EmbeddedCluster) -> None:
    (broker,) = two_directories.brokers
    here, there = (partitions_in(each)[0] for each in broker.disk.directories)
    assert acknowledged(two_directories, there)

    broker.disk.begin(fault(kind))
    if kind == "dir-unreadable":
        until(lambda: not has_first(two_directories, there, 5))
    else:
        assert not acknowledged(two_directories, there, 5)
    assert acknowledged(two_directories, here)
    assert broker.alive
    broker.disk.end(fault(kind))
    broker.kill()
    broker.restart()

    until(lambda: acknowledged(two_directories, there, 5))
    assert has_first(two_directories, there, 30)
    assert acknowledged(two_directories, here)
