"""Faults that take their course: by role, by condition, repeated, one by one; and that nothing of them is left."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from signal import SIGKILL, SIGTERM
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.injecting import FakeBroker, fault, is_as_before, scheduled
from tests.links import FakeLinks

from streamgauge.domain.blocks import PartitionPlace, PartitionState
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.board import Cells
from streamgauge.engine.supervise.faults import leading, roles
from streamgauge.engine.supervise.faults.inject import ANSWER_NS, BACK_NS, Injector
from streamgauge.engine.supervise.faults.leading import is_reached, targets_of_leadership, wanted_replicas
from streamgauge.engine.supervise.faults.roles import Roles, is_back, node_of_role
from streamgauge.engine.supervise.faults.rows import FaultRow
from streamgauge.engine.supervise.faults.targets import STOP_NS, target_of_broker, targets_of_links
from streamgauge.scenario.model.environment.faults.leadership import LeadershipFault
from streamgauge.scenario.model.environment.faults.schedule import Occurrence
from streamgauge.scenario.model.environment.faults.when import RunCounts

SECOND = NS_PER_SECOND
TICK = SECOND // 4
PLACE = PartitionPlace("t", 0)
NOTHING = RunCounts(0, 0, None)


@dataclass
class FakeCluster:
    """Three brokers of which one leads; what it is asked for it does at once, or not at all."""

    leader: int | None = 2
    replicas: tuple[int, ...] = (2, 3, 1)
    in_sync: tuple[int, ...] = (1, 2, 3)
    answers: bool = True
    obeys: bool = True
    silent: bool = False

    def partitions(self) -> list[PartitionState]:
        """What is known of the only partition."""
        if not self.answers:
            raise BrokerError("no broker responds")
        return [PartitionState(PLACE, self.leader, self.replicas, self.in_sync)]

    def controller(self) -> int:
        """The third broker."""
        return 3

    def coordinator(self, group: str) -> int:
        """The first broker, of the only group."""
        if group != "g":
            raise BrokerError(f"the coordinator of {group} could not be determined")
        return 1

    def reassign(self, replicas: Any) -> None:
        """Change the replicas."""
        self.replicas = tuple(replicas[PLACE]) if self.obeys else self.replicas

    def elect_preferred(self, places: Any) -> None:
        """Change the leader."""
        self.leader = self.replicas[0] if self.obeys else self.leader


def at_once(call: Callable[[], Any]) -> Future[Any]:
    """What a call returns, without a thread."""
    future: Future[Any] = Future()
    try:
        future.set_result(call())
    except BrokerError as error:
        future.set_exception(error)
    return future


@dataclass
class Played:
    """Three brokers, and an injector whose time is told by hand."""

    cluster: FakeCluster = field(default_factory=FakeCluster)
    brokers: list[FakeBroker] = field(default_factory=lambda: [FakeBroker(f"broker-{n}", number=n) for n in (1, 2, 3)])
    links: FakeLinks = field(default_factory=FakeLinks)
    now: int = 0
    counted: RunCounts = NOTHING
    rows: list[FaultRow] = field(default_factory=list)
    injector: Injector = field(init=False)

    def __post_init__(self) -> None:
        board = Cells.new(1, 1)
        targets = [target_of_broker(each, board, 10 + each.number) for each in self.brokers]
        asked = Roles(self.cluster, ("t",), ("g",), seed=42)
        self.injector = Injector(targets, lambda: self.now, self.rows.append, lambda: self.counted, asked)

    def plan(self, faults: list[Occurrence]) -> None:
        """What is to be done."""
        self.injector.targets = [
            *self.injector.targets, *targets_of_leadership(faults, self.cluster, len(self.brokers)),
            *targets_of_links(self.links, [each.fault for each in faults]),
        ]  # fmt: skip
        self.injector.plan(faults)

    def until(self, seconds: float) -> None:
        """Let time pass."""
        while self.now < round(seconds * SECOND):
            self.injector.turn(0)
            self.now += TICK

    @property
    def told(self) -> list[tuple[float, str, str, str]]:
        """Time, kind, target and action of each row."""
        return [(row.at_ns / SECOND, row.kind, row.target, row.action) for row in self.rows]

    @property
    def errors(self) -> list[str | None]:
        return [row.error for row in self.rows]


@pytest.fixture(autouse=True)
def _without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles, "asked", at_once)
    monkeypatch.setattr(leading, "asked", at_once)


@pytest.mark.parametrize(
    ("target", "hit"),
    [("leader-of:0", "broker-2"), ("follower-of:t/0", "broker-3"), ("active-controller", "broker-3"),
     ("coordinator", "broker-1"), ("coordinator-of:g", "broker-1")],
)  # fmt: skip
def test_who_has_a_role_is_found_when_the_fault_begins(target: str, hit: str) -> None:
    """The row names who was hit, and the role as its detail."""
    played = Played()
    played.plan(scheduled(fault("1s", "kill", target, "2s")))
    played.until(5)

    assert played.told == [(1, "kill", hit, "begin"), (3, "kill", hit, "end")]
    assert [(row.detail, row.asked_ns, row.error) for row in played.rows] == [
        (target, SECOND, None), (target, 3 * SECOND, None)
    ]  # fmt: skip


def test_a_disk_is_that_of_who_has_the_role() -> None:
    """With what is done to it beside the role; a controller apart from the brokers has none."""
    nodes = [FakeBroker(f"broker-{n}", number=n, is_broker=n < 3) for n in (1, 2, 3)]
    played, disk = Played(brokers=nodes), {"at": "1s", "kind": "truncate-tail", "target": "leader-of:0", "for": "1s"}
    played.plan(scheduled(disk, disk | {"at": "3s", "target": "active-controller"}))
    played.until(6)

    assert [(row.target, row.action, row.detail) for row in played.rows] == [
        ("broker-2", "begin", "leader-of:0, 65536 bytes of each partition"),
        ("broker-2", "end", "leader-of:0, 65536 bytes of each partition"),
        ("active-controller", "begin", "65536 bytes of each partition"),
    ]  # fmt: skip
    assert [each.disk.calls for each in played.brokers] == [[], ["begin", "end"], []]
    assert str(played.errors[-1]).startswith("it is node 3, which is under another fault")


def cut(*between: Any, at: str = "1s", lasting: str = "2s", **more: Any) -> dict[str, Any]:
    return {"at": at, "for": lasting, "kind": "cut", "between": between, **more}


def test_links_are_those_of_who_has_the_role_when_the_fault_begins() -> None:
    """Until it ends, whoever has the role by then; the row names the node, and the role as its detail."""
    played = Played()
    played.plan(scheduled(cut("leader-of:0", "brokers", one_way=True)))
    played.until(2)
    assert [each.between for each in played.links.on] == [(("broker-2",), ("brokers",))]
    played.cluster.leader = 3
    played.until(5)

    assert played.links.on == []
    assert played.told == [(1, "cut", "broker-2-brokers", "begin"), (3, "cut", "broker-2-brokers", "end")]
    assert [row.detail for row in played.rows] == ["leader-of:0, one way"] * 2


def test_ends_of_links_that_are_drawn_are_other_nodes_than_those_with_a_role() -> None:
    played = Played()
    played.plan(scheduled(*(cut("random-broker", "leader-of:0", at=f"{3 * at}s") for at in range(1, 9))))
    played.until(30)

    assert {row.target for row in played.rows} == {"broker-1-broker-2", "broker-3-broker-2"}
    assert not any(played.errors)


def test_links_of_a_role_that_nobody_tells_are_left_alone() -> None:
    played = Played(FakeCluster(answers=False))
    played.plan(scheduled(cut("leader-of:0", "clients")))
    played.until(5)

    assert (played.told, played.errors) == ([(1, "cut", "leader-of:0-clients", "begin")], ["no broker responds"])
    assert played.links.calls == 0


def test_a_controller_apart_from_the_brokers_is_killed_by_name() -> None:
    played = Played(brokers=[FakeBroker(number=1), FakeBroker("controller-1", number=2, is_broker=False)])
    kill = fault("1s", "kill", "controller-1", "2s")
    played.plan(scheduled(kill, fault("4s", "kill", "brokers", "1s"), {**kill, "at": "6s"}))
    played.until(9)

    assert [target for _, _, target, action in played.told if action == "end"] == [
        "controller-1", "broker-1", "controller-1"
    ]  # fmt: skip
    assert [each.starts for each in played.brokers] == [2, 3]


def test_a_role_that_nobody_tells_is_the_error_of_the_row() -> None:
    played = Played(FakeCluster(answers=False))
    played.plan(scheduled(fault("1s", "kill", "leader-of:0", "2s"), fault("1s", "kill", "coordinator-of:x", "2s")))
    played.until(3)

    assert [(row.target, row.error) for row in played.rows] == [
        ("leader-of:0", "no broker responds"),
        ("coordinator-of:x", "the coordinator of x could not be determined"),
    ]
    assert not [each.got for each in played.brokers if each.got]


def test_an_answer_is_awaited_for_a_while_without_keeping_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles, "asked", lambda _: Future())
    played = Played()
    played.plan(scheduled(fault("1s", "kill", "leader-of:0", "2s"), fault("2s", "pause", "broker-1", "1s")))
    played.until(20)

    assert [played.told[place] for place in (0, -1)] == [
        (2, "pause", "broker-1", "begin"), (1 + ANSWER_NS / SECOND, "kill", "leader-of:0", "begin")
    ]  # fmt: skip
    assert played.errors[-1] == "its target is not known: the cluster does not answer"


def test_the_random_are_drawn_with_the_seed_from_those_that_are_free() -> None:
    given = [fault("1s", "pause", "broker-2", "9s"), *(fault("2s", "pause", "random-broker", "3s") for _ in range(3))]
    drawn = []
    for _ in range(2):
        played = Played()
        played.plan(scheduled(*given))
        played.until(20)
        drawn.append([row.target for row in played.rows if row.detail == "random-broker" and row.action == "begin"])
        assert played.errors.count("no target is left to choose from") == 1

    assert drawn[0] == drawn[1]
    assert set(drawn[0]) == {"broker-1", "broker-3"}


def test_a_broker_that_takes_its_time_to_stop_is_waited_for_and_then_killed() -> None:
    played = Played()
    played.brokers[0].lingers = True
    played.plan(scheduled(fault("1s", "stop", "broker-1", "2s"), fault("1s", "stop", "broker-2", "2s")))
    played.until(2 + STOP_NS / SECOND)

    assert played.told[1:] == [
        (1, "stop", "broker-2", "begin"), (3, "stop", "broker-2", "end"),
        (1 + STOP_NS / SECOND, "stop", "broker-1", "end"),
    ]  # fmt: skip
    assert played.brokers[0].got == [(77, SIGTERM), (77, SIGKILL)]
    assert played.brokers[1].got == [(77, SIGTERM)]
    assert [error is None for error in played.errors] == [True, True, True, False]
    assert is_as_before(played.brokers)


def test_a_broker_that_was_killed_and_does_not_start_again_has_both_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is down from then on, which matters more than that it had to be killed."""
    played = Played()
    played.brokers[0].lingers = True

    def fails() -> None:
        raise BrokerError("its port is taken")

    monkeypatch.setattr(played.brokers[0], "restart", fails)
    played.plan(scheduled(fault("1s", "stop", "broker-1", "2s")))
    played.until(2 + STOP_NS / SECOND)

    killed, down = str(played.errors[-1]).split("; ")
    assert killed.startswith("it had not ended 30 s after it was asked to")
    assert down == "its port is taken"


