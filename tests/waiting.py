"""Waiting for what happens in its own time, with a deadline."""

from collections.abc import Callable

from streamgauge.domain import clock


def until(reached: Callable[[], object], seconds: float = 120) -> None:
    """Return when something is so; fail when it is not so in time."""
    deadline_ns = clock.monotonic_ns() + int(seconds * clock.NS_PER_SECOND)
    while not reached():
        assert clock.monotonic_ns() < deadline_ns, "not reached in time"
        clock.sleep_seconds(0.02)
