"""Lag that is sampled, grants that are decided, faults that are injected: without a broker and without waiting."""

import signal
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tests.engine.test_consume import NO_HEAD, Blocks, Ground, processing, value
from tests.injecting import fault, scheduled

from streamgauge.domain.blocks import NULL_INT32, NULL_INT64
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.board import Cell, Cells, Order, Slot
from streamgauge.engine.consume.loop import Consuming, ProgressCells
from streamgauge.engine.control import Controller, policy_of
from streamgauge.engine.fake import FakeTime
from streamgauge.engine.observe.lag import LagSampler, SampledGroups
from streamgauge.engine.produce.throttle import OPEN, SHUT
from streamgauge.engine.supervise.faults.actions import Target
from streamgauge.engine.supervise.faults.inject import Injector
from streamgauge.engine.supervise.faults.rows import FaultRow
from streamgauge.engine.supervise.faults.targets import by_signals, meaning
from streamgauge.engine.supervise.start import controlled_by
from streamgauge.scenario.model.backpressure import Backpressure

MS = NS_PER_MS


@dataclass
class AnsweringCluster:
    """A cluster whose answers the test gives; None for no answer."""

    ends: list[int] | None
    commits: dict[int, list[int | None]]
    asked_starts: int = 0

    def log_starts(self) -> list[int]:
        self.asked_starts += 1
        return [0] * 4

    def log_ends(self) -> list[int]:
        if self.ends is None:
            raise BrokerError("no broker answered within 2 s")
        return self.ends

    def committed(self, group: int) -> list[int | None]:
        return self.commits[group]

    def close(self) -> None:
        """Nothing to let go."""


@dataclass
class Sampling:
    """A sampler of two groups that read two topics of two partitions."""

    cluster: AnsweringCluster
    board: Cells = field(default_factory=lambda: Cells.new(3, 4, 2))
    time: FakeTime = field(default_factory=FakeTime)
    rows: Blocks = field(default_factory=Blocks)
    until_ns: int = 0

    def sampler(self, every_ms: int = 200, groups: tuple[tuple[int, ...], ...] = ((0, 1), (2,))) -> LagSampler:
        sampled = SampledGroups(groups, ((0, 1, 2, 3),) * len(groups), len(groups), 2, every_ms * MS)
        order = lambda: Order.GO if self.time.at_ns < self.until_ns else Order.FINISH  # noqa: E731 - one line says it
        return LagSampler(self.cluster, sampled, self.board, self.rows, order, self.time.now_ns, self.time.sleep)


def test_a_sample_has_a_row_for_each_group_and_partition() -> None:
    """Ends, commits, and the furthest position of anybody in the group; what is not known is null."""
    said = Sampling(AnsweringCluster([10, 20, 30, 40], {0: [1, 2, 3, None], 1: [10, 20, 30, 40]}))
    said.board.positions[[0, 1], 0] = [7, 5]
    said.board.control[Cell.LAG] = 99
    said.sampler().sample()

    rows = said.rows
    assert rows.column("group") == [0] * 4 + [1] * 4
    assert rows.column("topic") == [0, 0, 1, 1] * 2
    assert rows.column("partition") == [0, 1, 0, 1] * 2
    assert rows.column("end") == [10, 20, 30, 40] * 2
    assert rows.column("committed") == [1, 2, 3, NULL_INT64, 10, 20, 30, 40]
    assert rows.column("position")[:2] == [7, NULL_INT64]
    assert said.board.control[Cell.LAG] == NULL_INT64


def test_who_decides_by_lag_is_told_that_of_the_group_furthest_behind() -> None:
    """A sample without an answer leaves what was known, and is a row with the reason."""
    said = Sampling(AnsweringCluster([10, 20, 30, 40], {0: [1, 2, 3, 4], 1: [10, 20, 30, 39]}))
    sampler = said.sampler()
    sampler.sample()
    assert said.board.control[Cell.LAG] == 90
    said.cluster.ends = None
    sampler.sample()
    assert said.board.control[Cell.LAG] == 90
    block, count = said.rows.blocks[-1]
    assert count == 4
    assert (block["end"], block["committed"]) == (None, None)
    assert block["error"] == ["no broker answered within 2 s"] * 4


