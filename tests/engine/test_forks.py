"""The fork server: what becomes of it, of its workers and of its parent, whoever ends first."""

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
from tests.engine.test_launcher import spec, until

from streamgauge.domain.clock import sleep_seconds
from streamgauge.domain.errors import WorkerError
from streamgauge.engine.board import Order, State
from streamgauge.engine.ports.workers import Board, BoardSpec
from streamgauge.engine.supervise.forks import ForkServer
from streamgauge.engine.supervise.local import LocalLauncher
from streamgauge.engine.worker import forking

pytestmark = pytest.mark.slow

ENVIRONMENT: Final = dict(os.environ)


@pytest.fixture
def launcher() -> Iterator[LocalLauncher]:
    made = LocalLauncher(forks=True)
    yield made
    made.close()


@pytest.fixture
def board(launcher: LocalLauncher, tmp_path: Path) -> Board:
    (tmp_path / "logs").mkdir()
    return launcher.board(BoardSpec(tmp_path, 2, 3, 1, {0: 0}))


def children() -> list[psutil.Process]:
    return psutil.Process().children()


def test_workers_are_children_of_one_server_which_ends_with_the_launcher(
    launcher: LocalLauncher, board: Board, tmp_path: Path
) -> None:
    before = children()
    launcher.load()
    workers = [launcher.start(spec(tmp_path, row)) for row in (0, 1)]
    (server,) = [each for each in children() if each not in before]
    assert {each.pid for each in server.children()} == {each.pid for each in workers}
    board.give(Order.FINISH)
    until(launcher, lambda: all(each.poll() == 0 for each in workers))

    # Nobody has to ask for a process that is known to have ended.
    until(launcher, lambda: not server.children())
    launcher.close()
    assert children() == before


def test_a_server_has_one_thread(launcher: LocalLauncher, board: Board, tmp_path: Path) -> None:
    """One with several would fork workers with locks that nobody releases. A worker watches its parent beside."""
    launcher.modules = ("streamgauge.kafka.clients.producer", "streamgauge.record.corpus", "pyarrow.compute")
    worker = launcher.start(spec(tmp_path))
    until(launcher, lambda: board.state(0) == State.READY)
    assert psutil.Process(worker.pid).parent().num_threads() == 1  # type: ignore[union-attr]
    assert psutil.Process(worker.pid).num_threads() == 2


def test_workers_end_the_run_when_their_server_is_killed(launcher: LocalLauncher, board: Board, tmp_path: Path) -> None:
    """Also one that was stopped, in order: what they have is written. How they end is not told any more."""
    workers = [launcher.start(spec(tmp_path, row)) for row in (0, 1)]
    processes = [psutil.Process(each.pid) for each in workers]
    until(launcher, lambda: board.state(0) == board.state(1) == State.READY)
    workers[1].signal(signal.SIGSTOP)
    psutil.Process(workers[0].pid).parent().kill()  # type: ignore[union-attr]

    until(launcher, lambda: all(each.poll() is not None for each in workers))
    assert psutil.wait_procs(processes, 60)[1] == []
    assert [each.poll() for each in workers] == [1, 1]
    assert board.order == Order.ABORT
    assert board.state(0) == board.state(1) == State.DONE
    workers[0].signal(signal.SIGKILL)
    workers[0].end()
    with pytest.raises(WorkerError, match="waiter-0 could not be started: the fork server ended with exit code -9"):
        launcher.start(spec(tmp_path))


def test_a_worker_without_its_server_is_ended_by_force(launcher: LocalLauncher, board: Board, tmp_path: Path) -> None:
    worker = launcher.start(spec(tmp_path))
    until(launcher, lambda: board.state(0) == State.READY)
    process = psutil.Process(worker.pid)
    process.parent().kill()  # type: ignore[union-attr]
    worker.end()
    assert worker.poll() == 1
    assert psutil.wait_procs([process], 60)[1] == []