def test_a_restart_ends_as_soon_as_the_process_has_ended() -> None:
    played = Played()
    played.brokers[0].lingers = True
    played.plan(scheduled({"at": "1s", "kind": "restart", "target": "broker-1"}))
    played.until(3)
    assert played.told == [(1, "restart", "broker-1", "begin")]
    played.brokers[0].has_ended = True
    played.until(4)

    assert played.told[1:] == [(3, "restart", "broker-1", "end")]
    assert [row.asked_ns for row in played.rows] == [SECOND, None]


def test_brokers_restart_one_after_the_other() -> None:
    """The next one waits until the one before is in sync again, and for the pause between."""
    played = Played()
    played.plan(scheduled({"at": "1s", "kind": "rolling-restart", "target": "brokers", "between": "2s"}))
    played.cluster.in_sync = (2, 3)
    played.until(3)
    assert [target for _, _, target, _ in played.told] == ["broker-1"] * 2
    played.cluster.in_sync = (1, 2, 3)
    played.until(20)

    assert [(at, target) for at, _, target, action in played.told if action == "begin"] == [
        (1, "broker-1"), (5, "broker-2"), (7, "broker-3"),
    ]  # fmt: skip
    assert not any(played.errors)
    assert [each.starts for each in played.brokers] == [2, 2, 2]