def test_samples_are_as_far_apart_as_asked_and_starts_are_asked_once_in_a_second() -> None:
    """A run of two seconds; a run that nobody reads has rows of ends alone."""
    said = Sampling(AnsweringCluster([10, 20, 30, 40], {}), until_ns=2 * NS_PER_SECOND)
    said.sampler(groups=()).run()

    at_ns = said.rows.column("at_ns")[::4]
    assert len(at_ns) in {10, 11}
    assert np.abs(np.diff(at_ns) - 200 * MS).max() < MS
    assert said.cluster.asked_starts == 2
    assert set(said.rows.column("group")) == {None}


@dataclass
class SlowCluster(AnsweringCluster):
    """One that takes 3 ms for each answer, while each partition is appended to, read and committed a message a ms."""

    time: FakeTime = field(default_factory=FakeTime)
    board: Cells = field(default_factory=lambda: Cells.new(3, 4, 2))
    committed_at_ms: list[int] = field(default_factory=list)
    ended_at_ms: list[int] = field(default_factory=list)

    def log_starts(self) -> list[int]:
        self.goes_on()
        return super().log_starts()

    def committed(self, group: int) -> list[int | None]:
        self.committed_at_ms.append(self.goes_on())
        return [self.committed_at_ms[-1] + 10] * 4

    def log_ends(self) -> list[int]:
        self.ended_at_ms.append(self.goes_on())
        return [self.ended_at_ms[-1] + 100] * 4

    def goes_on(self) -> int:
        """The moment at which it answers, in ms; the answer is there 1 ms later."""
        self.time.sleep(0.002)
        at_ms = self.time.at_ns // MS
        self.time.sleep(0.001)
        self.board.positions[:, :] = self.time.at_ns // MS + 50
        return at_ms


