"""Looks at a run while it runs: the board, and what the workers' processes use."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil

from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.look import Held, Look, Stage, WorkerLook
from streamgauge.engine.board import Cell, Slot, State
from streamgauge.engine.observe.sample import Lives, Watched
from streamgauge.engine.ports.workers import Board
from streamgauge.engine.produce.throttle import SHUT
from streamgauge.scenario.model.backpressure import Backpressure


@dataclass(frozen=True, slots=True)
class Observed:
    """One worker, or another process that takes part; `rows` are its rows of the board."""

    name: str
    role: str
    pid: int
    rows: tuple[int, ...] = ()
    exit_code: int | None = None
    """How it ended; None while it runs, and of a process that is no worker."""
    is_gone: bool = False
    """Whether a process that is no worker does not run any more: nobody knows how it ended."""

    @property
    def alive(self) -> bool:
        """Whether it runs, or ended in order."""
        return self.exit_code in (None, 0) and not self.is_gone


@dataclass(slots=True)
class Observer:
    """Takes looks at one run."""

    board: Board
    measure_ns: int
    """How long after its start a run measures."""
    backpressure: Backpressure | None = None
    """What holds producers back; None for nothing."""
    run: str = ""
    """Name of the run folder."""
    is_constant: bool = True
    """Whether messages are due at one constant rate."""
    reads_once: bool = True
    """Whether all that is sent is to be received once."""
    _processes: dict[int, psutil.Process] = field(default_factory=dict)
    _lives: Lives = field(init=False)

    def __post_init__(self) -> None:
        self._lives = Lives(self.board)

    def others(self, watched: Sequence[Watched]) -> list[Observed]:
        """Processes that are no workers, as they are now: a broker that was started again is another one."""
        living = [self._lives.now(each) for each in watched]
        return [Observed(each.name, each.role, each.pid, is_gone=not self._runs(each.pid)) for each in living]

    def look(self, stage: Stage, observed: Sequence[Observed], now_ns: int) -> Look:
        """The run as it is now."""
        start_ns = int(self.board.control[Cell.START_NS]) or None
        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        return Look(
            at_ns=now_ns,
            stage=stage,
            start_ns=start_ns,
            measure_ns=start_ns + self.measure_ns if start_ns else None,
            end_ns=int(self.board.control[Cell.LOAD_END_NS]) or None,
            workers=[self._worker(each) for each in observed],
            ack=_counted(self.board.latencies, observed, "producer"),
            end_to_end=_counted(self.board.latencies, observed, "consumer"),
            idle_ns=round(idle * NS_PER_SECOND),
            cores=psutil.cpu_count() or 1,
            lag=None if (lag := self.board.control.item(Cell.LAG)) == NULL_INT64 else lag,
            held=self._held(observed),
            batch=_counted(self.board.batches, observed, "producer"),
            run=self.run,
            is_constant=self.is_constant,
            reads_once=self.reads_once,
        )

    def _held(self, observed: Sequence[Observed]) -> Held | None:
        """What the controller granted to the producers, and what they took of it."""
        rows = [row for each in observed if each.role == "producer" for row in each.rows]
        if self.backpressure is None or not rows:
            return None
        granted, claimed = (self.board.slots[rows, slot] for slot in (Slot.GRANTED, Slot.CLAIMED))
        if self.backpressure.hysteresis:
            return Held(self.backpressure.hysteresis.max_lag, paused=bool((granted == SHUT).all()))
        assert self.backpressure.credit
        limit = self.backpressure.credit.limit
        # Counters are read one after the other, while they move.
        return Held(limit, in_use=min(limit, max(0, limit - int((granted - claimed).sum()))))

    def _worker(self, each: Observed) -> WorkerLook:
        look = WorkerLook(each.name, each.role, each.alive, cpu_ns=self._cpu_ns(each.pid))
        if not each.rows:
            return look
        slots = self.board.slots[list(each.rows)]
        slot = slots.sum(axis=0).tolist()
        sends = each.role == "producer"
        over = State.FLUSHED if sends else State.DONE
        return WorkerLook(
            each.name,
            each.role,
            each.alive,
            messages=slot[Slot.MESSAGES],
            known=slot[Slot.KNOWN] if sends else None,
            failed=slot[Slot.FAILED],
            message_bytes=slot[Slot.BYTES],
            blocked_ns=int(slots[:, Slot.BLOCKED_NS].max()) if sends else None,
            cpu_ns=look.cpu_ns,
            clients=len(each.rows),
            done=int((slots[:, Slot.STATE] >= over).sum()),
            buffered=slot[Slot.BUFFERED] if each.role == "consumer" else None,
            dropped=slot[Slot.DROPPED],
        )

    def _cpu_ns(self, pid: int) -> int | None:
        """CPU time of a process so far; None when it is gone."""
        try:
            times = self._process(pid).cpu_times()
        except psutil.Error:
            return None
        return round((times.user + times.system) * NS_PER_SECOND)

    def _runs(self, pid: int) -> bool:
        """Whether a process is there; one that nobody has waited for is not."""
        try:
            process = self._process(pid)
            return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

    def _process(self, pid: int) -> psutil.Process:
        """The process that had this id when it was first seen; raises psutil.Error when it is gone."""
        return self._processes.setdefault(pid, psutil.Process(pid))


def _counted(cells: Int64s, observed: Sequence[Observed], role: str) -> Int64s:
    """How many fell into each live bucket, over all clients of a role."""
    rows = [row for each in observed if each.role == role for row in each.rows]
    counts: Int64s = cells[rows].sum(axis=0)
    return counts