def test_no_other_broker_restarts_when_one_does_not_come_back() -> None:
    played = Played(FakeCluster(in_sync=(2, 3)))
    played.plan(scheduled({"at": "1s", "kind": "rolling-restart", "target": "brokers"}))
    played.until(2 + BACK_NS / SECOND)

    assert played.told[-1][1:] == ("rolling-restart", "broker-2", "begin")
    assert played.errors[-1] == "broker-1 was not back in the in-sync replicas: after 60 s"
    assert [each.starts for each in played.brokers] == [2, 1, 1]


def test_brokers_are_those_that_kafka_numbers_so() -> None:
    """Whatever their processes are called, and one of them only."""
    named = [FakeBroker(f"broker-{n + 1}", number=n) for n in (1, 2, 3)]
    played = Played(brokers=named)
    played.plan(scheduled(fault("1s", "kill", "broker-2", "2s")))
    played.until(5)

    assert [(row.target, row.action) for row in played.rows] == [("broker-3", "begin"), ("broker-3", "end")]
    assert [each.starts for each in named] == [1, 2, 1]


def test_two_faults_of_one_process_do_not_meet() -> None:
    """Who has a role is not known before: the later fault is not injected, which is told."""
    played = Played()
    played.plan(scheduled(fault("1s", "kill", "broker-2", "5s"), fault("2s", "pause", "brokers", "1s")))
    played.until(9)

    assert [row.target for row in played.rows if row.error] == ["broker-2"]
    assert "still under another fault: kill" in str(next(filter(None, played.errors)))
    assert is_as_before(played.brokers)


