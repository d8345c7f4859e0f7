"""The board of a run: what its supervisor wants of workers, and what they count, as cells with one writer each.

Every client has a row of its own, also where several share a process. Eight-byte stores are atomic, and no two
processes write the same cell, so that nobody waits for anybody.
"""

from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.blocks import NULL_INT64, Values
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.look import BUCKETS, live_bucket, live_buckets


class Order(IntEnum):
    """What the supervisor wants of all workers; only ever rises."""

    PREPARE = 0
    JOIN = 1
    """Consumers join their groups."""
    GO = 2
    """Run the load from `START_NS` to `LOAD_END_NS`."""
    STOP_LOAD = 3
    """Producers stop and flush; consumers go on."""
    FINISH = 4
    """Consumers write their positions and leave; everybody ends."""
    ABORT = 5
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
    TIMES_SUM = 7
    """The sum of the four times, written last: who reads another sum has not seen all of them yet."""
    ALIVE_NS = 8
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
    """Consumer: partitions that it has. Tracker: those of which it knows all that was told before."""
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
    """Producer: the first sequence that it has not claimed. Rises before a message is handed to the client, and after
    one that is passed over was recorded: each message below is in the rows, or nobody knows what became of it."""
    LEAVE = 23
    """Consumer: whether it is to leave its group and end, before the others do; written by the supervisor."""
    COLLECTIONS = 24
    """Collections of Python's garbage collector since the worker was ready; of the first client of a process."""
    COLLECTED_NS = 25
    """How long they took."""


class State(IntEnum):
    """How far a worker is."""

    STARTING = 0
    JOINING = 1
    """Consumer, tracker: about to join its group, together with the others."""
    READY = 2
    RUNNING = 3
    FLUSHED = 4
    """Producer: the load is over and every message is reported. Query: it has ended as it was told to."""
    DONE = 5


PROCESSES: Final = ("driver", "executor-0", "executor-1", "executor-2", "executor-3")
"""Processes of a query that a fault can be done to."""
_ORDERS: Final = tuple(Order)
_TIMES: Final = (Cell.START_NS, Cell.MEASURE_NS, Cell.LOAD_END_NS, Cell.DRAIN_NS)
_CELLS: Final = 16
MOST_BROKERS: Final = _CELLS - len(Cell)
"""Brokers of our own that a run can have: each has one of the supervisor's cells, behind the others."""
_SLOTS: Final = 26
_REASON_BYTES: Final = 512
COUNT_EVERY_NS: Final = NS_PER_SECOND // 10
"""Latencies are counted ten times a second."""


class Cells:
    """The cells of one run with so many clients, partitions and groups, in memory that the caller provides."""

    def __init__(self, memory: Any, clients: int, partitions: int, groups: int = 1) -> None:
        numbers = np.frombuffer(memory, np.int64, _numbers(clients, partitions, groups))
        grid = clients * partitions
        counts = clients * BUCKETS
        widths = np.cumsum([_CELLS, clients * _SLOTS, counts, counts, grid, grid, groups * partitions])
        control, slots, latencies, batches, positions, frontiers, foreign, foreign_ends = np.split(numbers, widths)
        self.control: NDArray[np.int64] = control
        self.slots: NDArray[np.int64] = slots.reshape(clients, _SLOTS)
        self.latencies: NDArray[np.int64] = latencies.reshape(clients, BUCKETS)
        self.batches: NDArray[np.int64] = batches.reshape(clients, BUCKETS)
        self.positions: NDArray[np.int64] = positions.reshape(clients, partitions)
        self.frontiers: NDArray[np.int64] = frontiers.reshape(clients, partitions)
        self.foreign: NDArray[np.int64] = foreign.reshape(groups, partitions)
        self.foreign_ends: NDArray[np.int64] = foreign_ends.reshape(groups, partitions)
        self._reasons = memoryview(memory)[numbers.nbytes : numbers.nbytes + clients * _REASON_BYTES]

    @classmethod
    def new(cls, clients: int, partitions: int, groups: int = 1) -> "Cells":
        """Cells of this process alone, all zero."""
        return cls(bytearray(size_of(clients, partitions, groups)), clients, partitions, groups)

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

    def state(self, row: int) -> State:
        """How far a client is."""
        return State(int(self.slots[row, Slot.STATE]))

    def say(self, row: int, text: str) -> None:
        """Leave the reason why a worker failed; cut to what fits."""
        data = text.encode()[: _REASON_BYTES - 1]
        at = row * _REASON_BYTES
        self._reasons[at : at + len(data)] = data

    def said(self, row: int) -> str | None:
        """The reason that a worker left, if any."""
        at = row * _REASON_BYTES
        return bytes(self._reasons[at : at + _REASON_BYTES]).rstrip(b"\0").decode(errors="replace") or None


def broker_cell(place: int) -> int:
    """The cell with the process id of a broker, by its place among them; 0 in it unless it was started again.

    Raises ValueError for more than `MOST_BROKERS`.
    """
    if not 0 <= place < MOST_BROKERS:
        raise ValueError(f"a run can have at most {MOST_BROKERS} brokers of its own")
    return len(Cell) + place


def size_of(clients: int, partitions: int, groups: int) -> int:
    """How many bytes such cells take."""
    return 8 * _numbers(clients, partitions, groups) + clients * _REASON_BYTES


def place_of(row: int, slot: Slot) -> int:
    """Where in the memory a client's cell stands, in bytes."""
    return 8 * (_CELLS + row * _SLOTS + slot)


def _numbers(clients: int, partitions: int, groups: int) -> int:
    return _CELLS + clients * (_SLOTS + 2 * BUCKETS + 2 * partitions) + 2 * groups * partitions


ALIVE_AT: Final = 8 * Cell.ALIVE_NS
"""Where in the memory it stands when the supervisor was last alive, in bytes."""


class Latencies:
    """Counts latencies in a worker's cells, some hundred messages at a time: counting a few costs as much.

    Batches are few and counted one by one, in cells of their own.
    """

    def __init__(self, cells: NDArray[np.int64], now_ns: int, batches: NDArray[np.int64] | None = None) -> None:
        self._cells = cells
        self._batches = batches
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

    def take_batch(self, took_ns: int) -> None:
        """Count how long a batch took."""
        if self._batches is not None:
            self._batches[live_bucket(took_ns)] += 1

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
