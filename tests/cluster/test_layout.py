"""What the nodes of a cluster are, and how each is configured."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from streamgauge.cluster.nodes.layout import ClusterPlan, Member, Ports, Storage, members_of, names_of, properties_of
from streamgauge.domain.limits import MOST_NODES
from streamgauge.engine.board import MOST_BROKERS
from streamgauge.scenario.model.environment.embedded import OWNED_BY_CLUSTER

STORAGE = Storage(Path("/data/topics"), Path("/data/metadata"))


@pytest.mark.parametrize(
    ("plan", "brokers", "controllers"),
    [
        (ClusterPlan(1), [1], [1]),
        (ClusterPlan(2), [1, 2], [1]),
        (ClusterPlan(3), [1, 2, 3], [1, 2, 3]),
        (ClusterPlan(5), [1, 2, 3, 4, 5], [1, 2, 3]),
        (ClusterPlan(2, controllers=1), [1, 2], [3]),
        (ClusterPlan(3, controllers=3), [1, 2, 3], [4, 5, 6]),
    ],
)
def test_a_quorum_never_has_an_even_number_of_voters(
    plan: ClusterPlan, brokers: list[int], controllers: list[int]
) -> None:
    members = members_of(plan, names_of(plan))

    assert [each.number for each in members if each.is_broker] == brokers
    assert [each.number for each in members if each.is_controller] == controllers


@pytest.mark.parametrize(
    ("plan", "base", "names"),
    [
        (ClusterPlan(1), "", ["broker-1"]),
        (ClusterPlan(2, controllers=1), "", ["broker-1", "broker-2", "controller-1"]),
        (ClusterPlan(1), "kafka", ["kafka"]),
        (ClusterPlan(2), "kafka", ["kafka-1", "kafka-2"]),
    ],
)
def test_names(plan: ClusterPlan, base: str, names: list[str]) -> None:
    assert names_of(plan, base) == names


def test_brokers_are_spread_over_racks_and_controllers_are_in_none() -> None:
    plan = ClusterPlan(3, controllers=1, racks=2)

    assert [each.rack for each in members_of(plan, names_of(plan))] == ["rack-0", "rack-1", "rack-0", None]


@pytest.mark.parametrize(("plan", "heap"), [((1, 0), "1g"), ((3, 0), "512m"), ((1, 1), "512m")])
def test_several_nodes_share_the_memory_of_one_machine(plan: tuple[int, int], heap: str) -> None:
    assert ClusterPlan(*plan).heap_of_node == heap
    assert ClusterPlan(*plan, heap="2g").heap_of_node == "2g"


def configured(plan: ClusterPlan) -> list[dict[str, str]]:
    """Of each node."""
    members = members_of(plan, names_of(plan))
    ports = {each.number: Ports(1000 + each.number, 2000 + each.number) for each in members}
    return [properties_of(each, members, ports, STORAGE, plan) for each in members]


def picked(properties: Mapping[str, str], *names: str) -> list[str | None]:
    return [properties.get(name) for name in names]


def test_a_broker_that_is_a_controller_too_listens_twice() -> None:
    first, second, _ = configured(ClusterPlan(3))

    names = ("process.roles", "node.id", "listeners", "advertised.listeners", "controller.quorum.voters")
    voters = "1@127.0.0.1:2001,2@127.0.0.1:2002,3@127.0.0.1:2003"
    clients = "PLAINTEXT://127.0.0.1:1002"
    both = f"{clients},CONTROLLER://127.0.0.1:2002"
    assert picked(second, *names) == ["broker,controller", "2", both, clients, voters]
    assert first["controller.quorum.voters"] == voters
    assert (second["log.dirs"], second["metadata.log.dir"]) == ("/data/topics", "/data/metadata")


def test_a_controller_apart_serves_no_clients() -> None:
    *_, controller = configured(ClusterPlan(1, controllers=1))

    names = ("process.roles", "listeners", "advertised.listeners", "inter.broker.listener.name")
    assert picked(controller, *names) == ["controller", "CONTROLLER://127.0.0.1:2002", None, None]
    assert controller["controller.quorum.voters"] == "2@127.0.0.1:2002"


@pytest.mark.parametrize(
    ("brokers", "replicas", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (5, "3", "2")]
)
def test_kafkas_own_topics_survive_the_death_of_a_broker_where_they_can(
    brokers: int, replicas: str, in_sync: str
) -> None:
    found = configured(ClusterPlan(brokers))[0]

    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        assert found[f"{topic}.replication.factor"] == replicas
    assert found["transaction.state.log.min.isr"] == in_sync


def test_a_new_group_waits_for_members_that_join_together() -> None:
    """Kafka's own 3 s would be most of a start, and none gives the first member all partitions."""
    found = configured(ClusterPlan(2))

    assert [each["group.initial.rebalance.delay.ms"] for each in found] == ["200", "200"]


def test_settings_of_the_user_come_last() -> None:
    plan = ClusterPlan(2, configs={"log.retention.ms": "1000", "replica.lag.time.max.ms": "5000"})

    assert [picked(each, *plan.configs) for each in configured(plan)] == [["1000", "5000"]] * 2


def test_what_the_cluster_needs_for_itself_cannot_be_set() -> None:
    """All that differs from node to node, or tells where one is."""
    nodes = configured(ClusterPlan(2, controllers=1, racks=1))
    alike = set.intersection(*(set(each.items()) for each in nodes))
    differing = {name for each in nodes for name in each} - dict(alike).keys()

    assert differing <= OWNED_BY_CLUSTER
    assert {"controller.quorum.voters", "log.dirs", "metadata.log.dir"} <= OWNED_BY_CLUSTER


def test_a_run_can_look_at_as_many_nodes_as_a_scenario_may_ask_for() -> None:
    assert MOST_NODES == MOST_BROKERS


def test_a_member_is_a_broker_and_a_controller_unless_it_says_otherwise() -> None:
    assert Member(1, "broker-1") == members_of(ClusterPlan(), ["broker-1"])[0]
