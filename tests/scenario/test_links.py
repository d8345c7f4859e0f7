"""Faults of the network: what a scenario can say, and what does not fit."""

from typing import Any, get_args

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.result.model.pressure import FaultKind
from streamgauge.scenario.misplaced.places import fields_at
from streamgauge.scenario.model.environment.faults.families import FAMILIES
from streamgauge.scenario.model.environment.faults.links import LinkFault, groups_of, links_of
from streamgauge.scenario.model.scenario import Scenario
from streamgauge.scenario.parse import document, parse

CUT = {"at": "1s", "kind": "cut", "between": ["clients", "broker-1"], "for": "5s"}
THREE = groups_of(3, 0)


def scenario(*faults: dict[str, Any], brokers: int = 3, **more: Any) -> Scenario:
    return parse({"name": "x", "cluster": {"brokers": brokers}, "faults": list(faults), **more})


def told(*faults: dict[str, Any], **more: Any) -> list[str]:
    """What is wrong."""
    with pytest.raises(BadInput) as caught:
        scenario(*faults, **more)
    return [str(fault) for fault in caught.value.faults]


def test_links_of_a_secured_cluster_have_no_faults() -> None:
    (found,) = told(CUT, cluster={"brokers": 3, "security": {"protocol": "SSL"}})
    assert found.startswith("cluster.security.protocol: SSL: the listeners of links that have faults are not secured.")


@pytest.mark.parametrize(
    ("more", "target", "detail"),
    [
        ({}, "clients-broker-1", None),
        ({"one_way": True}, "clients-broker-1", "one way"),
        ({"kind": "black-hole", "between": ["broker-1", ["broker-2", "broker-3"]]}, "broker-1-broker-2+broker-3", None),
        ({"kind": "delay", "delay": "50ms", "jitter": "10ms", "distribution": "normal"}, "clients-broker-1",
         "50ms, 10ms jitter"),
        ({"kind": "rate-limit", "rate": "1MB/s"}, "clients-broker-1", "1,000,000 bytes/s"),
        ({"kind": "stall", "loss": 0.01}, "clients-broker-1", "0.01 lost"),
        ({"kind": "slow-close", "delay": "2s", "between": ["producers", "brokers"]}, "producers-brokers", "2s"),
    ],
)  # fmt: skip
def test_a_fault_of_a_link_is_said_and_said_again(more: dict[str, Any], target: str, detail: str | None) -> None:
    asked = scenario(CUT | more)
    (fault,) = asked.faults

    assert isinstance(fault, LinkFault)
    assert (fault.target, fault.detail) == (target, detail)
    assert fault.needs_own_cluster
    assert parse(document(asked)).faults == asked.faults
    assert document(asked)["faults"][0]["between"] == (CUT | more)["between"]


@pytest.mark.parametrize(
    ("more", "where", "wrong"),
    [
        (
            {"kind": "cutt"},
            ".kind",
            "not a kind of fault. Write one of pause, kill, stop, restart, rolling-restart, cut",
        ),
        ({"for": None}, "", "a fault of the network needs an end. Write how long it lasts, like `for: 5s`"),
        ({"between": ["clients"]}, ".between", "1 sides instead of two. Write two, like [clients, broker-1]"),
        ({"between": ["clients", "broker-x"]}, ".between.1", "broker-x: not an end of a link. Write one of clients, "),
        ({"between": ["clients", []]}, ".between.1", "not a name or a list of names. Write clients, broker-1, or a "),
        ({"delay": "1s"}, "", "delay: not of cut. Leave it out, or write another kind"),
        ({"kind": "delay"}, "", "delay without delay. Add one, like `delay: 50ms`"),
        ({"kind": "delay", "delay": "5ms", "jitter": "6ms"}, "", "more jitter than delay. Write less jitter, or a "),
        ({"kind": "delay", "delay": "5ms", "distribution": "normal"}, "", "a distribution without jitter. Add `jitter"),
        ({"kind": "rate-limit", "rate": "fast"}, ".rate", "not a rate of bytes. Write one like 1MB/s or 512KiB/s"),
        ({"kind": "rate-limit", "rate": "0/s"}, ".rate", "a rate of 0. Write `kind: black-hole`, or a rate like 1MB/s"),
        ({"target": "broker-1"}, ".target", "no such key"),
        (
            {"between": ["clients", "broker-4"]},
            ".between",
            "broker-4: the run has broker-1, broker-2 and broker-3.",
        ),
        ({"between": ["broker-1", "controllers"]}, ".between", "controllers: the run has none apart from the brokers."),
        ({"between": ["pipeline", "broker-1"]}, ".between", "pipeline: the run has none. Name clients or nodes that"),
        ({"between": ["broker-1", "brokers"]}, ".between", "broker-1 is on both sides. Name it on one side"),
        ({"between": ["leader-of:0", "leader-of:0"]}, ".between", "leader-of:0 is on both sides. Name it on one side"),
        ({"between": ["leader-of:99", "brokers"]}, ".between", "leader-of:99: the topic has the partitions 0 to "),
        ({"between": ["leader-of:y/0", "brokers"]}, ".between", "leader-of:y/0: the run has no topic y."),
        ({"between": ["clients", "follower-of:0"]}, ".between", "follower-of:0: a partition of one replica has no "),
        ({"between": ["clients", "random-consumer"]}, ".between.1", "random-consumer: not an end of a link."),
        ({"between": ["producers", "consumers"]}, ".between", "clients do not connect with each other. Write a node"),
        ({"between": ["broker-1", "clients"], "one_way": True}, ".between", "brokers open no connections to clients."),
        ({"at": "9m"}, ".at", "lies after the measure phase. Write an earlier time, or measure for longer"),
    ],
)
def test_what_is_wrong_with_a_fault_of_a_link_is_told(more: dict[str, Any], where: str, wrong: str) -> None:
    given = {name: value for name, value in (CUT | more).items() if value is not None}
    (found,) = told(given)
    assert found.startswith(f"faults.0{where}: ")
    assert wrong in found


