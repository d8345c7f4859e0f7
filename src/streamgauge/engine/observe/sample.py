"""The sampler: looks at every process of the run and at the host, and records what it saw."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import psutil

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64, Block, Values
from streamgauge.domain.clock import NS_PER_SECOND, ClockPair
from streamgauge.engine.board import Order, Slot, gap_of_last_second
from streamgauge.engine.ports.rows import Sink
from streamgauge.engine.ports.workers import Board
from streamgauge.processes.cpu.groups import Groups
from streamgauge.processes.cpu.quotas import Throttling
from streamgauge.processes.cpu.waiting import Pressure, Threads, pressure

INTERVAL_NS: Final = NS_PER_SECOND // 2
_LOAD_ROLES: Final = ("producer", "consumer", "connector")

_NUMBERS: Final = (
    "at_ns", "cpu_ns", "rss_bytes", "heap_bytes", "threads", "gc_collections", "gc_ns", "steal_ns", "idle_ns",
    "messages", "blocked_ns", "poll_gap_ns", "wall_ns", "throttled_ns", "throttled_periods", "throttled_periods_ns",
    "run_delay_ns", "client_run_delay_ns", "switches", "cpu_pressure_ns", "io_pressure_ns", "memory_pressure_ns",
)  # fmt: skip

ProcessRow = tuple[str, str, dict[str, int | None]]
"""Process, role, and those numbers of a row of `resources` that are known."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A process to look at; `rows` are its rows of the board, none for a process that is no worker."""

    name: str
    role: str
    pid: int
    rows: tuple[int, ...] = ()
    cell: int | None = None
    """The supervisor's cell with its process id once it was started again; None for a process that never is."""


@dataclass(slots=True)
class Lives:
    """Tells which process a broker is now that may have been started again: each of its lives has a name of its own."""

    board: Board
    _known: dict[int, list[int]] = field(default_factory=dict)
    """Process ids of each broker that was started again, by its cell."""

    def now(self, watched: Watched) -> Watched:
        """The process that this one is now; the same where it never is another."""
        pid = 0 if watched.cell is None else self.board.control.item(watched.cell)
        if watched.cell is None or pid == 0:
            return watched
        lives = self._known.setdefault(watched.cell, [])
        if pid not in lives:
            lives.append(pid)
        return Watched(f"{watched.name}.{lives.index(pid) + 2}", watched.role, pid)


