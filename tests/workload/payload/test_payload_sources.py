"""Positions as bodies, and shares of several sources."""

import zlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.workload.payload import PayloadSource, Pool, Sequential, Weighted, turns_of
from streamgauge.workload.payload.sizes import Sizes
from streamgauge.workload.payload.sources import TURNS

seqs_of_any_size = st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=20)


def same(source: PayloadSource, seqs: list[int]) -> None:
    bodies, crcs = source.many(np.array(seqs, np.int64))

    assert list(zip(bodies, crcs.tolist(), strict=True)) == [source.one(seq) for seq in seqs]
    assert crcs.tolist() == [zlib.crc32(body or b"") for body in bodies]


@given(size=st.integers(0, 600), offset=st.integers(0, 2**63 - 1), seqs=seqs_of_any_size)
def test_positions_one_by_one_and_many_are_the_same(size: int, offset: int, seqs: list[int]) -> None:
    """Checksums that are put together from tables are those of zlib."""
    same(Sequential(offset, Sizes((size,))), seqs)


@given(seqs=seqs_of_any_size)
def test_positions_of_many_sizes(seqs: list[int]) -> None:
    """Each message has its own."""
    source = Sequential(5, Sizes((3, 0, 100), hold=2))

    same(source, seqs)
    bodies, _ = source.many(np.arange(6))
    assert [len(body) for body in bodies if body is not None] == [3, 3, 0, 0, 100, 100]


def test_a_position_is_a_little_endian_number() -> None:
    """Of 8 bytes, cut or followed by zeros, and beginning anew after 2^64."""
    assert Sequential(256, Sizes((10,))).one(1)[0] == bytes([1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    assert Sequential(256, Sizes((1,))).one(1)[0] == b"\x01"
    assert Sequential(2**63 - 1, Sizes((8,))).one(2**63 - 1)[0] == (2**64 - 2).to_bytes(8, "little")


@given(seqs=seqs_of_any_size)
def test_weighted_one_by_one_and_many_are_the_same(seqs: list[int]) -> None:
    """Whichever component a message falls to."""
    components = (Pool([b"a", b"b", b"c"]), Pool([None]), Sequential(0, Sizes((12,))))

    same(Weighted(components, turns_of([50, 20, 30], (42, 0))), seqs)


@pytest.mark.parametrize("percents", [[90, 10], [100], [0.001, 99.999], [33.333, 33.333, 33.334], [1] * 100])
def test_components_have_exactly_their_shares(percents: list[float]) -> None:
    """In each round of 100,000 messages."""
    turns = turns_of(percents, (42, 0))

    assert len(turns) == TURNS
    counts = Counter(turns)
    assert [counts[number] for number in range(len(percents))] == pytest.approx([p * 1000 for p in percents], abs=1e-6)


def test_components_alternate_at_random() -> None:
    """Runs are as long as chance makes them, and another seed makes others."""
    turns = np.frombuffer(turns_of([50, 50], (42, 0)), np.uint8)

    assert np.mean(turns[1:] == turns[:-1]) == pytest.approx(0.5, abs=0.01)
    assert turns.tobytes() != turns_of([50, 50], (43, 0))
    assert turns.tobytes() == turns_of([50, 50], (42, 0))
