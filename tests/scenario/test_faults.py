"""Faults as a scenario says them: kinds, targets by role, times and conditions, and what cannot be."""

from typing import Any, get_args

import pytest
from tests.injecting import injected, scheduled

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.scenario.model.environment.faults.disks import DiskFaultKind
from streamgauge.scenario.model.environment.faults.families import DISK, FAMILIES, LEADERSHIP, LINK, NEMESIS, PROCESS
from streamgauge.scenario.model.environment.faults.kinds import link_of
from streamgauge.scenario.model.environment.faults.leadership import LeadershipFaultKind, PartitionsMeant
from streamgauge.scenario.model.environment.faults.links import LinkFault, LinkFaultKind
from streamgauge.scenario.model.environment.faults.nemesis import Drawn
from streamgauge.scenario.model.environment.faults.processes import ProcessFaultKind
from streamgauge.scenario.model.environment.faults.targets import ByRole
from streamgauge.scenario.model.environment.faults.when import RunCounts
from streamgauge.scenario.parse import document, parse

SECOND = NS_PER_SECOND
THREE = {"topic": {"replication": 3, "partitions": 6}}


def parsed(*faults: dict[str, Any], **given: Any) -> Any:
    return parse({"name": "x", **THREE, **given, "faults": list(faults)})


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "stop", "target": "broker-2", "at": "5s", "for": "3s"},
        {"kind": "stop", "target": "consumer-1", "at": "5s"},
        {"kind": "restart", "target": "random-broker", "at": "1s", "every": "9s"},
        {"kind": "disk-fails", "target": "leader-of:0", "at": "1s", "for": "3s"},
        {"kind": "truncate-tail", "target": "random-broker", "at": "1s", "for": "3s"},
        {"kind": "lose-data", "target": "active-controller", "at": "1s", "for": "3s"},
        {"kind": "rolling-restart", "target": "brokers", "at": "1s", "between": "2s"},
        {"kind": "kill", "target": "leader-of:5", "at": "5s", "for": "3s"},
        {"kind": "pause", "target": "follower-of:streamgauge-x/0", "when": {"received": "5k"}, "for": "3s"},
        {"kind": "pause", "target": "coordinator-of:g", "at": "2s", "when": {"lag": "> 5k"}, "for": "3s"},
        {"kind": "pause", "target": "active-controller", "when": {"sent": 7}, "every": "8s", "for": "3s"},
        {"kind": "move-leader", "target": "partition-5", "at": "1s"},
        {"kind": "elect-preferred", "target": "partitions", "at": "1s", "every": "5s"},
        {"kind": "reassign", "target": "streamgauge-x/2", "at": "1s", "to": [3, 1, 2]},
        {"kind": "nemesis", "at": "1s", "kinds": ["kill", "reassign"], "pace": "2s", "for": "1s"},
        {"kind": "nemesis", "at": "1s", "kinds": ["pause"], "targets": ["consumer-0", "random-producer"]},
        {"kind": "nemesis", "at": "1s", "kinds": ["black-hole"], "pace": "5s"},
        {"kind": "nemesis", "at": "1s", "kinds": ["disk-fails"], "targets": ["leader-of:0"], "pace": "5s"},
    ],
)
def test_what_is_written_is_what_is_meant(fault: dict[str, Any]) -> None:
    once = document(parsed(fault))
    assert document(parse(once)) == once
    (said,) = once["faults"]
    assert {key: value for key, value in said.items() if key in fault and key not in {"when", "to"}} == {
        key: value for key, value in fault.items() if key not in {"when", "to"}
    }


