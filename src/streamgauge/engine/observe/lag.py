"""The lag sampler: asks the cluster, on a client of its own, where every partition stands for every group."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.board import Cell, Order
from streamgauge.engine.observe.regular import regularly
from streamgauge.engine.ports.clients import Offsets
from streamgauge.engine.ports.rows import Sink
from streamgauge.engine.ports.workers import Board
from streamgauge.workload.pacing import Int64s

STARTS_NS: Final = NS_PER_SECOND
"""Log starts move when a broker deletes old segments, which is seldom: they are asked no more often than this."""


@dataclass(frozen=True, slots=True)
class SampledGroups:
    """Who is sampled."""

    groups: tuple[tuple[int, ...], ...]
    """Of each group, the rows of its consumers on the board."""
    reads: tuple[tuple[int, ...], ...]
    """The places that each group reads."""
    own: int
    """How many of the groups, the first ones, commit to the cluster; what others have done is told in their cells."""
    partitions: int
    """Partitions of each topic."""
    every_ns: int


@dataclass(slots=True)
class LagSampler:
    """Samples on an absolute schedule until the run is over; what was missed meanwhile is not made up for."""

    offsets: Offsets
    sampled: SampledGroups
    board: Board
    sink: Sink
    order: Callable[[], Order]
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    _starts_ns: int = field(default=-(1 << 62))

    def run(self) -> None:
        """Sample until the supervisor wants the end."""
        regularly(self.sampled.every_ns, self.sample, self.order, self.now_ns, self.sleep)

    def sample(self) -> None:
        """Record one row for each group and place; rows with a reason where the cluster did not say."""
        at_ns = self.now_ns()
        starts = ends = answered_ns = None
        error = None
        try:
            if at_ns - self._starts_ns >= STARTS_NS:
                starts = self.offsets.log_starts()
                self._starts_ns = at_ns
                # No lag depends on how long that took.
                at_ns = self.now_ns()
            # Ends are asked after commits, and positions looked at after ends: so it is known which of them a lag that
            # moved meanwhile makes too large, and which too small.
            committed = [self._committed(group) for group in range(len(self.sampled.groups))]
            ends = self.offsets.log_ends()
            answered_ns = self.now_ns()
        except BrokerError as failure:
            committed, error = [], str(failure)
        self._tell(committed, ends)
        for group, rows in enumerate(self.sampled.groups):
            commits = committed[group] if committed else None
            places = self.sampled.reads[group]
            self._record((at_ns, answered_ns), group, places, starts, commits, self._positions(rows), ends, error)
        if not self.sampled.groups:
            everywhere = range(self.board.positions.shape[1])
            self._record((at_ns, answered_ns), None, everywhere, starts, None, None, ends, error)

    def _committed(self, group: int) -> Sequence[int | None]:
        if group < self.sampled.own:
            return self.offsets.committed(group)
        told: list[int] = self._positions(self.sampled.groups[group]).tolist()
        return told

    def _positions(self, rows: Sequence[int]) -> Int64s:
        """The next offset that anybody of a group reads in each place; 0 for a place that nobody has read."""
        positions: Int64s = self.board.positions[list(rows)].max(axis=0)
        return positions

    def _tell(self, committed: Sequence[Sequence[int | None]], ends: Sequence[int] | None) -> None:
        """Leave the committed lag of the group that is furthest behind to who decides by it."""
        if ends is None:
            # Nothing was learnt: what was known stands.
            return
        lags = [self._lag(group, commits, ends) for group, commits in enumerate(committed)]
        self.board.control[Cell.LAG] = (
            NULL_INT64 if None in lags or not lags else max(lag for lag in lags if lag is not None)
        )

    def _lag(self, group: int, committed: Sequence[int | None], ends: Sequence[int]) -> int | None:
        behind = 0
        for place in self.sampled.reads[group]:
            commit = committed[place]
            if commit is None:
                return None
            behind += max(0, ends[place] - commit)
        return behind

    def _record(
        self,
        asked_and_answered_ns: tuple[int, int | None],
        group: int | None,
        places: Sequence[int],
        starts: Sequence[int] | None,
        committed: Sequence[int | None] | None,
        positions: Int64s | None,
        ends: Sequence[int] | None,
        error: str | None,
    ) -> None:
        chosen = np.array(places, np.int32)
        self.sink.append(
            {
                "at_ns": asked_and_answered_ns[0],
                "answered_ns": asked_and_answered_ns[1],
                "topic": chosen // self.sampled.partitions,
                "group": group,
                "partition": chosen % self.sampled.partitions,
                "start": _known(starts, places),
                "committed": _known(committed, places),
                "position": None
                if positions is None
                else np.where(positions[chosen] > 0, positions[chosen], NULL_INT64),
                "end": _known(ends, places),
                "error": None if error is None else [error] * len(chosen),
            },
            len(chosen),
        )


def _known(offsets: Sequence[int | None] | None, places: Sequence[int]) -> Int64s | None:
    """The offsets of some places; None where nothing is known of any."""
    if offsets is None:
        return None
    return np.array([NULL_INT64 if (offset := offsets[place]) is None else offset for place in places], np.int64)
