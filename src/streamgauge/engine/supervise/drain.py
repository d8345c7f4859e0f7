"""The drain: whether what was sent has come through, and how long to wait for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import numpy as np

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.board import Cell, Slot, State
from streamgauge.engine.ports.clients import Offsets
from streamgauge.engine.supervise.plan import Plan
from streamgauge.engine.supervise.workers import Worker, Workers, places_of

STILL_NS: Final = 2 * NS_PER_SECOND
"""Without acknowledgements, what has not come to the logs in so long will not come."""
SETTLED_NS: Final = NS_PER_SECOND
"""Trackers have read every marker by then, and what they sent again is in the logs."""

_T = TypeVar("_T")


@dataclass(slots=True)
class Draining:
    """Waits for the query and the consumers of a run. `goes_on` says whether it still may; `tick` lets time pass."""

    plan: Plan
    offsets: Offsets
    workers: Workers
    goes_on: Callable[[], bool]
    tick: Callable[[], None]
    now_ns: Callable[[], int]

    def await_query(self, limit_ns: int) -> bool:
        """Whether the query was done with all that it reads, and ended, before the limit; it is told to end then."""
        query, targets = self._query(), self._targets(limit_ns)
        while not self._is_processed(targets):
            if self.now_ns() >= limit_ns or not self.goes_on() or query.is_over():
                return False
            self.tick()
        self.workers.board.control[Cell.STOP_QUERY] = 1
        while query.state(self.workers.board) < State.FLUSHED:
            if self.now_ns() >= limit_ns or not self.goes_on() or query.is_over():
                return False
            self.tick()
        return True

    def await_read(self, limit_ns: int) -> bool:
        """Whether every group read all that there was to read before the limit, and nothing is to be redelivered."""
        read = self._await_settled(limit_ns) if self.plan.redelivers else self._await_positions(limit_ns)
        return read and self._asked(self._left_nothing, limit_ns)

    def _await_positions(self, limit_ns: int) -> bool:
        """Whether every group that lives read up to the log ends before the limit."""
        targets = self._targets(limit_ns)
        while True:
            read = self._asked(partial(self.is_read, targets), limit_ns)
            if read or self.now_ns() >= limit_ns or not self.goes_on():
                return read
            self.tick()

    def _await_settled(self, limit_ns: int) -> bool:
        """Whether all that was read is acknowledged or dead before the limit, and has been for a while.

        What is redelivered makes the logs longer, those of retry topics too. A tracker that lives takes over what
        another one leaves open, seconds after that has died.
        """
        targets, since_ns = self._targets(limit_ns), None
        while self.now_ns() < limit_ns and self.goes_on():
            now_ns = self.now_ns()
            if self._has_open() or not self._asked(partial(self.is_read, targets), limit_ns):
                since_ns = None
            elif since_ns is None or now_ns - since_ns >= SETTLED_NS:
                before, targets = targets, self._asked(self.offsets.log_ends, limit_ns)
                if since_ns is not None and targets == list(before):
                    return True
                since_ns = now_ns if targets == list(before) else None
            self.tick()
        return False

    def _has_open(self) -> bool:
        """Whether a tracker has something open, or a partition has none that would know."""
        slots, trackers = self.workers.board.slots, self.workers.rows("tracker", alive=True)
        known = int(slots[trackers, Slot.ASSIGNED].sum())
        return bool(self.plan.trackers) and (known < self.plan.places or bool(slots[trackers, Slot.BUFFERED].any()))

    def is_through(self, targets: Sequence[int]) -> bool:
        """Whether what a run reads that sends nothing is read: by the query, where there is one, else by all groups."""
        return self._is_processed(targets) if self.plan.query else self.is_read(targets)

    def is_read(self, targets: Sequence[int]) -> bool:
        """Whether every group that lives has read all that it reads up to the target, and processed it."""
        groups = self.workers.rows_by_group(alive=True)
        return all(self._has_read(group, rows, targets) for group, rows in groups.items())

    def _left_nothing(self) -> bool:
        """Whether groups of which nobody lives any more had committed all that there is: nobody reads on for them."""
        deserted = self.workers.rows_by_group().keys() - self.workers.rows_by_group(alive=True).keys()
        targets = self.offsets.log_ends() if deserted else []
        return all(self._has_committed(group, targets, self.plan.read_places) for group in deserted)

    def _has_committed(self, group: int, targets: Sequence[int], places: Sequence[int]) -> bool:
        """Whether the commits of a group, or what a share group is done with, come to the targets of some places."""
        done = self.offsets.committed(group)
        return all((done[place] or 0) >= targets[place] for place in places)

    def _query(self) -> Worker:
        return next(iter(self.workers.of("query")))

    def _is_processed(self, targets: Sequence[int]) -> bool:
        """Whether the query has committed all that it reads up to the target."""
        assert self.plan.query
        places = places_of(self.plan.query)
        done = self.workers.board.positions[self._query().rows[0], places] >= np.asarray(targets)[places]
        return bool(done.all())

    def _targets(self, limit_ns: int) -> Sequence[int]:
        if self.plan.is_unacknowledged:
            return self.final_ends(limit_ns)
        return self._asked(self.offsets.log_ends, limit_ns)

    def _asked(self, ask: Callable[[], _T], limit_ns: int) -> _T:
        """What the cluster answers; in a run with faults asked until the limit, as their brokers may yet come back."""
        while True:
            try:
                return ask()
            except BrokerError:
                if not self.plan.faults or self.now_ns() >= limit_ns or not self.goes_on():
                    raise
            self.tick()

    def final_ends(self, limit_ns: int) -> Sequence[int]:
        """The log ends once they stand still: without acknowledgements, what was sent may still be on its way."""
        ends, changed_ns = self._asked(self.offsets.log_ends, limit_ns), self.now_ns()
        while self.now_ns() < min(limit_ns, changed_ns + STILL_NS) and self.goes_on():
            self.tick()
            if (later := self._asked(self.offsets.log_ends, limit_ns)) != ends:
                ends, changed_ns = later, self.now_ns()
        return ends

    def _has_read(self, group: int, rows: Sequence[int], targets: Sequence[int]) -> bool:
        board = self.workers.board
        if board.slots[rows, Slot.BUFFERED].any():
            return False
        if self.workers.share:
            # It is done with messages in any order, and tells how many of them have no final outcome.
            return self._has_committed(group, targets, self.plan.read_places)
        places = np.asarray(self.plan.read_places)
        positions, wanted = board.positions[rows].max(axis=0)[places], np.asarray(targets)[places]
        behind = positions < wanted
        if not behind.any():
            return True
        # What nobody alive has touched may be empty, or read by somebody who died: the commits tell.
        if positions[behind].any():
            return False
        return self._has_committed(group, targets, places[behind].tolist())
