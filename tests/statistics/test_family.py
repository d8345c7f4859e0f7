"""Several comparisons at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.statistics.family import holm


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.01, 0.02, 0.03, 0.04], [0.04, 0.06, 0.06, 0.06]),
        ([0.04, 0.01], [0.04, 0.02]),
        ([0.001, 0.5, 0.9], [0.003, 1.0, 1.0]),
        ([0.03], [0.03]),
        ([], []),
    ],
)
def test_the_smallest_is_multiplied_by_all_and_the_largest_by_one(values: list[float], expected: list[float]) -> None:
    """As R has them in its function p.adjust."""
    assert holm(values) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_none_gets_smaller_and_their_order_stays(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(value <= other <= 1 for value, other in zip(values, adjusted, strict=True))
    ranked = sorted(zip(values, adjusted, strict=True))
    assert [other for _, other in ranked] == sorted(adjusted)
