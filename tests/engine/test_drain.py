"""How long a run waits for its query, and what it takes for the end of it."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.domain.errors import BrokerError
from streamgauge.domain.query import QuerySpec
from streamgauge.engine.board import Cell, Cells, Slot, State
from streamgauge.engine.fake import FakeOffsets
from streamgauge.engine.query import Hosting
from streamgauge.engine.supervise.drain import Draining
from streamgauge.engine.supervise.faults.targets import targets_of_query
from streamgauge.engine.supervise.local import SpawnedProcess
from streamgauge.engine.supervise.plan import Plan
from streamgauge.engine.supervise.workers import Worker, Workers
from streamgauge.engine.worker.observers import QueryJob, TrackerJob
from streamgauge.engine.worker.roles import ConsumerJob
from streamgauge.record.parts import open_sink
from streamgauge.scenario.model.environment.faults.processes import ProcessFault

SECOND = 1_000_000_000
TICK = SECOND // 50
FAULT = ProcessFault(at=0, kind="kill", target="driver")


ENDS = [7, 3, 99, 99]
"""Of a source of two partitions and a sink of two, of which nothing more is known."""


@pytest.fixture
def board() -> Cells:
    return Cells.new(1, 4)


@pytest.fixture
def process() -> Iterator["subprocess.Popen[bytes]"]:
    started = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    yield started
    started.kill()
    started.wait()


def _never(_spec: QuerySpec) -> Any:
    raise AssertionError("nobody opens a query here")


def draining(
    board: Cells,
    process: "subprocess.Popen[bytes]",
    tmp_path: Path,
    happens: Callable[[int], None],
    goes_on: bool = True,
) -> tuple[Draining, list[int]]:
    """A drain in which time passes by ticks, at each of which something may happen."""
    now = [0]
    job = QueryJob(_never, QuerySpec(*[None] * 23), Hosting(0, 0, (0, 0), 0, False, False))  # type: ignore[arg-type]
    plan = Plan(tmp_path, [], [], [], (), 4, [2, 3], 0, 0, 0, open_sink, query=job)

    def tick() -> None:
        now[0] += TICK
        happens(now[0])

    workers = Workers(board, [Worker("query", "query", (0,), (0,), job, SpawnedProcess(process))])
    return Draining(plan, FakeOffsets(ENDS), workers, lambda: goes_on, tick, lambda: now[0]), now


def test_a_query_is_told_to_end_when_it_has_committed_everything_and_is_waited_for(
    board: Cells, process: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    told: list[int] = []

    def happens(now_ns: int) -> None:
        told.append(int(board.control[Cell.STOP_QUERY]))
        if now_ns == 5 * TICK:
            board.positions[0, :2] = [7, 2]
        if now_ns == 6 * TICK:
            board.positions[0, :2] = [7, 3]
        if now_ns == 9 * TICK:
            board.slots[0, Slot.STATE] = State.FLUSHED

    drain, now = draining(board, process, tmp_path, happens)
    assert drain.await_query(60 * SECOND)
    assert told == [0] * 6 + [1] * 3
    assert now[0] == 9 * TICK


@pytest.mark.parametrize("ends", [[0, 0], [7, 3]])
def test_the_wait_is_bounded(board: Cells, process: "subprocess.Popen[bytes]", tmp_path: Path, ends: list[int]) -> None:
    """Whether it is the work that does not end, or the query."""
    board.positions[0, :2] = ends
    drain, now = draining(board, process, tmp_path, lambda _now: None)
    assert not drain.await_query(3 * SECOND)
    assert now[0] == 3 * SECOND


def test_nobody_waits_for_a_query_that_is_gone(
    board: Cells, process: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    process.kill()
    process.wait()
    drain, now = draining(board, process, tmp_path, lambda _now: None)
    assert not drain.await_query(60 * SECOND)
    assert now[0] == 0


def test_nobody_waits_when_the_user_does_not_want_to(
    board: Cells, process: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    drain, now = draining(board, process, tmp_path, lambda _now: None, goes_on=False)
    assert not drain.await_query(60 * SECOND)
    assert now[0] == 0


def test_a_run_that_sends_nothing_is_through_when_the_query_is(
    board: Cells, process: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    drain, _ = draining(board, process, tmp_path, lambda _now: None)
    assert not drain.is_through([7, 3, 0, 0])
    board.positions[0, :2] = [7, 3]
    assert drain.is_through([7, 3, 0, 0])


def test_a_fault_finds_the_processes_that_a_query_has_now(board: Cells) -> None:
    """A driver that was started again is another process; one that is not there cannot be hit."""
    targets = {target.name: target for target in targets_of_query(board, 0)}
    assert set(targets) == {"driver", "executor-0", "executor-1", "executor-2", "executor-3"}
    assert targets["driver"].ended()
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    board.slots[0, Slot.PROCESSES] = child.pid
    assert not targets["driver"].ended()
    targets["driver"].actions["kill"].begin(FAULT)
    assert child.wait() == -9
    assert targets["executor-2"].meant_by == {"executor", "executors", "executor-2"}
    with pytest.raises(ProcessLookupError, match="executor-2 is not running"):
        targets["executor-2"].actions["pause"].begin(FAULT)


def settling(
    tmp_path: Path,
    happens: Callable[[Cells, FakeOffsets, int], None],
    *,
    tracked: bool = True,
    shares: bool = False,
    redelivers: bool = True,
    dead: bool = False,
) -> tuple[Draining, Cells, list[int]]:
    """A drain of one consumer whose messages come again, of a topic of one partition, and of one tracker; both live.

    A consumer of a second group may have died.
    """
    board, now, offsets = Cells.new(2, 1), [0], FakeOffsets([5])
    board.slots[1, Slot.ASSIGNED] = 1

    def tick() -> None:
        now[0] += TICK
        happens(board, offsets, now[0])

    class Process:
        pid = 1

        def __init__(self, code: int | None = None) -> None:
            self.code = code

        def poll(self) -> int | None:
            return self.code

    def opened() -> Any:
        raise AssertionError("nobody opens a tracker here")

    job = TrackerJob(opened, 0, 0)
    consumer, gone = (
        ConsumerJob(None, (SimpleNamespace(group=group),), hold=False, redelivers=redelivers, shares=shares)  # type: ignore[arg-type]
        for group in (0, 1)
    )
    trackers = [job] if tracked else []
    plan = Plan(tmp_path, [], [consumer], [], (), 1, [0], 0, 0, 0, open_sink, trackers=trackers)
    living: Any = Process()
    killed: Any = Process(-9)
    workers = Workers(board, [
        Worker("consumer-0", "consumer", (0,), (0,), consumer, living),
        *(Worker("tracker-0", "tracker", (0,), (1,), each, living) for each in trackers),
        *([Worker("consumer-1", "consumer", (1,), (1,), gone, killed)] if dead else []),
    ])  # fmt: skip
    return Draining(plan, offsets, workers, lambda: True, tick, lambda: now[0]), board, now


def test_what_is_open_is_waited_for_and_what_is_sent_again_is_read(tmp_path: Path) -> None:
    """It is over when nothing changed for a second."""

    def happens(board: Cells, offsets: FakeOffsets, now_ns: int) -> None:
        if now_ns == 10 * TICK:
            board.slots[1, Slot.BUFFERED] = 0
        if now_ns == 20 * TICK:
            # Sent again: the log is longer, which nobody knows before it is asked.
            offsets.ends = [6]
        if now_ns == 70 * TICK:
            board.positions[0, 0] = 6

    drain, board, now = settling(tmp_path, happens)
    board.slots[1, Slot.BUFFERED], board.positions[0, 0] = 1, 5

    assert drain.await_read(60 * SECOND)
    assert 70 * TICK + SECOND <= now[0] <= 72 * TICK + SECOND


def test_what_stays_open_ends_with_the_limit(tmp_path: Path) -> None:
    drain, board, now = settling(tmp_path, lambda *_: None)
    board.slots[1, Slot.BUFFERED], board.positions[0, 0] = 1, 5

    assert not drain.await_read(3 * SECOND)
    assert now[0] == 3 * SECOND


def test_a_partition_that_no_living_tracker_knows_may_have_something_open(tmp_path: Path) -> None:
    """As in the seconds between the death of a tracker and the rebalance that follows."""

    def happens(board: Cells, _offsets: FakeOffsets, now_ns: int) -> None:
        if now_ns == 50 * TICK:
            board.slots[1, Slot.ASSIGNED] = 1

    drain, board, now = settling(tmp_path, happens)
    board.slots[1, Slot.ASSIGNED], board.positions[0, 0] = 0, 5

    assert drain.await_read(60 * SECOND)
    assert 50 * TICK + SECOND <= now[0] <= 52 * TICK + SECOND


def test_what_failed_is_waited_for_until_it_came_again_from_its_retry_topic(tmp_path: Path) -> None:
    """There are no trackers: the logs grow, and what is not yet written again counts as buffered."""

    def happens(board: Cells, offsets: FakeOffsets, now_ns: int) -> None:
        if now_ns == 10 * TICK:
            board.slots[0, Slot.BUFFERED], offsets.ends = 0, [6]
        if now_ns == 90 * TICK:
            board.positions[0, 0] = 6

    drain, board, now = settling(tmp_path, happens, tracked=False)
    board.slots[0, Slot.BUFFERED], board.positions[0, 0] = 1, 5

    assert drain.await_read(60 * SECOND)
    assert 90 * TICK + SECOND <= now[0] <= 92 * TICK + SECOND


@pytest.mark.parametrize("is_done", [True, False])
def test_a_share_group_is_waited_for_until_every_message_has_its_outcome(tmp_path: Path, is_done: bool) -> None:
    """As the broker tells; where its members read last says nothing."""

    def happens(board: Cells, offsets: FakeOffsets, now_ns: int) -> None:
        if now_ns == 10 * TICK:
            offsets.commits = [[4]]
        if now_ns == 20 * TICK and is_done:
            offsets.commits = [[5]]
        if now_ns == 30 * TICK:
            board.slots[0, Slot.BUFFERED] = 0

    drain, board, now = settling(tmp_path, happens, tracked=False, shares=True)
    board.slots[0, Slot.BUFFERED], board.positions[0, 0] = 1, 5

    assert drain.await_read(2 * SECOND) is is_done
    assert now[0] == (30 * TICK if is_done else 2 * SECOND)


@pytest.mark.parametrize("redelivers", [False, True])
@pytest.mark.parametrize(("committed", "read"), [([5], True), ([4], False), ([None], False)])
def test_a_group_of_which_nobody_lives_has_read_what_it_had_committed(
    tmp_path: Path, committed: list[int | None], read: bool, redelivers: bool
) -> None:
    """The other one is waited for all the same."""

    def happens(board: Cells, offsets: FakeOffsets, now_ns: int) -> None:
        offsets.commits = [[None], committed]
        if now_ns == 10 * TICK:
            board.positions[0, 0] = 5

    drain, _, now = settling(tmp_path, happens, tracked=False, redelivers=redelivers, dead=True)

    assert drain.await_read(60 * SECOND) is read
    assert 10 * TICK <= now[0] < 2 * SECOND


class Silent(FakeOffsets):
    """Brokers that are not back yet: the first questions have no answer."""

    unanswered = 0

    def log_ends(self) -> list[int]:
        self._answered()
        return super().log_ends()

    def committed(self, group: int) -> list[int | None]:
        self._answered()
        return super().committed(group)

    def _answered(self) -> None:
        if Silent.unanswered:
            Silent.unanswered -= 1
            raise BrokerError("log ends were not read")


@pytest.mark.parametrize("redelivers", [False, True])
@pytest.mark.parametrize("dead", [False, True])
def test_brokers_that_a_fault_ended_may_come_back_during_the_drain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, redelivers: bool, dead: bool
) -> None:
    """They are asked again until the limit, and in a run without faults once."""
    monkeypatch.setattr(Silent, "unanswered", 20)

    def happens(board: Cells, _offsets: FakeOffsets, _now_ns: int) -> None:
        board.positions[0, 0] = 5

    drain, _, now = settling(tmp_path, happens, tracked=False, redelivers=redelivers, dead=dead)
    drain.offsets = Silent([5], commits=[[5], [5]])
    with pytest.raises(BrokerError, match="log ends were not read"):
        drain.await_read(60 * SECOND)
    assert now[0] == 0

    drain.plan = replace(drain.plan, faults=["a fault"])  # type: ignore[list-item]
    assert drain.await_read(60 * SECOND)
    assert 19 * TICK <= now[0] <= 3 * SECOND

    Silent.unanswered = 1_000
    with pytest.raises(BrokerError, match="log ends were not read"):
        drain.await_read(now[0] + 4 * SECOND)
    assert now[0] >= 4 * SECOND