@pytest.mark.parametrize(
    ("fault", "where", "what"),
    [
        ({"kind": "oops", "target": "broker-1", "at": "1s"}, "faults.0.kind", "pause, kill, stop, restart, rolling"),
        ({"target": "broker-1", "at": "1s"}, "faults.0.kind", "missing"),
        ({"kind": "pause", "target": "broker-1", "for": "1s"}, "faults.0", "it has no start time"),
        ({"kind": "pause", "target": "broker-1", "for": "2s", "at": 0, "every": "2s"}, "faults.0", "before it has"),
        ({"kind": "pause", "target": "broker-1", "for": "2s", "when": {"lag": "5k"}}, "faults.0.when.lag", "> 5k"),
        ({"kind": "pause", "target": "broker-1", "for": "2s", "when": {"lag": "> 5k", "sent": 1}},
         "faults.0.when", "2 keys"),
        ({"kind": "stop", "target": "producer-0", "at": 0}, "faults.0", "cannot be stopped in order"),
        ({"kind": "stop", "target": "broker-1", "at": 0}, "faults.0", "a stopped broker needs a time"),
        ({"kind": "kill", "target": "leader-of:0", "at": 0}, "faults.0", "a killed broker needs a time"),
        ({"kind": "kill", "target": "controller-1", "at": 0}, "faults.0", "a killed controller needs a time"),
        ({"kind": "restart", "target": "controller", "at": 0}, "faults.0", "a controller cannot be restarted"),
        ({"kind": "kill", "target": "controller-1", "at": 0, "for": "1s"}, "faults.0.target",
         "controller-1: the run has none apart from the brokers"),
        ({"kind": "disk-fails", "target": "random-consumer", "at": 0, "for": "1s"}, "faults.0.target", "not a broker"),
        ({"kind": "disk-fails", "target": "controller-1", "at": 0, "for": "1s"}, "faults.0.target", "not a broker"),
        ({"kind": "disk-fails", "target": "leader-of:6", "at": 0, "for": "1s"}, "faults.0.target", "partitions 0 to 5"),
        ({"kind": "stop", "target": "consumer-1", "at": 0, "for": "1s"}, "faults.0", "stopped worker is not restarted"),
        ({"kind": "restart", "target": "consumer-1", "at": 0}, "faults.0", "cannot be restarted"),
        ({"kind": "restart", "target": "broker-1", "at": 0, "for": "1s"}, "faults.0", "ends by itself"),
        ({"kind": "rolling-restart", "target": "broker-1", "at": 0}, "faults.0", "one of all brokers"),
        ({"kind": "restart", "target": "broker-1", "at": 0, "between": "1s"}, "faults.0", "a rolling restart"),
        ({"kind": "kill", "target": "leader-of:6", "at": 0, "for": "1s"}, "faults.0.target", "partitions 0 to 5"),
        ({"kind": "kill", "target": "leader-of:y/0", "at": 0, "for": "1s"}, "faults.0.target", "no topic y"),
        ({"kind": "kill", "target": "broker-4", "at": 0, "for": "1s"}, "faults.0.target", "the run has 3"),
        ({"kind": "move-leader", "target": "broker-1", "at": 0}, "faults.0.target", "not a target of this kind"),
        ({"kind": "move-leader", "target": "partition-6", "at": 0}, "faults.0.target", "partitions 0 to 5"),
        ({"kind": "move-leader", "target": "partitions", "at": 0, "for": "1s"}, "faults.0", "Kafka has done it"),
        ({"kind": "move-leader", "target": "partitions", "at": 0, "to": [1]}, "faults.0", "belongs to a reassign"),
        ({"kind": "reassign", "target": "partitions", "at": 0, "to": [1, 1, 2]}, "faults.0", "twice"),
        ({"kind": "reassign", "target": "partitions", "at": 0, "to": [1, 2, 4]}, "faults.0.to", "3 brokers"),
        ({"kind": "reassign", "target": "partitions", "at": 0, "to": [1, 2]}, "faults.0.to", "for 3 replicas"),
        ({"kind": "nemesis", "at": 0, "every": "5s"}, "faults.0", "a nemesis has random times of its own"),
        ({"kind": "nemesis", "at": "20s", "pace": "60s"}, "faults.0.pace", "no fault begins"),
        ({"kind": "nemesis", "at": 0, "targets": ["consumer-0"]}, "faults.0", "a worker is not started again"),
        ({"kind": "nemesis", "at": 0, "targets": ["broker-9"]}, "faults.0.targets", "the run has 3"),
        ({"kind": "nemesis", "at": 0, "targets": ["nobody"]}, "faults.0.targets.0", "not a fault target"),
        ({"kind": "nemesis", "at": 0, "kinds": ["oops"]}, "faults.0.kinds.0", "oops"),
        ({"kind": "nemesis", "at": 0, "between": ["broker-1", "clients"]}, "faults.0", "belongs to faults of the net"),
        ({"kind": "nemesis", "at": 0, "kinds": ["cut"], "delay": "5ms"}, "faults.0", "belongs to the kind `delay`"),
        ({"kind": "nemesis", "at": 0, "kinds": ["cut"], "between": ["clients"]}, "faults.0.between", "1 sides instead"),
        ({"kind": "nemesis", "at": 0, "kinds": ["cut"], "between": ["clients", "broker-4"]}, "faults.0.between",
         "broker-4: the run has"),
        ({"kind": "nemesis", "at": 0, "kinds": ["disk-fails"], "targets": ["producers"]}, "faults.0",
         "disk-fails of producers: not a broker"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_with_its_place(fault: dict[str, Any], where: str, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        parsed(fault)
    assert what in {each.where: str(each) for each in caught.value.faults}[where]


@pytest.mark.parametrize(
    ("given", "fault", "what"),
    [
        ({"load": "off"}, {"when": {"sent": 1}}, "nothing is sent"),
        ({"consume": "off"}, {"when": {"received": 1}}, "nothing is consumed"),
        ({"lag": "off"}, {"when": {"lag": "> 1"}}, "not sampled"),
    ],
)
def test_a_condition_needs_what_it_counts(given: dict[str, Any], fault: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        parsed({"kind": "pause", "target": "broker-1", "for": "1s", **fault}, **given)


@pytest.mark.parametrize(
    ("given", "fault", "where"),
    [
        ({"topic": {}}, {"kind": "move-leader", "target": "partitions"}, "faults.0.target"),
        ({"topic": {}}, {"kind": "kill", "target": "follower-of:0", "for": "1s"}, "faults.0.target"),
        ({"consume": "off"}, {"kind": "kill", "target": "coordinator", "for": "1s"}, "faults.0.target"),
        ({"consume": "off"}, {"kind": "pause", "target": "random-consumer", "for": "1s"}, "faults.0.target"),
    ],
)
def test_who_has_a_role_must_be_there(given: dict[str, Any], fault: dict[str, Any], where: str) -> None:
    with pytest.raises(BadInput) as caught:
        parsed({"at": "1s", **fault}, **given)
    assert [each.where for each in caught.value.faults] == [where]


APART = {"cluster": {"brokers": 3, "controllers": 2}}


@pytest.mark.parametrize(
    "fault", [{"kind": "kill", "for": "3s"}, {"kind": "pause", "for": "3s"}, {"kind": "stop", "for": "3s"},
              {"kind": "restart"}, {"kind": "nemesis"}],
)  # fmt: skip
def test_controllers_apart_from_the_brokers_have_names(fault: dict[str, Any]) -> None:
    """And are not the process of a backpressure policy."""
    key, name = ("targets", ["controller-2"]) if fault["kind"] == "nemesis" else ("target", "controller-2")
    (said,) = parsed({"at": "1s", key: name, **fault}, **APART).faults
    assert said.needs_own_cluster
    with pytest.raises(BadInput, match="controller-3: the run has 2 apart from the brokers"):
        parsed({"at": "1s", **fault, key: ["controller-3"] if key == "targets" else "controller-3"}, **APART)


def test_controllers_apart_from_the_brokers_have_no_disk() -> None:
    with pytest.raises(BadInput, match="active-controller: controllers apart from the brokers have no log directories"):
        parsed({"at": "1s", "kind": "lose-data", "target": "active-controller", "for": "1s"}, **APART)


def pause(target: str, at: str, **more: Any) -> dict[str, Any]:
    return {"kind": "pause", "target": target, "at": at, "for": "3s", **more}


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        (pause("broker-1", "1s"), pause("broker-1", "4s"), False),
        (pause("broker-1", "1s"), pause("broker-1", "3s"), True),
        (pause("brokers", "1s"), pause("broker-1", "3s"), True),
        (pause("broker-2", "1s"), pause("brokers", "3s"), True),
        (pause("broker-2", "1s"), pause("broker-1", "3s"), False),
        (pause("consumers", "1s"), pause("broker-1", "3s"), False),
        (pause("broker-1", "1s"), {"kind": "lose-data", "target": "leader-of:0", "at": "2s", "for": "1s"}, False),
        (pause("broker-1", "1s", every="5s"), pause("broker-1", "12s"), True),
        (pause("leader-of:0", "1s"), pause("broker-1", "3s"), False),
        (pause("broker-1", "1s", when={"sent": 1}), pause("broker-1", "3s"), False),
        (pause("broker-1", "1s"), {"kind": "move-leader", "target": "partitions", "at": "2s"}, False),
    ],
)
def test_faults_of_one_process_do_not_overlap(one: dict[str, Any], other: dict[str, Any], overlap: bool) -> None:
    """As far as it is known before the run who is hit, and when."""
    for faults in ((one, other), (other, one)):
        if overlap:
            with pytest.raises(BadInput, match="is still down when the next fault begins"):
                parsed(*faults)
        else:
            parsed(*faults)


def test_kinds_are_those_of_their_models() -> None:
    models = {PROCESS: ProcessFaultKind, LEADERSHIP: LeadershipFaultKind, DISK: DiskFaultKind, LINK: LinkFaultKind}
    assert {family: get_args(kinds) for family, kinds in models.items()} | {NEMESIS: ("nemesis",)} == FAMILIES
    of_others = {"cut", "black-hole", "delay", "disk-fails"}
    assert set(get_args(Drawn)) == {*FAMILIES[PROCESS], *FAMILIES[LEADERSHIP], *of_others} - {"rolling-restart"}


@pytest.mark.parametrize(
    ("target", "role"),
    [
        ("leader-of:3", ByRole("leader", None, 3)),
        ("follower-of:a.b-c/12", ByRole("follower", "a.b-c", 12)),
        ("active-controller", ByRole("controller")),
        ("coordinator", ByRole("coordinator")),
        ("coordinator-of:my/group", ByRole("coordinator", group="my/group")),
        ("random-consumer", ByRole("random", any_of="consumer")),
        ("controller", None),
        ("broker-1", None),
    ],
)
def test_a_role_is_read(target: str, role: ByRole | None) -> None:
    (fault,) = injected(pause(target, "1s"))
    assert fault.by_role == role


def test_partitions_are_read() -> None:
    targets = ("partitions", "partition-3", "a-1.b/4")
    faults = injected(*({"kind": "elect-preferred", "target": target, "at": 0} for target in targets))

    assert [fault.meant for fault in faults] == [  # type: ignore[union-attr]
        PartitionsMeant(None, None), PartitionsMeant(None, 3), PartitionsMeant("a-1.b", 4)
    ]  # fmt: skip


def test_only_the_cluster_is_not_the_users_to_lend() -> None:
    faults = injected(
        pause("consumer-0", "1s"), pause("broker-1", "1s"), pause("leader-of:0", "1s"), pause("random-producer", "1s"),
        {"kind": "elect-preferred", "target": "partitions", "at": 0},
        {"kind": "nemesis", "at": 0}, {"kind": "nemesis", "at": 0, "kinds": ["pause"], "targets": ["consumers"]},
    )  # fmt: skip
    assert [fault.needs_own_cluster for fault in faults] == [False, True, True, False, True, True, False]


def test_a_repeated_fault_is_done_as_often_as_it_ends_in_the_measure_phase() -> None:
    found = scheduled(pause("broker-1", "2s", every="5s"), pause("broker-2", "6s"), measure_ns=15 * SECOND)

    assert [(each.at_ns // SECOND, each.place) for each in found] == [(2, 0), (6, 1), (7, 0)]
    assert len(scheduled(pause("broker-1", "2s", every="5s", when={"sent": 1}), measure_ns=15 * SECOND)) == 1


def test_a_nemesis_draws_the_same_with_the_same_seed() -> None:
    """One after the other, up to the end of the measure phase, each of a kind and a target that it names."""
    nemesis = {
        "kind": "nemesis", "at": "5s", "kinds": ["kill", "restart", "move-leader"],
        "targets": ["broker-1", "random-broker"], "pace": "2s", "for": "4s",
    }  # fmt: skip
    found = scheduled(nemesis, measure_ns=200 * SECOND)

    assert found == scheduled(nemesis, measure_ns=200 * SECOND)
    assert found != scheduled(nemesis, measure_ns=200 * SECOND, seed=43)
    assert {each.fault.kind for each in found} == {"kill", "restart", "move-leader"}
    assert {each.fault.target for each in found} == {"broker-1", "random-broker", "partitions"}
    ends = [each.at_ns + each.lasts_ns for each in found]
    pauses = [each.at_ns - end for end, each in zip([5 * SECOND, *ends], found, strict=False)]
    assert all(SECOND <= each <= 3 * SECOND for each in pauses)
    assert all(2 * SECOND <= each.lasts_ns <= 4 * SECOND for each in found if each.fault.kind == "kill")
    assert ends[-1] < 200 * SECOND


def test_a_nemesis_draws_faults_of_the_network_and_of_disks() -> None:
    """Links between the same sides each time, so that they can have proxies before."""
    nemesis = {"kind": "nemesis", "at": 0, "kinds": ["cut", "delay", "black-hole", "disk-fails"], "for": "4s"}
    found = [each.fault for each in scheduled(nemesis, measure_ns=200 * SECOND)]

    links = [each for each in found if isinstance(each, LinkFault)]
    assert {each.kind for each in links} == {"cut", "delay", "black-hole"}
    assert {each.between for each in links} == {(("random-broker",), ("clients", "brokers"))}
    assert {each.detail for each in links if each.kind == "delay"} == {"100ms"}
    assert {(each.kind, each.target) for each in found if each not in links} == {("disk-fails", "random-broker")}
    assert all(2 * SECOND <= (each.for_ or 0) <= 4 * SECOND for each in found)
    (own,) = injected({**nemesis, "between": ["leader-of:0", "brokers"], "delay": "5ms"})
    link = link_of(own)
    assert link
    assert link.between == (("leader-of:0",), ("brokers",))
    assert link_of(injected({"kind": "nemesis", "at": 0})[0]) is None


def test_a_nemesis_and_another_fault_are_not_on_one_link_together() -> None:
    """Its times are known before; what it does to processes is no matter."""
    nemesis = {"kind": "nemesis", "at": 0, "kinds": ["cut"], "pace": "1s", "for": "4s"}
    delay = {"kind": "delay", "at": "10s", "for": "9s", "delay": "5ms", "between": ["consumers", "brokers"]}
    with pytest.raises(BadInput, match=r"faults\.1: another fault is still on between "):
        parsed(nemesis, delay)
    parsed({**nemesis, "kinds": ["pause"]}, delay)
    parsed({**nemesis, "between": ["producers", "brokers"]}, delay)
    with pytest.raises(BadInput, match="the listeners of links that have faults are not secured"):
        parsed(nemesis, cluster={"security": {"protocol": "SSL"}})


def test_conditions_hold_or_not() -> None:
    (lag, sent) = injected(pause("broker-1", "1s", when={"lag": "> 5"}), pause("broker-1", "1s", when={"sent": 5}))
    assert lag.when
    assert sent.when
    found = [RunCounts(5, 0, None), RunCounts(4, 9, 5), RunCounts(0, 0, 6)]

    assert [lag.when.holds(each) for each in found] == [False, False, True]
    assert [sent.when.holds(each) for each in found] == [True, False, False]