def test_a_lag_that_moves_is_too_large_by_commits_and_too_small_by_positions() -> None:
    """By as much as moves within the time of a sample, which begins with the question that lags depend on first."""
    cluster = SlowCluster([], {})
    said = Sampling(cluster, cluster.board, cluster.time)
    begun_ms = said.time.at_ns // MS
    said.sampler(groups=((0, 1),)).sample()

    rows = said.rows
    at_ms, answered_ms = (rows.column(name)[0] // MS - begun_ms for name in ("at_ns", "answered_ns"))
    assert (at_ms, answered_ms) == (3, 9)
    ended = np.array(rows.column("end"))
    # At all times commits are 90 messages behind the ends, and positions 50.
    assert ended - rows.column("committed") == pytest.approx([90 + 3] * 4)
    assert ended - rows.column("position") == pytest.approx([50 - 1] * 4)


class Steering:
    """A controller of two producers (rows 0 and 1) and a group of two consumers (rows 2 and 3)."""

    def __init__(self, **policy: Any) -> None:
        self.board, self.rows, self.time = Cells.new(4, 2), Blocks(), FakeTime()
        self.until_ns = NS_PER_SECOND
        controlled = controlled_by(Backpressure.model_validate(policy), {0: 0, 1: 1}, ((2, 3),))
        order = lambda: Order.GO if self.time.at_ns < self.until_ns else Order.FINISH  # noqa: E731 - one line says it
        self.policy = policy_of(controlled, self.board)
        self.controller = Controller(
            self.policy, controlled.poll_ns, self.rows, order, self.time.now_ns, self.time.sleep
        )

    @property
    def granted(self) -> list[int]:
        found: list[int] = self.board.slots[:2, Slot.GRANTED].tolist()
        return found


def test_credit_is_granted_before_anything_is_sent_and_as_messages_are_processed() -> None:
    """What others wrote does not count, nor what lies behind a gap; failed sends and the dead give credit back."""
    steering = Steering(credit={"limit": 10})
    steering.controller.begin()
    assert steering.granted == [5, 5]
    board, turn = steering.board, steering.policy.turn
    board.slots[:2, Slot.CLAIMED] = [5, 2]
    board.frontiers[2, 0], board.frontiers[3, 0], board.frontiers[3, 1] = 3, 2, 1
    board.foreign[0, 0] = 1
    rows = turn(7)
    # Processed: 3 + 1 offsets less one of others.
    assert sum(steering.granted) == 13
    assert steering.granted == [8, 5]
    assert rows == [(7, 0, 3, 8, 4, None, "grant")]
    board.slots[0, Slot.RETURNED] = 2
    turn(8)
    assert sum(steering.granted) == 15
    board.slots[1, Slot.ENDED] = 1
    turn(9)
    assert steering.granted[0] == 15 - 2
    assert turn(10) == []


def test_decisions_are_made_on_time_and_recorded() -> None:
    """A thousand in a second; only those that change something are rows."""
    steering = Steering(credit={"limit": 10, "poll": "1ms"})
    steering.controller.begin()
    steering.controller.run()
    assert 990 <= steering.time.at_ns / MS <= 1_060
    assert steering.rows.column("producer") == [0, 1]
    assert steering.rows.column("granted") == [5, 5]
    assert steering.rows.column("lag") == [NULL_INT64] * 2


def test_hysteresis_shuts_and_opens_for_all() -> None:
    """By the lag that was sampled last; before there is one, nobody is held back."""
    steering = Steering(hysteresis={"max_lag": 100, "resume_lag": 20, "poll": "100ms"})
    steering.board.control[Cell.LAG] = NULL_INT64
    steering.controller.begin()
    assert steering.granted == [OPEN, OPEN]
    found = []
    for lag in (NULL_INT64, 100, 101, 50, 20, 19, 101):
        steering.board.control[Cell.LAG] = lag
        rows = steering.policy.turn(1)
        found.append((rows[0][-1] if rows else None, steering.granted[0]))
    assert found == [
        (None, OPEN), (None, OPEN), ("pause", SHUT), (None, SHUT), (None, SHUT), ("resume", OPEN), ("pause", SHUT),
    ]  # fmt: skip
    steering.controller._note([(1, None, None, SHUT, None, 101, "pause")])
    steering.controller._record()
    assert steering.rows.column("producer") == [NULL_INT32]


def test_a_consumer_tells_its_frontier_when_messages_are_processed_not_when_they_are_received() -> None:
    """In every partition up to the first message that is not over; redelivery does not set it back."""
    slots = processing(delay="10ms", order="slots", slots=2)
    board = Cells.new(1, 2)
    progress = ProgressCells(board.frontiers[0], board.foreign[0], board.foreign_ends[0])
    ground = Ground(consuming=Consuming(("t",), 2, slots))
    ground = _with_progress(ground, progress)
    ground.fill(4, partition=0)
    ground.fill(1, partition=1)
    ground.run(0.015)
    assert board.frontiers[0].tolist() == [2, 0]
    ground.run(0.02)
    assert board.frontiers[0].tolist() == [4, 1]
    assert board.foreign.sum() == 0
    ground.finish()


def test_messages_of_others_are_counted_once_however_often_they_are_delivered() -> None:
    """Also where there is no processing: then what is received is processed."""
    board = Cells.new(1, 2)
    progress = ProgressCells(board.frontiers[0], board.foreign[0], board.foreign_ends[0])
    ground = _with_progress(Ground(consuming=Consuming(("t",), 2)), progress)
    ground.fill(3)
    ground.reader.log.records[0].insert(1, (value(9, tag=8), NO_HEAD))
    ground.run(0.01)
    assert board.frontiers[0].tolist() == [4, 0]
    assert board.foreign[0].tolist() == [1, 0]
    progress.meet(np.array([0, 0, 1]), np.array([1, 5, 0]))
    assert board.foreign[0].tolist() == [2, 1]
    ground.finish()


def _with_progress(ground: Ground, progress: ProgressCells) -> Ground:
    ground.consumer.progress = progress
    ground.consumer.__post_init__()
    return ground


@dataclass
class Process:
    """A process that notes the signals that it gets."""

    got: list[tuple[int, int]] = field(default_factory=list)
    over: bool = False
    refuses: bool = False


def test_faults_are_done_to_whom_they_are_meant_for_and_end() -> None:
    """A pause of one consumer, a kill of all producers, a pause of the broker; each is a row when it was done."""
    time = FakeTime(tick_ns=0)
    processes = {name: Process() for name in ("producer-0..1", "consumer-0", "consumer-1", "broker-1")}
    targets = [
        _target(name, numbers, processes[name], time)
        for name, numbers in zip(processes, ((0, 1), (0,), (1,), ()), strict=True)
    ]
    rows: list[FaultRow] = []
    injector = Injector(targets, time.now_ns, rows.append)
    injector.plan(scheduled(
        fault("2s", "pause", "consumer-1", "1s"), fault("3s", "pause", "broker", "500ms"),
        fault("1s", "kill", "producers"), fault("3s", "kill", "consumer-1"), fault("9s", "kill", "consumer-0"),
    ))  # fmt: skip
    for second in np.arange(0, 5, 0.25):
        time.at_ns = round((10 + second) * NS_PER_SECOND)
        injector.turn(10 * NS_PER_SECOND)

    seconds = {name: [(round(at / NS_PER_SECOND - 10, 2), number) for at, number in process.got]
               for name, process in processes.items()}  # fmt: skip
    assert seconds == {
        "producer-0..1": [(1, signal.SIGKILL)],
        "consumer-0": [],
        "consumer-1": [(2, signal.SIGSTOP), (3, signal.SIGCONT), (3, signal.SIGKILL)],
        "broker-1": [(3, signal.SIGSTOP), (3.5, signal.SIGCONT)],
    }
    assert [(row.kind, row.target, row.action) for row in rows][:2] == [
        ("kill", "producer-0..1", "begin"), ("pause", "consumer-1", "begin"),
    ]  # fmt: skip
    assert injector.killed == {"producer-0..1", "consumer-1"}
    assert {row.error for row in rows} == {None}


def test_what_is_paused_goes_on_when_the_load_ends_early() -> None:
    """And what cannot be done is a row with the reason."""
    time = FakeTime(tick_ns=0)
    paused, gone, refuses = Process(), Process(over=True), Process(refuses=True)
    rows: list[FaultRow] = []
    injector = Injector(
        [_target(f"consumer-{number}", (number,), process, time)
         for number, process in enumerate((paused, gone, refuses))],
        time.now_ns, rows.append,
    )  # fmt: skip
    injector.plan(scheduled(fault("0s", "pause", "consumers", "60s")))
    injector.turn(0)
    injector.release()
    injector.release()

    assert [number for _, number in paused.got] == [signal.SIGSTOP, signal.SIGCONT]
    errors = {row.target: row.error for row in rows if row.error}
    assert errors == {"consumer-1": "the process has already ended", "consumer-2": "Operation not permitted"}
    injector.turn(NS_PER_SECOND * 100)
    assert len(paused.got) == 2


def _target(name: str, numbers: tuple[int, ...], process: Process, time: FakeTime) -> Target:
    actions = by_signals(_noting(process, time))
    return Target(name, meaning(name.split("-")[0], numbers), actions, _over(process))


def _noting(process: Process, time: FakeTime) -> Any:
    def send(number: int) -> None:
        if process.refuses:
            raise PermissionError(1, "Operation not permitted")
        process.got.append((time.at_ns, number))

    return send


def _over(process: Process) -> Any:
    return lambda: process.over
