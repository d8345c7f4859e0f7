"""When messages are sent: at a rate, or with a shape over time."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    Tag,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import (
    MAX_DURATION_NS,
    format_rate,
    parse_duration_ns,
    parse_rate_per_second,
)
from streamgauge.scenario.model.values import (
    EITHER,
    FASTEST,
    MADE,
    PLAIN,
    SLOWEST,
    Count,
    Duration,
    OneOf,
    ScenarioPart,
)

MOST_SEGMENTS: Final = 10_000
MOST_DEVIATIONS: Final = 8
"""How many standard deviations above the mean a draw may lie: one of 10^15 draws would lie higher."""

_NORMAL: Final = NormalDist()
_LIKE: Final = "like 10k/s or 200/s"
_OR: Final = "max, closed, or a shape like {ramp: {from: 1k/s, to: 10k/s, over: 60s}}"
_BETWEEN: Final = f"between {SLOWEST}/s and {FASTEST:,}/s"


def _level(value: object) -> float:
    try:
        rate = parse_rate_per_second(value)
    except BadValue as error:
        raise BadValue("not a rate", f"Write messages a second {_LIKE}") from error
    return _speed(rate) if rate else rate


def _speed(rate: float) -> float:
    if not SLOWEST <= rate <= FASTEST:
        raise BadValue(f"a rate lies {_BETWEEN}", f"Write one {_LIKE}")
    return rate


def _plain(value: object) -> float | str:
    word = value.strip() if isinstance(value, str) else None
    if word in {"max", "closed"}:
        return word
    try:
        rate = _level(value)
    except BadValue as error:
        raise BadValue(error.what, f"{error.mend}, {_OR}") from error
    if rate == 0:
        raise BadValue(f"a rate lies {_BETWEEN}", "Write `max` for as fast as possible, or `load: off` to send nothing")
    return rate


def _lasting(duration_ns: int) -> int:
    if duration_ns == 0:
        raise BadValue("a duration of 0s", "Write a duration like 30s")
    return duration_ns


def _ask_something(*rates: float) -> None:
    if not any(rates):
        raise BadValue("the rate is 0/s throughout", "Write a rate above 0/s")


def _form(lowest: float, *more: object) -> WithJsonSchema:
    examples = ["10k/s", 200, *more]
    types = ["number", "string"]
    return WithJsonSchema(
        {"type": types, "x-form": "rate", "examples": examples, "minimum": lowest, "maximum": FASTEST}
    )


Level = Annotated[float, BeforeValidator(_level), PlainSerializer(format_rate, return_type=str), _form(0)]
"""A rate that may be 0/s: nothing is due."""
Speed = Annotated[Level, AfterValidator(_speed), _form(SLOWEST)]
Lasting = Annotated[Duration, AfterValidator(_lasting)]


class _Shape(ScenarioPart):
    """A part that is written without what it does not say, and with the names that Python keeps for itself."""

    @model_serializer(mode="wrap")
    def _said(self, dump: Any) -> dict[str, Any]:
        names = {name: field.alias or name for name, field in type(self).model_fields.items()}
        return {names.get(name, name): value for name, value in dump(self).items() if value is not None}


class Ramp(_Shape):
    """A linear ramp, then a constant rate."""

    from_: Level = Field(alias="from")
    """Initial rate."""
    to: Level
    """Final rate."""
    over: Lasting
    """Duration of the ramp."""

    @model_validator(mode="after")
    def _asks(self) -> Self:
        _ask_something(self.from_, self.to)
        return self


class Steps(_Shape):
    """Steps of equal height; the last rate is kept."""

    from_: Level = Field(alias="from")
    """Rate of the first step."""
    to: Level
    """Rate of the last step, which is kept."""
    steps: int = Field(ge=2, le=MOST_SEGMENTS, strict=True)
    """Number of steps, both rates included: 2 to 10,000."""
    each: Lasting
    """Duration of a step."""

    @model_validator(mode="after")
    def _asks(self) -> Self:
        _ask_something(self.from_, self.to)
        return self


class Spike(_Shape):
    """One spike above or below a base rate."""

    base: Level
    """Rate before and after the spike."""
    peak: Speed
    """Rate of the spike."""
    at: Duration
    """Start of the spike."""
    for_: Lasting = Field(alias="for")
    """Duration."""


class Segment(_Shape):
    """A segment with a constant rate or a linear ramp."""

    rate: Level
    """Rate, or initial rate of a ramp."""
    to: Level | None = None
    """Final rate of a linear ramp; constant rate by default."""
    for_: Lasting = Field(alias="for")
    """Duration."""

    @property
    def end(self) -> float:
        """The rate at the end."""
        return self.rate if self.to is None else self.to


class Segments(_Shape):
    """Consecutive segments."""

    segments: tuple[Segment, ...] = Field(alias="list", max_length=MOST_SEGMENTS, json_schema_extra={"minItems": 1})
    """The segments: 1 to 10,000."""
    then: Literal["hold", "repeat", "stop"] = "hold"
    """After the last segment: keep its rate, repeat all, or stop sending."""

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, given: Any) -> Any:
        return {"list": given} if isinstance(given, list | tuple) else given

    @model_validator(mode="after")
    def _asks(self) -> Self:
        _ask_something(*(rate for segment in self.segments for rate in (segment.rate, segment.end)))
        return self


class Burst(_Shape):
    """Periodic bursts above a base rate."""

    base: Level
    """Rate between bursts, and before the first one."""
    burst: Speed
    """Rate of a burst."""
    for_: Lasting = Field(alias="for")
    """Duration of a burst: less than a period."""
    every: Lasting
    """Duration of a period, which starts with its burst."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.for_ >= self.every:
            raise BadValue("a burst fills its whole period", "Make `for` shorter than `every`")
        return self


