"""What codecs make of the records of a batch: how small they get, and how much CPU time it takes.

Every codec as librdkafka uses it. Where no output else, `compression.level` -1 stands for 6 with gzip, 0 with
lz4 and 3 with zstd; lz4 makes frames of independent blocks of 64 KiB; snappy has no framing. What a codec would make
larger goes as it is. Against the batches that a broker keeps, gzip and lz4 come out the same, snappy within 1.5 %, zstd
within 3 %: librdkafka does not tell zstd beforehand how much will come, which matters below 16 KiB.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.record.recordbatch import HEADER_BYTES

DEFAULT_LEVELS: Final[Mapping[str, int | None]] = MappingProxyType(
    {"none": None, "gzip": 6, "snappy": None, "lz4": 0, "zstd": 3}
)
"""Every codec of Kafka, and the level that librdkafka gives it; None where it has none."""
_MOST: Final = MappingProxyType({"gzip": 9, "lz4": 12, "zstd": 22})
ROUNDS: Final = 5

_MB: Final = 1_000_000
_LZ4_BLOCK: Final = 64 << 10
_LZ4_HEAD: Final = bytes.fromhex("04224d18 60 40 82")
"""Magic, independent blocks without checksums, 64 KiB each, and the checksum of these two bytes."""
_LZ4_STORED: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Codec:
    """One codec at one level."""

    name: str
    level: int | None
    encode: Callable[[bytes], bytes]
    decode: Callable[[bytes, int], bytes]
    """(what `encode` made, bytes of the original) -> the original."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What several rounds took, in ms of CPU time for each MB (10^6 bytes) of records."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Compression:
    """What one codec made of some batches, all together."""

    codec: str
    level: int | None
    batches: int
    stored: int
    """Batches that would have grown, and go as they are."""
    records_bytes: int
    """Bytes of the records before."""
    compressed_bytes: int
    """Bytes of the records after."""
    encode_ms_per_mb: Spread | None
    decode_ms_per_mb: Spread | None
    """None for `none`, and where nothing is compressed."""

    @property
    def records_ratio(self) -> float:
        """Bytes of records before by bytes after."""
        return self.records_bytes / self.compressed_bytes

    @property
    def batch_ratio(self) -> float:
        """The same for whole batches, whose headers stay as they are."""
        return self._whole(self.records_bytes) / self._whole(self.compressed_bytes)

    @property
    def saved_share(self) -> float:
        """Share of the bytes of whole batches that need not be sent."""
        return 1 - 1 / self.batch_ratio

    def _whole(self, records_bytes: int) -> int:
        return self.batches * HEADER_BYTES + records_bytes


def codec_of(name: str, level: int | None = None) -> Codec:
    """The codec of this name in Kafka; without a level, or with -1, at the one that librdkafka gives it.

    A level above the highest that the codec has is that one, as with librdkafka.
    """
    if name == "none":
        return Codec(name, None, bytes, lambda encoded, _: bytes(encoded))
    if name == "snappy":
        snappy = pa.Codec("snappy")
        return Codec(name, None, _encoder(snappy), _decoder(snappy))
    asked = DEFAULT_LEVELS[name] if level in {None, -1} else level
    given = min(asked or 0, _MOST[name])
    if name == "lz4":
        # Arrow's own frames link their blocks, which Kafka does not allow, and so come out smaller.
        encode = _encoder(pa.Codec("lz4_raw", compression_level=given) if given else pa.Codec("lz4_raw"))
        return Codec(name, given, lambda records: _lz4_frame(records, encode), _decoder(pa.Codec("lz4")))
    codec = pa.Codec(name, compression_level=given)
    return Codec(name, given, _encoder(codec), _decoder(codec))


def _encoder(codec: Any) -> Callable[[bytes], bytes]:
    return lambda records: codec.compress(records, asbytes=True)


def _decoder(codec: Any) -> Callable[[bytes, int], bytes]:
    return lambda encoded, size: codec.decompress(encoded, decompressed_size=size, asbytes=True)


def _lz4_frame(records: bytes, encode: Callable[[bytes], bytes]) -> bytes:
    """One frame of independent blocks; a block that would grow is stored."""
    parts = [_LZ4_HEAD]
    for first in range(0, len(records), _LZ4_BLOCK):
        plain = records[first : first + _LZ4_BLOCK]
        packed = encode(plain)
        stored = len(packed) >= len(plain)
        kept = plain if stored else packed
        parts += [(len(kept) | _LZ4_STORED * stored).to_bytes(4, "little"), kept]
    return b"".join([*parts, bytes(4)])


def compress(
    batches: Sequence[bytes],
    codec: Codec,
    rounds: int = ROUNDS,
    cpu_ns: Callable[[], int] = clock.process_cpu_ns,
) -> Compression:
    """Encode and decode the records of every batch, several times over; `cpu_ns` reads the CPU time used."""
    kept = [(records, encoded) for records in batches if len(encoded := codec.encode(records)) <= len(records)]
    records_bytes, kept_bytes = sum(map(len, batches)), sum(len(records) for records, _ in kept)
    timed = codec.name != "none"
    return Compression(
        codec=codec.name,
        level=codec.level,
        batches=len(batches),
        stored=len(batches) - len(kept),
        records_bytes=records_bytes,
        compressed_bytes=records_bytes - kept_bytes + sum(len(encoded) for _, encoded in kept),
        encode_ms_per_mb=_spread(lambda: _encode(codec, batches), rounds, records_bytes, cpu_ns) if timed else None,
        decode_ms_per_mb=_spread(lambda: _decode(codec, kept), rounds, kept_bytes, cpu_ns) if timed and kept else None,
    )


def _encode(codec: Codec, batches: Sequence[bytes]) -> None:
    for records in batches:
        codec.encode(records)


def _decode(codec: Codec, kept: Sequence[tuple[bytes, bytes]]) -> None:
    for records, encoded in kept:
        codec.decode(encoded, len(records))


def _spread(work: Callable[[], None], rounds: int, size: int, cpu_ns: Callable[[], int]) -> Spread:
    took = []
    for _ in range(rounds):
        began_ns = cpu_ns()
        work()
        took.append((cpu_ns() - began_ns) / NS_PER_MS / (size / _MB))
    return Spread(median(took), min(took), max(took))
