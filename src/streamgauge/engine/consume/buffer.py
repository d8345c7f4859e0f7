"""The buffer of a consumer: messages polled and not yet processed.

What is over becomes rows in blocks; of each partition it is known up to which offset all is over, in whatever order
messages are.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.blocks import NULL_INT32, NULL_INT64, Block, Fetched, Place
from streamgauge.domain.errors import WorkerError
from streamgauge.domain.events import RECEIVED
from streamgauge.domain.tables.schema import NULL
from streamgauge.engine.consume.slots import Calls, Over, Slots
from streamgauge.processes.functions import load_function
from streamgauge.workload.processing import Delays, Handling

ARGUMENTS: Final = ("value", "key")
"""What a user's function is called with."""
SPARE: Final = 2_048
"""Room for messages that are over and not recorded, beside those that are not over."""
REDELIVERING: Final = ("delivery_count", "deadline_ms")
"""Columns that are known where messages are redelivered."""
_OTHERS: Final = frozenset({"group", "consumer", "started_ns", "processed_ns", "empty_ns", *REDELIVERING})
_NULLS: Final = {column.name: NULL[column.type] for column in RECEIVED.columns}
_COLUMNS: Final = {name: null for name, null in _NULLS.items() if name not in _OTHERS}
_TOPIC, _PARTITION, _OFFSET, _POLL = map(list(_COLUMNS).index, ("topic", "partition", "offset", "poll"))


@dataclass(slots=True)
class Frontier:
    """Up to which offset everything of one partition is over; messages may be over in any order.

    A log that was cut back has other messages at the same offsets: the same offset may be buffered more than once.
    """

    _waiting: deque[int] = field(default_factory=deque)
    _over: Counter[int] = field(default_factory=Counter)
    _next: int = 0

    def add(self, offsets: Sequence[int]) -> None:
        """These are buffered, in rising order."""
        self._waiting.extend(offsets)
        self._next = offsets[-1] + 1

    def finish(self, offset: int) -> None:
        """The message at this offset is over."""
        if self._waiting[0] == offset:
            self._waiting.popleft()
        else:
            self._over[offset] += 1

    def end(self, offset: int) -> None:
        """The log ends here: what lies between the last message and this is none."""
        self._next = max(self._next, offset)

    def reached(self) -> int:
        """The first offset that is not over."""
        over = self._over
        while over and self._waiting and self._waiting[0] in over:
            offset = self._waiting.popleft()
            over[offset] -= 1
            if not over[offset]:
                del over[offset]
        return self._waiting[0] if self._waiting else self._next


class Storable(NamedTuple):
    """What more may be stored."""

    offsets: list[tuple[int, int, int]]
    """(topic, partition, offset) of partitions of which all below the offset is over."""
    polls: int
    """Polls of which every message is over now."""