class Windows(_Shape):
    """Time windows with a given number of messages."""

    messages: Count = Field(ge=1)
    """Mean number of messages of all producers in a window; at least 1."""
    window: Lasting
    """Duration of a window."""
    deviation: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Standard deviation of the messages in a window; no window has less than 1, or more than 8 deviations above the
    mean."""
    hold: int = Field(default=1, ge=1, le=1_000_000, strict=True)
    """Number of consecutive windows with the same random number of messages."""
    spread: bool = Field(default=False, strict=True)
    """Whether messages are spread evenly over their window, instead of all at its start."""

    @property
    def mean(self) -> float:
        """The messages in a window on average, with those of the windows that would have had less than 1.

        The mean of max(1, X) for a normal X: 1 + s (phi(a) + a Phi(a)), with a = (mean - 1) / s.
        """
        if not self.deviation:
            return self.messages
        above = (self.messages - 1) / self.deviation
        return 1 + self.deviation * (_NORMAL.pdf(above) + above * _NORMAL.cdf(above))

    @property
    def most(self) -> float:
        """The most messages in a window."""
        return self.messages + MOST_DEVIATIONS * self.deviation

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.most * NS_PER_SECOND > FASTEST * self.window:
            most = f"{self.most:,.0f} messages in a window{', the most,' if self.deviation else ''}"
            raise BadValue(f"{most} are more than {FASTEST:,}/s", "Make the window longer, or ask for less")
        if self.hold * self.window > MAX_DURATION_NS:
            raise BadValue("hold covers more than 7 days", "Hold them for fewer windows")
        return self


class Poisson(_Shape):
    """Messages that come independently of each other."""

    rate: Speed
    """Mean rate."""


class Replay(_Shape):
    """Messages due at recorded arrival times."""

    file: str = Field(min_length=1)
    """Text file with a time in each line (seconds, or whole milliseconds, microseconds or nanoseconds since 1970),
    CSV or Parquet file, or folder of a run."""
    column: str | None = Field(default=None, min_length=1)
    """Column of a CSV or Parquet file."""
    scale: float = Field(default=1.0, ge=0.001, le=1_000_000)
    """Speed-up factor, 0.001 to 1,000,000."""


class Closed(_Shape):
    """A closed loop: a batch is sent when the last one was acknowledged."""

    batch: int = Field(default=1, ge=1, le=1_000_000, strict=True)
    """Messages that a producer sends before it waits for all their delivery reports."""


class Pace(OneOf):
    """The shape of a load over time, from the start of the measure phase; before, it has its initial rate."""

    ramp: Ramp | None = None
    """A rate that rises or falls evenly."""
    steps: Steps | None = None
    """Steps of equal height."""
    spike: Spike | None = None
    """One spike above or below a base rate."""
    segments: Segments | None = None
    """Consecutive segments; can be written as a list alone."""
    burst: Burst | None = None
    """Periodic bursts above a base rate."""
    windows: Windows | None = None
    """A fixed or random number of messages in each time window."""
    poisson: Poisson | None = None
    """Poisson arrivals: independent messages at a mean rate."""
    replay: Replay | None = None
    """Recorded arrivals; nothing is due in the warm-up."""
    closed: Closed | None = None
    """Closed loop without a schedule: a batch is sent when the last one was acknowledged."""

    @property
    def batch(self) -> int | None:
        """Messages of a batch of a closed loop; None where there is a schedule."""
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
        (("steps", _whole, "10"), ("from", _level, "1k"), ("to", _level, "10k"), ("each", _length, "1m")),
    ),
    "SPIKE": _Shorthand(
        "SPIKE_base_peak_before_length",
        "spike",
        (("base", _level, "1k"), ("peak", _level, "1M"), ("at", _length, "5m"), ("for", _length, "10s")),
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
    _form(SLOWEST, "max", "closed", "RAMP_10_1k_10k_1m", "SPIKE_1k_1M_5m_10s"),
]
Pacing = Annotated[
    Annotated[PlainPace, Tag(PLAIN)] | Annotated[Pace, Tag(MADE)], EITHER, BeforeValidator(_written_out), _ListToo()
]
"""The rate of a load: messages a second, `max`, `closed`, or a shape."""


def closed_batch(rate: Pacing) -> int | None:
    """Messages that a producer of a closed loop sends before it waits; None where nothing waits for reports."""
    return rate.batch if isinstance(rate, Pace) else 1 if rate == "closed" else None


def mean_rate(rate: Pacing) -> float | None:
    """Messages a second that are asked for on average; None where nothing is, or where it depends on how long."""
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
