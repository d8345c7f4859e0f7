"""Values in blocks are what one message after the other would be."""

import zlib

import numpy as np
import pytest

from streamgauge.domain import payload, stamp
from streamgauge.domain.pacing import Int64s
from streamgauge.domain.payload import PayloadKind
from streamgauge.domain.stamp import Stamps
from streamgauge.engine.compose import FEW, Composer, Recipe


def made(composer: Composer, seqs: Int64s, due_ns: Int64s | None, sent_ns: int) -> tuple[list[bytes], Stamps]:
    block = composer.compose(seqs, due_ns, sent_ns)
    return [value for value in block.values if value is not None], block.stamps


@pytest.mark.parametrize("kind", ["mixed", "zeros", "logline"])
@pytest.mark.parametrize("size", [40, 41, 512, 20_000])
def test_a_value_is_stamp_and_body(kind: PayloadKind, size: int) -> None:
    """Body and checksum follow from (seed, producer, sequence), also after the pool has begun anew."""
    composer = Composer(Recipe(3, 7, kind, size, 42, in_headers=False, scheduled=True), 10)
    period = payload.period_of(size - stamp.SIZE)
    seqs = np.array([0, 5, period, period + 5, 10**12])

    values, _ = made(composer, seqs, seqs * 10, 99)

    for seq, value in zip(seqs.tolist(), values, strict=True):
        head = stamp.decode(value[: stamp.SIZE])[0]
        body = value[stamp.SIZE :]
        assert len(value) == size
        assert body == payload.body(kind, 42, 3, seq % period, size - stamp.SIZE)
        assert (head["seq"], head["due_ns"], head["sent_ns"], head["tag"], head["producer"]) == (
            seq,
            seq * 10,
            99,
            7,
            3,
        )
        assert head["crc"] == zlib.crc32(body)
        assert head["flags"] == 0


@pytest.mark.parametrize("size", [0, 1, 39, 300])
def test_in_headers_the_value_is_the_body(size: int) -> None:
    """Untouched, and the checksum covers all of it."""
    composer = Composer(Recipe(0, 7, "text", size, 1, in_headers=True, scheduled=False), 4)

    values, stamps = made(composer, np.arange(4), None, 5)

    for place, value in enumerate(values):
        assert value == payload.body("text", 1, 0, place, size)
        assert stamps["crc"][place] == zlib.crc32(value)
    assert set(stamps["flags"].tolist()) == {stamp.NO_SCHEDULE}


def test_a_block_may_be_smaller_than_the_last() -> None:
    """What an earlier block left behind is not seen."""
    composer = Composer(Recipe(0, 7, "random", 64, 1, in_headers=False, scheduled=True), 8)
    composer.compose(np.arange(8), np.arange(8), 1)

    values, stamps = made(composer, np.array([100]), np.array([3]), 2)

    assert len(values) == len(stamps) == 1
    assert stamp.decode(values[0][: stamp.SIZE])["seq"].tolist() == [100]


@pytest.mark.parametrize("in_headers", [False, True])
def test_one_by_one_and_in_a_block_are_the_same(in_headers: bool) -> None:
    """Few messages are made without numpy; nobody can tell."""
    count = 3 * FEW
    composer = Composer(Recipe(5, 9, "mixed", 300, 42, in_headers=in_headers, scheduled=True), count)
    seqs = np.arange(10**10, 10**10 + count)

    apart = [made(composer, seqs[at : at + 1], seqs[at : at + 1] * 3, 77) for at in range(count)]
    values, stamps = made(composer, seqs, seqs * 3, 77)

    assert [value for few, _ in apart for value in few] == values
    assert b"".join(few.tobytes() for _, few in apart) == stamps.tobytes()
