"""What lies between a due time and the client: how long producers waited for the system, and when calls returned."""

from array import array
from bisect import bisect
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from streamgauge.workload.pacing import Int64s

MOST: Final = 1 << 17
"""Blocks and waits that are remembered at most; the older half is forgotten then."""


@dataclass(slots=True)
class Handed:
    """When blocks were handed over and what was waited for before, found again by the `sent_ns` that a block shares."""

    _sent: "array[int]" = field(default_factory=lambda: array("q"))
    _returned: "array[int]" = field(default_factory=lambda: array("q"))
    _longest_ns: int = 0
    """The longest hand-over of blocks that are forgotten."""
    _at: "array[int]" = field(default_factory=lambda: array("q"))
    """Begins and ends of waits, in turn."""
    _waited: "array[int]" = field(default_factory=lambda: array("q"))
    """How long was waited in all by each of these times."""

    def block(self, sent_ns: int, returned_ns: int) -> None:
        """A block was handed over, after all earlier ones."""
        self._sent.append(sent_ns)
        self._returned.append(returned_ns)
        if len(self._sent) > MOST:
            self._forget_blocks(MOST // 2)

    def wait(self, began_ns: int, ended_ns: int) -> None:
        """Nothing could be handed over for a while, by the doing of the system.

        Waits are told when they end. One that lies within another, told later, is a part of it.
        """
        began_ns = max(began_ns, self._at[-1]) if self._at else began_ns
        so_far = self._waited[-1] if self._waited else 0
        self._at.extend((began_ns, ended_ns))
        self._waited.extend((so_far, so_far + ended_ns - began_ns))
        if len(self._at) > 2 * MOST:
            del self._at[:MOST], self._waited[:MOST]

    def returned_ns(self, sent_ns: Int64s) -> Int64s:
        """When the produce calls of these messages had returned; of blocks that are forgotten, at the latest."""
        if not self._sent:
            return sent_ns
        sent, returned = _numbers(self._sent), _numbers(self._returned)
        places = np.minimum(np.searchsorted(sent, sent_ns), len(sent) - 1)
        return np.where(sent[places] == sent_ns, returned[places], sent_ns + self._longest_ns)

    def waited_ns(self, due_ns: Int64s, sent_ns: Int64s) -> Int64s | None:
        """How much of the time from due to sent was waited; None where nothing ever was.

        Of waits that are forgotten it counts nothing, so it is rather too small.
        """
        if not self._at:
            return None
        # Times are told from each other to the nanosecond as long as they are not far from the first.
        first = max(0, bisect(self._at, int(due_ns.min())) - 1)
        base, at, waited = self._at[first], _numbers(self._at)[first:], _numbers(self._waited)[first:]
        due, sent = (np.interp(times - base, at - base, waited) for times in (due_ns, sent_ns))
        return np.maximum(sent - due, 0).astype(np.int64)

    def _forget_blocks(self, count: int) -> None:
        longest = np.subtract(self._returned[:count], self._sent[:count]).max()
        self._longest_ns = max(self._longest_ns, int(longest))
        del self._sent[:count], self._returned[:count]


def _numbers(items: "array[int]") -> Int64s:
    """The items without a copy; while somebody looks at them, the array cannot grow."""
    return np.frombuffer(items, np.int64)
