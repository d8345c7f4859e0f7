"""Waiting until a machine is quiet before the next run, so that no run pays for the one before."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import psutil

from streamgauge.domain import clock

QUIET_SHARE: Final = 0.9
"""Of all cores, idle."""
_LOOK_SECONDS: Final = 0.25
_LOOKS: Final = 2
"""Quiet ones in a row; a pause between two pieces of work is one."""


@dataclass(frozen=True, slots=True)
class Settled:
    """How waiting ended."""

    is_quiet: bool
    idle_share: float
    """At the last look."""


def idle_share() -> float:
    """The share of all cores that is idle, over the next quarter of a second."""
    # Not by `cpu_times_percent`, for which less than a second of CPU time is a whole one: one idle core is half idle.
    return 1 - psutil.cpu_percent(_LOOK_SECONDS) / 100


def settled(
    limit_ns: int, look: Callable[[], float] = idle_share, now_ns: Callable[[], int] = clock.monotonic_ns
) -> Settled:
    """Wait until the machine is quiet, but no longer than the limit by more than one look."""
    end_ns, quiet = now_ns() + limit_ns, 0
    while True:
        share = look()
        quiet = quiet + 1 if share >= QUIET_SHARE else 0
        if quiet == _LOOKS or now_ns() >= end_ns:
            return Settled(quiet > 0, share)
