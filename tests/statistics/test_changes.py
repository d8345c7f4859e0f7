"""Change points: found where a level changes, and seldom where nothing does, whatever the distribution."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from streamgauge.statistics import limits
from streamgauge.statistics.changes import levels

CASES = 300
NOISES: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "normal": lambda rng, count: rng.normal(0, 0.05, count),
    "heavy tails": lambda rng, count: 0.05 * rng.standard_t(2, count),
    "skewed": lambda rng, count: 0.05 * rng.exponential(1, count),
    "two values": lambda rng, count: 0.05 * rng.integers(0, 2, count).astype(float),
}


def places(values: list[float]) -> list[int]:
    found = levels(values)
    assert found is not None
    assert [each.end for each, _ in pairwise(found)] == [each.begin for _, each in pairwise(found)]
    return [each.begin for each in found[1:]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10.0] * 12, []),
        ([0.0] * 12, []),
        ([1.0, 1.1, 1.2, 1.1, 1.0, 2.0, 2.1, 2.2, 2.1, 2.0, 2.1, 2.0], [5]),
        ([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 90.0, 91.0, 90.0, 91.0, 90.0, 91.0], [6]),
        ([*[1.0, 1.1] * 6, *[4.0, 4.1] * 6, *[1.0, 1.1] * 6], [12, 24]),
        ([1.0, 1.1] * 10 + [50.0], []),
    ],
)
def test_levels_begin_where_the_values_do(values: list[float], expected: list[int]) -> None:
    assert places(values) == expected


def test_few_runs_have_no_levels() -> None:
    assert levels([10.0] * (limits.FEWEST_IN_ORDER - 1)) is None


def test_the_level_is_the_geometric_mean() -> None:
    found = levels([1.0, 4.0, 1.0, 4.0, 1.0, 4.0, 100.0, 400.0, 100.0, 400.0, 100.0, 400.0])
    assert found is not None
    assert [each.mean for each in found] == [pytest.approx(2.0), pytest.approx(200.0)]


@pytest.mark.slow
@pytest.mark.parametrize("count", [12, 40])
@pytest.mark.parametrize("noise", NOISES)
def test_where_nothing_changes_little_is_told(noise: str, count: int) -> None:
    rng = np.random.default_rng(5)
    told = sum(bool(places(list(10 * np.exp(NOISES[noise](rng, count))))) for _ in range(CASES))
    # Three deviations of the share of so many cases.
    assert told / CASES <= limits.CHANGE_LEVEL + 3 * (limits.CHANGE_LEVEL / CASES) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("count", "step", "least"), [(12, 0.3, 0.95), (20, 0.2, 0.95), (40, 0.2, 0.99)])
def test_a_planted_step_is_found_where_it_is(count: int, step: float, least: float) -> None:
    """A step of so many percent, where runs deviate by 5 %."""
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(CASES):
        values = 10 * np.exp(rng.normal(0, 0.05, count))
        values[count // 2 :] *= 1 + step
        found += [abs(each - count // 2) <= 1 for each in places(list(values))] == [True]
    assert found / CASES >= least


def test_the_same_runs_say_the_same() -> None:
    values = list(np.random.default_rng(7).lognormal(0, 0.3, 30))
    assert levels(values) == levels(values)
