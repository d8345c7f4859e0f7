"""A cluster of three that the tests of a file share."""

from collections.abc import Iterator

import pytest

from streamgauge.cluster.embedded import EmbeddedCluster, start_cluster
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.processes.jvm.java import Java
from streamgauge.scenario.model.environment.faults.links import LinkFault, groups_of, links_of

CONFIGS = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
"""So that a death is noticed soon."""
PARTITION = LinkFault.model_validate(
    {"at": 0, "for": "1m", "kind": "black-hole", "between": ["broker-1", ["broker-2", "broker-3"]]}
)
CUT = LinkFault.model_validate({"at": 0, "for": "1m", "kind": "cut", "between": ["producers", "broker-2"]})


@pytest.fixture(scope="module")
def three(java: Java, tmp_path_factory: pytest.TempPathFactory, _own_state: None) -> Iterator[EmbeddedCluster]:
    folder = tmp_path_factory.mktemp("three")
    links = links_of((PARTITION, CUT), groups_of(3, 0))
    plan = ClusterPlan(3, racks=2, heap="256m", configs=CONFIGS, links=links)
    with start_cluster(plan, logs=folder / "logs", data=folder / "data", java=java) as running:
        yield running
