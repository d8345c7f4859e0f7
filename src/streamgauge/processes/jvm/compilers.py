"""How soon a JVM's compiler threads get a core. Linux only; elsewhere they keep the priority that they have."""

import contextlib
import os
from pathlib import Path
from typing import Final

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
