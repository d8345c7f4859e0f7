"""Bodies of messages, one at a time: body `index` of a producer depends on (seed, producer, index) and its size."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from streamgauge.scenario.model.content import BodyKind

MIXED: "tuple[BodyKind, ...]" = ("text", "json", "logline", "random", "zeros")
"""The kinds that `mixed` takes in turn, by `(producer << 32 | index) mod 5`."""

_TAILS: Final = 0x7461_696C
"""What is drawn, in the seed: no two kinds of draws share their numbers."""
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


def body(kind: "BodyKind | str", seed: int, producer: int, index: int, body_bytes: int) -> bytes:
    """Body `index` of a producer, exactly `body_bytes` long."""
    actual = MIXED[((producer << 32) | index) % len(MIXED)] if kind == "mixed" else kind
    return _MAKERS[actual](np.random.default_rng([seed, producer, index]), index, body_bytes)


def padded(seed: int, producer: int, index: int, body_bytes: int, padding: int) -> bytes:
    """Random bytes, of which the last `padding` are the same in all bodies of a producer."""
    fixed = min(padding, body_bytes)
    tail = np.random.default_rng([seed, _TAILS, producer]).bytes(fixed)
    return np.random.default_rng([seed, producer, index]).bytes(body_bytes - fixed) + tail


def repeated(text: str | None, body_bytes: int) -> bytes:
    """A text in UTF-8, repeated and cut to the size; zeros without one."""
    unit = text.encode() if text else b"\0"
    return (unit * (body_bytes // len(unit) + 1))[:body_bytes]


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
    lines: list[bytes] = []
    length = 0
    while length < size:
        address = ".".join(str(part) for part in draw.integers(1, 255, 4))
        second = 1_700_000_000 + index * 7 + int(draw.integers(7))
        status = (200, 200, 200, 301, 404, 500)[draw.integers(6)]
        line = (
            f'{address} - - [{second}] "{("GET", "POST", "PUT", "DELETE")[draw.integers(4)]} '
            f'{_PATHS[draw.integers(len(_PATHS))]} HTTP/1.1" {status} {draw.integers(65_536)} '
            f'"{_AGENTS[draw.integers(len(_AGENTS))]}" {index}\n'
        ).encode()
        lines.append(line)
        length += len(line)
    return b"".join(lines)[:size]


_MAKERS: Mapping[str, Callable[[np.random.Generator, int, int], bytes]] = {
    "zeros": _zeros,
    "random": _random,
    "text": _text,
    "json": _json,
    "logline": _logline,
}
