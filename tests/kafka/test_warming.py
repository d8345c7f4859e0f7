"""When a broker is warm: its compilers are idle, or time is up."""

from collections.abc import Callable

import pytest

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.kafka.prime import Warming

STEP_NS = 10 * NS_PER_MS


def ended_after(least: float, most: float, compiled_ns: Callable[[float], int | None]) -> float:
    """The seconds after which it was over, asked every 10 ms; `compiled_ns` is what was used after so many seconds."""
    begin_ns = now_ns = 77 * NS_PER_SECOND
    least_ns, most_ns = (begin_ns + int(each * NS_PER_SECOND) for each in (least, most))
    warming = Warming(least_ns, most_ns, lambda: compiled_ns((now_ns - begin_ns) / NS_PER_SECOND))
    while not warming.is_over(now_ns):
        now_ns += STEP_NS
    return (now_ns - begin_ns) / NS_PER_SECOND


def busy_for(seconds: float, share: float = 1.0, then: float = 0.0) -> Callable[[float], int]:
    """A core's share so long, and another share then."""

    def used(passed: float) -> int:
        return int((min(passed, seconds) * share + max(0.0, passed - seconds) * then) * NS_PER_SECOND)

    return used


@pytest.mark.parametrize(
    ("least", "most", "compiled_ns", "after"),
    [
        (5, 30, busy_for(60), 30),
        (5, 30, busy_for(8), 9),
        (5, 30, busy_for(2), 5),
        # As much as an idle compiler may use, and a little more.
        (5, 30, busy_for(8, then=0.19), 9),
        (5, 30, busy_for(8, then=0.21), 30),
        # Two compilers at once.
        (5, 30, busy_for(8, share=2), 9),
        # Nobody knows: the shortest time, to the moment.
        (5.55, 30, lambda _: None, 5.55),
        (0.5, 0.5, busy_for(60), 0.5),
        (0, 0, busy_for(60), 0),
    ],
)
def test_it_is_over(least: float, most: float, compiled_ns: Callable[[float], int | None], after: float) -> None:
    assert ended_after(least, most, compiled_ns) == pytest.approx(after, abs=0.011)


def test_compilers_are_looked_at_once_a_second() -> None:
    looked = list[float]()

    def look(passed: float) -> int:
        looked.append(passed)
        return int(passed * NS_PER_SECOND)

    ended_after(5, 10, look)
    assert looked == list(range(10))
