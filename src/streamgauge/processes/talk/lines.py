"""The process of a query and its parent: one tells news on its standard output, the other orders on its standard input.

Each is a line, as processes/talk/news.py writes it. The end of the input is an order to stop: the parent is gone.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from streamgauge.domain.query import News
from streamgauge.processes.talk.news import STOP, Processes, read, written

_READ_BYTES: Final = 1 << 16


class Child:
    """A Python process that is told orders and tells news; it may be started again when it is over.

    No method waits, but for `kill` and `close`, which wait for a process that is killed.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        """`arguments` follow the name of the interpreter."""
        self._command = [sys.executable, *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._processes: Mapping[str, int] = {}

    def start(self, order: str, log: Path) -> None:
        """Start it and tell it its first order; news that were not asked for are forgotten. Raises OSError."""
        self.close()
        self._rest, self._processes = b"", {}
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                # Ctrl-C in the terminal is not for it to hear.
                start_new_session=True,
            )
        os.set_blocking(_pipe(self._process.stdout).fileno(), False)
        self.say(order)

    def say(self, order: str) -> None:
        """Tell it; one that has died hears nothing."""
        if self._process is not None and not _pipe(self._process.stdin).closed:
            pipe = _pipe(self._process.stdin)
            with contextlib.suppress(BrokenPipeError):
                pipe.write(order.encode() + b"\n")
                pipe.flush()

    def news(self) -> list[News]:
        """What it told since the last call, also when it has died since; half a line waits for its other half."""
        if self._process is None or _pipe(self._process.stdout).closed:
            return []
        pipe = _pipe(self._process.stdout).fileno()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(pipe, _READ_BYTES):
                self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        said = [read(line.decode()) for line in lines]
        for each in said:
            if isinstance(each, Processes):
                self._processes = each.found
        return [each for each in said if not isinstance(each, Processes)]

    def processes(self) -> Mapping[str, int]:
        """Names and process ids of what carries the query out, by what it told last; nothing when it has ended."""
        return self._processes if self.alive() else {}

    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How it ended, negative for a signal; None while it lives, and before it was started."""
        return self._process.poll() if self._process else None

    @property
    def pid(self) -> int | None:
        """Its process id, also when it has ended; None before it was started."""
        return self._process.pid if self._process else None

    def kill(self) -> None:
        """End it at once, and all that it started."""
        if self._process is None or self._process.poll() is not None:
            return
        # It leads a group of its own, which what it starts belongs to.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """End it if it still runs; its news are gone."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout) if self._process else ():
            with contextlib.suppress(BrokenPipeError):
                _pipe(pipe).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


@dataclass(slots=True)
class Told:
    """Where the news of a child go, from whichever thread."""

    descriptor: int
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, news: News | Processes) -> None:
        """Write one line; a parent that is gone hears nothing."""
        line = written(news).encode() + b"\n"
        with self._lock:
            try:
                while line:
                    line = line[os.write(self.descriptor, line) :]
            except BrokenPipeError:
                return


@dataclass(slots=True)
class Orders:
    """What a child is told, read without a buffer that would hide lines from `select`."""

    descriptor: int
    _rest: bytes = b""

    def first(self) -> str:
        """The first order, waited for."""
        while b"\n" not in self._rest and (data := os.read(self.descriptor, _READ_BYTES)):
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def next(self, *, heard: bool) -> list[str]:
        """The orders that have come, those behind the first included; `heard` says that there is something to read.

        Where nobody is there any more, the one that asks for the end.
        """
        if heard:
            data = os.read(self.descriptor, _READ_BYTES)
            if not data:
                return [STOP]
            self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        return [line.decode() for line in lines]

    def await_stop(self) -> None:
        """Wait until the end is asked for; whatever else is asked for is passed over."""
        orders = self.next(heard=False)
        while STOP not in orders:
            orders = self.next(heard=True)