class Buffer:
    """The messages of one consumer from its poll to their row; at most `limit` of them are not over."""

    def __init__(
        self,
        handling: Handling,
        limit: int,
        delays: Delays,
        topics: Sequence[str],
        partitions: int,
        now_ns: Callable[[], int],
        told: NDArray[np.int64] | None = None,
        *,
        redelivers: bool = False,
    ) -> None:
        """`told` are cells of places that say at once, and not when rows are recorded, up to where all is processed.

        `redelivers`: whether blocks tell which delivery of its message each is.
        """
        self._columns = {**_COLUMNS, **{name: _NULLS[name] for name in REDELIVERING}} if redelivers else _COLUMNS
        self.over = Over()
        self._told = told
        self._processed: dict[int, Frontier] = {}
        self._seen = 0
        """Messages that are over and not recorded, and are told already."""
        self._delays = delays
        self._limit = limit
        self._topics = topics
        self._partitions = partitions
        self._by_partition = handling.slots is None
        capacity = limit + SPARE + len(topics) * partitions
        self._table = np.empty((capacity, len(self._columns)), np.int64)
        self._free = list(range(capacity))
        self._frontiers: dict[int, Frontier] = {}
        self._left_of_poll: Counter[int] = Counter()
        self._contents: dict[int, tuple[bytes | None, bytes | None]] = {}
        self._function = handling.function
        self._work: Slots | Calls
        if handling.function is None:
            self._work = Slots(delays, self.over, handling.slots)
        else:
            self._work = Calls(
                load_function(handling.function, ARGUMENTS), self.over, self._contents, self._fails, now_ns
            )

    @property
    def count(self) -> int:
        """Messages that are not over."""
        return len(self._table) - len(self._free) - len(self.over.places)

    @property
    def due_ns(self) -> int:
        """When a message is over; NEVER for none."""
        return self._work.due_ns

    @property
    def takes_no_time(self) -> bool:
        """Whether messages would be over at once: nothing is buffered, and at present nothing takes time."""
        return len(self._free) == len(self._table) and self._delays.none and self._function is None

    def begin(self, zero_ns: int) -> None:
        """Learn when the measure phase begins: changes count from it."""
        self._delays.begin(zero_ns)

    def turn(self, now_ns: int) -> bool:
        """End and begin what is due; whether there was anything."""
        self._delays.look(now_ns)
        did = self._work.turn(now_ns)
        if self._told is not None and did:
            self._tell(self._told)
        return did

    def _tell(self, told: NDArray[np.int64]) -> None:
        """Tell what was processed since the last time: after its end was stamped, before anything else."""
        places = self.over.places[self._seen :]
        self._seen += len(places)
        for topic, partition, offset in self._table[places][:, [_TOPIC, _PARTITION, _OFFSET]].tolist():
            cell = topic * self._partitions + partition
            if frontier := self._processed.get(cell):
                frontier.finish(offset)
                told[cell] = frontier.reached()

    def room(self, assigned: int) -> int:
        """How many messages may be polled, where so many partitions are assigned."""
        least = max(self._limit, assigned if self._by_partition else 0)
        return max(0, min(least - self.count, len(self._free)))

    def room_of(self, assigned: int) -> Callable[[Place], int] | None:
        """How many messages of each partition may be polled, at least one; None where partitions share.

        Were a partition that is ahead to take the room of all, the slots of others would stand still.
        """
        if not self._by_partition:
            return None
        share = max(1, self._limit // max(1, assigned))
        waiting, partitions = self._work.waiting, self._partitions
        return lambda place: share - waiting(place[0] * partitions + place[1])

    def hungers(self, assigned: int) -> bool:
        """Whether a slot stands still for want of messages, where so many partitions are assigned."""
        return self._work.hungers(assigned)

    def skipped(self, count: int) -> NDArray[np.bool_] | None:
        """Which of the next messages are never processed; None for none."""
        return self._delays.skipped(count)

    def failed(self, block: Mapping[str, Any]) -> NDArray[np.bool_] | None:
        """Which deliveries of a block of rows fail, whenever they end; None where none can. Foreign ones do not."""
        return _drawn(self._delays.failed, block)

    def take(self, block: Block, fetched: Fetched) -> None:
        """Take what one poll delivered, at most as much as there is room for; `block` has its rows of `received`."""
        count = fetched.count
        rows = np.empty((count, len(self._columns)), np.int64)
        for index, (name, null) in enumerate(self._columns.items()):
            values: Any = block[name]
            rows[:, index] = null if values is None else values
        places = self._free[-count:]
        del self._free[-count:]
        self._table[places] = rows
        self._left_of_poll[int(rows[0, _POLL])] += count
        if self._function is not None:
            self._contents.update(zip(places, fetched.contents(), strict=True))
        skipped = self.skipped(count)
        longer = _drawn(self._delays.overran, block)
        if longer is not None:
            chosen = [place for place, is_long in zip(places, longer.tolist(), strict=True) if is_long]
            self._work.lengthen(chosen, self._delays.overrun_ns)
        cells = rows[:, _TOPIC] * self._partitions + rows[:, _PARTITION]
        offsets = rows[:, _OFFSET].tolist()
        ends = [*(np.flatnonzero(np.diff(cells)) + 1).tolist(), count]
        begin = 0
        for end in ends:
            cell = int(cells[begin])
            self._frontiers.setdefault(cell, Frontier()).add(offsets[begin:end])
            if self._told is not None:
                self._processed.setdefault(cell, Frontier()).add(offsets[begin:end])
            run = places[begin:end]
            if skipped is not None:
                never = skipped[begin:end].tolist()
                self.over.add_untouched([place for place, is_skipped in zip(run, never, strict=True) if is_skipped])
                run = [place for place, is_skipped in zip(run, never, strict=True) if not is_skipped]
            self._work.put(cell, run)
            begin = end

    def end(self, place: Place, offset: int) -> bool:
        """Note that the log of a partition ends at an offset; whether all below it is over."""
        frontier = self._frontiers.setdefault(place[0] * self._partitions + place[1], Frontier())
        frontier.end(offset)
        return frontier.reached() == offset

    def settle(self, most: int | None = None) -> dict[str, Any] | None:
        """Rows of `received`, without the constant columns, of what is over since the last time; None for none.

        At most so many, what was over first. The room of these messages is free again.
        """
        over = self.over.first(most)
        self._seen = max(0, self._seen - len(over.places))
        if not over.places:
            return None
        rows = self._table[over.places]
        block: dict[str, Any] = {name: rows[:, index] for index, name in enumerate(self._columns)}
        block["started_ns"] = np.array(over.started_ns, np.int64)
        block["processed_ns"] = np.array(over.processed_ns, np.int64)
        failed = self.failed(block)
        if failed is not None:
            block["processed_ns"] = np.where(failed, NULL_INT64, block["processed_ns"])
        block["empty_ns"] = None
        self._free += over.places
        return block

    def get_on(self, block: Mapping[str, Any]) -> Storable:
        """What may be stored once these rows, which `settle` gave, are recorded."""
        cells = (block["topic"] * self._partitions + block["partition"]).tolist()
        touched = {}
        for cell, offset in zip(cells, block["offset"].tolist(), strict=True):
            if frontier := self._frontiers.get(cell):
                frontier.finish(offset)
                touched[cell] = frontier
        offsets = [(*divmod(cell, self._partitions), frontier.reached()) for cell, frontier in touched.items()]
        finished = 0
        for poll, count in Counter(block["poll"].tolist()).items():
            self._left_of_poll[poll] -= count
            if not self._left_of_poll[poll]:
                del self._left_of_poll[poll]
                finished += 1
        return Storable(offsets, finished)

    def withdraw(self, revoked: Iterable[Place] | None = None) -> None:
        """Give up what is buffered of these partitions, or of all: it is over, and nothing of it may be stored."""
        every = self._frontiers if revoked is None else [topic * self._partitions + place for topic, place in revoked]
        gone = set(every)
        topic, partition = self._table[:, _TOPIC], self._table[:, _PARTITION]
        self._work.withdraw(lambda place: int(topic[place] * self._partitions + partition[place]) in gone)
        for cell in gone:
            self._frontiers.pop(cell, None)
            self._processed.pop(cell, None)
        # What is given up was not processed, and is not told.
        self._seen = len(self.over.places)

    def _fails(self, place: int, error: Exception) -> WorkerError:
        topic, partition, offset = self._table[place, [_TOPIC, _PARTITION, _OFFSET]].tolist()
        where = f"{self._topics[topic]}, partition {partition}, offset {offset}"
        return WorkerError(f"{self._function} failed for the message at {where}: {type(error).__name__}: {error}")


def _drawn(
    draw: Callable[[Any, Any, Any], NDArray[np.bool_] | None], block: Mapping[str, Any]
) -> NDArray[np.bool_] | None:
    """What is drawn for the messages of a block; never for those of others."""
    producers = block["producer"]
    if producers is None:
        return None
    drawn = draw(producers, block["seq"], block.get("delivery_count", 1))
    return None if drawn is None else drawn & (np.asarray(producers) != NULL_INT32)
