"""Several producers in one process, round robin."""

from collections.abc import Callable, Sequence
from typing import Final

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.engine.produce.loop import NOW, Producer, Times

ROUND_NS: Final = 200_000
"""Between two rounds, where nobody has anything to do before."""


def run_round_robin(
    producers: Sequence[Producer],
    times: Times,
    now_ns: Callable[[], int] = clock.monotonic_ns,
    sleep: Callable[[float], None] = clock.sleep_seconds,
) -> None:
    """Drive several producers in one process, round robin: none waits for another's reports."""
    at_work = [(producer, producer.steps(times), NOW) for producer in producers]
    while at_work:
        still = []
        for producer, steps, wait in at_work:
            if wait.at_ns > now_ns() and not producer.is_stopped:
                producer.attend()
                if not wait.on_report:
                    still.append((producer, steps, wait))
                    continue
            elif wait.on_report:
                producer.attend()
            following = next(steps, None)
            if following is not None:
                still.append((producer, steps, following))
        at_work = still
        next_ns = min((wait.at_ns for _, _, wait in at_work if not wait.on_report), default=now_ns() + ROUND_NS)
        if (left_ns := min(next_ns - now_ns(), ROUND_NS)) > 0:
            sleep(left_ns / NS_PER_SECOND)
