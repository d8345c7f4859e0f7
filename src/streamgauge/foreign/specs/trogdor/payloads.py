"""Trogdor's payload generators: the bytes of values and keys."""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.trogdor.kinds import kind_of
from streamgauge.foreign.specs.write.translation import without_none

_STAMP: Final = 8
_ALL: Final = 100
SEQUENTIAL_KEY: Final[dict[str, Any]] = {"trogdor": {"type": "sequential", "size": 4}}
"""Keys where a specification names no generator."""
_MOST: Final = 100 << 20


@dataclass(frozen=True, slots=True)
class Payloads:
    """What values are made of, as a scenario writes it."""

    payload: Any
    size: Any
    in_headers: bool = False
    """Whether bytes are to stay what they are, so that the stamp travels in a header."""

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
    if fields.text("type") == "randomComponent" and not all(map(_is_single, fields.items("components"))):
        fields.draft.refuse(fields.place("components"), "components of components", "Write them as components of one")
        return default
    made = generator_of(fields)
    return "none" if made["type"] == "null" else {"trogdor": made}


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
    return _generator("constant", size=size, value=base64.b64encode(value).decode())


def _sequential(fields: SpecFields) -> Payloads:
    offset = fields.whole("offset", 0, least=0)
    return Payloads({"sequential": {"offset": offset}} if offset else "sequential", _size(fields, 8), in_headers=True)


def _generator(kind: str, **options: Any) -> Payloads:
    """A generator with the bytes that it makes there; options of 0 are the defaults, but for a size."""
    given = {name: value for name, value in options.items() if value or name == "size"}
    return Payloads({"trogdor": {"type": kind, **given}}, None)


def _seed(fields: SpecFields) -> int:
    return fields.whole("seed", 0, least=-(1 << 63))


def _uniform(fields: SpecFields) -> Payloads:
    size = _size(fields, 512)
    padding = fields.whole("padding", 0, least=0, most=size)
    made = _generator("uniformRandom", seed=_seed(fields), padding=padding)
    # A size of 0 is one, too.
    return Payloads({"trogdor": {**made.payload["trogdor"], "size": size}}, None)


def _null(_: SpecFields) -> Payloads:
    return Payloads("tombstone", None, in_headers=True)


def _stamped(fields: SpecFields, kind: str) -> Payloads:
    size = _size(fields, 512)
    if size < _STAMP:
        fields.draft.refuse(fields.place("size"), f"{size}: no room for its time stamp", f"Write at least {_STAMP}")
    _stamp_note(fields)
    seed = _seed(fields)
    return _generator(kind, size=size, seed=seed if kind == "timestampRandom" else 0)


def _gaussian(fields: SpecFields, kind: str) -> Payloads:
    fields.required("messageSizeAverage")
    mean = fields.whole("messageSizeAverage", 512, least=0, most=_MOST)
    deviation = fields.number("messageSizeDeviation", 0, least=0, most=_MOST)
    hold = max(1, fields.whole("messagesUntilSizeChange", 1, most=1_000_000_000))
    _stamp_note(fields)
    return Payloads({"trogdor": without_none({
        "type": kind, "mean": mean, "deviation": deviation or None, "hold": hold, "seed": _seed(fields) or None,
    })}, None)  # fmt: skip


def _stamp_note(fields: SpecFields) -> None:
    """Ours is a header: values are what they are there, time included."""
    if fields.has("timestampBytes") and fields.whole("timestampBytes", _STAMP, least=1, most=_STAMP) != _STAMP:
        fields.draft.differs(fields.place("timestampBytes"), f"the time has {_STAMP} bytes, as in Kafka's trunk")


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
    if all(_is_single(each) for each in fields.items("components")):
        return _drawn_components(fields)
    found = _components(fields)
    fields.draft.differs(
        fields.place("components"), "components of components: the scenario's seed chooses which comes when, at random"
    )
    weighted = [
        without_none({"percent": round(percent, 6), "payload": each.payload, "size": each.size})
        for percent, each in found
    ]
    return Payloads({"weighted": weighted}, None, in_headers=any(each.in_headers for _, each in found))


def _is_single(component: object) -> bool:
    inner = component.get("component") if isinstance(component, Mapping) else None
    return not isinstance(inner, Mapping) or inner.get("type") != "randomComponent"


def _drawn_components(fields: SpecFields) -> Payloads:
    """Components as they are, each by the same draw as there."""
    seed = _seed(fields)
    parts: list[dict[str, Any]] = []
    for place, each in enumerate(fields.items("components")):
        part = SpecFields(fields.draft, each, fields.place(f"components.{place}"), "a component")
        percent = part.whole("percent", 1, least=1, most=100)
        component = part.part("component", "component")
        if component is None:
            part.required("component")
        else:
            if component.text("type").startswith("gaussian"):
                component.draft.differs(component.place("type"), "sizes are held by position; there by its own count")
            parts.append({"percent": percent, "component": generator_of(component)})
        part.close()
    if (total := sum(part["percent"] for part in parts)) != _ALL and not fields.draft.faults:
        fields.draft.refuse(fields.place("components"), f"percents add up to {total}, not 100", "Change one of them")
    return _generator("randomComponent", seed=seed, components=parts)


def generator_of(fields: SpecFields) -> dict[str, Any]:
    """A generator in the language of scenarios, whose bytes are those that it makes there."""
    made = values_of(fields, Payloads("zeros", 0))
    match made.payload:
        case {"trogdor": generator}:
            return dict(generator)
        case "tombstone":
            return {"type": "null"}
        case "sequential" | {"sequential": _}:
            offset = made.payload["sequential"]["offset"] if isinstance(made.payload, dict) else None
            return without_none({"type": "sequential", "size": made.size, "offset": offset})
        case _:
            return {"type": "constant", "size": made.size}


_VALUES: Final[dict[str, Callable[[SpecFields], Payloads]]] = {
    "constant": _constant,
    "sequential": _sequential,
    "uniformRandom": _uniform,
    "null": _null,
    "randomComponent": _random_component,
    "timestampRandom": lambda fields: _stamped(fields, "timestampRandom"),
    "timestampConstant": lambda fields: _stamped(fields, "timestampConstant"),
    "gaussianTimestampRandom": lambda fields: _gaussian(fields, "gaussianTimestampRandom"),
    "gaussianTimestampConstant": lambda fields: _gaussian(fields, "gaussianTimestampConstant"),
}
