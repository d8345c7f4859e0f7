"""When bytes of a link may go on: arithmetic, with time as an argument."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.cluster.links.shaping import SEGMENT_BYTES, Impairment, Shaper


def shaper(**done: float | str) -> Shaper:
    return Shaper(Impairment(**done), random.Random(7))  # type: ignore[arg-type]


def test_without_an_impairment_bytes_go_on_when_they_come() -> None:
    assert shaper().leaves(5.0, 100, 0.0) == 5.0
    assert shaper().piece is None


def test_a_delay_holds_for_every_byte_and_keeps_their_order() -> None:
    constant = shaper(delay=0.05)
    assert [constant.leaves(now, 10, 0.0) for now in (1.0, 1.01)] == [1.05, 1.06]
    assert constant.leaves(1.02, 10, 2.0) == 2.0


@pytest.mark.parametrize(("distribution", "deviation"), [("uniform", 0.577), ("normal", 1.0), ("exponential", 1.0)])
def test_jitter_varies_about_the_delay_as_its_distribution_says(distribution: str, deviation: float) -> None:
    varied = shaper(delay=1.0, jitter=0.1, distribution=distribution)
    took = [varied.leaves(0.0, 1, 0.0) for _ in range(4000)]

    assert statistics.mean(took) == pytest.approx(1.0, abs=0.01)
    assert statistics.stdev(took) == pytest.approx(0.1 * deviation, rel=0.05)
    assert (max(took) <= 1.1) == (distribution == "uniform")


def test_no_delay_is_below_zero() -> None:
    varied = shaper(delay=0.001, jitter=1.0, distribution="normal")
    assert min(varied.leaves(0.0, 1, 0.0) for _ in range(100)) == 0.0


def test_a_rate_is_one_of_all_connections_and_pieces_are_short() -> None:
    """An idle link has saved nothing up."""
    limited = shaper(rate=1e6)
    assert limited.leaves(0.0, 500_000, 0.0) == 0.5
    assert limited.leaves(0.1, 500_000, 0.0) == 1.0
    assert limited.leaves(9.0, 500_000, 0.0) == 9.5
    assert limited.piece == 20_000
    assert shaper(rate=10.0).piece == SEGMENT_BYTES


def test_a_lost_segment_holds_up_what_it_is_in() -> None:
    assert shaper(loss=1.0, stall=0.2).leaves(1.0, 1, 0.0) == 1.2
    rare = shaper(loss=0.1, stall=0.2)
    held = sum(rare.leaves(0.0, 3 * SEGMENT_BYTES, 0.0) > 0 for _ in range(4000)) / 4000
    assert held == pytest.approx(1 - 0.9**3, abs=0.03)


def test_only_the_end_of_a_stream_is_kept_back_by_a_slow_close() -> None:
    slow = shaper(close=3.0)
    assert (slow.leaves(1.0, 10, 0.0), slow.leaves(1.0, 0, 0.0)) == (1.0, 4.0)


@given(
    impaired=st.builds(
        Impairment,
        delay=st.floats(0, 1),
        jitter=st.floats(0, 2),
        distribution=st.sampled_from(["uniform", "normal", "exponential"]),
        rate=st.none() | st.floats(1, 1e9),
        loss=st.floats(0, 1),
        stall=st.floats(0, 1),
    ),
    sizes=st.lists(st.integers(1, 100_000), max_size=20),
)
def test_bytes_never_overtake_each_other_and_never_leave_before_they_came(
    impaired: Impairment, sizes: list[int]
) -> None:
    shaping, last = Shaper(impaired, random.Random(1)), 0.0
    for now, size in enumerate([*sizes, 0]):
        leaves = shaping.leaves(float(now), size, last)
        assert leaves >= max(now, last)
        last = leaves
