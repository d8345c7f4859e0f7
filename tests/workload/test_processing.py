"""How long messages take, which are skipped, and how many may be taken."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.scenario.model.pacing.processing import Processing
from streamgauge.workload.processing import (
    CATCH_UP_NS,
    NEVER,
    Allowance,
    Delays,
    Handling,
    Stretch,
    draws,
    handling_of,
    stretches,
)

MS = NS_PER_MS


def handled(**given: object) -> Handling:
    return handling_of(processing(**given))


def processing(**given: object) -> Processing:
    return Processing.model_validate(given)


def test_changes_are_stretches_of_their_own() -> None:
    """The first one was there from the beginning; what a change leaves out is 0."""
    made = stretches(processing(delay="4ms", jitter="1ms", changes=[{"at": "3s"}, {"at": "5s", "delay": "1ms"}]))

    assert made == (
        Stretch(-NEVER, 4 * MS, MS),
        Stretch(3 * NS_PER_SECOND, 0, 0),
        Stretch(5 * NS_PER_SECOND, MS, 0),
    )


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 2**32))
def test_a_jitter_is_added_and_never_reached(delay_ns: int, jitter_ns: int, seed: int) -> None:
    drawn = draws(
        Stretch(0, delay_ns, jitter_ns), exponential=False, count=100, random=np.random.default_rng(seed)
    ).tolist()

    assert all(delay_ns <= each < delay_ns + max(1, jitter_ns) for each in drawn)


@pytest.mark.parametrize(
    ("stretch", "exponential", "mean_ns", "deviation_ns"),
    [
        (Stretch(0, 500_000, 0), False, 500_000, 0),
        (Stretch(0, 500_000, 200_000), False, 600_000, 200_000 / 12**0.5),
        (Stretch(0, 800_000, 0), True, 800_000, 800_000),
        (Stretch(0, 800_000, 400_000), True, 1_000_000, (800_000**2 + 400_000**2 / 12) ** 0.5),
    ],
)
def test_the_distribution_is_the_one_that_was_asked_for(
    stretch: Stretch, exponential: bool, mean_ns: float, deviation_ns: float
) -> None:
    """Mean within four standard errors, deviation within 2 %."""
    drawn = draws(stretch, exponential=exponential, count=100_000, random=np.random.default_rng(42))

    assert abs(drawn.mean() - mean_ns) <= 4 * deviation_ns / 100_000**0.5 + 1
    assert drawn.std() == pytest.approx(deviation_ns, rel=0.02, abs=1)


def test_a_seed_makes_the_same_delays_and_every_consumer_its_own() -> None:
    one, same, other = (
        Delays(handled(delay="1ms", jitter="1ms", skip=0.5), 42, who) for who in ((0, 1), (0, 1), (0, 2))
    )
    times = [[each.next_ns() for _ in range(2000)] for each in (one, same, other)]
    skipped = [np.asarray(each.skipped(100)).tolist() for each in (one, same, other)]

    assert times[0] == times[1] != times[2]
    assert skipped[0] == skipped[1] != skipped[2]


def test_changes_count_from_the_measure_phase() -> None:
    """Before its begin is known there are none; the moment itself belongs to what follows."""
    delays = Delays(handled(delay="4ms", changes=[{"at": "3s"}, {"at": "5s", "delay": "1ms"}]), 42, ())
    seen = []
    delays.look(100 * NS_PER_SECOND)
    delays.begin(200 * NS_PER_SECOND)
    for at_ns in (0, 3 * NS_PER_SECOND - 1, 3 * NS_PER_SECOND, 4 * NS_PER_SECOND, 9 * NS_PER_SECOND):
        delays.look(200 * NS_PER_SECOND + at_ns)
        seen.append((delays.next_ns(), delays.none))

    assert seen == [(4 * MS, False), (4 * MS, False), (0, True), (0, True), (MS, False)]


def test_a_look_that_comes_late_skips_what_is_over() -> None:
    delays = Delays(handled(delay="4ms", changes=[{"at": "3s"}, {"at": "5s", "delay": "1ms"}]), 42, ())
    delays.begin(0)
    delays.look(7 * NS_PER_SECOND)

    assert delays.next_ns() == MS


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_the_share_that_is_skipped(share: float) -> None:
    skipped = Delays(handled(skip=share), 42, ()).skipped(100_000)

    assert (0.0 if skipped is None else skipped.mean()) == pytest.approx(share, abs=0.004)


@given(
    st.floats(0.5, 1e6), st.lists(st.tuples(st.integers(0, 200 * MS), st.integers(0, 5000)), min_size=1, max_size=50)
)
def test_never_more_than_the_rate_allows(per_second: float, looks: list[tuple[int, int]]) -> None:
    """In any stretch of time: the rate, what is made up for, and the first message."""
    allowance, now_ns, taken = Allowance(per_second), 10**15, []
    for gap_ns, wanted in looks:
        now_ns += gap_ns
        count = min(wanted, allowance.room(now_ns))
        allowance.take(count)
        taken.append((now_ns, count))
    for first, (begin_ns, _) in enumerate(taken):
        for last in range(first, len(taken)):
            most = (taken[last][0] - begin_ns + CATCH_UP_NS) * per_second / NS_PER_SECOND + 1
            assert sum(count for _, count in taken[first : last + 1]) <= most + 1e-3


@pytest.mark.parametrize(("per_second", "bite"), [(0.5, 1), (100, 1), (1_000, 1), (10_000, 10), (250_000, 250)])
def test_one_that_always_wants_gets_the_rate_evenly(per_second: float, bite: int) -> None:
    """Exactly, and in bites of about a millisecond where messages follow closely."""
    allowance, now_ns, bites = Allowance(per_second), 10**15, []
    end_ns = now_ns + 20 * NS_PER_SECOND
    while now_ns < end_ns:
        count = allowance.room(now_ns)
        assert count > 0
        allowance.take(count)
        bites.append(count)
        assert allowance.room(allowance.ready_ns - 1) == 0
        now_ns = allowance.ready_ns

    assert sum(bites) == pytest.approx(20 * per_second, abs=bite + 1)
    assert max(bites) <= bite + 1
    assert np.mean(bites) >= bite - 1
