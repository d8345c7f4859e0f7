"""A fork server as the launcher sees it: it forks workers, and tells how they ended."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import psutil

from streamgauge.engine.worker.forking import ANSWER, REQUEST, ForkAnswer, ForkRequest

_START: Final = "from streamgauge.engine.worker.forking import main; main()"
_NOT_TOLD: Final = 1
"""How workers ended whose server was killed: they end the run, and nobody tells more."""
_PATIENCE_SECONDS: Final = 10
_LOOK_SECONDS: Final = 0.01


@dataclass(slots=True)
class ForkServer:
    """A process that forks workers."""

    process: "subprocess.Popen[bytes]"
    connection: socket.socket
    _codes: dict[int, int | None] = field(default_factory=dict)
    """Of each process that it forked how it ended; None while it lives."""
    _rest: bytes = b""
    _is_gone: bool = False
    """Then nobody tells any more how its workers end, which see it, and end the run."""

    @classmethod
    def begin(cls, modules: Sequence[str], environment: Mapping[str, str]) -> "ForkServer":
        """Start a server that loads these modules; returns at once. Raises OSError where there is no process."""
        ours, its = socket.socketpair()
        try:
            with its:
                process = subprocess.Popen(
                    [sys.executable, "-c", _START, str(its.fileno()), *modules],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    pass_fds=(its.fileno(),),
                    env=environment,
                )
        except BaseException:
            ours.close()
            raise
        return cls(process, ours)

    def fork(self, told: bytes, log: int, cells: int) -> int:
        """The number of a new worker that is told so much; its descriptors are copies of these. Raises OSError."""
        try:
            socket.send_fds(self.connection, [REQUEST.pack(ForkRequest.FORK, len(told))], [log, cells])
            self.connection.sendall(told)
        except OSError as error:
            raise self._failed() from error
        while (answer := self._next(block=True)) is not None:
            what, pid, number = answer
            if what == ForkAnswer.REFUSED:
                raise OSError(number, os.strerror(number))
            if what == ForkAnswer.FORKED:
                return pid
        raise self._failed()

    def code(self, pid: int) -> int | None:
        """How a worker ended, negative for a signal; None while it lives."""
        while self._next(block=False) is not None:
            pass
        if self._is_gone and self._codes[pid] is None and not _exists(pid):
            self._codes[pid] = _NOT_TOLD
        return self._codes[pid]

    def signal(self, pid: int, number: int) -> None:
        """Send a worker a signal; nothing if it has ended."""
        if self.code(pid) is None:
            os.kill(pid, number)

    def end(self, pid: int) -> None:
        """Kill a worker if it lives, and wait until it is gone."""
        self.signal(pid, signal.SIGKILL)
        while self.code(pid) is None:
            # A server that is gone has nothing to say.
            select.select([] if self._is_gone else [self.connection], [], [], _LOOK_SECONDS if self._is_gone else None)

    def close(self) -> None:
        """End the server; workers that still live end by themselves."""
        self.connection.close()
        self._is_gone = True
        if not self._codes:
            # It may still be loading what nobody needs any more.
            self.process.kill()
        try:
            self.process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()

    def _next(self, *, block: bool) -> tuple[int, int, int] | None:
        """What the server says next; None where it says nothing, or is gone. What has ended is noted."""
        flags = 0 if block else socket.MSG_DONTWAIT
        while len(self._rest) < ANSWER.size:
            try:
                part = b"" if self._is_gone else self.connection.recv(ANSWER.size - len(self._rest), flags)
            except BlockingIOError:
                return None
            except ConnectionError:
                part = b""
            if not part:
                self._is_gone = True
                return None
            self._rest += part
        found: tuple[int, int, int] = ANSWER.unpack(self._rest)
        self._rest = b""
        what, pid, number = found
        if what == ForkAnswer.FORKED:
            self._codes[pid] = None
        if what == ForkAnswer.ENDED:
            self._codes[pid] = number
            self._forget(pid)
        return found

    def _forget(self, pid: int) -> None:
        try:
            self.connection.sendall(REQUEST.pack(ForkRequest.FORGET, pid))
        except OSError:
            self._is_gone = True

    def _failed(self) -> OSError:
        """Why the server is gone, as far as it said."""
        _, said = self.process.communicate()
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        return OSError(0, last or f"the fork server ended with exit code {self.process.returncode}")


def _exists(pid: int) -> bool:
    """Whether a process that is not ours lives; who should take note of its end may never do so."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
