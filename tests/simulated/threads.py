"""Threads that sleep until a time or until something is ready, and that have no core at times."""

import heapq
import itertools
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

Stalls = tuple[tuple[int, int], ...]
"""When a thread has no core: begins and ends, one after the other."""
Thread = Generator[tuple[int, "Queue | None"], int]
"""Yields until when it sleeps, and the queue that wakes it before; it is sent the time at which it runs again."""
Steps = Generator[tuple[int, "Queue | None"], int, int]
"""A part of a thread, which returns the time."""


@dataclass(eq=False)
class Queue:
    """What is ready at some time, and who sleeps until then."""

    items: list[tuple[int, int, Any]] = field(default_factory=list)
    sleeper: "Sleeper | None" = None

    def is_ready(self, now: int) -> bool:
        """Whether anything is ready by now."""
        return bool(self.items) and self.items[0][0] <= now

    def take(self, now: int, most: int | None = None) -> list[Any]:
        """What is ready by now."""
        out: list[Any] = []
        while self.is_ready(now) and len(out) != most:
            out.append(heapq.heappop(self.items)[2])
        return out


@dataclass(eq=False)
class Sleeper:
    """One thread."""

    thread: Thread
    stalls: Stalls
    wakes: int = 0
    until: int = 0
    is_exempt: bool = False
    """Whether it always has a core, for a while."""

    def runs(self, at: int) -> int:
        """When it runs that is ready to run at a time."""
        for begin, end in () if self.is_exempt else self.stalls:
            at = end if begin <= at < end else at
        return at

    def waits(self, begin: int, end: int) -> int:
        """For how long it was ready to run and had no core."""
        return sum(max(0, min(end, to) - max(begin, since)) for since, to in self.stalls)


@dataclass
class Loop:
    """Runs threads, and what is to be done at some time, in the order of time."""

    current: Sleeper = field(init=False)
    """The thread that runs."""
    _events: list[tuple[int, int, int, Any]] = field(default_factory=list)
    _number: Any = field(default_factory=itertools.count)

    def add(self, thread: Thread, stalls: Stalls) -> None:
        """A thread that begins at 0."""
        self._schedule(Sleeper(thread, stalls), 0)

    def at(self, time: int, work: Callable[[int], None]) -> None:
        """Something to be done at a time."""
        heapq.heappush(self._events, (time, next(self._number), 0, work))

    def put(self, queue: Queue, ready: int, item: Any) -> None:
        """Something that will be ready at a time; who sleeps until then is woken."""
        heapq.heappush(queue.items, (ready, next(self._number), item))
        if queue.sleeper is not None and ready < queue.sleeper.until:
            self._schedule(queue.sleeper, ready)

    def run(self) -> None:
        """Until all threads have ended."""
        while self._events:
            now, _, wakes, what = heapq.heappop(self._events)
            if not isinstance(what, Sleeper):
                what(now)
            elif wakes == what.wakes:
                self._go_on(what, now)

    def _go_on(self, sleeper: Sleeper, now: int) -> None:
        self.current = sleeper
        try:
            until, queue = next(sleeper.thread) if sleeper.wakes == 1 else sleeper.thread.send(now)
        except StopIteration:
            return
        if queue is not None:
            queue.sleeper = sleeper
            until = min(until, max(now, queue.items[0][0])) if queue.items else until
        self._schedule(sleeper, until)

    def _schedule(self, sleeper: Sleeper, at: int) -> None:
        sleeper.wakes, sleeper.until = sleeper.wakes + 1, at
        heapq.heappush(self._events, (sleeper.runs(at), next(self._number), sleeper.wakes, sleeper))
