"""A pool serves the bodies of its producer again and again."""

import itertools
import zlib
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.workload import payload
from streamgauge.workload.payload.pool import LONGEST_RAGGED_PERIOD, Pool, fill, period_of, share_of
from streamgauge.workload.payload.sizes import Gaussian, Uniform

SEEDS = (42, 0)
NUMBERED = [b"%d" % number for number in range(12)]


@given(each=st.sampled_from([1, 2, 3, 4]), hold=st.integers(1, 9), seqs=st.lists(st.integers(0, 2**62), max_size=20))
def test_one_by_one_and_many_are_the_same(each: int, hold: int, seqs: list[int]) -> None:
    """Bodies and checksums, however they are grouped."""
    pool = Pool([*NUMBERED[:-1], None], each, hold)

    bodies, crcs = pool.many(np.array(seqs, np.int64))

    assert list(zip(bodies, crcs.tolist(), strict=True)) == [pool.one(seq) for seq in seqs]
    assert crcs.tolist() == [zlib.crc32(body or b"") for body in bodies]


def test_a_group_serves_so_many_messages() -> None:
    """Then comes the next, and after the last the first."""
    pool = Pool(NUMBERED[:4], each=2, hold=3)

    bodies, _ = pool.many(np.arange(14))

    assert bodies == [b"0", b"1", b"0", b"2", b"3", b"2"] * 2 + [b"0", b"1"]
    assert pool.period == 6


def test_bodies_of_one_size_are_an_array() -> None:
    """Others, and large ones, are none."""
    matrix, empty = Pool([b"ab", b"cd", b"ef"]).matrix(2), Pool([b"", b""]).matrix(0)

    assert matrix is not None
    assert matrix.tolist() == [[97, 98], [99, 100], [101, 102]]
    assert empty is not None
    assert empty.shape == (2, 0)
    for bodies, largest in (([b"ab", b"c"], 5), ([b"ab", None], 5), ([None], 5), ([b"ab", b"cd"], 1)):
        assert Pool(bodies).matrix(largest) is None


@pytest.mark.parametrize(
    ("law", "bodies", "each", "hold"),
    [
        (Uniform(512, 512), 4_000, 1, 1),
        (Uniform(40, 984), LONGEST_RAGGED_PERIOD, 1, 1),
        (Gaussian(512, 50, 112, 912, hold=10), LONGEST_RAGGED_PERIOD, 10, 10),
        (Gaussian(512, 50, 112, 912, hold=10**6), LONGEST_RAGGED_PERIOD, 500, 10**6),
        (Gaussian(10 << 20, 50, 0, 11 << 20, hold=100), 20, 1, 100),
    ],
)
def test_a_pool_is_filled_by_the_law(law: Uniform | Gaussian, bodies: int, each: int, hold: int) -> None:
    """Large enough for a codec, small enough for memory; never fewer than 16 sizes where they differ."""
    made: list[tuple[int, int]] = []

    def make(index: int, size: int) -> bytes:
        made.append((index, size))
        return b""

    pool = fill(make, law, SEEDS, 40)

    assert (len(pool.bodies), pool.each, pool.hold) == (bodies, each, hold)
    assert [index for index, _ in made] == list(range(bodies))
    assert np.mean([size for _, size in made]) == pytest.approx(law.mean - 40, rel=0.01)
    for _, group in itertools.groupby(enumerate(made), lambda numbered: numbered[0] // each):
        assert len({size for _, (_, size) in group}) == 1


def test_mixed_stays_in_step_when_a_pool_begins_anew() -> None:
    """Its period is a multiple of five."""
    pool = fill(partial(payload.body, "mixed", 42, 3), Uniform(100, 100), SEEDS)

    assert pool.period % len(payload.MIXED) == 0
    for seq in (0, 1, 2, 3, 4, pool.period + 1):
        assert pool.one(seq)[0] == payload.body("mixed", 42, 3, seq % pool.period, 100)


@pytest.mark.parametrize(("size", "expected"), [(0, 4000), (472, 4000), (16_000, 1045), (10 << 20, 20)])
def test_the_period_keeps_a_pool_small_and_longer_than_a_batch(size: int, expected: int) -> None:
    """At most 16 MiB for values up to 800 kB, never fewer than 20 bodies, a multiple of five."""
    assert expected == period_of(size)


@given(count=st.integers(1, 30), producers=st.integers(1, 12))
def test_producers_share_a_file_in_turn(count: int, producers: int) -> None:
    """All together they send it in its order, again and again."""
    items = list(range(count))
    shares = [share_of(items, producer, producers) for producer in range(producers)]

    sent = [shares[number % producers][number // producers % len(shares[number % producers])] for number in range(200)]

    assert sent == list(itertools.islice(itertools.cycle(items), 200))
