"""A JVM's compiler threads: how busy they are, and how soon they get a core.

Linux only; elsewhere nobody knows how busy they are, and they keep the priority that they have.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from streamgauge.processes.cpu.counters import risen

NICE: Final = 19
"""The lowest priority: a core that nobody else wants, and 1.5 % of one that somebody does."""
COMPILERS: Final = ("C1 Compiler", "C2 Compiler")
"""How the names of HotSpot's compiler threads begin."""
_PROC: Final = Path("/proc")


def compilers_of(pid: int, root: Path = _PROC) -> list[int]:
    """The compiler threads of a JVM; none where the system does not name threads, or the process is gone."""
    found = []
    with contextlib.suppress(OSError):
        for thread in (root / str(pid) / "task").iterdir():
            with contextlib.suppress(OSError):
                if (thread / "comm").read_text(encoding="utf-8", errors="replace").startswith(COMPILERS):
                    found.append(int(thread.name))
    return sorted(found)


def compile_when_idle(pid: int) -> None:
    """Let the JVM of this process compile when nobody else wants a core. Needs no privilege; what is refused stays."""
    for thread in compilers_of(pid):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, NICE)


class CompilerTime:
    """The CPU time that the compiler threads of some JVMs have used."""

    def __init__(self, pids: Iterable[int], root: Path = _PROC) -> None:
        self._pids = tuple(pids)
        self._root = root
        self._last: dict[tuple[int, int], int] = {}
        self._total_ns: int | None = None

    def used_ns(self) -> int | None:
        """So far; None where the system does not count it. A JVM ends such threads when they have nothing to do."""
        seen = {
            (pid, thread): used
            for pid in self._pids
            for thread in compilers_of(pid, self._root)
            if (used := self._used_ns(pid, thread)) is not None
        }
        if seen:
            more = sum(risen(used, self._last.get(thread, 0)) for thread, used in seen.items())
            self._total_ns = (self._total_ns or 0) + more
        self._last = seen
        return self._total_ns

    def _used_ns(self, pid: int, thread: int) -> int | None:
        """The first number of `schedstat`; None where there is none, or the thread is gone."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int((self._root / str(pid) / "task" / str(thread) / "schedstat").read_text().split()[0])
        return None
