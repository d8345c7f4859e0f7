"""What holds one producer back: how many messages it may send by now, and when it saw that it may."""

from typing import Final

import numpy as np

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.engine.board import Slot
from streamgauge.workload.pacing import NEVER, Int64s

LOOK_NS: Final = NS_PER_MS // 2
"""A producer that waits to be let go looks so often."""
MOST_KEPT: Final = 1 << 19
"""Admissions that are remembered. Half of them are forgotten at a time, far more than can be in flight by then: a
policy decides a thousand times a second at most, and a message is in flight for no longer than the drain."""


class Throttle:
    """Reads what a policy granted, and claims it message by message; `slot` is the producer's row of shared cells.

    A policy grants a number of messages since the begin of the run. `NEVER` lets everything go; less than was claimed
    already lets nothing go.
    """

    def __init__(self, slot: Int64s) -> None:
        self._slot = slot
        self._claimed = 0
        self._dropped = 0
        self._known = 0
        """What was granted when it was looked at last."""
        self._firsts = np.zeros(1024, np.int64)
        self._seen_ns = np.zeros(1024, np.int64)
        self._count = 0

    def room(self, now_ns: int) -> int:
        """How many messages may be sent now."""
        granted = self._slot.item(Slot.GRANTED)
        if granted != self._known:
            if granted > max(self._known, self._claimed):
                self._admit(max(self._known, self._claimed), now_ns)
            self._known = granted
        return max(0, granted - self._claimed)

    def claim(self, count: int) -> None:
        """Say that so many messages are about to be sent, before the first of them is."""
        self._claimed += count
        self._slot[Slot.CLAIMED] = self._claimed - self._dropped

    def drop(self, count: int) -> None:
        """Pass so many messages over that are never sent; what is granted is counted with them from then on."""
        self._claimed += count
        self._dropped += count

    def admitted_ns(self, seqs: Int64s) -> Int64s:
        """When it was seen that these messages, which were sent, may be."""
        places = np.searchsorted(self._firsts[: self._count], seqs, side="right") - 1
        found: Int64s = self._seen_ns[places]
        return found

    def settle(self, *, returned: int, ambiguous: int) -> None:
        """Count messages claimed that failed: those certainly not written, and those of which nobody knows."""
        self._slot[Slot.RETURNED] += returned
        self._slot[Slot.AMBIGUOUS] += ambiguous

    def _admit(self, first: int, now_ns: int) -> None:
        """From message `first` on, what may be sent was seen to be so now."""
        if self._count == len(self._firsts):
            self._make_room()
        self._firsts[self._count], self._seen_ns[self._count] = first, now_ns
        self._count += 1

    def _make_room(self) -> None:
        if self._count < MOST_KEPT:
            self._firsts, self._seen_ns = (np.concatenate([each, each]) for each in (self._firsts, self._seen_ns))
            return
        half = self._count // 2
        for each in (self._firsts, self._seen_ns):
            each[:half] = each[half:]
        self._count = half


OPEN: Final = NEVER
"""What is granted where everything may go."""
SHUT: Final = 0
"""What is granted where nothing may go."""
