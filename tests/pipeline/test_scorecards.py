"""Recovery: causes from faults, scorecards of series whose recovery is known, and what holds for every series."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.pipeline.pressure.scorecard import (
    Cause,
    FaultEvent,
    Recovery,
    Series,
    carried_out,
    causes,
    debt,
    scorecard,
)

INTERVAL = 0.5
RATE = 10.0
"""So that rate x interval is 5: the tolerance of a series that does not vary."""


def series(value: Callable[[float], float], end: float = 40.0, begin: float = -5.0) -> Series:
    seconds = np.arange(begin, end, INTERVAL)
    return Series(seconds, np.array([value(second) for second in seconds.tolist()], float))


def cause(began: float | None, ended: float, since: float | None = None, until: float | None = None) -> Cause:
    return Cause("pause", "consumers", None, began, ended, since, until)


def paused(second: float) -> float:
    """A floor of 100; a pause from 10 s to 20 s that fills by 1,000/s, and drains by 2,000/s: in 5 s."""
    if second < 10:
        return 100.0
    return 100.0 + 1_000 * (second - 10) if second < 20 else max(100.0, 10_100 - 2_000 * (second - 20))


def test_a_pause_is_recovered_from_in_the_time_that_draining_takes() -> None:
    found = scorecard(series(paused), cause(10, 20), RATE)

    assert found == Recovery(
        floor=100.0, tolerance=5.0, detected=0.5, peak=10_100.0, peak_second=20.0, at_end=10_100.0, time_to_drain=5.0,
        drain_rate=2_000.0, peak_slope=2_000.0,
    )  # fmt: skip


def test_what_held_from_the_begin_on_is_judged_by_the_tail() -> None:
    """Full from the first second; from 20 s on it drains by 1,000/s to 50."""
    found = scorecard(
        series(lambda second: 8_050.0 if second < 20 else max(50.0, 8_050 - 1_000 * (second - 20))),
        cause(None, 20),
        RATE,
    )

    assert (found.floor, found.time_to_drain, found.drain_rate, found.detected) == (50.0, 8.0, 1_000.0, None)


def test_a_tail_that_still_falls_is_no_floor() -> None:
    found = scorecard(series(lambda second: 50_000 - 1_000 * second), cause(None, 20), RATE)

    assert (found.floor, found.tolerance, found.time_to_drain, found.drain_rate) == (None, None, None, None)
    assert (found.at_end, found.peak_slope) == (30_000.0, 1_000.0)


def test_what_is_not_back_by_the_end_has_no_time_to_drain() -> None:
    found = scorecard(series(paused, end=24.0), cause(10, 20), RATE)

    assert (found.floor, found.peak, found.time_to_drain, found.drain_rate) == (100.0, 10_100.0, None, None)


def test_it_has_to_stay_for_three_samples() -> None:
    """Back at 25 s for two samples, then away, and back for good at 30 s."""

    def value(second: float) -> float:
        return 900.0 if 26 <= second < 30 else paused(second)

    assert scorecard(series(value), cause(10, 20), RATE).time_to_drain == 10.0
    # The last two samples of a series are no proof either.
    assert scorecard(series(paused, end=26.0), cause(10, 20), RATE).time_to_drain is None


def test_a_kill_shows_after_it_happened() -> None:
    """Others take over: from 12 s to 15 s the value rises, and it is not over before it shows."""

    def value(second: float) -> float:
        rises = 100 + 1_000 * (second - 12)
        return 100.0 if second < 12 else rises if second < 15 else max(100.0, 3_100 - 1_000 * (second - 15))

    found = scorecard(series(value), cause(10, 10), RATE)

    assert (found.detected, found.time_to_drain, found.peak, found.drain_rate) == (2.5, 8.0, 3_100.0, None)


def test_what_was_never_felt_is_over_at_once() -> None:
    found = scorecard(series(lambda _: 100.0), cause(10, 20), RATE)

    assert (found.detected, found.time_to_drain, found.drain_rate, found.peak_slope) == (None, 0.0, None, 0.0)


def test_the_next_cause_ends_the_view_and_the_last_one_begins_it() -> None:
    """What comes after another cause began is not looked at, nor what was before the last was over."""
    found = scorecard(series(lambda second: paused(second) if second < 23 else 1e9), cause(10, 20, until=23), RATE)
    assert (found.peak, found.time_to_drain) == (10_100.0, None)
    found = scorecard(series(lambda second: 1e9 if second < 5 else paused(second)), cause(10, 20, since=5), RATE)
    assert (found.floor, found.time_to_drain) == (100.0, 5.0)


def test_what_still_falls_after_the_cause_before_is_no_floor() -> None:
    """Then the end of the time before tells it, where that has settled; else the whole of it, as ever."""

    def twice(second: float) -> float:
        return paused(second) if second < 30 else paused(second - 20)

    found = scorecard(series(twice, 60.0), cause(30, 40, since=20), RATE)
    assert (found.floor, found.tolerance, found.time_to_drain) == (100.0, 5.0, 5.0)
    falling = scorecard(series(lambda second: max(0.0, 10_000 - 100 * second)), cause(30, 35, since=0), RATE)
    assert falling.floor == pytest.approx(8_525, abs=50)


def test_what_varies_is_back_within_three_deviations() -> None:
    """Around 100 by 20 and 40, so that the median deviation is 20."""
    around = (-40.0, -20.0, 0.0, 20.0, 40.0)

    def value(second: float) -> float:
        return paused(second) + around[round(second / INTERVAL) % 5]

    found = scorecard(series(value), cause(10, 20), RATE)

    assert (found.floor, found.tolerance, found.time_to_drain) == (100.0, 60.0, 5.0)


@pytest.mark.parametrize("seconds", [0, 1, 2])
def test_too_little_tells_nothing(seconds: int) -> None:
    few = Series(np.arange(seconds, dtype=np.float64), np.ones(seconds))

    assert scorecard(few, cause(0.0, 0.5), RATE).time_to_drain is None


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=60),
    st.floats(-1, 30),
    st.floats(0, 20),
    st.floats(0, 1e5) | st.none(),
    st.booleans(),
)
def test_a_scorecard_never_contradicts_its_series(
    values: list[float], began: float, lasted: float, rate: float | None, known: bool
) -> None:
    """Once drained, three values are within tolerance; the peak is a value; what is not known is None throughout."""
    seen = Series(np.arange(len(values), dtype=np.float64) * INTERVAL, np.array(values))
    ended = began + lasted
    found = scorecard(seen, cause(began if known else None, ended), rate)

    assert found.peak is None or found.peak in values
    assert (found.floor is None) == (found.tolerance is None)
    if found.time_to_drain is not None:
        assert found.floor is not None
        assert found.tolerance is not None
        back = [
            value
            for second, value in zip(seen.seconds, values, strict=True)
            if second >= ended + found.time_to_drain - 1e-9
        ]
        if found.time_to_drain > 0:
            assert all(value <= found.floor + found.tolerance + 1e-6 for value in back[:3])
            assert len(back) >= 3
    if found.drain_rate is not None:
        assert found.time_to_drain
        assert found.at_end is not None
        assert found.floor is not None
        assert found.drain_rate == pytest.approx((found.at_end - found.floor) / found.time_to_drain)
    assert found.peak_slope is None or found.peak_slope >= 0


@given(st.floats(0, 1e4), st.floats(100, 1e5), st.integers(2, 20))
def test_draining_takes_what_it_takes_within_one_interval(floor: float, height: float, seconds: int) -> None:
    """A straight fall over a known time, however high."""

    def value(second: float) -> float:
        return (
            floor
            if second < 5
            else floor + height
            if second < 10
            else floor + max(0.0, height * (1 - (second - 10) / seconds))
        )

    found = scorecard(series(value), cause(5, 10), 0.0)

    assert found.time_to_drain == pytest.approx(seconds, abs=INTERVAL)


def test_events_become_causes() -> None:
    """Whatever ended, and every kill that nothing ends; a removal without a begin held from the begin on."""
    events = [
        FaultEvent(2.0, "delay", "consumers", "end", "1ms"),
        FaultEvent(10.0, "pause", "consumer-0", "begin"),
        FaultEvent(15.0, "pause", "consumer-0", "end"),
        FaultEvent(20.0, "kill", "consumer-1", "begin"),
        FaultEvent(30.0, "kill", "broker-1", "begin"),
        FaultEvent(31.0, "kill", "consumer-0", "begin"),
        FaultEvent(33.0, "kill", "broker-1", "end"),
        FaultEvent(40.0, "burst", "producers", "begin", "9/s"),
        FaultEvent(44.0, "burst", "producers", "end", "1/s"),
    ]

    assert causes(reversed(events)) == [
        Cause("delay", "consumers", "1ms", None, 2.0, None, 10.0),
        Cause("pause", "consumer-0", None, 10.0, 15.0, 2.0, 20.0),
        Cause("kill", "consumer-1", None, 20.0, 20.0, 15.0, 30.0),
        Cause("kill", "consumer-0", None, 31.0, 31.0, 20.0, 40.0),
        Cause("kill", "broker-1", None, 30.0, 33.0, 20.0, 40.0),
        Cause("burst", "producers", "9/s", 40.0, 44.0, 33.0, None),
    ]


def test_a_cause_whose_end_had_an_error_lasted_until_then() -> None:
    """Also a kill: its target was down until somebody tried to start it again."""
    rows: list[dict[str, object]] = [
        {"second": 10.0, "kind": "kill", "target": "broker-1", "action": "begin", "detail": None, "error": None},
        {"second": 20.0, "kind": "kill", "target": "broker-1", "action": "end", "detail": None, "error": "no port"},
    ]

    (found,) = causes(carried_out(rows))
    assert (found.began, found.ended, found.error) == (10.0, 20.0, "no port")


def test_what_could_not_be_begun_is_no_cause_and_neither_is_its_end() -> None:
    rows: list[dict[str, object]] = [
        {"second": 10.0, "kind": "cut", "target": "a-b", "action": "begin", "detail": None, "error": "no proxy"},
        {"second": 20.0, "kind": "cut", "target": "a-b", "action": "end", "detail": None, "error": None},
    ]

    assert causes(carried_out(rows)) == []


def test_what_is_done_to_several_at_once_is_one_disturbance() -> None:
    """Neither ends the view of the other, nor begins it."""
    events = [FaultEvent(10.0 + 0.01 * number, "kill", f"consumer-{number}", "begin") for number in range(2)]

    assert [(each.since, each.until) for each in causes(events)] == [(None, None), (None, None)]


def test_debt_is_what_lies_above_over_time() -> None:
    values = {9: 500.0, 10: 30.0, 11: 10.0, 12: 4.0, 13: 100.0}

    # Half of second 10, all of 11, nothing of 12, which lies below, and a quarter of 13.
    assert debt(values, 5.0, 10.5, 13.25) == 25.0 / 2 + 5.0 + 95.0 / 4
    assert debt({}, 5.0, 0.0, 9.0) == 0
