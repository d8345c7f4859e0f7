"""The drain: whether what was sent has come through, and how long to wait for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.engine.live import Cell, Live, Slot, State
from streamgauge.engine.supervise.crew import Worker, places_of
from streamgauge.engine.supervise.plan import Plan
from streamgauge.engine.worker.roles import ConsumerJob

STILL_NS: Final = 2 * NS_PER_SECOND
"""Without acknowledgements, what has not come to the logs in so long will not come."""


class Ends(Protocol):
    """What the supervisor asks the cluster: of every partition of every topic, in the order of their places."""

    def log_ends(self) -> list[int]:
        """Log end offset of each place."""
        ...

    def committed(self, group: int) -> list[int | None]:
        """Committed offset of a group in each place."""
        ...


@dataclass(slots=True)
class Draining:
    """Waits for the query and the consumers of a run. `goes_on` says whether it still may; `tick` lets time pass."""

    plan: Plan
    ends: Ends
    live: Live
    workers: Sequence[Worker]
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
        self.live.control[Cell.STOP_QUERY] = 1
        while query.state(self.live) < State.FLUSHED:
            if self.now_ns() >= limit_ns or not self.goes_on() or query.is_over():
                return False
            self.tick()
        return True

    def await_read(self, limit_ns: int) -> bool:
        """Whether every group read all that there was to read before the limit."""
        targets = self._targets(limit_ns)
        while not (read := self.is_read(targets)) and self.now_ns() < limit_ns and self.goes_on():
            self.tick()
        return read

    def is_through(self, targets: Sequence[int]) -> bool:
        """Whether what a run reads that sends nothing is read: by the query, where there is one, else by all groups."""
        return self._is_processed(targets) if self.plan.query else self.is_read(targets)

    def is_read(self, targets: Sequence[int]) -> bool:
        """Whether every group has read all that it reads up to the target, and processed it."""
        groups = rows_by_group([worker for worker in self.workers if not worker.is_over()])
        return all(self._has_read(group, rows, targets) for group, rows in groups.items())

    def _query(self) -> Worker:
        return next(worker for worker in self.workers if worker.role == "query")

    def _is_processed(self, targets: Sequence[int]) -> bool:
        """Whether the query has committed all that it reads up to the target."""
        assert self.plan.query
        places = places_of(self.plan.query)
        done = self.live.positions[self._query().rows[0], places] >= np.asarray(targets)[places]
        return bool(done.all())

    def _targets(self, limit_ns: int) -> Sequence[int]:
        return self.final_ends(limit_ns) if self.plan.is_unacknowledged else self.ends.log_ends()

    def final_ends(self, limit_ns: int) -> Sequence[int]:
        """The log ends once they stand still: without acknowledgements, what was sent may still be on its way."""
        ends, changed_ns = self.ends.log_ends(), self.now_ns()
        while self.now_ns() < min(limit_ns, changed_ns + STILL_NS) and self.goes_on():
            self.tick()
            if (later := self.ends.log_ends()) != ends:
                ends, changed_ns = later, self.now_ns()
        return ends

    def _has_read(self, group: int, rows: Sequence[int], targets: Sequence[int]) -> bool:
        live = self.live
        if live.slots[rows, Slot.BUFFERED].any():
            return False
        places = np.asarray(self.plan.read_places)
        positions, wanted = live.positions[rows].max(axis=0)[places], np.asarray(targets)[places]
        behind = positions < wanted
        if not behind.any():
            return True
        # What nobody alive has touched may be empty, or read by somebody who died: the commits tell.
        if positions[behind].any():
            return False
        committed = self.ends.committed(group)
        return all((committed[place] or 0) >= targets[place] for place in places[behind].tolist())


def rows_by_group(workers: Sequence[Worker]) -> dict[int, list[int]]:
    """The rows of the shared cells of each group's consumers among these workers."""
    groups: dict[int, list[int]] = {}
    for worker in workers:
        if isinstance(worker.job, ConsumerJob):
            for row, member in zip(worker.rows, worker.job.members, strict=True):
                groups.setdefault(member.group, []).append(row)
    return groups
