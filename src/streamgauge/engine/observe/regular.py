"""Looking again and again: the schedule of those who observe a run."""

from collections.abc import Callable
from typing import Final

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.engine.board import Order

NAP_NS: Final = 50 * clock.NS_PER_MS
"""The order is looked at in between."""


def regularly(
    every_ns: int,
    look: Callable[[], None],
    order: Callable[[], Order],
    now_ns: Callable[[], int],
    sleep: Callable[[float], None],
) -> None:
    """Look on an absolute schedule until the supervisor wants the end; what was missed meanwhile is not made up for."""
    next_ns = now_ns()
    while order() < Order.FINISH:
        if now_ns() >= next_ns:
            look()
            missed = max(0, (now_ns() - next_ns) // every_ns)
            next_ns += (missed + 1) * every_ns
        sleep(max(0, min(next_ns - now_ns(), NAP_NS)) / NS_PER_SECOND)
