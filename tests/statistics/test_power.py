"""What so many runs can show."""

import math

import numpy as np
import pytest
from scipy import stats

from streamgauge.statistics.power import rounds_for, smallest_shift


@pytest.mark.parametrize(
    ("deviation", "expected"),
    [
        pytest.param(0.05, 5, id="5 %"),
        pytest.param(0.10, 10, id="10 %"),
        pytest.param(0.15, 20, id="15 %"),
        pytest.param(0.0, 5, id="none: as many as any verdict needs"),
        pytest.param(2.0, None, id="more than anybody should be asked for"),
    ],
)
def test_rounds_that_find_a_fifth_more(deviation: float, expected: int | None) -> None:
    """In pairs of runs that deviate so much each."""
    assert rounds_for(math.log(1.2), deviation * math.sqrt(2)) == expected
    assert rounds_for(-math.log(1.2), deviation * math.sqrt(2)) == expected


@pytest.mark.parametrize(
    ("ones", "others", "power", "expected"),
    [
        # Cohen (1988): 26 of each find 0.8 with power 0.8; R: power.t.test(power = .8, delta = .8) gives n = 25.52.
        (26, 26, 0.8, 0.7920),
        # R: power.t.test(n = 10, power = .9, type = "paired") gives delta = 1.1527.
        (10, None, 0.9, 1.1527),
    ],
)
def test_the_smallest_effect_is_that_of_others(ones: int, others: int | None, power: float, expected: float) -> None:
    assert smallest_shift(1.0, ones, others, power) == pytest.approx(expected, abs=2e-3)


def test_a_single_pair_shows_nothing() -> None:
    assert smallest_shift(1.0, 1) == math.inf
    assert smallest_shift(1.0, 1, 1) == math.inf


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 5, 12])
def test_the_smallest_effect_is_found_as_often_as_it_says(count: int) -> None:
    shift = smallest_shift(1.0, count, power=0.8)
    samples = np.random.default_rng(11).normal(shift, 1.0, (20_000, count))
    found = stats.ttest_1samp(samples, 0.0, axis=1)
    assert np.mean((found.pvalue <= 0.05) & (found.statistic > 0)) == pytest.approx(0.8, abs=0.01)
