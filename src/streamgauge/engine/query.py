"""The host of the query in the measured path: starts it, records what it tells, and starts it again when it died.

The query itself runs in processes of its own. Its host computes nothing; it publishes how far the query is, where the
lag sampler, the controller and the supervisor see it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import psutil

from streamgauge.control.batching import BatchSize
from streamgauge.domain import clock
from streamgauge.domain.blocks import Block
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import WorkerError
from streamgauge.domain.query import Happened, Looked, News, QueryProgress
from streamgauge.engine.board import PROCESSES, Cell, Order, Slot, State
from streamgauge.engine.observe.sample import INTERVAL_NS, ProcessRow, columns_of, process_row, waiting_row
from streamgauge.engine.ports.query import Query
from streamgauge.engine.ports.rows import Sink
from streamgauge.engine.ports.workers import Board
from streamgauge.engine.query_rows import advance_rows, executor_rows, progress_rows
from streamgauge.processes.cpu.waiting import Threads
from streamgauge.workload.pacing import Int64s

STARTED, READY, LIMITED, ENDED, DIED, FAILED = "started", "ready", "limited", "ended", "died", "failed"

NAP_NS: Final = 5 * NS_PER_MS

SIZED_NS: Final = NS_PER_SECOND
"""A checkpoint is many small files: its size is added up no more often than this."""

DETAIL_CHARACTERS: Final = 1000


@dataclass(frozen=True, slots=True)
class QuerySinks:
    """Where the rows of a query go."""

    query: Sink
    progress: Sink
    advances: Sink
    executors: Sink
    resources: Sink


@dataclass(frozen=True, slots=True)
class Hosting:
    """How a query is treated."""

    topic: int
    """Number of the topic that it reads."""
    first_place: int
    """Place of the first of its partitions on the board."""
    starts: tuple[int, ...]
    """Offset of each partition where it begins."""
    restarts: int
    """How often it is started again after it died."""
    survives_failures: bool
    """Whether it is started again after an error of its own, too: where the scenario takes the cluster away."""
    waits_for_load: bool
    """Whether it is started when the load is over."""
    max_offsets: int | None = None
    """Messages of a batch, at most, at the begin; None for any number."""
    sizes: BatchSize | None = None
    """What chooses how many that are from then on; None for nothing."""


@dataclass(slots=True)
class QueryHost:
    """Carries a query through a run. `ready` is called once, when the query reads for the first time."""

    query: Query
    hosting: Hosting
    sinks: QuerySinks
    board: Board
    row: int
    order: Callable[[], Order]
    ready: Callable[[], None]
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    threads: Callable[[int], Threads] = Threads
    """Those of a process, by its id."""
    _start: int = -1
    _is_ready: bool = False
    _over: bool = False
    _asked_to_stop: bool = False
    _failure: str | None = None
    _looked_ns: int = 0
    _sized_ns: int = field(default=-(1 << 62))
    _bytes: int = 0
    _processes: dict[int, psutil.Process] = field(default_factory=dict)
    _threads: dict[int, Threads] = field(default_factory=dict)
    _sizes: BatchSize | None = None

    def __post_init__(self) -> None:
        self._sizes = self.hosting.sizes

    def run(self) -> None:
        """Host the query until the run is over, or it is; raises WorkerError when it is lost."""
        self._publish(self.hosting.starts)
        if self.hosting.waits_for_load:
            self.ready()
            self._is_ready = True
        while self.order() < Order.FINISH:
            if self._start < 0 and self._is_wanted():
                self._begin()
            if self._start >= 0:
                self._turn()
            self.sleep(NAP_NS / NS_PER_SECOND)
        self._end()

    def _is_wanted(self) -> bool:
        return not self.hosting.waits_for_load or self.order() >= Order.STOP_LOAD

    def _begin(self) -> None:
        self._start += 1
        self._failure, self._asked_to_stop = None, False
        self._note(STARTED)
        self.query.start()

    def _turn(self) -> None:
        """Take what the query tells, see whether it lives, and look at its processes."""
        if self._over:
            return
        # Whether it lives is asked first: what it said before it died is there by then.
        alive = self.query.alive()
        self._take(self.query.news())
        if not alive:
            self._gone()
            return
        if self.board.control[Cell.STOP_QUERY] and not self._asked_to_stop:
            self._asked_to_stop = True
            self.query.stop()
        if self.now_ns() - self._looked_ns >= INTERVAL_NS:
            self._looked_ns = self.now_ns()
            self._look()

    def _take(self, news: Sequence[News]) -> None:
        told = [each for each in news if isinstance(each, QueryProgress)]
        if told:
            self._record_progress(told)
        looked = [each for each in news if isinstance(each, Looked)]
        if looked:
            self.sinks.executors.append(executor_rows(looked, self._start), len(looked))
        for each in news:
            if isinstance(each, Happened):
                self._happened(each)

    def _happened(self, news: Happened) -> None:
        if news.what == FAILED:
            self._failure = news.detail or "no reason given"
        self._note(news.what, news.detail, news.at_ns)
        if news.what == ENDED:
            self._finished()
        if news.what == READY and not self._is_ready:
            self._is_ready = True
            self.ready()

    def _finished(self) -> None:
        """It has done what it was to do."""
        self._over = True
        self._catch_up()
        self._publish_committed()
        self.board.slots[self.row, Slot.STATE] = State.FLUSHED

    def _gone(self) -> None:
        """It ended by itself: start it again, or give up."""
        if self._over:
            return
        if self._failure is None:
            self._note(DIED, f"exit code {self.query.exit_code}")
        self.query.kill()
        self._catch_up()
        self._publish_committed()
        if self._failure is not None and not (self._is_ready and self.hosting.survives_failures):
            raise WorkerError(self._failure)
        if self._start >= self.hosting.restarts:
            raise WorkerError(f"the query ended {self._start + 1} times and is not restarted")
        self._begin()

    def _catch_up(self) -> None:
        """Record what the checkpoint knows of batches that were never told."""
        if missed := self.query.left_behind():
            self._record_progress(missed)

    def _publish_committed(self) -> None:
        ends = self.query.committed()
        if ends is not None:
            self._publish(ends)

    def _record_progress(self, told: Sequence[QueryProgress]) -> None:
        now_ns = self.now_ns()
        if now_ns - self._sized_ns >= SIZED_NS:
            self._sized_ns = now_ns
            self._bytes = self.query.checkpoint_bytes()
        limit = self._sizes.limit if self._sizes else self.hosting.max_offsets
        self.sinks.progress.append(progress_rows(told, self._start, self._bytes, limit), len(told))
        rows, count = advance_rows(told, self._start, self.hosting.topic)
        if count:
            self.sinks.advances.append(rows, count)
        for each in told:
            if not each.committed:
                continue
            ends = self._positions()
            for advance in each.advances:
                ends[advance.partition] = max(advance.to_offset, ends[advance.partition])
            self._publish(ends)
            self.board.slots[self.row, Slot.MESSAGES] += int(each.numbers.get("rows") or 0)
            self._resize(each)

    def _resize(self, told: QueryProgress) -> None:
        """Choose how many messages a batch may hold, by what one that is done says."""
        took_ms = told.numbers.get("duration_ms")
        if self._sizes is None or took_ms is None:
            return
        behind = [None if each.latest is None else each.latest - each.to_offset for each in told.advances]
        known = [each for each in behind if each is not None]
        lag = sum(known) if len(known) == len(behind) else None
        sizes = self._sizes.decide(told.batch, int(told.numbers.get("rows") or 0), round(took_ms * NS_PER_MS), lag)
        if sizes.limit != self._sizes.limit:
            self.query.limit(sizes.limit)
            self._note(LIMITED, f"{sizes.limit} messages per batch at most")
        self._sizes = sizes

    def _positions(self) -> list[int]:
        first = self.hosting.first_place
        cells: list[int] = self.board.positions[self.row, first : first + len(self.hosting.starts)].tolist()
        return cells

    def _publish(self, ends: Sequence[int]) -> None:
        """Tell how far the query is: what is committed is processed."""
        first = self.hosting.first_place
        places = slice(first, first + len(ends))
        cells: Int64s = np.maximum(self.board.positions[self.row, places], np.asarray(ends, np.int64))
        self.board.positions[self.row, places] = cells
        self.board.frontiers[self.row, places] = cells

    def _look(self) -> None:
        """Record what the query's processes use, and where a fault finds them."""
        found = self.query.processes()
        cells = self.board.slots[self.row]
        for place, name in enumerate(PROCESSES):
            cells[Slot.PROCESSES + place] = found.get(name, 0)
        rows = [row for name, pid in found.items() if (row := self._row(name, pid)) is not None]
        if rows:
            self.sinks.resources.append(columns_of(rows), len(rows))

    def _row(self, name: str, pid: int) -> ProcessRow | None:
        role = name.partition("-")[0]
        try:
            process = self._processes.setdefault(pid, psutil.Process(pid))
            numbers = process_row(process, self.now_ns)
        except psutil.Error:
            return None
        if pid not in self._threads:
            self._threads[pid] = self.threads(pid)
        numbers |= waiting_row(self._threads[pid])
        # Each start has processes of its own, which count from zero.
        return (name if self._start == 0 else f"{name}/{self._start}"), role, numbers

    def _end(self) -> None:
        """The run is over: what the query still says is recorded, then it is ended."""
        if self._start >= 0 and not self._over:
            if self.order() == Order.FINISH and self.query.alive():
                self._look()
            self._take(self.query.news())
            self.query.kill()
            self._catch_up()
            self._note(ENDED, "ended with the run")
        self.query.close()

    def _note(self, what: str, detail: str | None = None, at_ns: int | None = None) -> None:
        at_ns = self.now_ns() if at_ns is None else at_ns
        detail = None if detail is None else detail[:DETAIL_CHARACTERS]
        row: Block = {"at_ns": at_ns, "start": self._start, "event": what, "detail": detail}
        self.sinks.query.append(row, 1)
