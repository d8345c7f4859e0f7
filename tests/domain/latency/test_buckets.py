"""Buckets: narrow enough for every percentile, in order, and addable."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.latency.buckets import (
    LINEAR_LIMIT,
    NEGATIVE,
    bucket_of,
    lower_edge_ns,
    upper_edge_ns,
)

TOP = (1 << 63) - 1
any_size = st.integers(0, 63).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))


def exactly(value: int) -> int:
    """The definition, one value at a time: the smallest exponent with value < 512 << exponent."""
    if value < 0:
        return NEGATIVE
    exponent = 0
    while value >= LINEAR_LIMIT << exponent:
        exponent += 1
    return (exponent << 8) + (value >> exponent)


def near_powers() -> list[int]:
    around = (power + step for bits in range(64) for power in [1 << bits] for step in range(-3, 4))
    return [value for value in around if 0 <= value <= TOP]


def test_the_index_is_the_definition_next_to_every_power_of_two() -> None:
    values = [*near_powers(), *(-value for value in near_powers()), -TOP - 1]
    assert bucket_of(np.array(values)).tolist() == [exactly(value) for value in values]


@given(st.lists(any_size, min_size=1))
def test_the_index_is_the_definition(values: list[int]) -> None:
    assert bucket_of(np.array(values, np.int64)).tolist() == [exactly(value) for value in values]


@given(any_size)
def test_a_value_lies_between_the_edges_of_its_bucket_which_are_no_further_apart_than_2_to_the_minus_8(
    value: int,
) -> None:
    index = bucket_of(np.array([value]))
    low, high = int(lower_edge_ns(index)[0]), int(upper_edge_ns(index)[0])
    assert low <= value <= high
    assert (high - value) * 256 <= value
    assert bucket_of(np.array([low, high])).tolist() == index.tolist() * 2


@given(any_size, any_size)
def test_larger_values_are_never_in_lower_buckets(one: int, other: int) -> None:
    low, high = sorted((one, other))
    first, second = bucket_of(np.array([low, high]))
    assert first <= second


def test_buckets_follow_each_other_without_gap() -> None:
    index = np.arange(int(bucket_of(np.array([TOP]))[0]) + 1)
    assert (lower_edge_ns(index[1:]) == upper_edge_ns(index[:-1]) + 1).all()
    assert upper_edge_ns(index[-1:]).tolist() == [TOP]


def test_all_below_zero_share_one_bucket() -> None:
    index = bucket_of(np.array([-1, -500, -TOP - 1]))
    assert index.tolist() == [NEGATIVE] * 3
    assert upper_edge_ns(index).tolist() == lower_edge_ns(index).tolist() == [-1] * 3
