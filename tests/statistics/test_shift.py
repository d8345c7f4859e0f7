"""Tests and intervals of a shift: as published, as SciPy has them, and as often wrong as they say."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamgauge.domain.latency.buckets import Floats
from streamgauge.statistics.null import least_signed_rank_p
from streamgauge.statistics.shift import Shift, has_outliers, paired_t, rank_sum, sign_flip_p, signed_rank

DEPRESSION = (
    np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]),
    np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]),
)
"""Hollander and Wolfe, Nonparametric Statistical Methods, table 3.1."""
PERMEABILITY = (
    np.array([0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]),
    np.array([1.15, 0.88, 0.90, 0.74, 1.21]),
)
"""Of the same, table 4.1."""


def test_signed_ranks_are_those_of_the_book() -> None:
    """R: wilcox.test(x, y, paired = TRUE, conf.int = TRUE)."""
    found = signed_rank(DEPRESSION[1] - DEPRESSION[0])
    assert found.p == pytest.approx(0.0390625)
    assert found.estimate == pytest.approx(-0.46)
    assert (found.low, found.high) == pytest.approx((-0.786, -0.010))
    assert least_signed_rank_p(9) == 2 / 2**9


def test_rank_sums_are_those_of_the_book() -> None:
    """R: wilcox.test(x, y, conf.int = TRUE)."""
    found = rank_sum(PERMEABILITY[1], PERMEABILITY[0])
    assert found.p == pytest.approx(0.2544, abs=5e-5)
    assert found.estimate == pytest.approx(0.305)
    assert (found.low, found.high) == pytest.approx((-0.15, 0.76))


def test_the_t_of_pairs_is_that_of_scipy() -> None:
    found, theirs = paired_t(DEPRESSION[1] - DEPRESSION[0]), stats.ttest_rel(DEPRESSION[1], DEPRESSION[0])
    ends = theirs.confidence_interval(0.95)
    assert found.p == pytest.approx(theirs.pvalue)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        pytest.param([1, 2, 3, 4, 5, 6], 2 / 64, id="all agree"),
        pytest.param([1, 2, 3, 4, 5, -1], 6 / 64, id="the smallest does not"),
        pytest.param([1, -1, 1, -1], 1.0, id="they cancel each other out"),
        pytest.param([0, 0, 0], 1.0, id="nothing differs"),
    ],
)
def test_signs_are_flipped_in_every_way(differences: list[float], expected: float) -> None:
    assert sign_flip_p(np.array(differences, float)) == pytest.approx(expected)


def test_pairs_without_a_difference_count_for_neither_side() -> None:
    found = signed_rank(np.array([0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    assert found.p == pytest.approx(2 / 2**6)


def test_ties_are_dealt_out_at_random() -> None:
    """Of four values that are alike in pairs, one arrangement in three is as extreme, in either direction."""
    assert rank_sum(np.array([1.0, 1.0]), np.array([2.0, 2.0])).p == pytest.approx(2 / 6)
    assert rank_sum(np.ones(5), np.ones(5)).p == 1.0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 1.1, 0.9, 1.05, 0.95], False),
        ([1.0, 1.1, 0.9, 1.05, 3.0], True),
        ([1.0, 1.0, 1.0, 1.0, 3.0], True),
        ([1.0, 1.0, 1.0], False),
        ([1.0, 9.0], False),
    ],
    ids=["alike", "one is far away", "the others are the same", "all are", "two"],
)
def test_outliers_are_far_from_most(values: list[float], expected: bool) -> None:
    assert has_outliers(np.array(values)) is expected


@pytest.mark.parametrize("count", [5, 12])
def test_normal_values_have_an_outlier_in_one_of_a_hundred_samples(count: int) -> None:
    samples = np.random.default_rng(13).normal(0, 1, (3_000, count))
    # 30 of 3,000, with a standard deviation of 5.4.
    assert 12 <= sum(map(has_outliers, samples)) <= 48


SAMPLES = st.lists(st.integers(-100, 100).map(float), min_size=3, max_size=8, unique=True)


@given(SAMPLES, SAMPLES, st.integers(-50, 50).map(float))
def test_what_is_shifted_has_its_interval_shifted(ones: list[float], others: list[float], shift: float) -> None:
    found, moved = (rank_sum(np.array(ones), np.array(others) + by) for by in (0.0, shift))
    assert moved.estimate == pytest.approx(found.estimate + shift, abs=1e-9)
    if found.low is not None and found.high is not None:
        assert moved.low == pytest.approx(found.low + shift, abs=1e-9)
        assert found.low <= found.estimate <= found.high


@given(SAMPLES)
def test_the_other_way_round_it_is_the_opposite(values: list[float]) -> None:
    there, back = signed_rank(np.array(values)), signed_rank(-np.array(values))
    assert there.estimate == pytest.approx(-back.estimate)
    assert there.p == pytest.approx(back.p)
    if there.low is not None and back.high is not None:
        assert there.low == pytest.approx(-back.high)


@pytest.mark.slow
@pytest.mark.parametrize(
    "tested",
    [
        pytest.param(lambda ones, others: paired_t(others - ones), id="t of pairs"),
        pytest.param(lambda ones, others: signed_rank(others - ones), id="signed ranks"),
        pytest.param(rank_sum, id="rank sums"),
    ],
)
def test_intervals_hold_the_true_shift_as_often_as_they_say(tested: Callable[[Floats, Floats], Shift]) -> None:
    """Of 1,000 samples of 8, at least 95 % within binomial error; ranks may do better, as they move in steps."""
    rng, held = np.random.default_rng(7), 0
    for _ in range(1_000):
        found = tested(rng.normal(0, 1, 8), rng.normal(0.7, 1, 8))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.7 <= found.high
    assert held >= 935