def test_a_server_that_forked_nobody_is_not_waited_for(tmp_path: Path) -> None:
    """It loads a module that takes for ever."""
    (tmp_path / "endless.py").write_text("import time; time.sleep(600)")
    server = ForkServer.begin(
        ("endless",), {**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    )
    server.close()
    assert server.process.returncode == -signal.SIGKILL


def test_a_server_that_cannot_load_what_it_should_says_why(
    launcher: LocalLauncher, board: Board, tmp_path: Path
) -> None:
    launcher.modules = ("no_such_module",)
    launcher.load()
    with pytest.raises(WorkerError, match="waiter-0 could not be started: ModuleNotFoundError: No module named 'no_s"):
        launcher.start(spec(tmp_path))


def test_without_a_process_for_the_server_nothing_is_loaded(
    launcher: LocalLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(subprocess, "Popen", none_left)
    with pytest.raises(WorkerError, match="no process for workers could be started: Resource temporarily unavailable"):
        launcher.load()


def test_a_worker_that_cannot_be_forked_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server goes on."""

    def none_left() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    ours, its = socket.socketpair()
    process: Any = None
    server = ForkServer(process, ours)
    monkeypatch.setattr(os, "fork", none_left)
    with its, ours, (tmp_path / "log").open("wb") as log:
        for _ in range(2):
            answering = threading.Thread(target=forking.Forking(its).answer)
            answering.start()
            with pytest.raises(BlockingIOError, match="Resource temporarily unavailable"):
                server.fork(b"told", log.fileno(), log.fileno())
            answering.join()


def ended(says: Callable[[ForkServer, int], None], log: Path) -> int:
    """How a server ended that somebody did something to."""
    server = ForkServer.begin((), ENVIRONMENT)
    with log.open("wb") as file:
        says(server, file.fileno())
    server.connection.close()
    code = server.process.wait(60)
    server.close()
    return code


@pytest.mark.parametrize(
    "says",
    [
        pytest.param(lambda server, log: None, id="nothing"),
        pytest.param(lambda server, log: server.connection.sendall(b"\0"), id="less than a request"),
        pytest.param(
            lambda server, log: socket.send_fds(server.connection, [forking.REQUEST.pack(0, 9)], [log, log]),
            id="less than it said",
        ),
    ],
)
def test_a_server_whose_parent_is_gone_ends(says: Callable[[ForkServer, int], None], tmp_path: Path) -> None:
    """Whatever it was told last."""
    assert ended(says, tmp_path / "log") == 0


def test_a_worker_that_is_told_nonsense_says_so_in_its_log(tmp_path: Path) -> None:
    server = ForkServer.begin((), ENVIRONMENT)
    with (tmp_path / "log").open("wb") as log:
        pid = server.fork(b"nonsense", log.fileno(), log.fileno())
        while server.code(pid) is None:
            sleep_seconds(0.01)
    server.close()
    assert server.code(pid) == 1
    assert "UnpicklingError" in (tmp_path / "log").read_text()


def test_what_a_terminal_tells_everyone_is_no_end_of_a_server(tmp_path: Path) -> None:
    """It has what is blocked from its parent, and workers have it from the server until they ignore it."""
    launcher = LocalLauncher(forks=True)
    (tmp_path / "logs").mkdir()
    board = launcher.board(BoardSpec(tmp_path, 1, 1, 1, {}))
    worker = launcher.start(spec(tmp_path))
    until(launcher, lambda: board.state(0) == State.READY)
    server = psutil.Process(worker.pid).parent()
    assert server
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        server.send_signal(number)
        worker.signal(number)
    board.give(Order.FINISH)
    until(launcher, lambda: worker.poll() is not None)
    assert (worker.poll(), server.is_running()) == (0, True)
    launcher.close()


def test_a_run_whose_supervisor_is_killed_leaves_no_process(tmp_path: Path) -> None:
    """Neither the server, nor a worker that was stopped."""
    program = f"""
import signal, sys, time
from pathlib import Path
from tests.engine.test_launcher import spec
from streamgauge.engine.board import State
from streamgauge.engine.ports.workers import BoardSpec
from streamgauge.engine.supervise.local import LocalLauncher
run = Path({str(tmp_path)!r})
launcher = LocalLauncher(forks=True)
board = launcher.board(BoardSpec(run, 2, 3, 1, {{}}))
workers = [launcher.start(spec(run, row)) for row in (0, 1)]
while board.state(0) < State.READY or board.state(1) < State.READY:
    time.sleep(0.01)
workers[0].signal(signal.SIGSTOP)
print("ready", flush=True)
time.sleep(600)
"""
    (tmp_path / "logs").mkdir()
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == "ready\n"
        family = psutil.Process(parent.pid).children(recursive=True)
        parent.kill()
    gone, alive = psutil.wait_procs(family, 60)
    for each in alive:
        each.kill()
    assert (len(gone), alive) == (3, [])
