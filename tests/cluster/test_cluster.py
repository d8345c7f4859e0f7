"""A cluster of three: what it is while it runs, what it survives, and that nothing of it is left."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import confluent_kafka as ck
import psutil
import pytest
from confluent_kafka.admin import AdminClient
from tests.cluster.conftest import CUT, PARTITION
from tests.injecting import scheduled
from tests.waiting import until

from streamgauge.cluster import registry
from streamgauge.cluster.embedded import EmbeddedCluster, start_cluster
from streamgauge.cluster.links.network import Network
from streamgauge.domain.blocks import ClientSpec, PlaceReplicas
from streamgauge.domain.clock import monotonic_ns
from streamgauge.domain.errors import BadInput, BrokerError
from streamgauge.engine.board import Cells
from streamgauge.engine.supervise.faults.inject import Injector
from streamgauge.engine.supervise.faults.leading import targets_of_leadership
from streamgauge.engine.supervise.faults.roles import Roles
from streamgauge.engine.supervise.faults.rows import FaultRow
from streamgauge.engine.supervise.faults.targets import target_of_broker
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.metadata.leadership import KafkaLeadership
from streamgauge.kafka.metadata.quorum import KafkaQuorum
from streamgauge.kafka.metadata.replicas import KafkaReplicas
from streamgauge.processes.jvm.java import Java
from streamgauge.scenario.model.environment.faults.disks import DiskFault
from streamgauge.scenario.model.environment.faults.links import LinkFault
from streamgauge.scenario.model.environment.faults.when import RunCounts

pytestmark = pytest.mark.kafka


def test_its_brokers_are_one_cluster(three: EmbeddedCluster) -> None:
    admin = AdminClient({"bootstrap.servers": three.bootstrap})
    described = admin.describe_cluster().result(10)

    assert {f"{node.host}:{node.port}" for node in described.nodes} == set(three.bootstrap.split(","))
    assert {node.id: node.rack for node in described.nodes} == {1: "rack-0", 2: "rack-1", 3: "rack-0"}


def test_its_nodes_are_known_as_its_nodes(three: EmbeddedCluster) -> None:
    entries = [each.entry for each in three.nodes]
    root = entries[0].cluster

    assert [each.name for each in entries] == ["broker-1", "broker-2", "broker-3"] == three.names
    assert {each for each in registry.listing() if each.cluster == root} == set(entries)
    assert len({port for each in entries for port in each.ports}) == 12
    assert all(root in each.data.parents and (each.data / "metadata" / "meta.properties").is_file() for each in entries)


def test_its_folder_is_in_use(three: EmbeddedCluster, java: Java, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is in use by broker-1"):
        start_cluster(logs=tmp_path, java=java, data=three.nodes[0].entry.cluster)


def _looked(replicas: KafkaReplicas) -> list[PlaceReplicas]:
    """Nothing while nobody answers."""
    with suppress(BrokerError):
        return replicas.look()
    return []


def _ends(quorum: KafkaQuorum) -> dict[int, int | str]:
    """Messages on each broker, or why it does not tell; nothing while nobody answers."""
    with suppress(BrokerError):
        _, ends = quorum.look()
        return {node: told if isinstance(told, str) else sum(told.values()) for node, told in ends.items()}
    return {}


def test_what_was_acknowledged_outlives_a_broker(three: EmbeddedCluster) -> None:
    """While one of three is dead, two acknowledge; when it is back, all three have every message.

    Whether it was killed, its disk failed, or its disk came back empty or without the end of every log.
    """
    cluster = Cluster(three.bootstrap, {})
    cluster.create_topic("outlives", 3, 3, {"min.insync.replicas": 2})
    settings = {"bootstrap.servers": three.bootstrap, "acks": "all", "enable.idempotence": True, "log_level": 0}
    producer = ck.Producer(settings)
    failed: list[object] = []
    sent: list[int] = []

    def send(count: int) -> None:
        sent.append(count)
        for _ in range(count):
            producer.produce(
                "outlives", bytes(1000), on_delivery=lambda error, _: failed.append(error) if error else None
            )
        assert producer.flush(30) == 0

    send(100)
    spec = ClientSpec("test", ("outlives",), {"bootstrap.servers": three.bootstrap})
    replicas, quorum = KafkaReplicas(spec, 3, 1.0), KafkaQuorum(spec, 3, 1.0)
    until(lambda: _ends(quorum) == {1: 100, 2: 100, 3: 100})
    assert quorum.look()[0] in {1, 2, 3}
    assert {(each.in_sync, each.replicas) for each in replicas.look()} == {(3, 3)}
    assert {each.leader for each in replicas.look()} <= {1, 2, 3}
    victim = three.brokers[1]
    victim.kill()
    assert not three.alive
    assert three.how_ended() is None
    until(lambda: {(each.in_sync, each.leader != 2) for each in _looked(replicas)} == {(2, True)})
    send(100)
    until(lambda: isinstance(_ends(quorum).get(2), str))
    assert (_ends(quorum)[1], _ends(quorum)[3]) == (200, 200)
    victim.restart()
    until(lambda: {each.in_sync for each in _looked(replicas)} == {3})
    until(lambda: _ends(quorum) == {1: 200, 2: 200, 3: 200})
    quorum.close()
    # The same with a disk that fails: the broker ends itself, and what it has is of use when it is back.
    failing = DiskFault.model_validate({"at": "1s", "kind": "disk-fails", "target": "broker-3", "for": "1s"})
    victim = three.brokers[2]
    victim.disk.begin(failing)
    # Each segment of these outgrows what the broker's own log has.
    send(3000)
    until(lambda: victim.exit_code == 1)
    assert "all log dirs in" in victim.entry.log.read_text(errors="replace")
    until(lambda: {(each.in_sync, each.leader != 3) for each in _looked(replicas)} == {(2, True)})
    victim.disk.end(failing)
    until(lambda: {each.in_sync for each in _looked(replicas)} == {3})
    # And with one that comes back empty.
    lost = failing.model_copy(update={"kind": "lose-data"})
    victim.disk.begin(lost)
    assert victim.exit_code == -9
    until(lambda: {each.in_sync for each in _looked(replicas)} == {2})
    victim.disk.end(lost)
    until(lambda: {each.in_sync for each in _looked(replicas)} == {3})
    # And with one that lacks the end of every log.
    shorter = failing.model_copy(update={"kind": "truncate-tail", "bytes": 2000})
    victim.disk.begin(shorter)
    assert victim.exit_code == -9
    until(lambda: {each.in_sync for each in _looked(replicas)} == {2})
    victim.disk.end(shorter)
    until(lambda: {each.in_sync for each in _looked(replicas)} == {3})
    assert failed == []
    # A client of its own: what the other one knows of leaders is from before all this.
    assert sum(Cluster(three.bootstrap, {}).offsets(["outlives"], 3).log_ends()) == sum(sent)
    assert three.names == ["broker-1", "broker-2", "broker-2.2", "broker-3", "broker-3.2", "broker-3.3", "broker-3.4"]
    assert three.alive


def test_a_topic_has_the_brokers_that_it_was_assigned(three: EmbeddedCluster) -> None:
    cluster = Cluster(three.bootstrap, {}, own={"socket.timeout.ms": 9000})
    assigned = [(3, 1), (1, 2), (2, 3)]
    cluster.create_topic("placed", 3, 2, {}, assigned)

    assert cluster.replicas_of("placed") == assigned
    assert cluster.replicas_of("nowhere") == []
    with pytest.raises(BrokerError, match="topic misplaced could not be created"):
        cluster.create_topic("misplaced", 1, 1, {}, [(9,)])


def test_its_leaders_move_and_its_brokers_restart(three: EmbeddedCluster) -> None:
    """A leader moves, its broker is restarted in order, another leader is killed: by role, and each as Kafka tells.

    Last, all of them are restarted, one after the other.
    """
    cluster = Cluster(three.bootstrap, {})
    cluster.create_topic("led", 1, 3, {"min.insync.replicas": 2})
    # A controller that was killed is followed by another one some seconds later, and brokers look for it then.
    led = KafkaLeadership({"bootstrap.servers": three.bootstrap}, ("led",), timeout_seconds=30.0)
    board = Cells.new(1, 1)
    rows: list[FaultRow] = []
    faults = scheduled(
        {"kind": "move-leader", "at": "0s", "target": "partition-0"},
        {"kind": "restart", "when": {"sent": 1}, "target": "active-controller"},
        {"kind": "kill", "when": {"sent": 2}, "for": "100ms", "target": "leader-of:0"},
        {"kind": "elect-preferred", "when": {"sent": 3}, "target": "led/0"},
        {"kind": "rolling-restart", "when": {"sent": 4}, "target": "brokers", "between": "0s"},
    )
    targets = [target_of_broker(each, board, 10 + each.number) for each in three.nodes]
    targets += targets_of_leadership(faults, led, 3)
    sent = [0]
    roles = Roles(led, ("led",), ("some-group",))
    injector = Injector(targets, monotonic_ns, rows.append, lambda: RunCounts(sent[0], 0, None), roles)
    injector.plan(faults)
    begun_ns = monotonic_ns()

    def done(count: int) -> bool:
        injector.turn(begun_ns)
        return len(rows) == count

    def settled() -> bool:
        with suppress(BrokerError):
            return all(len(each.in_sync) == 3 for each in led.partitions())
        return False

    before = led.partitions()[0]
    until(lambda: done(2))
    controller = led.controller()
    sent[0] = 1
    until(lambda: done(4))
    until(settled)
    leader = led.partitions()[0].leader
    assert leader is not None
    sent[0] = 2
    until(lambda: done(6))
    until(settled)
    sent[0] = 3
    until(lambda: done(8))
    preferred = led.partitions()[0]
    sent[0] = 4
    until(lambda: done(14), 300)
    until(settled)
    injector.release()
    three.check_all()

    assert [row.error for row in rows] == [None] * 14
    assert preferred.leader == preferred.replicas[0] != before.leader
    rolled = [(row.kind, row.target.partition(".")[0], row.action) for row in rows[8:]]
    assert rolled == [
        ("rolling-restart", f"broker-{number}", action) for number in (1, 2, 3) for action in ("begin", "end")
    ]
    assert set(led.partitions()[0].replicas) == set(before.replicas)
    hit = {(row.kind, row.target.partition(".")[0], row.detail) for row in rows if row.detail}
    assert hit == {
        ("restart", f"broker-{controller}", "active-controller"),
        ("kill", f"broker-{leader}", "leader-of:0"),
    }
    until(lambda: _coordinator(led, "some-group") in {1, 2, 3})
    assert not three.lost()


def _coordinator(led: KafkaLeadership, group: str) -> int | None:
    """Nothing while there is none: the first who asks has the brokers create the topic of the groups' offsets."""
    with suppress(BrokerError):
        return led.coordinator(group)
    return None


