"""What processes messages on the polling loop: slots that take as long as was drawn, or a user's function.

A slot is no thread but a deadline in one heap: a message starts when its slot is free, and is processed when the loop
observes that its time is over. Both are readings of the clock, and the next message of a slot starts with the reading
that ended the one before. How late a message was ended is taken from the next one of its slot, so that overshoot does
not add up: delays are true on average, and a slot processes as many as it should. Messages are known by their places in
the table of the buffer.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Final

from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import WorkerError
from streamgauge.workload.processing import NEVER, Delays

CALL_NS: Final = 5 * NS_PER_MS
"""A user's function is called for so long before something else has its turn."""
MAKES_UP: Final = 2
"""A message is shortened by the overshoot of the one before, by no more than this part of its own time: what a stall of
the machine cost is not made up for in a burst."""
Leaves = Callable[[int], bool]
"""Whether the message at a place of the table is given up."""


@dataclass(slots=True)
class Over:
    """Messages that are over and not recorded, as columns: place in the table, begin and end of processing."""

    places: list[int] = field(default_factory=list)
    started_ns: list[int] = field(default_factory=list)
    processed_ns: list[int] = field(default_factory=list)

    def add(self, place: int, started_ns: int, processed_ns: int) -> None:
        """One message is over."""
        self.places.append(place)
        self.started_ns.append(started_ns)
        self.processed_ns.append(processed_ns)

    def add_untouched(self, places: Sequence[int]) -> None:
        """Messages whose processing never began."""
        self.places += places
        self.started_ns += [NULL_INT64] * len(places)
        self.processed_ns += [NULL_INT64] * len(places)

    def first(self, most: int | None) -> "Over":
        """Take out what was over first, at most so much; all for None."""
        taken = Over(self.places[:most], self.started_ns[:most], self.processed_ns[:most])
        del self.places[:most], self.started_ns[:most], self.processed_ns[:most]
        return taken


class Slots:
    """Slots that each take as long as was drawn: `count` of them for all partitions, or one for each (None)."""

    def __init__(self, delays: Delays, over: Over, count: int | None) -> None:
        self._delays = delays
        self._over = over
        self._count = count
        self._queues: dict[int, deque[int]] = {}
        self._idle: Counter[int] = Counter()
        self._ready: set[int] = set()
        self._longer: dict[int, int] = {}
        """How long those messages take, by their places, that do not take as long as was drawn."""
        self._heap: list[tuple[int, int, int, int]] = []
        """Deadline, lane (cell, or 0 for all), place and begin of each message that is being processed."""

    def lengthen(self, places: Iterable[int], takes_ns: int) -> None:
        """These messages, which are yet to come, take so long."""
        self._longer.update(dict.fromkeys(places, takes_ns))

    def put(self, cell: int, places: Iterable[int]) -> None:
        """Take messages of one cell, in their order."""
        lane = cell if self._count is None else 0
        if lane not in self._queues:
            self._queues[lane] = deque()
            self._idle[lane] = self._count or 1
        self._queues[lane].extend(places)
        self._ready.add(lane)

    def turn(self, now_ns: int) -> bool:
        """End what is due and let each free slot begin its next message; whether there was anything."""
        heap = self._heap
        if not self._ready and (not heap or heap[0][0] > now_ns):
            return False
        queues, next_ns, over, longer = self._queues, self._delays.next_ns, self._over, self._longer
        for lane in self._ready:
            while self._idle[lane] and queues[lane]:
                place = queues[lane].popleft()
                takes_ns = longer.pop(place, 0) if longer else 0
                heappush(heap, (now_ns + (takes_ns or next_ns()), lane, place, now_ns))
                self._idle[lane] -= 1
        self._ready.clear()
        while heap and heap[0][0] <= now_ns:
            due_ns, lane, place, started_ns = heap[0]
            over.places.append(place)
            over.started_ns.append(started_ns)
            over.processed_ns.append(now_ns)
            if queue := queues[lane]:
                place = queue.popleft()
                takes_ns = (longer.pop(place, 0) if longer else 0) or next_ns()
                takes_ns -= min(now_ns - due_ns, takes_ns // MAKES_UP)
                heapreplace(heap, (now_ns + takes_ns, lane, place, now_ns))
            else:
                heappop(heap)
                self._idle[lane] += 1
        return True

    @property
    def due_ns(self) -> int:
        """When there is something to do; NEVER for nothing."""
        return self._heap[0][0] if self._heap else NEVER

    def hungers(self, assigned: int) -> bool:
        """Whether a slot stands still, where so many partitions are assigned."""
        return len(self._heap) < (self._count or assigned)

    def waiting(self, cell: int) -> int:
        """Messages of a cell that only its own slot takes, with the one in it."""
        queue = None if self._count else self._queues.get(cell)
        return 0 if queue is None else len(queue) + 1 - self._idle[cell]

    def withdraw(self, leaves: Leaves) -> None:
        """Give messages up; those that began keep their begin."""
        stay = []
        for entry in self._heap:
            _, lane, place, started_ns = entry
            if leaves(place):
                self._over.add(place, started_ns, NULL_INT64)
                self._idle[lane] += 1
            else:
                stay.append(entry)
        self._heap[:] = stay
        heapify(self._heap)
        for queue in self._queues.values():
            _part(queue, leaves, self._over)
        self._longer = {place: takes_ns for place, takes_ns in self._longer.items() if not leaves(place)}
        self._ready.update(self._queues)


class Calls:
    """A user's function, called on the loop; `fails` makes the error for a message that it cannot take."""

    def __init__(
        self,
        function: Callable[..., Any],
        over: Over,
        contents: dict[int, tuple[bytes | None, bytes | None]],
        fails: Callable[[int, Exception], WorkerError],
        now_ns: Callable[[], int],
    ) -> None:
        self._function = function
        self._over = over
        self._contents = contents
        self._fails = fails
        self._now_ns = now_ns
        self._queue: deque[int] = deque()

    def lengthen(self, _places: Iterable[int], _takes_ns: int) -> None:
        """None: a function takes as long as it takes."""

    def put(self, _cell: int, places: Iterable[int]) -> None:
        """Take messages, in their order."""
        self._queue.extend(places)

    def turn(self, now_ns: int) -> bool:
        """Call the function for what is queued, for `CALL_NS` or a little longer; whether there was anything.

        Raises WorkerError if the function fails.
        """
        if not self._queue:
            return False
        end_ns = now_ns + CALL_NS
        while self._queue and now_ns < end_ns:
            place, started_ns = self._queue.popleft(), now_ns
            try:
                self._function(*self._contents.pop(place))
            except Exception as error:
                raise self._fails(place, error) from error
            now_ns = self._now_ns()
            self._over.add(place, started_ns, now_ns)
        return True

    @property
    def due_ns(self) -> int:
        """At once, as long as there is a message."""
        return 0 if self._queue else NEVER

    def hungers(self, _assigned: int) -> bool:
        """Whether there is no message."""
        return not self._queue

    def waiting(self, _cell: int) -> int:
        """None: partitions share the loop."""
        return 0

    def withdraw(self, leaves: Leaves) -> None:
        """Give messages up."""
        _part(self._queue, leaves, self._over)


def _part(queue: deque[int], leaves: Leaves, over: Over) -> None:
    """Take out of a queue what leaves."""
    places = list(queue)
    queue.clear()
    queue.extend(place for place in places if not leaves(place))
    over.add_untouched([place for place in places if leaves(place)])
