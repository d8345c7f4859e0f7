"""Shared memory between the supervisor and its workers: counters, positions and flags, each with one writer.

Every client has a row of its own, also where several share a process.

A file in memory, mapped by every process, whose descriptor the workers inherit. Eight-byte stores are atomic, and no
two processes write the same cell. The file of a run has a name, and tells at its end what its cells mean
(`domain.folder.cells`): after the death of all of them, it still says how many messages were taken up.
"""

import contextlib
import fcntl
import mmap
import os
import tempfile
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.blocks import NULL_INT64, Values
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import WorkerError
from streamgauge.domain.look import BUCKETS, live_buckets
from streamgauge.processes.disk import reserve


class Order(IntEnum):
    """What the supervisor wants of all workers; only ever rises."""

    PREPARE = 0
    GO = 1
    """Run the load from `START_NS` to `LOAD_END_NS`."""
    STOP_LOAD = 2
    """Producers stop and flush; consumers go on."""
    FINISH = 3
    """Consumers write their positions and leave; everybody ends."""
    ABORT = 4
    """Keep what is recorded and end at once."""


class Cell(IntEnum):
    """The supervisor's cells."""

    ORDER = 0
    START_NS = 1
    LOAD_END_NS = 2
    DRAIN_NS = 3
    MEASURE_NS = 4
    LAG = 5
    """Committed lag of the group that is furthest behind, by the last sample; written by the worker that samples it."""
    STOP_QUERY = 6
    """Whether the query has read all that there is, and is to end."""
    BROKER = 7
    """Process id of a broker that was started again after it was killed; 0 for none."""
    TIMES_SUM = 8
    """The sum of the four times, written last: who reads another sum has not seen all of them yet."""
    ALIVE_NS = 9
    """When the supervisor was last seen alive, by itself."""


class Slot(IntEnum):
    """A worker's cells."""

    STATE = 0
    MESSAGES = 1
    """Handed to the client, or received."""
    KNOWN = 2
    """Producer: messages that are reported, as delivered or as failed."""
    BLOCKED_NS = 3
    """Producer: time spent waiting for room in the client's queue."""
    ASSIGNED = 4
    """Consumer: partitions that it has."""
    DROPPED = 5
    """Rows that could not be written."""
    GAP_EVEN_NS = 6
    """Longest gap between polls in the last even second of the monotonic clock."""
    GAP_ODD_NS = 7
    """The same for the last odd second: a reader takes the second that is over."""
    FAILED = 8
    """Producer: messages reported as failed, and those that the client refused."""
    BYTES = 9
    """Bytes of value of the messages acknowledged, or received."""
    OVER_NS = 10
    """When the last message of a load was sent, or the last one received; 0 before any."""
    BUFFERED = 11
    """Consumer: messages polled and not processed."""
    GRANTED = 12
    """Producer: how many messages it may have sent by now; written by the controller."""
    CLAIMED = 13
    """Producer: messages that it began to send, counted before they are sent."""
    RETURNED = 14
    """Producer: messages claimed that were certainly not written."""
    AMBIGUOUS = 15
    """Producer: messages that failed and may have been written all the same."""
    ENDED = 16
    """Whether the process has ended, so that its cells are final; written by the supervisor."""
    PROCESSES = 17
    """Query: process ids of `PROCESSES`, one cell for each; 0 for one that is not there."""
    NEXT_SEQ = 22
    """Producer: the first sequence that it has not taken up. Rises before a message is handed to the client, and after
    one that is passed over was recorded: each message below is in the rows, or nobody knows what became of it."""


class State(IntEnum):
    """How far a worker is."""

    STARTING = 0
    READY = 1
    RUNNING = 2
    FLUSHED = 3
    """Producer: the load is over and every message is reported. Query: it has ended as it was told to."""
    DONE = 4


PROCESSES: Final = ("driver", "executor-0", "executor-1", "executor-2", "executor-3")
"""Processes of a query that a fault can be done to."""
_ORDERS: Final = tuple(Order)
_TIMES: Final = (Cell.START_NS, Cell.MEASURE_NS, Cell.LOAD_END_NS, Cell.DRAIN_NS)
_CELLS: Final = 16
_SLOTS: Final = 24
_ERROR_BYTES: Final = 512
COUNT_EVERY_NS: Final = NS_PER_SECOND // 10
"""Latencies are counted ten times a second."""


