"""Due times at one rate are arithmetic: exact, interleaved, never drifting."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from streamgauge.workload.pacing import NEVER, constant, count_before

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("rate", "producer", "producers", "expected"),
    [
        (1, 0, 1, [0, 1_000_000_000, 2_000_000_000]),
        (1000, 0, 1, [0, 1_000_000, 2_000_000]),
        (3, 0, 1, [0, 333_333_333, 666_666_666, 1_000_000_000]),
        (10, 0, 2, [0, 200_000_000, 400_000_000]),
        (10, 1, 2, [100_000_000, 300_000_000, 500_000_000]),
        (0.5, 0, 1, [0, 2_000_000_000]),
    ],
)
def test_due_times(rate: float, producer: int, producers: int, expected: list[int]) -> None:
    """Message i of producer k of n is due at (i * n + k) / rate."""
    assert expected == constant(rate, producer, producers).due_ns(0, len(expected)).tolist()


def test_a_block_in_the_middle_continues_the_one_before() -> None:
    """However the schedule is cut into blocks, it is the same schedule."""
    pacer = constant(7777, 1, 3)
    whole = pacer.due_ns(0, 10_000)

    cut = np.concatenate([pacer.due_ns(first, 250) for first in range(0, 10_000, 250)])

    assert whole.tolist() == cut.tolist()


@given(
    rate=st.floats(0.01, 5_000_000),
    producers=st.integers(1, 5_000),
    first=st.integers(0, 1 << 24),
    count=st.integers(1, 40_000),
)
@example(rate=16_666.667, producers=1_000, first=0, count=20_000)
def test_a_long_block_is_exact_as_far_as_times_are(rate: float, producers: int, first: int, count: int) -> None:
    """Also where steps times the numerator of an interval would be above 2**63."""
    pacer = constant(rate, producers - 1, producers)
    interval = SECOND / pacer.rate_per_second
    last = first + count - 1
    assume((last + 1) * producers * interval < NEVER)

    found = pacer.due_ns(first, count)

    for place in (0, count // 2, count - 1):
        assert found[place] == ((first + place) * producers + producers - 1) * interval // 1


def test_an_uneven_rate_does_not_drift() -> None:
    """After an hour at 3,000,000/s the due time is exact; a rounded interval would be 0.1 % off."""
    pacer = constant(3_000_000, 0, 1)

    assert pacer.due_ns(3_000_000 * 3600, 1).tolist() == [3600 * SECOND]


@given(
    rate=st.one_of(st.integers(1, 5_000_000), st.floats(0.01, 1_000_000)),
    producers=st.integers(1, 16),
    first=st.integers(0, 1 << 34),
    data=st.data(),
)
def test_due_times_are_the_exact_product_rounded_down(
    rate: float, producers: int, first: int, data: st.DataObject
) -> None:
    """Every due time is the floor of the exact fraction: multiplied first, rounded last."""
    producer = data.draw(st.integers(0, producers - 1))
    exact = Fraction(rate).limit_denominator(1000)
    assume(exact > 0)
    expected = [
        ((first + i) * producers + producer) * SECOND * exact.denominator // exact.numerator for i in range(100)
    ]
    # 64 bits hold 292 years.
    assume(expected[-1] < 1 << 63)

    got = constant(rate, producer, producers).due_ns(first, 100)

    assert expected == got.tolist()


@given(rate=st.integers(1, 1_000_000), producers=st.integers(1, 8))
def test_the_dues_of_all_producers_interleave(rate: int, producers: int) -> None:
    """Taken together, producers send evenly at the asked rate."""
    together = np.sort(np.concatenate([constant(rate, k, producers).due_ns(0, 50) for k in range(producers)]))

    assert constant(rate, 0, 1).due_ns(0, 50 * producers).tolist() == together.tolist()


@pytest.mark.parametrize(
    ("at_ns", "limit", "expected"),
    [
        (0, NEVER, 0),
        (1, NEVER, 1),
        (SECOND, NEVER, 1000),
        (SECOND + 1, NEVER, 1001),
        (3600 * SECOND, NEVER, 3_600_000),
        (SECOND, 1000, 1000),
        (SECOND, 999, 999),
        (SECOND, 0, 0),
        (-1, NEVER, 0),
    ],
)
def test_messages_before_a_time_are_counted(at_ns: int, limit: int, expected: int) -> None:
    """What is due at that very time comes after it."""
    assert expected == count_before(constant(1000, 0, 1), at_ns, limit)
