"""Ranks by chance: as often as counting every arrangement says."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

from streamgauge.statistics.null import cut, rank_sums, signed_rank_sums


@pytest.mark.parametrize(("ones", "others"), [(1, 1), (1, 4), (3, 2), (4, 4), (2, 6)])
def test_rank_sums_are_those_of_all_arrangements(ones: int, others: int) -> None:
    total = ones + others
    found = Counter(
        sum(one > other for one in chosen for other in range(total) if other not in chosen)
        for chosen in combinations(range(total), ones)
    )
    counted = np.array([found[value] for value in range(ones * others + 1)])
    assert rank_sums(ones, others) == pytest.approx(counted / counted.sum())


@pytest.mark.parametrize("pairs", [1, 2, 3, 6])
def test_signed_rank_sums_are_those_of_all_signs(pairs: int) -> None:
    found = Counter(
        sum(rank for rank, is_positive in enumerate(signs, 1) if is_positive)
        for signs in product((False, True), repeat=pairs)
    )
    counted = np.array([found[value] for value in range(pairs * (pairs + 1) // 2 + 1)])
    assert signed_rank_sums(pairs) == pytest.approx(counted / 2**pairs)


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [
        pytest.param(signed_rank_sums(5), None, id="five pairs reach 0.0625 at best"),
        pytest.param(signed_rank_sums(6), 1, id="six pairs, if all agree"),
        pytest.param(signed_rank_sums(10), 9, id="as in tables: 8 for ten pairs, and 0 counts, too"),
        pytest.param(rank_sums(3, 3), None, id="three of each reach 0.1 at best"),
        pytest.param(rank_sums(4, 4), 1, id="four of each, if they do not overlap"),
        pytest.param(rank_sums(5, 5), 3, id="as in tables: 2 for five of each"),
        pytest.param(rank_sums(10, 10), 24, id="as in tables: 23 for ten of each"),
    ],
)
def test_values_that_are_rare_enough_are_cut_off(probabilities: np.ndarray, expected: int | None) -> None:
    assert cut(probabilities, 0.05) == expected