class Live:
    """The shared cells of one run with `workers` workers, `partitions` partitions and `groups` groups."""

    def __init__(self, descriptor: int, workers: int, partitions: int, groups: int = 1) -> None:
        self.descriptor = descriptor
        self.shape = (workers, partitions, groups)
        self._map = mmap.mmap(descriptor, _size(*self.shape))
        numbers = np.frombuffer(self._map, np.int64, _numbers(*self.shape))
        grid = workers * partitions
        widths = np.cumsum([_CELLS, workers * _SLOTS, workers * BUCKETS, grid, grid, groups * partitions])
        control, slots, latencies, positions, frontiers, foreign, foreign_ends = np.split(numbers, widths)
        self.control: NDArray[np.int64] = control
        self.slots: NDArray[np.int64] = slots.reshape(workers, _SLOTS)
        self.latencies: NDArray[np.int64] = latencies.reshape(workers, BUCKETS)
        """How many latencies of each worker fell into each live bucket: of acknowledgement, or end to end."""
        self.positions: NDArray[np.int64] = positions.reshape(workers, partitions)
        """Next offset that each worker would read in each place (topic x partitions + partition); 0 for never read."""
        self.frontiers: NDArray[np.int64] = frontiers.reshape(workers, partitions)
        """First offset that is not processed, as far as each worker knows, in each place; 0 for nothing processed."""
        self.foreign: NDArray[np.int64] = foreign.reshape(groups, partitions)
        """Messages of others that each group met in each place, each offset once; written by who owns the partition."""
        self.foreign_ends: NDArray[np.int64] = foreign_ends.reshape(groups, partitions)
        """Below which offset those are counted already."""
        self._errors_at = numbers.nbytes

    @classmethod
    def create(cls, workers: int, partitions: int, groups: int = 1, file: Path | None = None) -> "Live":
        """New cells, all zero, in an unnamed file, or in a new one of that name.

        The file is locked as long as a process has its descriptor. Raises WorkerError where it cannot be made.
        """
        size = _size(workers, partitions, groups)
        try:
            with _unnamed() if file is None else _named(file) as descriptor:
                # Cells that found no room in memory would end their writer with a signal.
                reserve(descriptor, size)
                return cls(os.dup(descriptor), workers, partitions, groups)
        except OSError as error:
            raise WorkerError(f"{file or memory_folder()}: no room for shared cells: {error.strerror}") from error

    def place_of(self, row: int, slot: Slot) -> int:
        """Where in the file a worker's cell stands, in bytes."""
        return 8 * (_CELLS + row * _SLOTS + slot)

    def describe(self, text: bytes) -> None:
        """Write behind the cells what they mean to others."""
        os.pwrite(self.descriptor, text, _size(*self.shape))

    def give_times(self, start_ns: int, measure_ns: int, load_end_ns: int, drain_ns: int) -> None:
        """Tell when the load begins, is measured and ends, and how long the drain may last; before the order to go."""
        times = (start_ns, measure_ns, load_end_ns, drain_ns)
        self.control[list(_TIMES)] = times
        self.control[Cell.TIMES_SUM] = sum(times)

    def times(self) -> tuple[int, int, int, int] | None:
        """What `give_times` told; None while it is not told, or not all of it can be seen.

        A processor may show what another one wrote in another order, the order to go before the times.
        """
        start_ns, measure_ns, load_end_ns, drain_ns = (self.control.item(cell) for cell in _TIMES)
        told = start_ns + measure_ns + load_end_ns + drain_ns
        return (
            (start_ns, measure_ns, load_end_ns, drain_ns)
            if told and told == self.control.item(Cell.TIMES_SUM)
            else None
        )

    @property
    def order(self) -> Order:
        """What the supervisor wants now."""
        # Asked several times for each message: a look-up costs a tenth of what calling the enumeration does.
        return _ORDERS[self.control.item(Cell.ORDER)]

    def give(self, order: Order) -> None:
        """Want this; an earlier, stronger order stands."""
        self.control[Cell.ORDER] = max(self.order, order)

    def state(self, worker: int) -> State:
        """How far a worker is."""
        return State(int(self.slots[worker, Slot.STATE]))

    def say(self, worker: int, text: str) -> None:
        """Leave the reason why a worker failed; cut to what fits."""
        data = text.encode()[: _ERROR_BYTES - 1]
        at = self._errors_at + worker * _ERROR_BYTES
        self._map[at : at + len(data)] = data

    def said(self, worker: int) -> str | None:
        """The reason that a worker left, if any."""
        at = self._errors_at + worker * _ERROR_BYTES
        return self._map[at : at + _ERROR_BYTES].rstrip(b"\0").decode(errors="replace") or None

    def close(self) -> None:
        """Close the descriptor; the memory goes with the last view of it."""
        os.close(self.descriptor)


