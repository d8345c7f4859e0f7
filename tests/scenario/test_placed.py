"""Partitions that a scenario places on brokers."""

from typing import Any

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.scenario import parse

NO_BROKERS = "topic.assignments: .*not the ids of brokers for each partition. Write lists"


def placed(**topic: Any) -> dict[str, Any]:
    return {"name": "x", "topic": topic}


def test_partitions_replicas_and_brokers_follow_from_the_assignments() -> None:
    scenario = parse(placed(assignments=[[1, 2], [2, 5], [5, 1]]))

    assert (scenario.topic.partitions, scenario.topic.replication, scenario.brokers) == (3, 2, 5)


@pytest.mark.parametrize(("assignments", "brokers"), [([[1]], 1), ([[2]], 3), ([[1], [2]], 3), ([[1, 2, 3, 4]], 4)])
def test_how_many_brokers_an_embedded_cluster_needs(assignments: list[list[int]], brokers: int) -> None:
    assert parse(placed(assignments=assignments)).brokers == brokers


def test_idle_topics_need_their_brokers_too() -> None:
    scenario = parse(placed(idle=[{"name": "i[1-2]", "assignments": [[1, 2], [2, 5]]}, {"name": "j"}]))

    assert scenario.brokers == 5
    assert [(each.names, each.partitions, each.replication) for each in scenario.topic.idle] == [
        (("i1", "i2"), 2, 2),
        (("j",), 1, 1),
    ]


def test_what_follows_may_be_written_too() -> None:
    assert parse(placed(assignments=[[1, 2]], partitions=1, replication=2)).topic.partitions == 1


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        (placed(assignments=[]), NO_BROKERS),
        (placed(assignments=[[]]), NO_BROKERS),
        (placed(assignments=[[1], []]), NO_BROKERS),
        (placed(assignments=[[-1]]), NO_BROKERS),
        (placed(assignments=[["1"]]), NO_BROKERS),
        (placed(assignments=[1, 2]), NO_BROKERS),
        (placed(assignments="1,2"), NO_BROKERS),
        (placed(assignments={"0": [1]}), NO_BROKERS),
        (placed(assignments=[[1, 1]]), "topic.assignments.0: names a broker twice"),
        (placed(assignments=[[1, 2], [1]]), "topic.assignments: partitions with different numbers of replicas"),
        (placed(assignments=[[1, 2]], partitions=12), "topic.partitions: 12, but topic.assignments has 1"),
        (placed(assignments=[[1, 2]], replication=3), "topic.replication: 3, but topic.assignments names 2"),
        (placed(assignments=[[1, 2]], adopt=True), "topic.assignments: an adopted topic keeps"),
        (
            placed(assignments=[[1], [4]]) | {"cluster": {"brokers": 3}},
            "topic.assignments: broker 4: cluster.brokers is 3",
        ),
        (placed(idle=[{"name": "i[3-1]"}]), "topic.idle.0.name: .*a range of 0 topics"),
        (placed(idle=[{"name": "streamgauge-x"}]), "topic.idle.0.name: streamgauge-x is a topic of the run already"),
        (placed(idle=[{"name": "i[1-2]"}, {"name": "i2"}]), "topic.idle.1.name: i2 is a topic of the run already"),
        (placed(idle=[{"name": "i", "assignments": [[1, 1]]}]), "topic.idle.0.assignments.0: names a broker twice"),
        (
            placed(idle=[{"name": "i", "replication": 3}]) | {"cluster": {"brokers": 1}},
            "topic.idle.0.replication: 3 replicas need 3 brokers",
        ),
        (placed(client={"client.id": "x"}), "topic.client.client.id: is set by the run"),
    ],
)
def test_assignments_that_cannot_be(mapping: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        parse(mapping)
