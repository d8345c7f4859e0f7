"""Which deliveries fail: the same again from the seed alone, and as many as was asked for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.delivery.attempts import expected_by_number, expected_dead
from streamgauge.workload.failing import NEVER_FAILS, Failing, uniform

MESSAGES = 200_000
PRODUCERS = np.repeat(np.arange(4), MESSAGES // 4)
SEQS = np.tile(np.arange(MESSAGES // 4), 4)


def test_what_is_drawn_stays_what_it_is() -> None:
    """Whoever computes the expected deliveries of an old run draws the same; the numbers were computed by hand."""

    def mixed(state: int, value: int) -> int:
        state = ((state ^ value) + 0x9E3779B97F4A7C15) % (1 << 64)
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % (1 << 64)
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) % (1 << 64)
        return state ^ (state >> 31)

    def plainly(*values: int) -> float:
        state = values[0]
        for value in values[1:]:
            state = mixed(state, value)
        return (state >> 11) / (1 << 53)

    rows = [(0, 0, 1), (3, 10**12, 2), (1, 7, 1)]
    found = uniform(42, 33, *map(np.array, zip(*rows, strict=True)))
    assert found.tolist() == [plainly(42, 33, *row) for row in rows]


@given(st.integers(0, (1 << 63) - 1), st.integers(0, 1000), st.integers(0, 1 << 40), st.integers(1, 1000))
def test_every_number_is_a_share(seed: int, producer: int, seq: int, delivery: int) -> None:
    (drawn,) = uniform(seed, 33, [producer], [seq], delivery)
    assert 0 <= drawn < 1


def _deviation(share: float) -> float:
    """Four standard errors of a share of all messages."""
    return 4 * math.sqrt(share * (1 - share) / MESSAGES)


@pytest.mark.parametrize(("fail", "poison", "limit"), [(0.5, 0.0, 3), (0.1, 0.01, 2), (0.9, 0.0, 9), (0.0, 0.3, 1)])
def test_deliveries_and_dead_letters_are_those_of_theory(fail: float, poison: float, limit: int) -> None:
    """Of messages that are delivered again as long as they fail."""
    failing, left = Failing(fail, poison), np.ones(MESSAGES, np.bool_)
    for number, share in enumerate(expected_by_number(fail, poison, limit, 99), 1):
        assert left.mean() == pytest.approx(share, abs=_deviation(share))
        left &= failing.failed(42, PRODUCERS, SEQS, number)
    dead = expected_dead(fail, poison, limit)
    assert left.mean() == pytest.approx(dead, abs=_deviation(dead))


def test_half_that_fails_is_delivered_1_875_times_with_three_redeliveries() -> None:
    """The figures that kmq's documentation gives, and those without a limit."""
    assert sum(expected_by_number(0.5, 0, 3, 99)) == 1.875
    assert expected_dead(0.5, 0, 3) == 0.0625
    assert sum(expected_by_number(0.5, 0, None, 60)) == pytest.approx(2)
    assert expected_dead(0.5, 0, None) == 0


def test_what_is_poisoned_fails_every_time() -> None:
    failing = Failing(poison=0.01)
    first, second = (failing.failed(1, PRODUCERS, SEQS, number) for number in (1, 2))
    assert first.any()
    assert (first == second).all()
    assert failing.fails
    assert not NEVER_FAILS.fails
    assert not NEVER_FAILS.failed(1, PRODUCERS, SEQS, 1).any()


def test_failures_and_overruns_are_drawn_apart() -> None:
    failing = Failing(fail=0.5, overrun=0.5, overrun_ns=5)
    failed, overran = failing.failed(1, PRODUCERS, SEQS, 1), failing.overran(1, PRODUCERS, SEQS, 1)
    assert (failed & overran).mean() == pytest.approx(0.25, abs=_deviation(0.25))