ALIVE_AT: Final = 8 * Cell.ALIVE_NS
"""Where in the file it stands when the supervisor was last alive, in bytes."""


@contextlib.contextmanager
def _unnamed() -> Iterator[int]:
    memory = memory_folder()
    with tempfile.TemporaryFile(dir=memory) as file:
        yield file.fileno()


@contextlib.contextmanager
def _named(file: Path) -> Iterator[int]:
    """A new file that is locked before anybody can find it by its name."""
    draft = file.with_name(f"_{file.name}")
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield descriptor
        draft.rename(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def memory_folder() -> Path:
    """Where files are kept in memory; the folder for temporary files where the system has no such place."""
    memory = Path("/dev/shm")  # noqa: S108 - names in it are made to be new
    return memory if memory.is_dir() and os.access(memory, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def _numbers(workers: int, partitions: int, groups: int) -> int:
    return _CELLS + workers * (_SLOTS + BUCKETS + 2 * partitions) + 2 * groups * partitions


def _size(workers: int, partitions: int, groups: int) -> int:
    return 8 * _numbers(workers, partitions, groups) + workers * _ERROR_BYTES


class Latencies:
    """Counts latencies in a worker's cells, some hundred messages at a time: counting a few costs as much."""

    def __init__(self, cells: NDArray[np.int64], now_ns: int) -> None:
        self._cells = cells
        self._waiting: list[tuple[Values, NDArray[Any], int]] = []
        self._counted_ns = now_ns

    def take(self, ended_ns: Values, due_ns: Values, sent_ns: Values, count: int, now_ns: int) -> None:
        """Take columns of rows: latency is counted from the due time, or from the sent time without a schedule.

        Where nobody says when messages ended, as with acks 0, nothing is counted.
        """
        begun_ns = due_ns if isinstance(due_ns, np.ndarray) else sent_ns
        if isinstance(begun_ns, np.ndarray) and ended_ns is not None:
            self._waiting.append((ended_ns, begun_ns, count))
        if now_ns - self._counted_ns >= COUNT_EVERY_NS:
            self._counted_ns = now_ns
            self.count()

    def count(self) -> None:
        """Count what was taken."""
        if not self._waiting:
            return
        ended_ns = np.concatenate([np.broadcast_to(np.asarray(ended), count) for ended, _, count in self._waiting])
        begun_ns = np.concatenate([begun for _, begun, _ in self._waiting])
        self._waiting.clear()
        known = (begun_ns != NULL_INT64) & (ended_ns != NULL_INT64)
        self._cells += np.bincount(live_buckets((ended_ns - begun_ns)[known]), minlength=BUCKETS)


class PollGap:
    """Keeps the longest gap between two polls, second by second, in a worker's cells."""

    def __init__(self, slot: NDArray[np.int64], now_ns: int) -> None:
        self._slot = slot
        self._ended_ns = now_ns
        self._second = now_ns // NS_PER_SECOND
        self._longest_ns = -1

    def begin(self, now_ns: int) -> None:
        """A poll begins: the gap since the last one is over."""
        second = now_ns // NS_PER_SECOND
        gap_ns = now_ns - self._ended_ns
        if second != self._second or gap_ns > self._longest_ns:
            self._second = second
            self._longest_ns = gap_ns
            self._slot[Slot.GAP_EVEN_NS + (second & 1)] = gap_ns

    def end(self, now_ns: int) -> None:
        """The poll returned."""
        self._ended_ns = now_ns


def gap_of_last_second(slot: NDArray[np.int64], now_ns: int) -> int:
    """The longest gap between polls in the second before the one of `now_ns`."""
    return int(slot[Slot.GAP_EVEN_NS + ((now_ns // NS_PER_SECOND - 1) & 1)])
