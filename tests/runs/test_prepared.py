"""What is decided before a run starts: whether it may, and what the rest of it is given instead of the request."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import streamgauge
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.cluster.nodes.security import Security
from streamgauge.domain.errors import BadInput
from streamgauge.processes.jvm.java import Java
from streamgauge.runs.conduct import prepare
from streamgauge.runs.conduct.prepare import Prepared, prepare_run
from streamgauge.runs.conduct.target import WantedCluster
from streamgauge.runs.request.request import Request
from streamgauge.scenario import Scenario, parse

JAVA = Java(Path("/jdk/bin/java"), "17", 17)
PAUSED = {"at": "1s", "kind": "pause", "target": "broker", "for": "1s"}
KILLED = {"at": "2s", "kind": "kill", "target": "producer-0"}
WHOLE = ("disk-fails", "lose-data", "truncate-tail")
"""Faults of disks that need nothing when a broker starts."""


def prepared(faults: Sequence[Mapping[str, Any]], **more: Any) -> Prepared:
    scenario = parse({"name": "x", "load": {"client": {"sasl.password": "hunter2"}}, "faults": [*faults]})
    return prepare_run(Request(scenario, Path("runs"), ["streamgauge"], JAVA, **more))


@pytest.mark.parametrize(
    ("faults", "bootstrap", "wrong"),
    [
        ([], "there:9092", []),
        ([KILLED], "there:9092", []),
        ([PAUSED], None, []),
        ([PAUSED], "there:9092", ["faults.0.target"]),
        ([KILLED, PAUSED, PAUSED | {"at": "5s"}], "there:9092", ["faults.1.target", "faults.2.target"]),
    ],
)
def test_only_a_broker_of_our_own_can_be_stopped(
    faults: list[dict[str, str]], bootstrap: str | None, wrong: list[str]
) -> None:
    """All faults of a user's cluster are told at once."""
    if not wrong:
        assert len(prepared(faults, bootstrap=bootstrap).scenario.faults) == len(faults)
        return
    with pytest.raises(BadInput) as caught:
        prepared(faults, bootstrap=bootstrap)
    assert [fault.where for fault in caught.value.faults] == wrong


def test_a_cluster_that_broker_start_started_is_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its nodes are found by an address."""
    asked: list[str] = []

    def standing(address: str) -> list[str]:
        asked.append(address)
        return ["broker-1"]

    monkeypatch.setattr(prepare, "standing", standing)

    assert len(prepared([PAUSED], bootstrap="127.0.0.1:9").scenario.faults) == 1
    assert asked == ["127.0.0.1:9"]
    disks = [{"at": f"{2 * at}s", "kind": kind, "target": "broker-1", "for": "1s"} for at, kind in enumerate(WHOLE)]
    assert len(prepared(disks, bootstrap="127.0.0.1:9").scenario.faults) == 3
    with pytest.raises(BadInput, match=r"faults\.0\.target: dir-full: single directories are prepared when the run"):
        of_directories(bootstrap="127.0.0.1:9")


def test_the_disks_of_the_users_cluster_are_not_ours_to_break() -> None:
    with pytest.raises(BadInput, match=r"faults\.0\.target: is done to the cluster: on a cluster of --bootstrap only"):
        prepared([{"at": "1s", "kind": "disk-fails", "target": "broker-1", "for": "1s"}], bootstrap="there:9092")


def test_a_nemesis_is_refused_where_its_targets_are_named() -> None:
    with pytest.raises(BadInput) as caught:
        prepared([{"at": "1s", "kind": "nemesis"}], bootstrap="there:9092")
    assert [fault.where for fault in caught.value.faults] == ["faults.0.targets"]


def test_two_runs_of_one_request_are_told_apart() -> None:
    """By their tags and groups, also within one second."""
    first, second = prepared([]).identity, prepared([]).identity

    assert first.id.endswith("-x")
    assert (first.tag, first.group) != (second.tag, second.group)
    assert first.group.startswith(f"streamgauge-{first.id}-")


def test_what_was_asked_of_the_cluster_goes_on_unchanged() -> None:
    run = prepared([], bootstrap="there:9092", connection={"linger.ms": 1}, keep_broker=True, allow_reset=True)

    assert run.cluster == WantedCluster(JAVA, ClusterPlan(), "there:9092", {"linger.ms": 1}, keep_broker=True)
    assert run.allow_reset
    assert "request" not in {each.name for each in fields(run)}


def test_secrets_of_scenario_and_connection_are_hidden() -> None:
    run = prepared([], bootstrap="there:9092", connection={"ssl.key.password": "swordfish"})

    assert run.hide("hunter2 and swordfish at there:9092") == "*** and *** at there:9092"


def test_the_password_of_a_cluster_of_our_own_is_hidden() -> None:
    scenario = parse({"name": "x", "cluster": {"security": {"protocol": "SASL_SSL"}}})
    run = prepare_run(Request(scenario, Path("runs"), ["streamgauge"], JAVA))
    security = run.cluster.plan.security

    assert (security.protocol, security.mechanism) == ("SASL_SSL", "SCRAM-SHA-512")
    assert run.hide(f"login with {security.password} failed") == "login with *** failed"
    assert security.password not in repr(run.cluster)


FULL = {"at": "1s", "kind": "dir-full", "target": "broker", "for": "1s"}


def of_directories(**more: Any) -> Prepared:
    scenario = parse({"name": "x", "cluster": {"data_dirs": 2}, "faults": [FULL]})
    return prepare_run(Request(scenario, Path("runs"), ["streamgauge"], JAVA, **more))


def test_a_directory_passes_through_us_only_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot, the reason is told before anything starts."""
    monkeypatch.setattr("streamgauge.runs.conduct.prepare.why_not", lambda: None)
    assert of_directories().cluster.plan.passing == {(0, 2)}
    with pytest.raises(BadInput, match="--keep-broker: a log directory of its brokers ends with the run"):
        of_directories(keep_broker=True)

    monkeypatch.setattr("streamgauge.runs.conduct.prepare.why_not", lambda: "/dev/fuse cannot be opened: denied")
    with pytest.raises(BadInput, match="dir-full: /dev/fuse cannot be opened: denied") as caught:
        of_directories()
    assert [fault.where for fault in caught.value.faults] == ["faults.0.kind"]