@pytest.mark.parametrize(
    ("when", "counted"),
    [({"received": 100}, RunCounts(0, 150, None)), ({"sent": 100}, RunCounts(150, 0, None)),
     ({"lag": "> 5k"}, RunCounts(0, 0, 5001))],
)  # fmt: skip
def test_a_condition_is_waited_for_and_met_once(when: dict[str, Any], counted: RunCounts) -> None:
    """Messages count from the measure phase on: 50 came before it."""
    played = Played(counted=RunCounts(50, 50, None))
    played.plan(scheduled({"when": when, "kind": "pause", "target": "broker-1", "for": "1s"}))
    played.until(2)
    assert not played.told
    played.counted = counted
    played.until(9)

    assert played.told == [(2, "pause", "broker-1", "begin"), (3, "pause", "broker-1", "end")]
    assert [row.asked_ns for row in played.rows] == [None, None]


def test_a_condition_that_is_repeated_is_looked_at_again_after_a_while() -> None:
    played = Played(counted=RunCounts(0, 0, 9))
    lag = {"when": {"lag": "> 5"}, "every": "3s", "kind": "pause", "target": "broker-1", "for": "1s"}
    played.plan(scheduled(lag))
    played.until(8)
    played.injector.release()

    assert [at for at, *_, action in played.told if action == "begin"] == [0, 3, 6]
    assert not any(played.errors)


def test_what_was_never_begun_is_told() -> None:
    played = Played()
    lag = {"when": {"lag": "> 5"}, "kind": "pause", "target": "broker-1", "for": "1s"}
    played.plan(scheduled(lag, fault("9s", "pause", "broker-2", "1s")))
    played.until(3)
    played.injector.release()
    played.injector.release()

    assert played.errors == ["the load was over: its condition was not met", "the load was over: it was not begun"]


def test_repeated_faults_follow_each_other() -> None:
    """One that is not over yet makes the next one wait."""
    played = Played()
    played.brokers[0].lingers = True
    played.plan(scheduled({"at": "1s", "every": "2s", "kind": "restart", "target": "broker-1"}, measure_ns=6 * SECOND))
    played.until(4)
    played.brokers[0].lingers, played.brokers[0].has_ended = False, True
    played.until(9)

    begun = [(row.at_ns / SECOND, (row.asked_ns or 0) / SECOND) for row in played.rows if row.action == "begin"]
    assert begun == [(1, 1), (4.25, 3), (5, 5)]