@dataclass(slots=True)
class Sampler:
    """Looks every half second until the run is over."""

    watched: Sequence[Watched]
    board: Board
    sink: Sink
    order: Callable[[], Order]
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    clocks: Callable[[], ClockPair] = clock.clock_pair
    throttling: Callable[[], Throttling | None] = field(default_factory=lambda: Groups.of_this_process().throttling)
    """Workers, and an embedded broker, are in the groups of this process: all have the same parent."""
    pressure: Callable[[], Pressure] = pressure
    threads: Callable[[int, bool], Threads] = Threads
    """Those of a process, and whether their context switches are looked at."""
    _processes: dict[str, psutil.Process] = field(default_factory=dict)
    _threads: dict[str, Threads] = field(default_factory=dict)
    _lives: Lives = field(init=False)

    def __post_init__(self) -> None:
        self._lives = Lives(self.board)

    def run(self) -> None:
        """Sample on an absolute schedule until the supervisor wants the end."""
        next_ns = self.now_ns()
        while self.order() < Order.FINISH:
            if self.now_ns() >= next_ns:
                self.look()
                next_ns += INTERVAL_NS
            self.sleep(max(0.0, min(next_ns - self.now_ns(), INTERVAL_NS // 5) / NS_PER_SECOND))
        self.look()

    def look(self) -> None:
        """Record one row for each process that lives, and one for the host."""
        rows = [row for each in self.watched if (row := self._process_row(each)) is not None]
        rows.append(host_row(self.clocks(), self.throttling(), self.pressure()))
        self.sink.append(columns_of(rows), len(rows))

    def _process_row(self, watched: Watched) -> ProcessRow | None:
        watched = self._lives.now(watched)
        try:
            numbers = process_row(self._processes.setdefault(watched.name, psutil.Process(watched.pid)), self.now_ns)
        except psutil.Error:
            return None
        if watched.name not in self._threads:
            self._threads[watched.name] = self.threads(watched.pid, bool(watched.rows))
        numbers |= waiting_row(self._threads[watched.name], is_worker=bool(watched.rows))
        if watched.rows:
            first = self.board.slots[watched.rows[0]]
            numbers["gc_collections"], numbers["gc_ns"] = int(first[Slot.COLLECTIONS]), int(first[Slot.COLLECTED_NS])
        if watched.rows and watched.role in _LOAD_ROLES:
            slots = self.board.slots[list(watched.rows)]
            numbers["messages"] = int(slots[:, Slot.MESSAGES].sum())
            # Clients that share a process wait beside each other.
            numbers["blocked_ns"] = int(slots[:, Slot.BLOCKED_NS].max()) if watched.role == "producer" else None
            numbers["poll_gap_ns"] = max(gap_of_last_second(slot, numbers["at_ns"] or 0) for slot in slots)
        return watched.name, watched.role, numbers


def process_row(process: psutil.Process, now_ns: Callable[[], int]) -> dict[str, int | None]:
    """What a process has used so far; raises psutil.Error when it is gone."""
    with process.oneshot():
        times, memory, threads = process.cpu_times(), process.memory_info(), process.num_threads()
    # Linux alone tells how much of it is files and memory that processes share.
    shared = getattr(memory, "shared", None)
    return {
        "at_ns": now_ns(),
        "cpu_ns": round((times.user + times.system) * NS_PER_SECOND),
        "rss_bytes": memory.rss,
        "heap_bytes": None if shared is None else memory.rss - shared,
        "threads": threads,
    }


def waiting_row(threads: Threads, *, is_worker: bool = False) -> dict[str, int | None]:
    """How long the threads of a process have waited for a core so far; empty where the kernel does not count it.

    A process that is no worker tells of threads of the Kafka client only if it has some.
    """
    if (waited := threads.waited()) is None:
        return {}
    has_client = is_worker or threads.has_client
    return {
        "run_delay_ns": waited.run_delay_ns,
        "client_run_delay_ns": waited.client_run_delay_ns if has_client else None,
        "switches": waited.switches,
    }


def host_row(now: ClockPair, throttled: Throttling | None, waits: Pressure) -> ProcessRow:
    """What the whole machine has used so far; steal is null where the system does not tell it."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    steal = getattr(times, "steal", None)
    # Guest time is part of user time already.
    used = sum(getattr(times, name, 0.0) for name in ("user", "nice", "system", "irq", "softirq"))
    numbers: dict[str, int | None] = {
        "at_ns": now.monotonic_ns,
        "wall_ns": now.wall_ns,
        "cpu_ns": round(used * NS_PER_SECOND),
        "rss_bytes": psutil.virtual_memory().used,
        "steal_ns": None if steal is None else round(steal * NS_PER_SECOND),
        "idle_ns": round(idle * NS_PER_SECOND),
    }
    numbers["cpu_pressure_ns"], numbers["io_pressure_ns"], numbers["memory_pressure_ns"] = waits
    if throttled is not None:
        numbers["throttled_ns"] = throttled.stopped_ns
        numbers["throttled_periods"] = throttled.periods
        numbers["throttled_periods_ns"] = throttled.periods_ns
    return "host", "host", numbers


def columns_of(rows: Sequence[ProcessRow]) -> Block:
    """The rows as columns of `resources`."""
    columns: dict[str, Values] = {
        "process": [process for process, _, _ in rows],
        "role": [role for _, role, _ in rows],
    }
    for name in _NUMBERS:
        known = (numbers.get(name) for _, _, numbers in rows)
        columns[name] = np.array([NULL_INT64 if value is None else value for value in known], np.int64)
    return columns
