"""How far two clocks are apart: read so that a pause does no harm, and judged from reading to reading."""

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.verdict.checks.clocks import ClockReading, Movement, movement

S = NS_PER_SECOND


def readings(*leads_ms: float, every_ns: int = S // 2) -> Sequence[ClockReading]:
    return [ClockReading(place * every_ns, 5 * S + round(lead * NS_PER_MS)) for place, lead in enumerate(leads_ms)]


@pytest.mark.parametrize(
    ("read", "in_all_ms", "step_ms", "at_s"),
    [
        ((), 0, 0, None),
        (readings(0), 0, 0, None),
        (readings(0, 0, 0), 0, 0, None),
        (readings(0, 2_000, 2_000), 2_000, 2_000, 0.5),
        (readings(0, 0, -3_600_000), 3_600_000, -3_600_000, 1.0),
        # There and back again: the larger, or the first of two that are alike.
        (readings(0, 10, 10, 0), 10, 10, 0.5),
        (readings(0, 10, 10, -5), 15, -15, 1.5),
        # NTP slews by 0.25 ms in half a second, and readings may be off by 0.1 ms.
        (readings(0, 0.34, 0.68, 1.02), 1.02, 0, None),
        (readings(0, -0.34, -0.68), 0.68, 0, None),
        (readings(0, 0.36), 0.36, 0.36, 0.5),
        # Over a minute it may slew by 30 ms.
        (readings(0, 30, every_ns=60 * S), 30, 0, None),
        (readings(0, 31, every_ns=60 * S), 31, 31, 60.0),
    ],
)
def test_a_clock_that_was_set_and_one_that_drifts(
    read: Sequence[ClockReading], in_all_ms: float, step_ms: float, at_s: float | None
) -> None:
    expected_at = None if at_s is None else round(at_s * S)

    assert movement(read) == Movement(round(in_all_ms * NS_PER_MS), round(step_ms * NS_PER_MS), expected_at)


def test_a_pause_between_two_readings_does_not_move_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process stands still for 90 ms within the first attempt; the wall clock is 1,000 ns ahead all the time."""
    at = iter([0, 10, 90_000_000, 90_000_100, 90_000_101, 90_000_102, *range(90_000_200, 90_002_000, 50)])
    monotonic = lambda: next(at)  # noqa: E731
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic_ns=monotonic, time_ns=lambda: next(at) + 1_000))

    pair = clock.clock_pair()

    assert (pair.ahead_ns, pair.monotonic_ns) == (1_000, 90_000_101)
