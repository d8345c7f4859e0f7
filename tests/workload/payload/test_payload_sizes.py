"""Sizes follow their law, however few are drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.workload.payload.sizes import DRAWS, Gaussian, Law, Sizes, Uniform, draw, drawn

SEEDS = (42, 1, 0)


@pytest.mark.parametrize("count", [160, 8_000, 65_536])
def test_uniform_sizes_have_mean_deviation_and_both_ends(count: int) -> None:
    """Mean (a + b) / 2, variance ((b - a + 1)^2 - 1) / 12."""
    sizes = draw(Uniform(100, 163), SEEDS, count)

    assert np.mean(sizes) == pytest.approx(131.5, abs=0.5)
    assert np.std(sizes) == pytest.approx(np.sqrt((64**2 - 1) / 12), rel=0.01)
    assert {100, 163} <= set(sizes.tolist()) <= set(range(100, 164))


@pytest.mark.parametrize("count", [160, 8_000, 65_536])
def test_gaussian_sizes_have_mean_and_deviation(count: int) -> None:
    """Few draws or many."""
    sizes = draw(Gaussian(512, 100, 0, 1312), SEEDS, count)

    assert np.mean(sizes) == pytest.approx(512, abs=1)
    assert np.std(sizes) == pytest.approx(100, rel=0.02)
    within = np.mean(np.abs(sizes - 512) <= 100)
    assert within == pytest.approx(0.6827, abs=0.01)


def test_gaussian_sizes_are_cut() -> None:
    """What would lie beyond is set to the ends."""
    sizes = draw(Gaussian(50, 100, 0, 120), SEEDS, 10_000)

    assert (sizes.min(), sizes.max()) == (0, 120)
    assert np.mean(sizes == 0) == pytest.approx(0.31, abs=0.01)


@given(st.sampled_from([Uniform(0, 0), Uniform(5, 9), Gaussian(10, 0, 10, 10), Gaussian(10, 5, 0, 50)]), st.data())
def test_sizes_stay_within_their_bounds(law: Law, data: st.DataObject) -> None:
    """Also at the ends of what is drawn."""
    shares = np.array(data.draw(st.lists(st.floats(2.0**-1022, 1 - 2.0**-53), min_size=1)))

    sizes = law.quantiles(shares)

    assert law.least <= sizes.min()
    assert sizes.max() <= law.most


def test_the_seed_decides() -> None:
    """The same one gives the same sizes, another one others."""
    law = Uniform(0, 10**6)

    assert draw(law, (42, 1, 0), 100).tolist() == draw(law, (42, 1, 0), 100).tolist()
    assert draw(law, (42, 1, 0), 100).tolist() != draw(law, (42, 1, 1), 100).tolist()


def test_sizes_come_in_no_order() -> None:
    """Neither rising nor falling, and one says nothing of the next."""
    sizes = draw(Uniform(0, 10**6), SEEDS, 10_000)

    assert abs(np.corrcoef(np.arange(10_000), sizes)[0, 1]) < 0.04
    assert abs(np.corrcoef(sizes[1:], sizes[:-1])[0, 1]) < 0.04


def test_a_size_is_held() -> None:
    """And the next one is drawn after that."""
    sizes = Sizes((3, 5), hold=4)

    assert [sizes.of(seq) for seq in range(17)] == [3] * 4 + [5] * 4 + [3] * 4 + [5] * 4 + [3]


def test_sizes_without_a_pool_repeat_late() -> None:
    """What a stamp takes is off; one size needs one draw."""
    assert drawn(Uniform(512, 512), SEEDS, 40).draws == (472,)
    sizes = drawn(Gaussian(512, 50, 112, 912, hold=10), SEEDS, 40)

    assert (len(sizes.draws), sizes.hold) == (DRAWS, 10)
    assert np.mean(sizes.draws) == pytest.approx(472, abs=0.5)
