"""What the runs of one variant say together."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamgauge.statistics.summary import summary

VALUES = st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=15)


def test_of_five_runs() -> None:
    """The mean is geometric, and its interval by t on logarithms; six runs would have an interval of the median."""
    found = summary([10.0, 12.0, 11.0, 14.0, 9.0])
    logs = np.log([10.0, 12.0, 11.0, 14.0, 9.0])
    low, high = stats.t.interval(0.95, 4, logs.mean(), stats.sem(logs))
    assert (found.count, found.median, found.least, found.most) == (5, 11.0, 9.0, 14.0)
    assert found.mean == pytest.approx(stats.gmean([10.0, 12.0, 11.0, 14.0, 9.0]))
    assert found.mean_interval == pytest.approx((math.exp(low), math.exp(high)))
    assert found.deviation == pytest.approx(logs.std(ddof=1))
    assert found.median_interval is None
    assert found.bootstrap_interval is None


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(5, None, id="five runs: 94 % at best"),
        pytest.param(6, (1.0, 6.0), id="six: all of them"),
        pytest.param(9, (2.0, 8.0), id="nine: without one on either side"),
        pytest.param(20, (6.0, 15.0), id="as in tables: the sixth and the fifteenth of twenty"),
    ],
)
def test_the_interval_of_a_median_is_made_of_two_runs(count: int, expected: tuple[float, float] | None) -> None:
    assert summary([float(each) for each in range(1, count + 1)]).median_interval == expected


def test_intervals_are_those_of_the_level() -> None:
    values = [float(each) for each in np.random.default_rng(3).lognormal(2, 0.3, 20)]
    found, looked = summary(values), summary(values, level=0.025)
    logs = np.log(values)
    low, high = stats.t.interval(0.975, 19, logs.mean(), stats.sem(logs))
    assert looked.mean_interval == pytest.approx((math.exp(low), math.exp(high)))
    # Of twenty runs the fifth and the sixteenth: P(X <= 4) = 0.006, and P(X <= 5) = 0.021 is more than half of 0.025.
    assert looked.median_interval == (sorted(values)[4], sorted(values)[15])
    assert looked.bootstrap_interval is not None
    assert found.bootstrap_interval is not None
    assert looked.bootstrap_interval[0] < found.bootstrap_interval[0]
    assert summary([float(each) for each in range(6)], level=0.025).median_interval is None


def test_with_a_value_that_is_not_positive_nothing_is_taken_on_logarithms() -> None:
    found = summary([0.0, 1.0, 2.0])
    low, high = stats.t.interval(0.95, 2, 1.0, stats.sem([0.0, 1.0, 2.0]))
    assert (found.mean, found.deviation) == (1.0, 1.0)
    assert found.mean_interval == pytest.approx((low, high))


@pytest.mark.parametrize("count", [1, 2, 25])
def test_runs_that_do_not_differ_have_no_intervals(count: int) -> None:
    found = summary([3.0] * count)
    assert (found.median, found.deviation) == (3.0, None if count == 1 else 0.0)
    assert found.mean == pytest.approx(3.0)
    assert found.mean_interval is found.median_interval is found.bootstrap_interval is None


def test_twenty_runs_have_a_bootstrap_interval_that_comes_again() -> None:
    values = [float(each) for each in np.random.default_rng(3).lognormal(2, 0.3, 20)]
    found = summary(values)
    assert found.bootstrap_interval == summary(values[::-1]).bootstrap_interval
    assert found.bootstrap_interval is not None
    assert found.least <= found.bootstrap_interval[0] < found.median < found.bootstrap_interval[1] <= found.most
    assert summary(values[:19]).bootstrap_interval is None


def test_a_bootstrap_that_cannot_tell_says_nothing() -> None:
    """Where all but one have the same value, the median of hardly a resample differs."""
    assert summary([1.0] * 19 + [2.0]).bootstrap_interval is None


def test_without_runs_there_is_no_summary() -> None:
    with pytest.raises(ValueError, match="no runs"):
        summary([])


@given(VALUES, st.floats(1e-3, 1e3))
def test_another_unit_changes_nothing_but_the_numbers(values: list[float], unit: float) -> None:
    found, other = summary(values), summary([value * unit for value in values])
    assert other.mean == pytest.approx(found.mean * unit)
    if found.mean_interval and other.mean_interval:
        assert other.mean_interval == pytest.approx([end * unit for end in found.mean_interval], rel=1e-6)
        assert found.mean_interval[0] <= found.mean <= found.mean_interval[1]


@pytest.mark.slow
def test_intervals_hold_what_they_promise() -> None:
    """Of 2,000 samples of a known distribution, 95 % within binomial error; order statistics promise at least that."""
    rng, held = np.random.default_rng(5), np.zeros(2)
    for _ in range(2_000):
        found = summary(list(rng.lognormal(1.0, 0.2, 8)))
        assert found.mean_interval is not None
        assert found.median_interval is not None
        held += [low <= math.e <= high for low, high in (found.mean_interval, found.median_interval)]
    assert 0.935 <= held[0] / 2_000 <= 0.965
    assert held[1] / 2_000 >= 0.935
