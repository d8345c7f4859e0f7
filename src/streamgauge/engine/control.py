"""The controller: sees how far consumers are, lets a policy decide, and publishes what producers may send.

It is the only one that writes grants, and what it reads has one writer each; nobody waits for anybody.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from streamgauge.control.credit import Credits, Seen
from streamgauge.control.hysteresis import LagHysteresis
from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT32, NULL_INT64
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.engine.board import Cell, Order, Slot
from streamgauge.engine.ports.rows import Sink
from streamgauge.engine.ports.workers import Board
from streamgauge.engine.produce.throttle import OPEN, SHUT

ROWS: Final = 256
"""Decisions are recorded in blocks of about so many."""
RECORD_NS: Final = NS_PER_SECOND // 10
GRANT: Final = "grant"

_NUMBERS: Final = ("at_ns", "processed", "granted", "outstanding", "lag")
DecisionRow = tuple[int, int | None, int | None, int | None, int | None, int | None, str]
"""Time, producer (None for all), the other numbers, and the reason."""


@dataclass(frozen=True, slots=True)
class Controlled:
    """Who is held back, and by whose progress."""

    state: LagHysteresis | Credits
    """Of the policy, before it has seen anything."""
    poll_ns: int
    """Interval of decisions."""
    producers: Mapping[int, int]
    """Row on the board of each producer, by its number."""
    groups: tuple[tuple[int, ...], ...]
    """Of each group, the rows of its consumers."""


class _Policy(Protocol):
    def begin(self, _now_ns: int, /) -> list[DecisionRow]:
        """Publish what holds before anything was seen."""
        ...

    def turn(self, now_ns: int, /) -> list[DecisionRow]:
        """Look, decide, publish; the decisions."""
        ...


@dataclass(slots=True)
class ByLag:
    """Lets everything go, or nothing, by the lag that was sampled last."""

    state: LagHysteresis
    board: Board
    rows: Sequence[int]

    def begin(self, _now_ns: int) -> list[DecisionRow]:
        """Nothing holds producers back before lag is known."""
        self._publish()
        return []

    def turn(self, now_ns: int) -> list[DecisionRow]:
        """Decide by the last sample."""
        sampled = self.board.control.item(Cell.LAG)
        lag = None if sampled == NULL_INT64 else sampled
        self.state, reason = self.state.decide(lag)
        if reason is None:
            return []
        self._publish()
        return [(now_ns, None, None, SHUT if self.state.paused else None, None, lag, reason)]

    def _publish(self) -> None:
        self.board.slots[list(self.rows), Slot.GRANTED] = SHUT if self.state.paused else OPEN


@dataclass(slots=True)
class ByCredit:
    """Grants what consumers made free."""

    credits: Credits
    board: Board
    controlled: Controlled

    def begin(self, now_ns: int) -> list[DecisionRow]:
        """Grant the whole limit."""
        return self.turn(now_ns)

    def turn(self, now_ns: int) -> list[DecisionRow]:
        """Grant what is free by now."""
        seen = self._look()
        later = self.credits.decide(seen)
        if later == self.credits:
            return []
        rows: list[DecisionRow] = []
        cells = self.controlled.producers
        for (number, row), before, after in zip(cells.items(), self.credits.granted, later.granted, strict=True):
            if before != after:
                self.board.slots[row, Slot.GRANTED] = after
                rows.append((now_ns, number, seen.processed, after, seen.outstanding, None, GRANT))
        self.credits = later
        return rows

    def _look(self) -> Seen:
        """What is seen now. Who has ended is asked first: what such a producer claimed is final."""
        rows = list(self.controlled.producers.values())
        slots = self.board.slots
        dead = frozenset(np.flatnonzero(slots[rows, Slot.ENDED]).tolist())
        return Seen(
            processed=min(self._processed(group) for group in range(len(self.controlled.groups))),
            claimed=slots[rows, Slot.CLAIMED].tolist(),
            returned=int(slots[rows, Slot.RETURNED].sum()),
            dead=dead,
        )

    def _processed(self, group: int) -> int:
        """Messages of this run that a group has processed, in each partition up to the first that it has not.

        The topics were made by this run, so that offsets begin at 0; what others wrote into them does not count.
        """
        frontiers = self.board.frontiers[list(self.controlled.groups[group])].max(axis=0)
        return int(frontiers.sum() - self.board.foreign[group].sum())


@dataclass(slots=True)
class Controller:
    """Decides on an absolute schedule until the run is over."""

    policy: _Policy
    poll_ns: int
    sink: Sink
    order: Callable[[], Order]
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    _waiting: list[DecisionRow] = field(default_factory=list)
    _recorded_ns: int = 0

    def begin(self) -> None:
        """Publish what holds before the load begins."""
        self._note(self.policy.begin(self.now_ns()))

    def run(self) -> None:
        """Decide until the supervisor wants the end, and record every decision."""
        next_ns = self.now_ns()
        while self.order() < Order.FINISH:
            now_ns = self.now_ns()
            if now_ns >= next_ns:
                self._note(self.policy.turn(now_ns))
                next_ns = max(next_ns + self.poll_ns, now_ns)
            self.sleep(max(0, min(next_ns - self.now_ns(), 50 * NS_PER_MS)) / NS_PER_SECOND)
        self._record()

    def _note(self, rows: list[DecisionRow]) -> None:
        self._waiting += rows
        now_ns = self.now_ns()
        if len(self._waiting) >= ROWS or now_ns - self._recorded_ns >= RECORD_NS:
            self._recorded_ns = now_ns
            self._record()

    def _record(self) -> None:
        if not self._waiting:
            return
        at_ns, producers, *numbers, reasons = zip(*self._waiting, strict=True)
        columns = {
            name: np.array([NULL_INT64 if value is None else value for value in values], np.int64)
            for name, values in zip(_NUMBERS, (at_ns, *numbers), strict=True)
        }
        columns["producer"] = np.array([NULL_INT32 if each is None else each for each in producers], np.int32)
        self.sink.append({**columns, "reason": list(reasons)}, len(self._waiting))
        self._waiting.clear()


def policy_of(controlled: Controlled, board: Board) -> _Policy:
    """The policy at work on the board of a run."""
    if isinstance(controlled.state, LagHysteresis):
        return ByLag(controlled.state, board, list(controlled.producers.values()))
    return ByCredit(controlled.state, board, controlled)
