"""Keys: in turn, the same, or drawn with exact probabilities."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.workload.payload.keys import (
    CHUNK,
    Draw,
    constant_keys,
    cumulative,
    drawn_keys,
    listed_keys,
    sequential_keys,
    uniform,
    zipf,
)


def counts_of(draw: Draw, keys: int, messages: int) -> list[int]:
    counts = Counter(drawn_keys(draw, keys, 42, 0)(range(messages)))
    return [counts[b"%d" % key] for key in range(keys)]


def chi_square(counts: list[int], probabilities: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """In units of its own deviation: sqrt(2 * degrees of freedom)."""
    expected = sum(counts) * probabilities
    freedom = len(counts) - 1
    return float((np.sum((np.array(counts) - expected) ** 2 / expected) - freedom) / np.sqrt(2 * freedom))


@pytest.mark.parametrize(("keys", "exponent"), [(10, 1.0), (100, 1.1), (50, 0.0), (20, 2.5)])
def test_zipf_keys_have_their_probabilities(keys: int, exponent: float) -> None:
    """Key k: 1 / (k + 1)^s over the sum of all."""
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -exponent

    counts = counts_of(zipf(keys, exponent), keys, 200_000)

    assert sum(counts) == 200_000
    assert abs(chi_square(counts, weights / weights.sum())) < 4


def test_zipf_probabilities_are_exact() -> None:
    """Sums of 1, 1/2 and 1/3, over their sum."""
    assert cumulative(3, 1.0).tolist() == pytest.approx([6 / 11, 9 / 11, 1], abs=1e-15)
    assert cumulative(3, 1.0)[-1] == 1
    assert cumulative(1, 100.0).tolist() == [1]


def test_uniform_keys_are_equally_frequent() -> None:
    """As far as chance allows."""
    counts = counts_of(uniform(100), 100, 200_000)

    assert sum(counts) == 200_000
    assert abs(chi_square(counts, np.full(100, 0.01))) < 4


def test_many_keys_do_not_repeat_soon() -> None:
    """As many different ones as chance gives: n * (1 - exp(-m / n))."""
    keys = drawn_keys(uniform(1_000_000), 1_000_000, 42, 0)(range(200_000))

    assert len(set(keys)) == pytest.approx(1_000_000 * (1 - np.exp(-0.2)), rel=0.01)
    assert all(key is not None and 0 <= int(key) < 1_000_000 for key in keys)


@given(seqs=st.lists(st.integers(0, 10 * CHUNK), max_size=30))
def test_a_message_has_its_key_in_any_company(seqs: list[int]) -> None:
    """Alone, in a block, in any order, again."""
    keys_of = drawn_keys(zipf(1000, 1.1), 1000, 7, 3)

    assert keys_of(seqs) == [drawn_keys(zipf(1000, 1.1), 1000, 7, 3)([seq])[0] for seq in seqs]


def test_producers_draw_different_keys() -> None:
    """And so do seeds."""
    first, *others = (drawn_keys(uniform(1000), 1000, *each)(range(100)) for each in ((1, 0), (1, 1), (2, 0)))

    assert first not in others


def test_plain_keys() -> None:
    """The sequence in decimal, one text, or a list that begins anew."""
    assert sequential_keys([0, 17, 10**18]) == [b"0", b"17", b"1000000000000000000"]
    assert constant_keys("ü")([5, 6]) == ["ü".encode()] * 2
    assert listed_keys([b"a", None, b"c"])([0, 1, 2, 3, 10]) == [b"a", None, b"c", b"a", None]
