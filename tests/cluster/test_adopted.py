"""A run on a cluster that somebody else started, with a topic that is there already and has three replicas."""

from pathlib import Path

import pytest
from tests.e2e.runs import carried_out, rows

from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.kafka.admin import Cluster
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.runs.request.request import Request
from streamgauge.scenario import parse

pytestmark = pytest.mark.kafka


def test_the_replicas_of_a_topic_that_is_there_are_watched_and_its_log_is_read_again(
    three: EmbeddedCluster, java: Java, tmp_path: Path
) -> None:
    """Although the scenario does not say how many there are."""
    Cluster(three.bootstrap, {}).create_topic("theirs", 2, 3)
    scenario = parse(
        {
            "name": "adopting",
            "topic": {"name": "theirs", "partitions": 2},
            "load": {"rate": "200/s", "producers": 1, "size": 64},
            "consume": {"consumers": 1},
            "phases": {"warmup": "0s", "measure": "1s", "drain": "20s"},
        }
    )
    assert scenario.topic.replication == 1

    folder = carried_out(Request(scenario, tmp_path, ["test"], java, bootstrap=three.bootstrap))

    facts = read_facts(folder)
    assert (facts.ending, facts.reasons, facts.broker.embedded) == ("finished", [], False)
    assert facts.profile is not None
    assert (facts.profile["replication"], facts.profile["reads_log"]) == (3, True)
    assert facts.scenario["topic"]["replication"] == 3
    assert {row["replicas"] for row in rows(folder, "replicas", "replicas").to_pylist()} == {3}
    assert rows(folder, "appended", "seq").num_rows == rows(folder, "sent", "seq").num_rows == 200
