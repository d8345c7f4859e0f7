"""Payloads are functions of (seed, producer, sequence)."""

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain import payload
from streamgauge.domain.payload import KINDS, MIXED, PayloadKind

kinds = st.sampled_from(KINDS)


@given(kind=kinds, size=st.integers(0, 3000), index=st.integers(0, 5000))
def test_a_body_has_exactly_the_asked_size(kind: PayloadKind, size: int, index: int) -> None:
    """Whatever the kind."""
    assert size == len(payload.body(kind, 1, 0, index, size))


@given(kind=kinds, seed=st.integers(0, 2**62), producer=st.integers(0, 300), index=st.integers(0, 4000))
def test_the_same_position_has_the_same_body(kind: PayloadKind, seed: int, producer: int, index: int) -> None:
    """Asked twice, in any order, alone or in a pool."""
    assert payload.body(kind, seed, producer, index, 200) == payload.body(kind, seed, producer, index, 200)


@pytest.mark.parametrize("kind", ["text", "json", "logline", "random"])
def test_different_positions_differ(kind: PayloadKind) -> None:
    """Seed, producer and sequence each change the content."""
    bodies = {payload.body(kind, seed, producer, i, 300) for seed in (1, 2) for producer in (0, 1) for i in range(50)}

    assert len(bodies) == 200


@given(size=st.integers(2, 2000), index=st.integers(0, 4000))
def test_json_is_json(size: int, index: int) -> None:
    """At every size that can hold an object."""
    assert isinstance(json.loads(payload.body("json", 5, 1, index, size)), dict)


def test_mixed_takes_the_kinds_in_turn() -> None:
    """By (producer << 32 | sequence) mod 5, also after the pool has begun anew."""
    pool = payload.pool("mixed", 42, 3, 100)

    assert pool.period % len(MIXED) == 0
    for seq in (0, 1, 2, 3, 4, pool.period + 1):
        kind: PayloadKind = MIXED[((3 << 32) | seq) % 5]
        assert payload.body(kind, 42, 3, seq % pool.period, 100) == pool.bodies[seq % pool.period].tobytes()


def test_a_pool_knows_the_checksums_of_its_bodies() -> None:
    """CRC-32 as zlib computes it."""
    pool = payload.pool("text", 42, 0, 64)

    assert [zlib.crc32(body.tobytes()) for body in pool.bodies] == pool.crcs.tolist()


@pytest.mark.parametrize(("size", "expected"), [(0, 4000), (472, 4000), (16_000, 1045), (10 << 20, 20)])
def test_the_period_keeps_a_pool_small_and_longer_than_a_batch(size: int, expected: int) -> None:
    """At most 16 MiB for values up to 800 kB, never fewer than 20 bodies, a multiple of five."""
    assert expected == payload.period_of(size)
