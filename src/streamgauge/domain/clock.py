"""The only module that reads a clock. Everything else takes the time as an argument.

`monotonic_ns` is CLOCK_MONOTONIC: it never steps and is the same for all processes of one host, so a stamp written by
a producer may be subtracted from one taken by a consumer.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime

monotonic_ns = time.monotonic_ns
process_cpu_ns = time.process_time_ns
sleep_seconds = time.sleep

NS_PER_SECOND = 1_000_000_000
NS_PER_MS = 1_000_000
NS_PER_US = 1_000


@dataclass(frozen=True, slots=True)
class ClockPair:
    """The wall clock and the monotonic clock, read together: what turns one into the other."""

    wall_ns: int
    monotonic_ns: int

    @property
    def ahead_ns(self) -> int:
        """How far the wall clock is ahead of the monotonic clock."""
        return self.wall_ns - self.monotonic_ns


_ATTEMPTS = 5


def clock_pair() -> ClockPair:
    """Both clocks, the wall clock read between two monotonic readings whose middle is taken.

    Of several attempts the one with the least time between the readings counts: a process that is stopped in the midst
    of one would take half of the stop for a difference between the clocks.
    """
    best_ns, best = None, ClockPair(0, 0)
    for _ in range(_ATTEMPTS):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        if best_ns is None or after - before < best_ns:
            best_ns, best = after - before, ClockPair(wall_ns=wall, monotonic_ns=(before + after) // 2)
    return best


def utc_text(wall_ns: int) -> str:
    """A wall-clock reading as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(wall_ns / NS_PER_SECOND, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def local_stamp(wall_ns: int) -> str:
    """A wall-clock reading as `YYYYmmdd-HHMMSS` in local time, for the names of folders."""
    return datetime.fromtimestamp(wall_ns / NS_PER_SECOND, tz=UTC).astimezone().strftime("%Y%m%d-%H%M%S")
