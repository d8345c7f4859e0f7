"""What a pacer is, and what can be asked of any."""

from bisect import bisect_left
from typing import Final, Protocol

from streamgauge.domain.latency.buckets import Int64s as Int64s

NEVER: Final = 1 << 62
"""Due time of the messages beyond the end of a schedule: 146 years."""


class Pacer(Protocol):
    """The schedule of one producer: due times in ns after the start of the load, which is the begin of the warm-up."""

    def due_ns(self, first: int, count: int) -> Int64s:
        """Due times of the messages `first` to `first + count - 1`, never falling; `NEVER` beyond the last."""
        ...


def count_before(pacer: Pacer, at_ns: int, limit: int) -> int:
    """How many messages, at most `limit`, are due before `at_ns`."""

    def due_ns(seq: int) -> int:
        return int(pacer.due_ns(seq, 1)[0])

    # Looked for among twice as many, again and again: what is far ahead costs random schedules the way to it.
    known, among = 0, min(1, limit)
    while known < among and due_ns(among - 1) < at_ns:
        known, among = among, min(2 * among, limit)
    return bisect_left(range(among), at_ns, lo=known, key=due_ns)
