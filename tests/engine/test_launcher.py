"""The contract of a launcher: the one that starts processes of this machine and the one that plays them keep it."""

import errno
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import WorkerError
from streamgauge.engine.board import Order, Slot, State
from streamgauge.engine.ports.workers import Board, BoardSpec, Launcher, WorkerSpec
from streamgauge.engine.supervise.fake import FakeLauncher
from streamgauge.engine.supervise.local import LocalLauncher
from streamgauge.engine.worker.context import Context
from streamgauge.record.parts import open_sink

PATIENCE_NS = 120 * NS_PER_SECOND


@dataclass(frozen=True)
class Waits:
    """A job that is ready at once, or when it could join, and ends with the run, or fails with a reason."""

    fails: bool = False
    joins: bool = False

    def run(self, context: Context) -> None:
        if self.fails:
            raise WorkerError("no room")
        if self.joins:
            context.await_join()
        context.ready()
        while context.order() < Order.FINISH:
            clock.sleep_seconds(0.005)


@dataclass(frozen=True)
class TellsThreads:
    """A job that tells how many threads numpy may have."""

    def run(self, _context: Context) -> None:
        raise WorkerError(os.environ["OPENBLAS_NUM_THREADS"])


@pytest.fixture(params=["fake", *(pytest.param(each, marks=pytest.mark.slow) for each in ("forks", "spawns"))])
def launcher(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    made = FakeLauncher() if request.param == "fake" else LocalLauncher(forks=request.param == "forks")
    yield made
    made.close()


@pytest.fixture
def board(launcher: Launcher, tmp_path: Path) -> Board:
    (tmp_path / "logs").mkdir()
    return launcher.board(BoardSpec(tmp_path, 2, 3, 1, {0: 0}))


def spec(run: Path, row: int = 0, *, fails: bool = False) -> WorkerSpec:
    return WorkerSpec(f"waiter-{row}", (row,), run, open_sink, Waits(fails))


def until(launcher: Launcher, reached: Callable[[], object]) -> None:
    """Let time pass, the launcher's own where it has one."""
    limit_ns = clock.monotonic_ns() + PATIENCE_NS
    while not reached():
        assert clock.monotonic_ns() < limit_ns
        (launcher.sleep if isinstance(launcher, FakeLauncher) else clock.sleep_seconds)(0.02)


def test_a_worker_shares_the_board_and_ends_with_the_run(launcher: Launcher, board: Board, tmp_path: Path) -> None:
    """Each tells its state in rows of its own."""
    workers = [launcher.start(spec(tmp_path, row)) for row in (0, 1)]
    assert [worker.poll() for worker in workers] == [None, None]
    until(launcher, lambda: board.state(0) == board.state(1) == State.READY)
    assert len({worker.pid for worker in workers}) == 2
    board.give(Order.FINISH)
    until(launcher, lambda: all(worker.poll() is not None for worker in workers))

    assert [worker.poll() for worker in workers] == [0, 0]
    assert board.slots[:, Slot.STATE].tolist() == [State.DONE, State.DONE]
    for worker in workers:
        worker.signal(signal.SIGKILL)
        worker.end()
    assert [worker.poll() for worker in workers] == [0, 0]


@pytest.mark.parametrize("role", ["consumer", "tracker"])
def test_who_joins_a_group_waits_for_the_order(launcher: Launcher, board: Board, tmp_path: Path, role: str) -> None:
    """Others are ready before."""
    joining = launcher.start(WorkerSpec(f"{role}-0", (0,), tmp_path, open_sink, Waits(joins=True)))
    other = launcher.start(spec(tmp_path, 1))
    until(launcher, lambda: board.state(0) == State.JOINING and board.state(1) == State.READY)
    board.give(Order.JOIN)
    until(launcher, lambda: board.state(0) == State.READY)
    board.give(Order.FINISH)
    until(launcher, lambda: joining.poll() == other.poll() == 0)


def test_a_worker_is_stopped_goes_on_and_is_killed(launcher: Launcher, board: Board, tmp_path: Path) -> None:
    """By signals, as a fault does it, and by force."""
    first, second = (launcher.start(spec(tmp_path, row)) for row in (0, 1))
    until(launcher, lambda: board.state(0) == board.state(1) == State.READY)
    first.signal(signal.SIGSTOP)
    board.give(Order.FINISH)
    until(launcher, lambda: second.poll() == 0)
    assert first.poll() is None
    first.signal(signal.SIGCONT)
    until(launcher, lambda: first.poll() == 0)

    third = launcher.start(spec(tmp_path))
    third.end()
    assert third.poll() == -signal.SIGKILL


@pytest.mark.slow
def test_a_local_worker_that_fails_leaves_its_reason(tmp_path: Path) -> None:
    """On the board, and in the log of its name what it printed."""
    (tmp_path / "logs").mkdir()
    launcher = LocalLauncher()
    board = launcher.board(BoardSpec(tmp_path, 1, 1, 1, {}))
    worker = launcher.start(spec(tmp_path, fails=True))
    until(launcher, lambda: worker.poll() is not None)

    assert (worker.poll(), board.said(0)) == (1, "no room")
    assert (tmp_path / "logs" / "waiter-0.log").exists()
    launcher.close()


@pytest.mark.slow
@pytest.mark.parametrize(("users", "told"), [(None, "1"), ("4", "4")])
def test_numpy_has_one_thread_in_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, users: str | None, told: str
) -> None:
    """Unless the user says otherwise: functions of theirs run here."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if users:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", users)
    (tmp_path / "logs").mkdir()
    launcher = LocalLauncher()
    board = launcher.board(BoardSpec(tmp_path, 1, 1, 1, {}))
    worker = launcher.start(WorkerSpec("teller-0", (0,), tmp_path, open_sink, TellsThreads()))
    until(launcher, lambda: worker.poll() is not None)

    assert board.said(0) == told
    launcher.close()


def test_a_worker_that_cannot_be_started_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As there is no process to be had, or no room for its log."""
    launcher = LocalLauncher()
    launcher.board(BoardSpec(tmp_path, 1, 1, 1, {}))
    with pytest.raises(WorkerError, match="waiter-0 could not be started: No such file"):
        launcher.start(spec(tmp_path))

    def none_left(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    (tmp_path / "logs").mkdir()
    monkeypatch.setattr(subprocess, "Popen", none_left)
    with pytest.raises(WorkerError, match="waiter-0 could not be started: Resource temporarily unavailable"):
        launcher.start(spec(tmp_path))
    launcher.close()


def test_a_board_for_which_there_is_no_room_is_told(tmp_path: Path) -> None:
    """Of a file that cannot be made, before any worker starts."""
    with pytest.raises(WorkerError, match="nowhere/cells: shared memory cannot be allocated: No such file"):
        LocalLauncher(tmp_path / "nowhere" / "cells").board(BoardSpec(tmp_path, 1, 1, 1, {}))
