"""Trogdor's payload generators: the bytes of values and keys."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any, Final

from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.trogdor.kinds import kind_of
from streamgauge.foreign.specs.write.translation import without_none

_STAMP: Final = 8
_LONGEST_KEY: Final = 1_000
_MOST_KEYS: Final = 1_000_000_000
_MOST: Final = 100 << 20


@dataclass(frozen=True, slots=True)
class Payloads:
    """What values are made of, as a scenario writes it."""

    payload: Any
    size: Any
    in_headers: bool = False
    """Whether bytes are to stay what they are, so that the stamp travels in a header."""
    seed: int | None = None

    def document(self) -> dict[str, Any]:
        """The fields of a load."""
        stamp = "headers" if self.in_headers else None
        return without_none({"size": self.size, "payload": self.payload, "stamp": stamp})


def values_of(fields: SpecFields | None, default: Payloads) -> Payloads:
    """The values that a generator makes; `default` where there is none."""
    if fields is None:
        return default
    kind = kind_of(fields, _VALUES)
    made: Payloads = _VALUES[kind](fields) if kind in _VALUES else default
    fields.close()
    return made


def keys_of(fields: SpecFields | None, default: Any) -> Any:
    """The keys that a generator makes."""
    if fields is None:
        return default
    kind = kind_of(fields, _KEYS)
    made = _KEYS[kind](fields) if kind in _KEYS else default
    if kind in _KEYS:
        fields.close()
    return made


def _size(fields: SpecFields, default: int = 0) -> int:
    fields.required("size")
    return fields.whole("size", default, least=0, most=_MOST)


def _constant_bytes(fields: SpecFields) -> bytes:
    """The bytes of `value`: base64, or a list of numbers, as Jackson reads them."""
    value = fields.raw("value")
    try:
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
        if isinstance(value, list):
            return bytes(each & 0xFF for each in value)
    except (binascii.Error, TypeError, ValueError):
        pass
    if value is not None:
        fields.draft.refuse(fields.place("value"), "not bytes", "Write them in base64, or as a list of numbers")
    return b""


def _constant(fields: SpecFields) -> Payloads:
    size, value = _size(fields, 512), _constant_bytes(fields)
    if not value.strip(b"\0"):
        return Payloads("zeros", size, in_headers=True)
    try:
        return Payloads({"constant": {"text": value.decode()}}, size, in_headers=True)
    except UnicodeDecodeError:
        fields.draft.differs(fields.place("value"), "these bytes are no text: values are zeros here")
        return Payloads("zeros", size, in_headers=True)


def _sequential(fields: SpecFields) -> Payloads:
    offset = fields.whole("offset", 0, least=0)
    return Payloads({"sequential": {"offset": offset}} if offset else "sequential", _size(fields, 8), in_headers=True)


def _seed(fields: SpecFields) -> int | None:
    if not fields.has("seed"):
        return None
    seed = fields.whole("seed", 0, least=-(1 << 63))
    fields.draft.differs(fields.place("seed"), "draws other bytes of the same kind: Java's random numbers are not ours")
    return seed & ((1 << 63) - 1)


def _uniform(fields: SpecFields) -> Payloads:
    size = _size(fields, 512)
    padding = fields.whole("padding", 0, least=0, most=size)
    return Payloads(
        {"random": {"padding": padding}} if padding else "random", size, in_headers=True, seed=_seed(fields)
    )


def _null(_: SpecFields) -> Payloads:
    return Payloads("tombstone", None, in_headers=True)


def _stamped(fields: SpecFields, payload: str) -> Payloads:
    size = _size(fields, 512)
    if size < _STAMP:
        fields.draft.refuse(fields.place("size"), f"{size}: no room for its time stamp", f"Write at least {_STAMP}")
    _stamp_note(fields)
    return Payloads(payload, size, seed=_seed(fields))


def _gaussian(fields: SpecFields, payload: str) -> Payloads:
    fields.required("messageSizeAverage")
    mean = fields.whole("messageSizeAverage", 512, least=0, most=_MOST)
    deviation = round(fields.number("messageSizeDeviation", 0, least=0, most=_MOST))
    hold = max(1, fields.whole("messagesUntilSizeChange", 1, most=1_000_000_000))
    if mean - 8 * deviation < _STAMP:
        fields.draft.differs(fields.place("messageSizeAverage"), "the least size is 0 here, and 8 bytes there")
    _stamp_note(fields)
    return Payloads(payload, {"gaussian": {"mean": mean, "deviation": deviation, "hold": hold}}, seed=_seed(fields))


def _stamp_note(fields: SpecFields) -> None:
    if fields.has("timestampBytes"):
        fields.whole("timestampBytes", _STAMP, least=1, most=_STAMP)
    fields.draft.differs(fields.place("type"), "the stamp has 40 bytes here; its own has 8, of milliseconds")


def _components(fields: SpecFields) -> list[tuple[float, Payloads]]:
    """Shares and contents, those of components of components multiplied out."""
    found: list[tuple[float, Payloads]] = []
    total = 0
    for place, each in enumerate(fields.items("components")):
        part = SpecFields(fields.draft, each, fields.place(f"components.{place}"), "a component")
        percent = part.whole("percent", 1, least=1, most=100)
        total += percent
        component = part.part("component", "component")
        if component is None:
            part.required("component")
        elif component.text("type") == "randomComponent":
            found += [(percent * share / 100, below) for share, below in _components(component)]
            component.close()
        else:
            found.append((percent, values_of(component, Payloads("zeros", 0))))
        part.close()
    if total != 100:
        fields.draft.refuse(fields.place("components"), f"percents add up to {total}, not 100", "Change one of them")
    _seed(fields)
    fields.text("type")
    return found


def _random_component(fields: SpecFields) -> Payloads:
    found = _components(fields)
    if len(found) == 1:
        return found[0][1]
    weighted = [
        without_none({"percent": round(percent, 6), "payload": each.payload, "size": each.size})
        for percent, each in found
    ]
    in_headers = any(each.in_headers for _, each in found)
    seed = next((each.seed for _, each in found if each.seed is not None), None)
    return Payloads({"weighted": weighted}, None, in_headers=in_headers, seed=seed)


def _constant_key(fields: SpecFields) -> Any:
    size, value = fields.whole("size", 0, least=0, most=_LONGEST_KEY), _constant_bytes(fields) or b"\0"
    try:
        text = (value * (size // len(value) + 1))[:size].decode()
    except UnicodeDecodeError:
        fields.draft.refuse(fields.place("value"), "these bytes are no text, as keys are here", "Write those of a text")
        return "none"
    return {"constant": {"text": text}}


def _sequential_key(fields: SpecFields) -> Any:
    fields.whole("size", 4, least=0)
    fields.whole("offset", 0, least=0)
    fields.draft.differs(fields.where, "keys are decimal digits here, and bytes of a number (little endian) there")
    return "sequential"


def _uniform_key(fields: SpecFields) -> Any:
    size = fields.whole("size", 4, least=0, most=_LONGEST_KEY)
    padding = fields.whole("padding", 0, least=0, most=size)
    _seed(fields)
    keys = min(256 ** min(size - padding, 4), _MOST_KEYS)
    fields.draft.differs(fields.where, f"{keys:,} decimal keys at random here, {size} random bytes there")
    return {"uniform": {"keys": keys}}


_VALUES: Final[dict[str, Any]] = {
    "constant": _constant,
    "sequential": _sequential,
    "uniformRandom": _uniform,
    "null": _null,
    "randomComponent": _random_component,
    "timestampRandom": lambda fields: _stamped(fields, "random"),
    "timestampConstant": lambda fields: _stamped(fields, "zeros"),
    "gaussianTimestampRandom": lambda fields: _gaussian(fields, "random"),
    "gaussianTimestampConstant": lambda fields: _gaussian(fields, "zeros"),
}
_KEYS: Final[dict[str, Any]] = {
    "constant": _constant_key,
    "sequential": _sequential_key,
    "uniformRandom": _uniform_key,
    "null": lambda _: "none",
}
