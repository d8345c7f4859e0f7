"""The loop of connections: holds them, opens them and uses them when they are due, and records how long that took.

The schedule is absolute: operation i of a kind is due at i / rate after the start. It is never skipped; what finds all
threads of its kind busy is late. Kinds share no thread, so that one that gets no answers delays no other.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import numpy as np

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64, ConnectionKind, Work
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.engine.board import Order, Slot
from streamgauge.engine.ports.clients import ConnectionsClient
from streamgauge.engine.ports.rows import Sink
from streamgauge.workload.pacing import ConstantPacer, Int64s

PREPARE_NS: Final = 30 * NS_PER_SECOND
"""Held connections that are not made by then are made when they are due for the first time."""
GRACE_NS: Final = NS_PER_SECOND
"""What is late when the load ends may for so long begin."""
TICK_SECONDS: Final = 0.1
"""Between two blocks of rows, and two looks at what the supervisor wants."""


@dataclass(frozen=True, slots=True)
class _Use:
    """One operation that was carried out."""

    kind: ConnectionKind
    number: int
    due_ns: int
    at_ns: int
    took_ns: int
    error: str | None


@dataclass(slots=True)
class Connector:
    """Carries out what is asked of connections. `slot` is its row of the board.

    Its threads hold the interpreter for some microseconds at a time and wait for the rest; no message is measured in
    its process.
    """

    client: ConnectionsClient
    work: Sequence[Work]
    sink: Sink
    slot: Int64s
    order: Callable[[], Order]
    now_ns: Callable[[], int] = clock.monotonic_ns
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set when the load is over before its time."""
    _done: deque[_Use] = field(default_factory=deque)

    def prepare(self) -> None:
        """Make every held connection and use it once, one after the other, for at most `PREPARE_NS`."""
        limit_ns = self.now_ns() + PREPARE_NS
        for kind, number in ((work.kind, number) for work in self.work for number in range(work.held)):
            if self.order() >= Order.GO or self.now_ns() > limit_ns:
                break
            self._use(kind, number, NULL_INT64)
        self._record()

    def run(self, start_ns: int, end_ns: int) -> None:
        """Carry out all that is due from `start_ns` until `end_ns`, or until the supervisor ends the load."""
        with ThreadPoolExecutor(sum(work.at_once for work in self.work), thread_name_prefix="connect") as pool:
            pending = {
                pool.submit(self.serve, work, share, start_ns, end_ns) for work in self.work for share in shares(work)
            }
            try:
                while pending:
                    done, pending = wait(pending, TICK_SECONDS)
                    self._record()
                    for each in done:
                        each.result()
                    if self.order() > Order.GO:
                        self.stopped.set()
            finally:
                self.stopped.set()
        self._record()

    def serve(self, work: Work, share: Iterable[int], start_ns: int, end_ns: int) -> None:
        """Carry out these operations of a kind, one after the other, each when it is due or as soon as it can be."""
        pacer = ConstantPacer(work.per_second, 0, 1)
        for operation in share:
            due_ns = start_ns + int(pacer.due_ns(operation, 1)[0])
            if due_ns >= end_ns or not self._await(due_ns) or self.now_ns() > end_ns + GRACE_NS:
                return
            self._use(work.kind, operation % work.held if work.held else operation, due_ns)

    def _await(self, due_ns: int) -> bool:
        """Wait until something is due; False if the load is stopped before."""
        while (left_ns := due_ns - self.now_ns()) > 0:
            if self.stopped.wait(left_ns / NS_PER_SECOND):
                return False
        return not self.stopped.is_set()

    def _use(self, kind: ConnectionKind, number: int, due_ns: int) -> None:
        at_ns = self.now_ns()
        ended_ns, error = self.client.use(kind, number)
        self._done.append(_Use(kind, number, due_ns, at_ns, ended_ns - at_ns, error))

    def _record(self) -> None:
        """Record what was carried out since the last call; threads may go on meanwhile."""
        rows = [self._done.popleft() for _ in range(len(self._done))]
        if not rows:
            return
        self.sink.append(
            {
                "at_ns": np.array([row.at_ns for row in rows], np.int64),
                "kind": [row.kind.value for row in rows],
                "number": np.array([row.number for row in rows], np.int64),
                "due_ns": np.array([row.due_ns for row in rows], np.int64),
                "took_ns": np.array([row.took_ns for row in rows], np.int64),
                "error": [row.error for row in rows],
            },
            len(rows),
        )
        self.slot[Slot.MESSAGES] += len(rows)
        self.slot[Slot.FAILED] += sum(row.error is not None for row in rows)


def shares(work: Work) -> Sequence[Iterable[int]]:
    """The operations of each thread of a kind.

    Whoever is free takes the next one; but a held connection belongs to one thread, which never uses it twice at once.
    """
    threads = work.at_once
    if not work.held:
        # Several threads may take from it: it is one call for the interpreter.
        together = count()
        return [together] * threads
    return [_turns(range(thread, work.held, threads), work.held) for thread in range(threads)]


def _turns(connections: Sequence[int], held: int) -> Iterator[int]:
    """The uses of some of the held connections, of which each has its turn after all others."""
    return (first + turn for turn in count(step=held) for first in connections)
