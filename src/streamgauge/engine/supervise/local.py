"""Workers as processes of this machine, with cells in shared memory as their board.

The cells are a file in memory, mapped by every process, whose descriptor the workers are given. The file of a run has a
name, and tells at its end what its cells mean (`engine.supervise.cells`): after the death of all of them, it still says
how many messages were claimed.
"""

import contextlib
import fcntl
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from streamgauge.domain.errors import WorkerError
from streamgauge.engine.board import ALIVE_AT, Cells, Slot, place_of, size_of
from streamgauge.engine.ports.workers import BoardSpec, WorkerSpec
from streamgauge.engine.supervise.cells import describe
from streamgauge.engine.supervise.forks import ForkServer
from streamgauge.engine.worker.main import TOLD_TO_ALL, Start, map_cells
from streamgauge.processes.disk import reserve

_ENVIRONMENT: Final = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Unless the user's says otherwise. By default numpy starts a thread for each core, which takes time; none is used. And
Arrow's jemalloc starts one, though Arrow uses another allocator: a process with threads had better not be forked."""
_START: Final = "from streamgauge.engine.worker.main import main; main()"
_OBSERVERS: Final = "streamgauge.engine.worker.observers"
"""Every run has some."""
_FORKS: Final = sys.platform == "linux"
"""Elsewhere libraries of the system do not survive a fork."""


@dataclass(slots=True)
class LocalLauncher:
    """Starts processes that share a file in memory, a new one of the name `file`, or one that nobody else finds.

    The file is locked as long as a process has its descriptor.
    """

    file: Path | None = None
    modules: Sequence[str] = ()
    """What workers load, beside what each of them needs."""
    forks: bool = _FORKS
    """Whether a fork server makes workers, or each is a new process that loads all it needs."""
    _descriptor: int = -1
    _shape: tuple[int, int, int] = (0, 0, 0)
    _server: ForkServer | None = None

    def load(self) -> None:
        """Begin to load what workers need, while others do something else; returns at once. Raises WorkerError."""
        try:
            self._begin_server()
        except OSError as error:
            raise WorkerError(f"no process for workers could be started: {error.strerror}") from error

    def _begin_server(self) -> ForkServer | None:
        if self.forks and self._server is None:
            with not_for_children():
                self._server = ForkServer.begin((_OBSERVERS, *self.modules), _ENVIRONMENT | os.environ)
        return self._server

    def board(self, spec: BoardSpec) -> Cells:
        """New cells, all zero, behind which stands whose they are; raises WorkerError where they cannot be made."""
        self._shape = (spec.clients, spec.places, spec.groups)
        size = size_of(*self._shape)
        next_seqs_at = {number: place_of(row, Slot.NEXT_SEQ) for number, row in spec.producers.items()}
        try:
            with _unnamed() if self.file is None else named_memory(self.file) as descriptor:
                # Cells that found no room in memory would end their writer with a signal.
                reserve(descriptor, size)
                os.pwrite(descriptor, describe(str(spec.run.absolute()), ALIVE_AT, next_seqs_at), size)
                self._descriptor = os.dup(descriptor)
        except OSError as error:
            where = self.file or memory_folder()
            raise WorkerError(f"{where}: shared memory cannot be allocated: {error.strerror}") from error
        return map_cells(self._descriptor, self._shape)

    def start(self, spec: WorkerSpec) -> "ForkedProcess | SpawnedProcess":
        """Start a process and send it its specification; what it prints goes to a log of its name.

        Raises WorkerError where it cannot be started: there may be no process to be had, or no room for its log.
        """
        start = pickle.dumps(Start(spec, self._shape))
        try:
            with (spec.run / "logs" / f"{spec.name}.log").open("wb") as log:
                if server := self._begin_server():
                    return ForkedProcess(server.fork(start, log.fileno(), self._descriptor), server)
                return self._spawned(start, log)
        except OSError as error:
            raise WorkerError(f"{spec.name} could not be started: {error.strerror}") from error

    def _spawned(self, start: bytes, log: IO[bytes]) -> "SpawnedProcess":
        with not_for_children():
            process = subprocess.Popen(
                [sys.executable, "-c", _START, str(self._descriptor), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(self._descriptor,),
                env=_ENVIRONMENT | os.environ,
            )
        if process.stdin:
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(start)
        return SpawnedProcess(process)

    def close(self) -> None:
        """End the fork server, and close the descriptor; the memory goes with the last view of it."""
        if self._server:
            self._server.close()
            self._server = None
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@dataclass(frozen=True, slots=True)
class ForkedProcess:
    """A process that a fork server made."""

    pid: int
    server: ForkServer

    def poll(self) -> int | None:
        """How it ended, negative for a signal; None while it lives."""
        return self.server.code(self.pid)

    def signal(self, number: int) -> None:
        """Send it a signal; nothing if it has ended."""
        self.server.signal(self.pid, number)

    def end(self) -> None:
        """Kill it if it lives, and wait until it is gone."""
        self.server.end(self.pid)


@dataclass(frozen=True, slots=True)
class SpawnedProcess:
    """A process that was started here."""

    process: "subprocess.Popen[bytes]"

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid

    def poll(self) -> int | None:
        """How it ended, negative for a signal; None while it lives."""
        return self.process.poll()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def end(self) -> None:
        """Kill it if it lives, and wait until it is gone."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def not_for_children() -> Iterator[None]:
    """Let processes that are started meanwhile not hear what a terminal tells everyone: it is the parent's to decide.

    They inherit what is blocked, so that there is no moment before they could say so themselves.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, TOLD_TO_ALL)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _unnamed() -> Iterator[int]:
    with tempfile.TemporaryFile(dir=memory_folder()) as file:
        yield file.fileno()


@contextlib.contextmanager
def named_memory(file: Path) -> Iterator[int]:
    """A new file that is locked before anybody can find it by its name, for as long as its descriptor is kept."""
    draft = file.with_name(f"_{file.name}")
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield descriptor
        draft.rename(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def memory_folder() -> Path:
    """Where files are kept in memory; the folder for temporary files where the system has no such place."""
    memory = Path("/dev/shm")  # noqa: S108 - names in it are made to be new
    return memory if memory.is_dir() and os.access(memory, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
