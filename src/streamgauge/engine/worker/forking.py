"""The fork server of a run: it has loaded what workers need, and forks a worker for each specification.

Half a dozen processes that load the same modules take the cores of a small machine for more than a second, before each
run. This one loads them once, while the cluster prepares topics.

Started as `python -c "from streamgauge.engine.worker.forking import main; main()" DESCRIPTOR MODULE...`. It talks with
its parent through a socket: it is sent what a worker is to know, with the descriptors of its log and of the cells, and
tells the number of its process, and later how that ended. It ends with its parent, or when that closes the socket.
"""

import contextlib
import gc
import importlib
import os
import pickle
import select
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NoReturn

from streamgauge.engine.worker.main import Start, work

REQUEST: Final = struct.Struct("=bQ")
"""What is asked, and how many bytes follow; or, to forget a process, its number."""
ANSWER: Final = struct.Struct("=bqq")
"""What is told, of which process, and a number: how it ended, or why there is none."""


class ForkRequest(IntEnum):
    """What the parent wants."""

    FORK = 0
    FORGET = 1
    """A process has ended, and the parent knows it: its number may be used again."""


class ForkAnswer(IntEnum):
    """What the server says."""

    FORKED = 0
    REFUSED = 1
    """The number is that of the error."""
    ENDED = 2
    """The number is its exit code, negative for a signal."""


def main() -> NoReturn:
    """Load the modules, then fork until the parent is gone."""
    descriptor, *modules = sys.argv[1:]
    for name in modules:
        importlib.import_module(name)

    # What is loaded is not looked at again, and so not copied by a collection in a worker.
    gc.collect()
    gc.freeze()
    Forking(socket.socket(fileno=int(descriptor))).serve()


@dataclass(slots=True)
class Forking:
    """Forks workers as it is asked to through a socket."""

    connection: socket.socket
    wakes: tuple[int, ...] = ()
    """Descriptors by which it is woken when a process ends, which are not for workers."""
    alive: list[int] = field(default_factory=list)

    def serve(self) -> NoReturn:
        """Answer, and tell of processes that have ended, until the parent is gone."""
        woken, wakes = os.pipe()
        self.wakes = woken, wakes
        for each in self.wakes:
            os.set_blocking(each, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            ready = select.select([self.connection.fileno(), woken], [], [])[0]
            if woken in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(woken, 1 << 10)
                self._tell_ended()
            if self.connection.fileno() in ready:
                self.answer()

    def answer(self) -> None:
        """Do what is asked next; ends the process where nobody asks any more: workers see that, and end the run."""
        try:
            head, descriptors, _, _ = socket.recv_fds(self.connection, REQUEST.size, 2)
        except OSError:
            head, descriptors = b"", []
        asked, number = REQUEST.unpack(head + self._receive(REQUEST.size - len(head)))
        if asked == ForkRequest.FORGET:
            os.waitpid(number, 0)
            return
        self._fork(self._receive(number), descriptors)
        for each in descriptors:
            os.close(each)

    def _fork(self, told: bytes, descriptors: Sequence[int]) -> None:
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            self._tell(ForkAnswer.REFUSED, 0, error.errno or 0)
            return
        if pid == 0:
            self.connection.close()
            for each in self.wakes:
                os.close(each)
            _become_worker(told, server, *descriptors)
        self.alive.append(pid)
        self._tell(ForkAnswer.FORKED, pid)

    def _tell_ended(self) -> None:
        """Tell of processes that have ended. Each is a zombie until the parent knows it: it must signal no other."""
        for pid in [*self.alive]:
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                self.alive.remove(pid)
                code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
                self._tell(ForkAnswer.ENDED, pid, code)

    def _tell(self, what: ForkAnswer, pid: int, number: int = 0) -> None:
        try:
            self.connection.sendall(ANSWER.pack(what, pid, number))
        except OSError:
            os._exit(0)

    def _receive(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            try:
                part = self.connection.recv(min(size - len(found), 1 << 20))
            except OSError:
                part = b""
            if not part:
                os._exit(0)
            found += part
        return bytes(found)


def _become_worker(told: bytes, server: int, log: int, cells: int) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for standard in (1, 2):
            os.dup2(log, standard)
        os.close(log)
        start: Start = pickle.loads(told)  # noqa: S301 - written by the parent, through its own socket
        code = work(start, cells, server)
    except BaseException:  # noqa: BLE001 - as Python does at the end of a program
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # What a client still tries to say to a broker that is gone must not keep the process.
        os._exit(code)
