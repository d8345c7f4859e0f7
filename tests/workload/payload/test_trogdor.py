"""Bytes of Trogdor's generators: what OpenJDK 17's java.util.Random gives, and what their definitions say of it."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.workload.payload.trogdor import (
    Generated,
    PlainGenerator,
    bodies,
    normal,
    percents,
    random_bytes,
    seeded,
)

JAVA = [
    (0, 0, "60b420bb3851d9d47acb933dbe", "60b420bb38", 60, 0.8025330637390305, "f6c92da33af0", 708024323),
    (0, 1, "73d51abbd89cb8196f0efb6892", "60b420bb38", 85, 1.561581040188955, "fccc2c35f0b8", 370696339),
    (0, 2, "39722cbbf8b91a4b9045c5e617", "60b420bb38", 8, 0.27578449150640094, "eac32f7fcd5e", 319847702),
    (0, 1000000007, "f0bc3130227f6d5c0009daee51", "60b420bb38", 0, 0.564524469825453, "2719f112a7cc", 4154181011),
    (42, 0, "359d41baf78afe0de1bbe7ae28", "359d41baf7", 30, 1.1419053154730547, "e43c084f4bbb", 283132737),
    (42, 1, "48be3bba97d6dd52d6fe4edafc", "359d41baf7", 56, 0.45334487943329005, "ea3f07e10184", 2722126596),
    (42, 2, "a8631ebab6503aaba04d53b31e", "359d41baf7", 84, 1.0613732338485966, "094f02bb916f", 593523271),
    (42, 1000000007, "fb8bdf2fe1a1a3206ab27f4ee3", "359d41baf7", 57, -0.9424131746900434, "969672d68522", 1395493429),
    (-7, 0, "8c2ae544838bc8e62c9a55acf7", "8c2ae54483", 62, -1.1860262593274535, "5c588085df29", 4104986812),
    (-7, 1, "53c7f644a3a82a184dd11f2a7c", "8c2ae54483", 85, -0.5137611884654086, "4a4f83cfbccf", 278036281),
    (-7, 2, "66e8f04443f4095d4214875550", "8c2ae54483", 11, -1.2205675173074388, "505282617298", 432405352),
    (2**63 - 1, 0, "b36cd944c3228770172024039e", "b36cd944c3", 13, 1.7853314409882288, "ca9b7fd3f638", 1149193388),
    (2**63 - 1, 1, "60b420bb3851d9d47acb933dbe", "b36cd944c3", 60, 0.8025330637390305, "f6c92da33af0", 708024323),
    (2**63 - 1, 2, "73d51abbd89cb8196f0efb6892", "b36cd944c3", 85, 1.561581040188955, "fccc2c35f0b8", 370696339),
]  # fmt: skip
"""Seed, position, 13 bytes of both, 5 bytes of the seed; nextInt(100); nextGaussian, and 6 bytes behind it; CRC-32 of
9,001 bytes."""
TIME = (1_700_000_000_123).to_bytes(8, "little")
TYPES = ("uniformRandom", "timestampRandom", "gaussianTimestampRandom", "gaussianTimestampConstant")


def one(generator: PlainGenerator, position: int) -> bytes | None:
    return bodies(generator, np.array([position], np.int64), TIME)[0]


@pytest.mark.parametrize(("seed", "position", "drawn", "padding", "percent", "_g", "_after", "crc"), JAVA)
def test_random_bytes_are_those_of_java(
    seed: int, position: int, drawn: str, padding: str, percent: int, _g: float, _after: str, crc: int
) -> None:
    """Padding is of the seed alone; large values are drawn in parts."""
    assert one(PlainGenerator("uniformRandom", 18, seed=seed, padding=5), position) == bytes.fromhex(drawn + padding)
    assert zlib.crc32(one(PlainGenerator("uniformRandom", 9001, seed=seed), position) or b"") == crc
    assert one(PlainGenerator("timestampRandom", 21, seed=seed), position) == TIME + bytes.fromhex(drawn)
    state = seeded(np.array([(seed + position + 2**63) % 2**64 - 2**63], np.int64))
    assert percents(state).tolist() == [percent]


@pytest.mark.parametrize(("seed", "position", "_d", "_p", "_i", "gaussian", "after", "_c"), JAVA)
def test_sizes_are_those_of_java(
    seed: int, position: int, _d: str, _p: str, _i: int, gaussian: float, after: str, _c: int
) -> None:
    """And the bytes of the first message of a size follow the draw of it."""
    drawn, state = normal(seed + position)

    assert drawn == pytest.approx(gaussian, rel=1e-15)
    assert random_bytes(np.array([state], np.uint64), 6)[0].tobytes().hex() == after
    made = one(PlainGenerator("gaussianTimestampConstant", mean=100, deviation=20.0, seed=seed), position)
    assert made == TIME + bytes(max(8, 100 + int(gaussian * 20)) - 8)


def test_what_would_favour_small_numbers_is_drawn_again() -> None:
    """The first number of this seed is above the last whole hundred of 31 bits; Java gives 11, and not 21."""
    assert percents(seeded(np.array([51_102_269, 0], np.int64))).tolist() == [11, 60]


def test_a_size_is_held() -> None:
    """Of the first of each three; its bytes come from behind the draw, those of the others from the begin."""
    generator = PlainGenerator("gaussianTimestampRandom", mean=30, deviation=10.0, hold=3, seed=42)
    made = bodies(generator, np.arange(6), TIME)
    sizes = [30 + int(normal(42 + group)[0] * 10) for group in (0, 3)]

    assert [len(body or b"") for body in made] == [sizes[0]] * 3 + [sizes[1]] * 3
    for position in (1, 2, 4, 5):
        plain = one(PlainGenerator("uniformRandom", sizes[position // 3], seed=42), position)
        assert made[position] == TIME + (plain or b"")[8:]
    assert made[0] != TIME + (one(PlainGenerator("uniformRandom", sizes[0], seed=42), 0) or b"")[8:]


@pytest.mark.parametrize(
    ("generator", "position", "made"),
    [
        (PlainGenerator("null"), 5, None),
        (PlainGenerator("constant", 5), 5, bytes(5)),
        (PlainGenerator("constant", 5, b"\xff\x00"), 5, b"\xff\x00\xff\x00\xff"),
        (PlainGenerator("constant", 0, b"x"), 5, b""),
        (PlainGenerator("sequential", 4), 513, b"\x01\x02\x00\x00"),
        (PlainGenerator("sequential", 10, offset=1), 255, b"\x00\x01" + bytes(8)),
        (PlainGenerator("sequential", 1), 513, b"\x01"),
        (PlainGenerator("timestampConstant", 10), 5, TIME + bytes(2)),
        (PlainGenerator("gaussianTimestampConstant", mean=2, deviation=0.0), 5, TIME),
    ],
)
def test_what_nothing_is_drawn_for(generator: PlainGenerator, position: int, made: bytes | None) -> None:
    assert one(generator, position) == made


def test_components_are_drawn_by_their_percents() -> None:
    """By the seed of the whole and the position; each then makes the bytes of that position."""
    parts = ((60, PlainGenerator("null")), (40, PlainGenerator("sequential", 2)))
    made = bodies(PlainGenerator("randomComponent", seed=0, components=parts), np.array([0, 1, 2]))

    assert made == [b"\x00\x00", b"\x01\x00", None]


@given(
    kind=st.sampled_from(TYPES), seed=st.integers(-(2**63), 2**63 - 1), size=st.integers(8, 70),
    hold=st.integers(1, 4), first=st.integers(0, 2**40),
)  # fmt: skip
def test_many_are_as_one_by_one(kind: str, seed: int, size: int, hold: int, first: int) -> None:
    generator = PlainGenerator(kind, size, seed=seed, mean=size, deviation=5.0, hold=hold)
    positions = np.arange(first, first + 9, dtype=np.int64)
    made, crcs = Generated(generator).many(positions)

    assert list(zip(made, crcs.tolist(), strict=True)) == [Generated(generator).one(int(each)) for each in positions]


def test_the_time_is_that_of_sending() -> None:
    """In whole milliseconds of the wall clock."""
    source = Generated(PlainGenerator("timestampConstant", 8), ahead_ns=1_700_000_000_000_000_000)
    source.at(123_999_999)

    assert source.one(0)[0] == TIME
    assert source.keys([1, 2]) == [TIME, TIME]
