"""Codecs as the client uses them: what goes in comes out, and ratios that are known."""

import os
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.record.compression import DEFAULT_LEVELS, Codec, codec_of, compress
from streamgauge.record.recordbatch import HEADER_BYTES, Record, encode
from streamgauge.scenario.model.content import BodyKind
from streamgauge.workload import payload

REAL = [name for name in DEFAULT_LEVELS if name != "none"]
MESSAGES = 100


def records_of(kind: BodyKind, count: int = MESSAGES, size: int = 512) -> bytes:
    """The records of one batch, no two messages the same."""
    return encode([Record(payload.body(kind, 1, 0, index, size), b"%d" % index) for index in range(count)])


@pytest.mark.parametrize("name", DEFAULT_LEVELS)
@given(st.binary(max_size=300), st.integers(0, 700))
def test_what_goes_in_comes_out(name: str, content: bytes, times: int) -> None:
    """Up to several of lz4's blocks."""
    codec, records = codec_of(name), content * times

    assert codec.decode(codec.encode(records), len(records)) == records


@pytest.mark.parametrize(("name", "arrows"), [("gzip", "gzip"), ("lz4", "lz4"), ("snappy", "snappy"), ("zstd", "zstd")])
def test_others_can_read_it(name: str, arrows: str) -> None:
    """A frame of lz4 is made by hand here: Arrow reads it, the stored block of random bytes included."""
    records = records_of("text", 300) + os.urandom(100_000)

    assert pa.Codec(arrows).decompress(codec_of(name).encode(records), len(records), asbytes=True) == records


def test_a_block_of_lz4_that_would_grow_is_stored() -> None:
    """Head of 7 bytes, a length of 4 for each of two blocks, and a mark of 4 at the end."""
    assert len(codec_of("lz4").encode(os.urandom(100_000))) == 100_000 + 7 + 2 * 4 + 4


@pytest.mark.parametrize(
    ("name", "level", "given"),
    [
        ("none", 3, None), ("snappy", 3, None),
        ("gzip", None, 6), ("gzip", -1, 6), ("gzip", 0, 0), ("gzip", 1, 1), ("gzip", 12, 9),
        ("lz4", None, 0), ("lz4", -1, 0), ("lz4", 9, 9), ("lz4", 99, 12),
        ("zstd", None, 3), ("zstd", 12, 12), ("zstd", 99, 22),
    ],
)  # fmt: skip
def test_levels_are_those_of_the_client(name: str, level: int | None, given: int | None) -> None:
    codec, records = codec_of(name, level), records_of("text")

    assert codec.level == given
    assert codec.decode(codec.encode(records), len(records)) == records


@pytest.mark.parametrize(("name", "low", "high"), [("gzip", 1, 9), ("lz4", 0, 9), ("zstd", 1, 12)])
def test_a_higher_level_makes_less_of_it(name: str, low: int, high: int) -> None:
    records = records_of("json", 500)

    assert len(codec_of(name, high).encode(records)) < len(codec_of(name, low).encode(records))


@pytest.mark.parametrize("name", REAL)
def test_ratios_are_in_their_known_order(name: str) -> None:
    """Zeros above text above mixed above random, which no codec makes smaller."""
    ratio = {
        kind: compress([records_of(kind)], codec_of(name), rounds=1).records_ratio
        for kind in ("zeros", "text", "mixed", "random")
    }  # fmt: skip

    assert ratio["zeros"] > 15
    assert ratio["zeros"] > ratio["text"] > ratio["mixed"] > ratio["random"]
    assert 1 <= ratio["random"] < 1.05


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_one_block_of_identical_messages_lies(name: str) -> None:
    """The same message over and over, a thousand at once, against different ones in batches of 25."""
    message = payload.body("text", 1, 0, 0, 512)
    identical = compress([message * 1_000], codec_of(name), rounds=1)
    real = compress([records_of("text", 25)] * 4, codec_of(name), rounds=1)

    assert identical.records_ratio > 50 * real.records_ratio


def test_larger_batches_compress_better() -> None:
    ratios = [compress([records_of("json", count)], codec_of("zstd"), rounds=1).records_ratio for count in (1, 10, 100)]

    assert ratios == sorted(ratios)
    assert ratios[-1] > 1.5 * ratios[0]


def ticking(*steps_ms: float) -> Callable[[], int]:
    """A clock that moves by one of these at each reading."""

    def times() -> Iterator[float]:
        now = 0.0
        for step in steps_ms:
            now += step
            yield now

    given = times()
    return lambda: round(next(given) * 1_000_000)


def test_a_report_says_what_was_measured() -> None:
    """Bytes of records and of whole batches, what went as it is, and CPU time for each MB."""
    halves = Codec(
        "half", 7, lambda records: records[: len(records) // 2] if records[0] else records * 2, lambda e, n: e
    )
    plain, zeros = b"\1" * 400_000, b"\0" * 600_000

    found = compress([plain, zeros], halves, rounds=3, cpu_ns=ticking(0, 1, 9, 3, 9, 2, 9, 4, 9, 4, 9, 12))

    assert (found.codec, found.level, found.batches, found.stored) == ("half", 7, 2, 1)
    assert (found.records_bytes, found.compressed_bytes) == (1_000_000, 800_000)
    assert found.records_ratio == 1.25
    assert found.batch_ratio == (1_000_000 + 2 * HEADER_BYTES) / (800_000 + 2 * HEADER_BYTES)
    assert found.saved_share == 1 - 1 / found.batch_ratio
    assert found.encode_ms_per_mb is not None
    assert (found.encode_ms_per_mb.least, found.encode_ms_per_mb.median, found.encode_ms_per_mb.most) == (1, 2, 3)
    assert found.decode_ms_per_mb is not None
    assert (found.decode_ms_per_mb.least, found.decode_ms_per_mb.median, found.decode_ms_per_mb.most) == (10, 10, 30)


def test_what_is_not_compressed_takes_no_time() -> None:
    """Neither with `none`, nor to decode what went as it is."""
    none, stored = compress([b"abc"], codec_of("none")), compress([os.urandom(1_000)], codec_of("gzip"))

    assert (none.records_ratio, none.saved_share, none.stored) == (1, 0, 0)
    assert (none.encode_ms_per_mb, none.decode_ms_per_mb) == (None, None)
    assert (stored.records_ratio, stored.stored, stored.decode_ms_per_mb) == (1, 1, None)
    assert stored.encode_ms_per_mb is not None