@contextmanager
def under(network: Network, fault: LinkFault) -> Iterator[None]:
    """A fault, while the block lasts."""
    network.begin(fault)
    try:
        yield
    finally:
        network.end(fault)


class Sending:
    """A producer that says where its messages went: partition 0, 1 and 2 are led by different brokers."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        settings = {"acks": "all", "enable.idempotence": True, "log_level": 0, "reconnect.backoff.max.ms": 200}
        self.producer = ck.Producer({"bootstrap.servers": bootstrap, **settings})
        self.topic = topic
        self.acked: list[int] = []

    def send(self) -> None:
        """One message to each partition."""
        for partition in range(3):
            self.producer.produce(self.topic, b"x", partition=partition, on_delivery=self._done)

    def _done(self, error: object, message: ck.Message) -> None:
        assert error is None
        self.acked.append(message.partition() or 0)

    def await_acked(self, count: int) -> None:
        """Return when so many are."""
        until(lambda: self.producer.poll(0) is not None and len(self.acked) >= count)
        assert len(self.acked) == count


def test_a_broker_that_is_partitioned_from_the_others_loses_its_partitions(three: EmbeddedCluster) -> None:
    """Clients still reach it; afterwards it follows, and every message is there once."""
    assert three.network
    cluster = Cluster(three.bootstrap, {})
    cluster.create_topic("partitioned", 3, 3, {"min.insync.replicas": 2})
    # A broker that is cut off tells what it knew before, so a client is asked that knows another one only.
    spec = ClientSpec("test", ("partitioned",), {"bootstrap.servers": three.brokers[1].bootstrap})

    def seen() -> list[PlaceReplicas]:
        return _looked(KafkaReplicas(spec, 3, 1.0))

    sending = Sending(three.bootstrap, "partitioned")
    sending.send()
    sending.await_acked(3)

    with under(three.network, PARTITION):
        sending.send()
        # The one that is cut off may lead the controllers: they elect another one before they miss the broker.
        until(lambda: {(each.in_sync, each.leader != 1) for each in seen()} == {(2, True)})

    sending.await_acked(6)
    until(lambda: {each.in_sync for each in seen()} == {3})
    assert cluster.offsets(["partitioned"], 3).log_ends() == [2, 2, 2]


def test_a_link_that_is_cut_keeps_one_set_of_clients_from_one_broker(three: EmbeddedCluster) -> None:
    """Others reach it, and the others reach all."""
    assert three.network
    cluster = Cluster(three.bootstrap, {})
    cluster.create_topic("cut", 3, 3, {})
    replicas = KafkaReplicas(ClientSpec("test", ("cut",), {"bootstrap.servers": three.bootstrap}), 3, 1.0)
    behind = {place for place, each in enumerate(replicas.look()) if each.leader == 2}
    assert 0 < len(behind) < 3
    cut_off, others = Sending(three.bootstraps["producers"], "cut"), Sending(three.bootstrap, "cut")
    cut_off.send()
    cut_off.await_acked(3)

    with under(three.network, CUT):
        cut_off.send()
        others.send()
        others.await_acked(3)
        cut_off.await_acked(6 - len(behind))
        assert behind.isdisjoint(cut_off.acked[3:])
    cut_off.await_acked(6)


def test_a_cluster_does_not_live_without_its_links(three: EmbeddedCluster) -> None:
    assert three.network
    three.check()
    os.kill(three.network.pid, signal.SIGKILL)

    with pytest.raises(BrokerError, match="the proxy of links ended with exit code -9"):
        until(three.check)
    assert not three.alive


def test_stopping_leaves_nothing(three: EmbeddedCluster) -> None:
    """The last test of this file: what comes after finds it stopped."""
    entries = [each.entry for each in three.nodes]

    three.stop()

    assert not [each for each in entries if psutil.pid_exists(each.process.pid)]
    assert not [each for each in registry.listing() if each in entries]
    assert three.network
    assert not three.network.alive
    root = entries[0].cluster
    assert root
    assert not root.exists()
    for port in (port for each in entries for port in each.ports):
        with socket.socket() as knock:
            assert knock.connect_ex(("127.0.0.1", port)) != 0
