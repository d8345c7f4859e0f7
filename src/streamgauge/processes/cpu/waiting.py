"""How long the threads of a process, and the machine, wait for the CPU: what Linux counts in /proc.

`/proc/PID/task/TID/schedstat` says how long a thread was ready to run and had no core (run delay), `status` how often
it lost its core before it wanted to wait (involuntary context switches), `/proc/pressure` for how long at least one
task of the machine waited for a resource. What a kernel does not count is None.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from streamgauge.domain.clock import NS_PER_US
from streamgauge.processes.cpu.counters import risen
from streamgauge.processes.jvm.compilers import COMPILERS

CLIENT_THREADS: Final = "rdk:"
"""How the names of librdkafka's threads begin."""
RESOURCES: Final = ("cpu", "io", "memory")

_PROC: Final = Path("/proc")


class Waited(NamedTuple):
    """What threads have waited for the CPU so far."""

    run_delay_ns: int
    """Ready to run, and without a core: all threads but those of the client, and a JVM's compilers."""
    client_run_delay_ns: int
    """The same of the threads of the Kafka client (librdkafka)."""
    switches: int | None
    """Involuntary context switches of all threads; None where they are not looked at."""


class Pressure(NamedTuple):
    """For how long so far at least one task of the machine waited for each resource, in ns; None where not counted."""

    cpu_ns: int | None = None
    io_ns: int | None = None
    memory_ns: int | None = None


@dataclass(slots=True)
class Threads:
    """The threads of one process. What threads waited that have ended meanwhile is kept."""

    pid: int
    with_switches: bool = True
    """Whether context switches are looked at: of a JVM with a hundred threads that costs three times as much."""
    root: Path = _PROC
    _names: dict[str, str] = field(default_factory=dict)
    _last: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each thread, run delay and switches at the last look."""
    _total: Waited = Waited(0, 0, 0)  # noqa: RUF009 - immutable

    def waited(self) -> Waited | None:
        """What they have waited so far; None where the kernel does not count it, or the process is gone."""
        try:
            threads = [each.name for each in (self.root / str(self.pid) / "task").iterdir()]
        except OSError:
            return None
        seen = {thread: found for thread in threads if (found := self._look(thread)) is not None}
        if not seen:
            return None
        own_ns, client_ns, switches = self._total
        for thread, (delay_ns, switched) in seen.items():
            before_ns, before = self._last.get(thread, (0, 0))
            if self._names[thread].startswith(CLIENT_THREADS):
                client_ns += risen(delay_ns, before_ns)
            elif not self._names[thread].startswith(COMPILERS):
                # Nothing waits for a compiler: meanwhile the code runs as it did before.
                own_ns += risen(delay_ns, before_ns)
            switches = (switches or 0) + risen(switched, before)
        self._total = Waited(own_ns, client_ns, switches if self.with_switches else None)
        self._last = seen
        self._names = {thread: self._names[thread] for thread in seen}
        return self._total

    @property
    def has_client(self) -> bool:
        """Whether threads of the Kafka client were among those of the last look."""
        return any(name.startswith(CLIENT_THREADS) for name in self._names.values())

    def _look(self, thread: str) -> tuple[int, int] | None:
        """Run delay and switches of a thread; None for one that has ended, and where they are not counted."""
        place = self.root / str(self.pid) / "task" / thread
        try:
            delay_ns = run_delay_ns((place / "schedstat").read_text())
            switches = involuntary_switches((place / "status").read_text()) if self.with_switches else 0
            if thread not in self._names:
                self._names[thread] = (place / "comm").read_text().strip()
        except (OSError, ValueError):
            return None
        return delay_ns, switches


class ThreadDelay:
    """The run delay of the thread that makes this; a look takes 2 us, as the file stays open."""

    def __init__(self, root: Path = _PROC) -> None:
        try:
            self._file: int | None = os.open(root / "thread-self" / "schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = None

    def __call__(self) -> int | None:
        """How long it was ready to run and had no core so far, in ns; None where the kernel does not count it."""
        if self._file is None:
            return None
        try:
            return run_delay_ns(os.pread(self._file, 128, 0).decode())
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def run_delay_ns(schedstat: str) -> int:
    """The second number of a `schedstat` file; ValueError where there is none."""
    fields = schedstat.split()
    if len(fields) < 2:
        raise ValueError("no run delay")
    return int(fields[1])


def involuntary_switches(status: str) -> int:
    """The number in the line `nonvoluntary_ctxt_switches` of a `status` file; ValueError where there is none."""
    found = next((line for line in status.splitlines() if line.startswith("nonvoluntary_ctxt_switches:")), None)
    if found is None:
        raise ValueError("no context switches")
    return int(found.partition(":")[2])


def pressure(root: Path = _PROC) -> Pressure:
    """What the machine's tasks have waited for so far."""
    return Pressure(*(_total_ns(root / "pressure" / name) for name in RESOURCES))


def _total_ns(file: Path) -> int | None:
    try:
        return pressure_ns(file.read_text().splitlines())
    except OSError:
        # The kernel has no such file, or refuses to count.
        return None


def pressure_ns(lines: Iterable[str]) -> int | None:
    """`total` of the line `some` of a file of /proc/pressure, which is in microseconds; None where there is none."""
    for line in lines:
        words = line.split()
        if words and words[0] == "some":
            totals = [word.partition("=")[2] for word in words if word.startswith("total=")]
            return int(totals[0]) * NS_PER_US if totals and totals[0].isdecimal() else None
    return None
