"""The formulas of lag, against numbers that can be worked out by hand."""

import pytest

from streamgauge.control.theory import (
    backlog,
    busy_limit,
    credit_utilisation,
    drawn_utilisation,
    hysteresis_lag,
    hysteresis_outstanding,
    idle_share,
    starving_resume,
)


def test_a_backlog_rises_and_falls_and_is_never_less_than_nothing() -> None:
    assert backlog([(8, 10, 4), (4, 10, 16), (10, 10, 16), (1, 10, 4)]) == [48, 24, 0, 6]


@pytest.mark.parametrize(
    ("rate", "reaction", "commit", "outstanding", "lag"),
    [
        # The tight setting: 5,000, samples of 1 s, a poll of 0.1 s, commits of 1 s.
        (10_000, 1.1, 1.0, 5_000 + 6_000 * 1.1, 5_000 + 6_000 * 1.1 + 4_000),
        # Commits that are older than the reaction count for as long as it takes.
        (10_000, 1.1, 9.0, 5_000 + 6_000 * 1.1, 5_000 + 6_000 * 1.1 + 4_400),
        # Without delays it is the limit.
        (10_000, 0.0, 1.0, 5_000, 5_000),
        # A load that can be done does not overshoot.
        (3_000, 1.0, 1.0, 5_000, 9_000),
    ],
)
def test_hysteresis_overshoots_by_what_happens_while_nobody_looks(
    rate: float, reaction: float, commit: float, outstanding: float, lag: float
) -> None:
    assert hysteresis_outstanding(5_000, rate, 4_000, reaction) == pytest.approx(outstanding)
    assert hysteresis_lag(5_000, rate, 4_000, reaction, commit) == pytest.approx(lag)


def test_consumers_run_dry_below_what_they_do_while_nobody_looks() -> None:
    """At the threshold itself they do not; at half of it, they wait for half of the delay."""
    dry = starving_resume(1_000, 2.0)

    assert dry == 2_000
    assert idle_share(5_000, dry, 3_000, 1_000, 0.5, 2.0) == 0
    # Up to 6,000, which takes 3 s; down to nothing in 6 s, and a second of nothing.
    assert idle_share(5_000, dry / 2, 3_000, 1_000, 0.5, 2.0) == pytest.approx(1 / (3 + 6 + 1))


def test_a_load_that_can_be_done_starves_nobody() -> None:
    assert idle_share(5_000, 1, 900, 1_000, 1.0, 1.0) == 0


def test_credit_keeps_slots_busy_from_littles_law_on() -> None:
    """12 slots of 4.5 ms, and 5.5 ms until another message takes the place of one that is done."""
    capacity = 12 / 0.0045
    enough = busy_limit(12, capacity, 0.0055)

    assert enough == pytest.approx(12 * (1 + 5.5 / 4.5))
    assert credit_utilisation(enough, 12, capacity, 0.0055) == 1
    assert credit_utilisation(enough / 2, 12, capacity, 0.0055) == pytest.approx(0.5)
    assert credit_utilisation(10 * enough, 12, capacity, 0.0055) == 1


def test_queues_that_are_drawn_need_far_more() -> None:
    assert drawn_utilisation(1, 1) == 1
    assert drawn_utilisation(2, 2) == pytest.approx(2 / 3)
    assert drawn_utilisation(50, 12) == pytest.approx(50 / 61)
    assert drawn_utilisation(50, 12, 5) == pytest.approx(10 / 21)