def test_runs_that_share_a_cluster_share_how_it_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that asks for nothing else takes what there is."""
    monkeypatch.setattr("streamgauge.runs.conduct.prepare.why_not", lambda: None)
    scenario = parse({"name": "x", "cluster": {"security": {"protocol": "SSL"}}})
    shared = SimpleNamespace(plan=ClusterPlan(), brokers=[None])

    with pytest.raises(BadInput, match=r"cluster\.security: the cluster that runs share has PLAINTEXT"):
        prepare_run(Request(scenario, Path("runs"), [], JAVA, broker=cast("Any", shared)))
    with pytest.raises(BadInput, match=r"cluster\.data_dirs: the cluster that runs share has other log directories"):
        of_directories(broker=shared)

    secured = SimpleNamespace(plan=ClusterPlan(security=Security("SSL")), brokers=[None])
    assert prepare_run(Request(scenario, Path("runs"), [], JAVA, broker=cast("Any", secured))).cluster.broker


CUT = {"at": "1s", "kind": "cut", "between": ["clients", "broker-1"], "for": "1s"}


def test_proxies_are_put_where_a_scenario_has_a_fault_of_the_network() -> None:
    assert prepared([PAUSED]).cluster.plan.links == frozenset()
    links = prepared([CUT]).cluster.plan.links
    assert links == {("producers", "broker-1"), ("consumers", "broker-1"), ("pipeline", "broker-1")}


def test_a_nemesis_that_may_cut_links_needs_proxies_too() -> None:
    nemesis = {"at": "1s", "kind": "nemesis", "kinds": ["cut"], "between": ["producers", "random-broker"], "pace": "2s"}
    assert prepared([nemesis]).cluster.plan.links == {("producers", "broker-1")}
    with pytest.raises(BadInput, match=r"faults\.0\.kinds: cut: only links of an embedded cluster have proxies"):
        prepared([nemesis], bootstrap="there:9092")


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({"bootstrap": "there:9092"}, "faults.0.between: cut: only links of an embedded cluster have proxies"),
        ({"keep_broker": True}, "--keep-broker: the links of its brokers end with the run"),
        (
            {"broker": SimpleNamespace(brokers=[None], plan=ClusterPlan())},
            "faults: the cluster that runs share has no proxies on these links",
        ),
    ],
)
def test_links_that_have_no_proxies_cannot_be_cut(more: dict[str, Any], wrong: str) -> None:
    with pytest.raises(BadInput) as caught:
        prepared([CUT], **more)
    assert str(caught.value).startswith(wrong)


def test_brokers_that_stay_are_not_harmed() -> None:
    """Whoever is killed undoes nothing, and nobody would come after him; workers end with the run."""
    with pytest.raises(BadInput, match="--keep-broker: the scenario has faults of its cluster, and nobody would undo"):
        prepared([PAUSED], keep_broker=True)

    assert prepared([KILLED], keep_broker=True).cluster.keep_broker


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, ("PLAINTEXT", None)),
        ("SSL", ("SSL", None)),
        ("SASL_SSL", ("SASL_SSL", "SCRAM-SHA-512")),
        ("SASL_PLAINTEXT:PLAIN", ("SASL_PLAINTEXT", "PLAIN")),
    ],
)
def test_a_cluster_that_many_runs_share_can_be_secured_and_set_up(
    asked: str | None, expected: tuple[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From Python as on the command line."""
    plans: list[ClusterPlan] = []

    @contextmanager
    def started(_folder: Path, _java: Java, _say: Any, plan: ClusterPlan) -> Iterator[str]:
        plans.append(plan)
        yield "broker"

    monkeypatch.setattr("streamgauge.runs.api.shared_broker", started)
    monkeypatch.setattr("streamgauge.runs.api.checked_java", lambda: JAVA)
    changes = {"cluster.controllers": 1, "cluster.configs": {"num.io.threads": 4}}
    with streamgauge.broker(brokers=3, security=asked, set=changes) as broker:
        assert str(broker) == "broker"
    assert [(each.controllers, each.configs) for each in plans] == [(1, {"num.io.threads": "4"})]
    assert [(each.brokers, each.security.protocol, each.security.mechanism) for each in plans] == [(3, *expected)]


