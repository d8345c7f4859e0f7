"""The rate of a load: constant, or a shape over time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BeforeValidator,
    GetJsonSchemaHandler,
    PlainSerializer,
    Tag,
)
from pydantic_core import CoreSchema

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import (
    format_rate,
    parse_duration_ns,
)
from streamgauge.scenario.model.pacing.batches import BatchMessages
from streamgauge.scenario.model.pacing.shapes import (
    BETWEEN,
    Burst,
    Closed,
    Poisson,
    Ramp,
    Replay,
    Segment,
    Segments,
    Spike,
    Steps,
    Windows,
    form,
    level,
)
from streamgauge.scenario.model.values import (
    EITHER,
    MADE,
    PLAIN,
    SLOWEST,
    OneOf,
)

_OR: Final = "max, closed, or a shape like {ramp: {from: 1k/s, to: 10k/s, over: 60s}}"


def _plain(value: object) -> float | str:
    word = value.strip() if isinstance(value, str) else None
    if word in {"max", "closed"}:
        return word
    try:
        rate = level(value)
    except BadValue as error:
        raise BadValue(error.what, f"{error.mend}, {_OR}") from error
    if rate == 0:
        raise BadValue(f"a rate lies {BETWEEN}", "Write `max` for as fast as possible, or `load: off` to send nothing")
    return rate


class Pace(OneOf):
    """Shape of the load over time, from the start of the measure phase; the warm-up has its initial rate."""

    ramp: Ramp | None = None
    """A linear ramp."""
    steps: Steps | None = None
    """Steps of equal height."""
    spike: Spike | None = None
    """One spike above or below a base rate."""
    segments: Segments | None = None
    """Consecutive segments; can be written as a list alone."""
    burst: Burst | None = None
    """Periodic bursts above a base rate."""
    windows: Windows | None = None
    """Time windows with a fixed or random number of messages."""
    poisson: Poisson | None = None
    """Poisson arrivals: independent messages at a mean rate."""
    replay: Replay | None = None
    """Messages due at recorded arrival times; nothing is due in the warm-up."""
    closed: Closed | None = None
    """Closed loop without a schedule: the next batch is sent when the previous one is acknowledged."""

    @property
    def batch(self) -> BatchMessages | None:
        """Messages of a batch of a closed loop; None with a schedule."""
        return self.closed.batch if self.closed else None


class _ListToo:
    """Says in the JSON Schema that a list of segments will do."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        said = handler(schema)
        segment = handler(Segment.__pydantic_core_schema__)
        return {**said, "oneOf": [*said["oneOf"], {"type": "array", "items": segment}]}


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise BadValue("not a whole number", "Write one like 10")
    return int(text)


def _length(text: str) -> str:
    parse_duration_ns(text)
    return text


@dataclass(frozen=True, slots=True)
class _Shorthand:
    """A shape in one word: what its parts are, each with its meaning and default."""

    form: str
    shape: str
    parts: tuple[tuple[str, Callable[[str], object], str], ...]

    def written_out(self, given: list[str]) -> dict[str, object]:
        """The mapping that the given parts mean; BadValue where one means nothing."""
        mend = f"Write {self.form}, like {'_'.join([self.form.partition('_')[0], *(part[2] for part in self.parts)])}"
        if len(given) > len(self.parts):
            raise BadValue(f"has {len(given)} parts, not {len(self.parts)}", mend)
        texts = [*given, *[""] * (len(self.parts) - len(given))]
        said: dict[str, object] = {}
        for (key, read, default), text in zip(self.parts, texts, strict=True):
            try:
                said[key] = read(text or default)
            except BadValue as error:
                raise BadValue(f"`{text}`: {error.what}", mend) from error
        return {self.shape: said}


_SHORTHANDS: Final = {
    "RAMP": _Shorthand(
        "RAMP_steps_from_to_length",
        "steps",
        (("steps", _whole, "10"), ("from", level, "1k"), ("to", level, "10k"), ("each", _length, "1m")),
    ),
    "SPIKE": _Shorthand(
        "SPIKE_base_peak_before_length",
        "spike",
        (("base", level, "1k"), ("peak", level, "1M"), ("at", _length, "5m"), ("for", _length, "10s")),
    ),
}


def _written_out(value: object) -> object:
    """A shorthand or a bare list of segments as the mapping that it means; anything else as it is."""
    if isinstance(value, list | tuple):
        return {"segments": value}
    word, *parts = value.strip().split("_") if isinstance(value, str) else ("",)
    return _SHORTHANDS[word].written_out(parts) if word in _SHORTHANDS else value


PlainPace = Annotated[
    float | Literal["max", "closed"],
    BeforeValidator(_plain),
    PlainSerializer(lambda rate: rate if isinstance(rate, str) else format_rate(rate), return_type=str),
    form(SLOWEST, "max", "closed", "RAMP_10_1k_10k_1m", "SPIKE_1k_1M_5m_10s"),
]

Pacing = Annotated[
    Annotated[PlainPace, Tag(PLAIN)] | Annotated[Pace, Tag(MADE)], EITHER, BeforeValidator(_written_out), _ListToo()
]
"""The rate of a load: messages a second, `max`, `closed`, or a shape."""


def closed_batch(rate: Pacing) -> BatchMessages | None:
    """Messages that a producer of a closed loop sends before it waits; None where nothing waits for reports."""
    return rate.batch if isinstance(rate, Pace) else 1 if rate == "closed" else None


def mean_rate(rate: Pacing) -> float | None:
    """Target rate on average, in messages a second; None where there is none, or where it depends on how long."""
    if not isinstance(rate, Pace):
        return rate if isinstance(rate, float) else None
    match rate.chosen[1]:
        case Poisson(rate=mean):
            return mean
        case Burst() as shape:
            return shape.base + (shape.burst - shape.base) * shape.for_ / shape.every
        case Windows() as shape:
            return shape.mean * NS_PER_SECOND / shape.window
        case Segments(then="repeat", segments=pieces):
            messages = sum((piece.rate + piece.end) / 2 * piece.for_ for piece in pieces)
            return messages / sum(piece.for_ for piece in pieces)
        case _:
            return None