@pytest.mark.parametrize(
    ("given", "leader", "replicas"),
    [
        ({"kind": "move-leader"}, 3, (3, 2, 1)),
        ({"kind": "elect-preferred"}, 2, (2, 3, 1)),
        ({"kind": "reassign"}, 2, (3, 1, 2)),
        ({"kind": "reassign", "to": [1, 2, 3]}, 2, (1, 2, 3)),
    ],
)
def test_leaders_and_replicas_move(given: dict[str, Any], leader: int, replicas: tuple[int, ...]) -> None:
    """It ends when Kafka has done it."""
    played = Played()
    played.plan(scheduled({"at": "1s", "target": "partition-0", **given}))
    played.until(3)

    assert (played.cluster.leader, played.cluster.replicas) == (leader, replicas)
    assert [(target, action) for _, _, target, action in played.told] == [
        ("partition-0", "begin"), ("partition-0", "end")
    ]  # fmt: skip
    assert not any(played.errors)


@pytest.mark.parametrize(
    ("cluster", "target", "why"),
    [
        (FakeCluster(in_sync=(2,)), "partitions", "t/0: no other replica is in sync"),
        (FakeCluster(answers=False), "partitions", "no broker responds"),
        (FakeCluster(), "other/1", "other/1: the cluster knows no such partition"),
    ],
)
def test_leaders_that_cannot_move_are_told(cluster: FakeCluster, target: str, why: str) -> None:
    played = Played(cluster)
    played.plan(scheduled({"at": "1s", "kind": "move-leader", "target": target}))
    played.until(3)

    assert played.errors == [None, why]


def test_a_leader_moves_to_the_next_replica_that_is_in_sync() -> None:
    fault = LeadershipFault.model_validate({"at": 0, "kind": "move-leader", "target": "partitions"})
    state = PartitionState(PLACE, 3, (2, 3, 1), (2, 3))

    assert wanted_replicas(fault, [state], 3) == {PLACE: (2, 3, 1)}
    assert not is_reached("move-leader", {PLACE: (2, 3, 1)}, [state])
    assert is_reached("move-leader", {PLACE: (2, 3, 1)}, [state._replace(leader=2)])
    assert not is_reached("reassign", {PLACE: (2, 3, 1)}, [state])
    assert is_reached("reassign", {PLACE: (2, 3, 1)}, [state._replace(in_sync=(1, 2, 3))])
    assert not is_reached("reassign", {PLACE: (2, 3, 1)}, [])


@pytest.mark.parametrize(
    ("leader", "replicas", "is_done"), [(2, (2, 3, 1), True), (3, (3, 2, 1), True), (2, (3, 2, 1), False)]
)
def test_the_preferred_leader_is_the_one_of_now(leader: int, replicas: tuple[int, ...], is_done: bool) -> None:
    """Who asked for the election may not have heard yet that the replicas had been given another order."""
    state = PartitionState(PLACE, leader, replicas, (1, 2, 3))

    assert is_reached("elect-preferred", {PLACE: (2, 3, 1)}, [state]) is is_done


def test_who_is_in_sync_everywhere_is_back() -> None:
    alone = PartitionState(PartitionPlace("t", 1), None, (1,), (1,))
    both = PartitionState(PLACE, 2, (1, 2), (2,))

    assert [is_back([both], number) for number in (1, 2, 3)] == [False, True, True]
    assert not is_back([alone], 1)
    with pytest.raises(BrokerError, match="t/0 has no follower in sync"):
        node_of_role(both, PLACE, is_leader=False)
    with pytest.raises(BrokerError, match="t/1 has no leader"):
        node_of_role(alone, alone.place, is_leader=True)
    with pytest.raises(BrokerError, match="does not exist"):
        node_of_role(None, PLACE, is_leader=True)


LASTING = ("pause", "kill", "stop", "cut", "black-hole", "disk-fails", "lose-data")
KINDS = st.sampled_from([*LASTING, "restart", "rolling-restart", "move-leader", "reassign", "nemesis"])
SIDES = st.sampled_from([
    ["clients", "broker-1"], ["broker-1", ["broker-2", "broker-3"]], ["leader-of:0", "brokers"],
    ["random-broker", ["clients", "active-controller"]],
])  # fmt: skip
TARGETS = st.sampled_from(["broker-1", "broker-3", "brokers", "leader-of:0", "active-controller", "random-broker"])