@pytest.mark.parametrize("asked", ["SSH", "SSL:PLAIN", "SASL_SSL:GSSAPI", ""])
def test_what_no_cluster_can_be_secured_with_is_refused(asked: str) -> None:
    with (
        pytest.raises(BadInput, match=r"security: .* is not how brokers can be secured"),
        streamgauge.broker(security=asked),
    ):
        pass


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"load.rate": 5}, "--set load.rate=5: not a setting of a cluster. Write one of the section `cluster`"),
        ({"cluster.racks": 4}, "4 racks for 3 brokers"),
        ({"cluster.brokers": 0}, r"cluster\.brokers: "),
    ],
)
def test_what_no_cluster_can_be_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said), streamgauge.broker(brokers=3, set=changes):
        pass


@pytest.mark.parametrize(
    ("topic", "there", "partitions"),
    [
        ({"adopt": True}, {"streamgauge-x": 3}, 3),
        ({"adopt": True, "partitions": 5}, {}, 5),
        ({"adopt": True, "name": "t[1-2]"}, {"t1": 7, "t2": 7}, 7),
        ({"adopt": True, "name": "t[1-2]"}, {"t1": 7}, 7),
        ({"partitions": 5}, None, 5),
    ],
)
def test_topics_are_taken_as_they_are_where_that_is_asked(
    topic: dict[str, Any], there: Mapping[str, int] | None, partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not there is made as it is written; a cluster is asked by who adopts alone."""
    asked = _cluster_with(there, monkeypatch)

    assert _adopting(topic, bootstrap="there:9092").topic.partitions == partitions
    assert asked == ([] if there is None else ["there:9092"])


def test_an_embedded_broker_has_no_topics_to_take(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _cluster_with(None, monkeypatch)

    assert _adopting({"adopt": True}).topic.partitions == 12
    assert asked == []


def test_topics_that_differ_in_their_partitions_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor those that have fewer than the scenario needs."""
    _cluster_with({"t1": 3, "t2": 6}, monkeypatch)
    with pytest.raises(BadInput, match=r"topic\.adopt: topics have the same .*; t1 has 3, t2 has 6"):
        _adopting({"adopt": True, "name": "t[1-2]"}, bootstrap="there:9092")
    _cluster_with({"t": 3}, monkeypatch)
    with pytest.raises(BadInput, match=r"consume\.partitions"):
        _adopting({"adopt": True, "name": "t"}, bootstrap="there:9092", consume={"partitions": [5]})


def _adopting(topic: Mapping[str, Any], *, bootstrap: str | None = None, **more: Any) -> Scenario:
    scenario = parse({"name": "x", "topic": dict(topic), **more})
    return prepare_run(Request(scenario, Path("runs"), ["streamgauge"], JAVA, bootstrap=bootstrap)).scenario


def _cluster_with(there: Mapping[str, int] | None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that are asked for topics; these have so many partitions."""
    asked: list[str] = []

    def cluster(address: str, _settings: object, **_own: Any) -> SimpleNamespace:
        asked.append(address)
        return SimpleNamespace(partitions_of=(there or {}).get)

    monkeypatch.setattr(prepare, "Cluster", cluster)
    return asked
