"""A cluster whose controllers are apart from its broker: what is done to one of them, and who leads the others then."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.cluster.conftest import CONFIGS
from tests.injecting import scheduled
from tests.waiting import until

from streamgauge.cluster.embedded import EmbeddedCluster, start_cluster
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.domain.clock import monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.board import Cells
from streamgauge.engine.supervise.faults.inject import Injector
from streamgauge.engine.supervise.faults.roles import Roles
from streamgauge.engine.supervise.faults.rows import FaultRow
from streamgauge.engine.supervise.faults.targets import target_of_broker
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.metadata.leadership import KafkaLeadership
from streamgauge.processes.jvm.java import Java

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def apart(java: Java, tmp_path_factory: pytest.TempPathFactory, _own_state: None) -> Iterator[EmbeddedCluster]:
    folder = tmp_path_factory.mktemp("apart")
    plan = ClusterPlan(1, controllers=3, heap="256m", configs=CONFIGS)
    with start_cluster(plan, logs=folder / "logs", data=folder / "data", java=java) as running:
        yield running


def test_another_controller_follows_one_that_is_killed(apart: EmbeddedCluster) -> None:
    """The broker goes on, topics are made as before, and the one that comes back is a controller again."""
    led = KafkaLeadership({"bootstrap.servers": apart.bootstrap}, (), timeout_seconds=30.0)
    cluster = Cluster(apart.bootstrap, {})
    assert apart.names == ["broker-1", "controller-1", "controller-2", "controller-3"]
    before = led.controller()
    assert before in {2, 3, 4}
    rows: list[FaultRow] = []
    board = Cells.new(1, 1)
    targets = [target_of_broker(each, board, 10 + each.number) for each in apart.nodes]
    injector = Injector(targets, monotonic_ns, rows.append, roles=Roles(led, (), ()))
    injector.plan(scheduled({"kind": "kill", "at": "0s", "for": "1s", "target": "active-controller"}))
    begun_ns = monotonic_ns()

    def done(count: int) -> bool:
        injector.turn(begun_ns)
        return len(rows) == count

    def leads() -> int | None:
        """Nothing while they elect."""
        with suppress(BrokerError):
            return led.controller()
        return None

    until(lambda: done(1))
    until(lambda: leads() not in {None, before})
    cluster.create_topic("made-meanwhile", 1, 1, {})
    until(lambda: done(2))
    injector.release()
    until(lambda: all(each.alive for each in apart.nodes))

    killed = f"controller-{before - 1}"
    assert [(row.target, row.detail, row.error) for row in rows] == [(killed, "active-controller", None)] * 2
    assert f"{killed}.2" in apart.names
    cluster.create_topic("made-afterwards", 1, 1, {})
    assert cluster.replicas_of("made-meanwhile") == cluster.replicas_of("made-afterwards") == [(1,)]
    apart.check_all()
    assert apart.lost() == []
