"""What a job sees of its surroundings: cells, orders, times, and sinks for its rows."""

import contextlib
import gc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamgauge.domain import clock
from streamgauge.domain.blocks import Block
from streamgauge.domain.errors import RecordError
from streamgauge.engine.board import Latencies, Order, Slot, State
from streamgauge.engine.consume.loop import ProgressCells
from streamgauge.engine.ports.rows import OpenSink, Sink
from streamgauge.engine.ports.workers import Board
from streamgauge.engine.produce.loop import Times
from streamgauge.workload.pacing import Int64s

_LOOK_SECONDS: Final = 0.0005


@dataclass(slots=True)
class Context:
    """What a job sees of its surroundings."""

    name: str
    """Of the worker."""
    rows: tuple[int, ...]
    """Its rows of the board, one for each of its clients."""
    run: Path
    open_sink: OpenSink
    board: Board

    @property
    def slots(self) -> list[Int64s]:
        """The cells of each of its clients."""
        return [self.board.slots[row] for row in self.rows]

    def positions(self, place: int = 0) -> Int64s:
        """The positions of one of its clients."""
        cells: Int64s = self.board.positions[self.rows[place]]
        return cells

    def progress(self, place: int, group: int) -> ProgressCells:
        """Where one of its clients tells how far it is."""
        board = self.board
        return ProgressCells(board.frontiers[self.rows[place]], board.foreign[group], board.foreign_ends[group])

    def latencies(self, place: int = 0) -> Latencies:
        """The cells for latencies of one of its clients."""
        row = self.rows[place]
        return Latencies(self.board.latencies[row], clock.monotonic_ns(), self.board.batches[row])

    def times(self) -> Times:
        """When the load begins, is measured and ends; all zero where the run ends before its load began."""
        while (told := self.board.times()) is None and self.order() <= Order.GO:
            clock.sleep_seconds(_LOOK_SECONDS)
        return Times(*(told or (0, 0, 0, 0)))

    def tell(self, state: State) -> None:
        """Tell how far all its clients are."""
        for slot in self.slots:
            slot[Slot.STATE] = state

    def order(self) -> Order:
        """What the supervisor wants now."""
        return self.board.order

    def ready(self) -> None:
        """Tell that the work can begin. What exists by now stays: the collector need not look at it again.

        Functions of the user's may collect all the same, so that collections are counted.
        """
        gc.collect()
        gc.freeze()
        gc.disable()
        gc.callbacks.append(CountedCollections(self.slots[0]))
        self.tell(State.READY)

    def await_join(self) -> None:
        """Wait until every member of the groups can join.

        A group whose members join one after the other gives the first all partitions, which learns of the others with
        its next heartbeat.
        """
        self.tell(State.JOINING)
        self._await(Order.JOIN)

    def await_go(self) -> None:
        """Wait until the supervisor wants the load to run, or to end."""
        self._await(Order.GO)

    def _await(self, order: Order) -> None:
        while self.order() < order:
            clock.sleep_seconds(0.005)

    def await_start(self) -> None:
        """Wait until the load starts."""
        start_ns = self.times().start_ns
        while self.order() == Order.GO and clock.monotonic_ns() < start_ns:
            clock.sleep_seconds(_LOOK_SECONDS)

    @contextlib.contextmanager
    def sink(self, kind: str, constants: Mapping[str, int | str | None]) -> Iterator[Sink]:
        """A sink that is closed when the job ends well; when it does not, its open part is closed by others."""
        sink = self.open_sink(self.run, kind, self.name, constants)
        yield CountingSink(sink, self.slots[0])
        sink.close()


class CountedCollections:
    """Counts what Python's garbage collector does, as one of its callbacks, into the cells of a worker."""

    def __init__(self, slot: Int64s, now_ns: Callable[[], int] = clock.monotonic_ns) -> None:
        self._slot, self._now_ns = slot, now_ns
        self._began_ns = now_ns()

    def __call__(self, phase: str, _info: Mapping[str, int]) -> None:
        """Note the start, or the end, of a collection."""
        if phase == "start":
            self._began_ns = self._now_ns()
        else:
            self._slot[Slot.COLLECTIONS] += 1
            self._slot[Slot.COLLECTED_NS] += self._now_ns() - self._began_ns


@dataclass(frozen=True, slots=True)
class CountingSink:
    """A sink that counts the rows of a block that could not be written, before the worker gives up."""

    sink: Sink
    slot: Int64s

    def append(self, block: Block, count: int) -> None:
        """Take rows, or count them as dropped."""
        try:
            self.sink.append(block, count)
        except RecordError as error:
            self.slot[Slot.DROPPED] += count if error.dropped_rows is None else error.dropped_rows
            raise

    def close(self) -> None:
        """Write what is still open."""
        self.sink.close()
