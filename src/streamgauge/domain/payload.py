"""What a message contains besides its stamp, as a function of (seed, producer, sequence).

The bodies of a producer form a pool that repeats every `period` messages, so that bytes and checksums are made once.
Body k of a pool depends on (seed, producer, k) alone. The period is far longer than a batch, so that a codec finds no
repetition that real messages would not have.
"""

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

PayloadKind = Literal["random", "zeros", "text", "json", "logline", "mixed"]
KINDS: tuple[str, ...] = get_args(PayloadKind)
MIXED: tuple[PayloadKind, ...] = ("text", "json", "logline", "random", "zeros")
"""The kinds that `mixed` takes in turn, by `(producer << 32 | sequence) mod 5`."""

POOL_BYTES = 16 << 20
LONGEST_PERIOD = 4000
SHORTEST_PERIOD = 20

_WORDS = tuple(
    "river gauge water level flow rate depth bank bridge valve sensor station upstream downstream current spring "
    "meadow rain flood drought channel basin delta sluice weir ripple tide reading average maximum hour minute signal "
    "warning north south east west measured observed recorded delivered delayed steady rising falling normal severe "
    "".split()
)
_AGENTS = ("gauge-reader/2.1", "Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0", "okhttp/4.12")
_PATHS = ("/", "/stations", "/stations/17/level", "/api/v2/readings", "/health")
_EVENTS = ("reading", "alarm", "calibrate", "heartbeat", "offline", "online")
_REGIONS = ("north", "south", "east", "west")


@dataclass(frozen=True, slots=True)
class Pool:
    """The bodies of one producer and their checksums; message `seq` has body `seq % period`."""

    bodies: NDArray[np.uint8]
    """Shape (period, bytes of body)."""
    crcs: NDArray[np.uint32]
    """CRC-32 of each body."""

    @property
    def period(self) -> int:
        """After how many messages the bodies repeat."""
        return len(self.bodies)


def pool(kind: PayloadKind, seed: int, producer: int, body_bytes: int) -> Pool:
    """The pool of one producer; `body_bytes` is the size of the value without the stamp."""
    period = period_of(body_bytes)
    bodies = np.frombuffer(
        b"".join(body(kind, seed, producer, index, body_bytes) for index in range(period)), np.uint8
    ).reshape(period, body_bytes)
    crcs = np.fromiter((zlib.crc32(each.tobytes()) for each in bodies), np.uint32, period)
    return Pool(bodies, crcs)


def period_of(body_bytes: int) -> int:
    """After how many messages bodies of this size repeat: a multiple of 5, so that `mixed` stays in step."""
    fits = POOL_BYTES // max(1, body_bytes) // 5 * 5
    return max(SHORTEST_PERIOD, min(LONGEST_PERIOD, fits))


def body(kind: PayloadKind, seed: int, producer: int, index: int, body_bytes: int) -> bytes:
    """Body `index` of a producer's pool, exactly `body_bytes` long."""
    actual = MIXED[((producer << 32) | index) % len(MIXED)] if kind == "mixed" else kind
    return _MAKERS[actual](np.random.default_rng([seed, producer, index]), index, body_bytes)


def _zeros(_draw: np.random.Generator, _index: int, size: int) -> bytes:
    return bytes(size)


def _random(draw: np.random.Generator, _index: int, size: int) -> bytes:
    return draw.bytes(size)


def _text(draw: np.random.Generator, _index: int, size: int) -> bytes:
    words = draw.choice(_WORDS, size // 4 + 1)
    return " ".join(words.tolist()).encode()[:size].ljust(size)


def _json(draw: np.random.Generator, index: int, size: int) -> bytes:
    """One JSON object, padded with spaces after it; below its own length, an empty object or nothing but spaces."""
    event = {
        "seq": index,
        "station": int(draw.integers(1_000_000_000)),
        "event": _EVENTS[draw.integers(len(_EVENTS))],
        "region": _REGIONS[draw.integers(len(_REGIONS))],
        "level_mm": int(draw.integers(100_000)),
        "ok": bool(draw.integers(8)),
        "note": "",
    }
    room = size - len(json.dumps(event))
    if room < 0:
        return (b"{}" if size >= 2 else b"").ljust(size)
    event["note"] = _text(draw, index, room * 2 // 3).decode().strip()
    return json.dumps(event).encode().ljust(size)


def _logline(draw: np.random.Generator, index: int, size: int) -> bytes:
    """Lines of an access log, the last one cut where the value ends."""
    lines = b""
    while len(lines) < size:
        address = ".".join(str(part) for part in draw.integers(1, 255, 4))
        second = 1_700_000_000 + index * 7 + int(draw.integers(7))
        status = (200, 200, 200, 301, 404, 500)[draw.integers(6)]
        lines += (
            f'{address} - - [{second}] "{("GET", "POST", "PUT", "DELETE")[draw.integers(4)]} '
            f'{_PATHS[draw.integers(len(_PATHS))]} HTTP/1.1" {status} {draw.integers(65_536)} '
            f'"{_AGENTS[draw.integers(len(_AGENTS))]}" {index}\n'
        ).encode()
    return lines[:size]


_MAKERS: Mapping[str, Callable[[np.random.Generator, int, int], bytes]] = {
    "zeros": _zeros,
    "random": _random,
    "text": _text,
    "json": _json,
    "logline": _logline,
}