def test_clients_do_not_connect_to_controllers() -> None:
    (found,) = told(CUT | {"between": ["clients", "controller-1"]}, cluster={"brokers": 1, "controllers": 1})
    assert found == "faults.0.between: clients do not connect to controllers. Write a broker instead"


def test_one_thing_at_a_time_is_done_to_a_link() -> None:
    """Links that have nothing in common, and times, are no matter."""
    delayed = {"at": "3s", "kind": "delay", "delay": "5ms", "between": ["brokers", "consumers"], "for": "5s"}
    assert told(CUT, delayed) == [
        "faults.1: another fault is still on between broker-1 and consumers. Let one end before the other begins"
    ]
    scenario(CUT, delayed | {"between": ["broker-2", "consumers"]})
    scenario(CUT, delayed | {"at": "6s"})
    scenario(CUT | {"one_way": True}, delayed | {"one_way": True})


def test_a_repeated_fault_is_on_a_link_each_time() -> None:
    """The delay is on from 5 to 9 s, from 15 to 19 s, and so on."""
    delayed = {"at": "5s", "kind": "delay", "delay": "5ms", "between": ["brokers", "consumers"], "for": "4s"}
    delayed["every"] = "10s"
    for given in ([delayed, CUT | {"at": "16s", "for": "6s"}], [CUT | {"at": "12s", "for": "6s"}, delayed]):
        (found,) = told(*given)
        assert found.startswith("faults.1: another fault is still on between broker-1 and consumers.")
    scenario(delayed, CUT | {"at": "9s", "for": "6s"}, CUT | {"at": "19s", "for": "2s", "every": "20s"})


def test_links_are_those_between_the_sides_in_both_ways() -> None:
    """Nodes connect to each other, clients to brokers only; a proxy carries both ways of a connection."""
    both = LinkFault.model_validate(CUT | {"between": ["broker-1", ["consumers", "broker-2"]]})
    one = LinkFault.model_validate(CUT | {"between": ["broker-1", ["consumers", "broker-2"]], "one_way": True})

    there = {("broker-1", "consumers"), ("broker-1", "broker-2")}
    assert one.ways(THREE) == there
    assert both.ways(THREE) == there | {(receiver, sender) for sender, receiver in there}
    links = {("consumers", "broker-1"), ("broker-1", "broker-2"), ("broker-2", "broker-1")}
    assert links_of([one], THREE) == links_of([both, object()], THREE) == links
    everybody = LinkFault.model_validate(CUT | {"between": ["clients", "brokers"]})
    assert len(links_of([everybody], THREE)) == 9


def test_a_role_may_be_that_of_any_broker_before_it_is_looked_up() -> None:
    """So each of them has a proxy; afterwards `brokers` are the others."""
    asked = scenario(CUT | {"between": ["leader-of:0", ["brokers", "clients"]], "one_way": True})
    (fault,) = asked.faults
    assert isinstance(fault, LinkFault)
    assert parse(document(asked)).faults == asked.faults
    assert fault.ways(THREE) == {
        (leader, other) for leader in THREE["brokers"] for other in (*THREE["brokers"], *THREE["clients"])
        if leader != other
    }  # fmt: skip
    now = fault.resolved({"leader-of:0": "broker-2"})

    assert (now.target, now.roles, now.one_way) == ("broker-2-brokers+clients", {}, True)
    assert now.ways(THREE) == {("broker-2", other) for other in ("broker-1", "broker-3", *THREE["clients"])}
    assert links_of([now], THREE) < links_of([fault], THREE)


def test_who_may_be_the_active_controller_depends_on_the_cluster() -> None:
    fault = LinkFault.model_validate(CUT | {"between": ["active-controller", "brokers"], "one_way": True})
    assert {sender for sender, _ in fault.ways(THREE)} == set(THREE["brokers"])
    apart = groups_of(2, 1)
    assert {sender for sender, _ in fault.ways(apart)} == {"controller-1"}


def test_a_role_of_the_only_broker_leaves_no_link_between_brokers() -> None:
    (found,) = told(CUT | {"between": ["leader-of:0", "brokers"]}, brokers=1)
    assert found == (
        "faults.0.between: broker-1 is the only node. Name clients on one side, or raise cluster.brokers"
    )  # fmt: skip
    scenario(CUT | {"between": ["leader-of:0", ["brokers", "clients"]]}, brokers=1)


def test_faults_of_a_role_and_of_a_node_do_not_meet() -> None:
    """It may be that node's role."""
    role = CUT | {"at": "3s", "between": ["leader-of:0", "clients"]}
    (found,) = told(CUT, role)
    assert found.startswith("faults.1: another fault is still on between broker-1 and consumers.")
    scenario(CUT, role | {"at": "6s"})


def test_every_kind_is_one_of_a_model() -> None:
    """An unknown key of a fault is told with the keys of all models."""
    assert {kind for kinds in FAMILIES.values() for kind in kinds} <= {*get_args(FaultKind), "nemesis"}
    assert set(FAMILIES["(link)"]) == set(LinkFault.model_json_schema()["properties"]["kind"]["enum"])
    assert {"target", "between", "at", "for"} <= set(fields_at(["faults", "0", "betwen"]))
    assert told(CUT | {"betwen": []}) == ["faults.0.betwen: no such key. Did you mean `between`?"]
