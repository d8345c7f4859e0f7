"""The order of runs: complete, balanced, and the same for the same seed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.experiments.model import PlanOrder
from streamgauge.experiments.order import PlannedRun, planned_runs

ORDERS: tuple[PlanOrder, ...] = ("interleaved", "blocks", "as-written")


@given(variants=st.integers(1, 8), rounds=st.integers(1, 9), order=st.sampled_from(ORDERS), seed=st.integers(0, 99))
def test_each_variant_has_one_run_in_each_round(variants: int, rounds: int, order: PlanOrder, seed: int) -> None:
    found = list(planned_runs(variants, rounds, order, seed))
    assert Counter(found) == Counter(
        PlannedRun(number, place) for number in range(1, rounds + 1) for place in range(variants)
    )
    assert found == list(planned_runs(variants, rounds, order, seed))


@given(variants=st.integers(1, 8), pairs=st.integers(1, 5), seed=st.integers(0, 99))
def test_over_two_rounds_every_variant_has_the_same_mean_place(variants: int, pairs: int, seed: int) -> None:
    """Then a steady drift adds the same to all of them."""
    found = [each.variant for each in planned_runs(variants, 2 * pairs, "interleaved", seed)]
    for begin in range(0, len(found), 2 * variants):
        both = found[begin : begin + 2 * variants]
        assert both == both[::-1]


def test_more_rounds_continue_the_same_order() -> None:
    assert list(planned_runs(4, 9, "interleaved", 3))[:20] == list(planned_runs(4, 5, "interleaved", 3))


def test_seeds_give_other_orders() -> None:
    assert len({tuple(planned_runs(5, 2, "interleaved", seed)) for seed in range(20)}) > 10


@pytest.mark.parametrize(
    ("order", "expected"),
    [("blocks", "AAABBB"), ("as-written", "ABABAB")],
)
def test_other_orders_are_what_they_say(order: PlanOrder, expected: str) -> None:
    assert "".join("AB"[each.variant] for each in planned_runs(2, 3, order, 1)) == expected


def test_an_order_stays_what_it_is_in_later_versions() -> None:
    """An experiment that was begun with one version goes on with another."""
    found = "".join("ABCD"[each.variant] for each in planned_runs(4, 4, "interleaved", 1))
    assert found == "CDBAABDCBADCCDAB"