@st.composite
def some_fault(draw: st.DrawFn) -> dict[str, Any]:
    """Any fault of brokers, their disks, links or leaders, at any time of ten seconds."""
    kind = draw(KINDS)
    given: dict[str, Any] = {"kind": kind, "at": draw(st.integers(0, 5))}
    if kind == "nemesis":
        drawn = draw(st.lists(st.sampled_from(["kill", "restart", "cut", "delay", "disk-fails"]), min_size=1))
        return {**given, "kinds": drawn, "pace": "1s", "for": "2s"}
    if kind in LASTING:
        given["for"] = draw(st.sampled_from([1, 3]))
    if draw(st.booleans()):
        given["every"] = draw(st.sampled_from([4, 5]))
    if draw(st.booleans()):
        given["when"] = draw(st.sampled_from([{"received": 5}, {"lag": "> 3"}]))
    if kind in {"cut", "black-hole"}:
        return {**given, "between": draw(SIDES)}
    process = "brokers" if kind == "rolling-restart" else draw(TARGETS)
    given["target"] = "partitions" if kind in {"move-leader", "reassign"} else process
    return given


class Undoing(RuleBasedStateMachine):
    """Any faults, and who they hit dies, refuses or does not answer at any time: in the end nothing is left of it."""

    def __init__(self) -> None:
        super().__init__()
        self.played = Played()
        self.died: set[int] = set()

    @initialize(faults=st.lists(some_fault(), min_size=1, max_size=4))
    def plan(self, faults: list[dict[str, Any]]) -> None:
        self.played.plan(scheduled(*faults, measure_ns=15 * SECOND))

    @rule(ticks=st.integers(2, 12))
    def time_passes(self, ticks: int) -> None:
        self.played.until(self.played.now / SECOND + ticks * TICK / SECOND)

    @rule(place=st.integers(0, 2), lingers=st.booleans())
    def lingers(self, place: int, lingers: bool) -> None:
        self.played.brokers[place].lingers = lingers

    @rule(place=st.integers(0, 2))
    def a_broker_ends_by_itself(self, place: int) -> None:
        """As one that was asked to end does, or one that nobody asked."""
        self.died.add(place)
        self.played.brokers[place].has_ended = True

    @rule(answers=st.booleans(), obeys=st.booleans())
    def the_cluster(self, answers: bool, obeys: bool) -> None:
        self.played.cluster.answers = answers
        self.played.cluster.obeys = obeys or not self.played.cluster.answers

    @rule(in_sync=st.sets(st.integers(1, 3), min_size=1), received=st.integers(0, 9), lag=st.none() | st.integers(0, 9))
    def counts(self, in_sync: set[int], received: int, lag: int | None) -> None:
        self.played.cluster.in_sync = tuple(sorted(in_sync))
        self.played.counted = RunCounts(0, received, lag)

    @rule(later=st.integers(1, 3))
    def links_refuse(self, later: int) -> None:
        """As when the process that carries them has ended."""
        self.played.links.refuses.add(self.played.links.calls + later)

    @rule()
    def release(self) -> None:
        self.played.injector.release()
        self.nothing_is_left()

    @invariant()
    def every_end_has_a_begin(self) -> None:
        begun = {(row.kind, row.target) for row in self.played.rows if row.action == "begin"}
        assert {(row.kind, row.target) for row in self.played.rows if row.action == "end"} <= begun

    def nothing_is_left(self) -> None:
        """Who did not die by himself lives and is not paused, disks work, and links are free."""
        assert self.played.links.on == []
        kept = [each for place, each in enumerate(self.played.brokers) if place not in self.died]
        assert is_as_before(kept)
        alive = [each for each in self.played.brokers if not each.has_ended]
        assert not any(each.is_paused or each.disk.fails for each in alive)
        self.played.until(self.played.now / SECOND + 5)
        assert is_as_before(kept)

    def teardown(self) -> None:
        """Every way of ending releases."""
        self.played.injector.release()
        self.nothing_is_left()


TestUndoing = Undoing.TestCase
TestUndoing.settings = settings(max_examples=200, stateful_step_count=15, deadline=None)
