"""Shapes of a load over time, each with its own keys."""

from statistics import NormalDist
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_serializer,
    model_validator,
)

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import (
    MAX_DURATION_NS,
    format_rate,
    parse_rate_per_second,
)
from streamgauge.scenario.model.pacing.batches import BatchMessages
from streamgauge.scenario.model.values import (
    FASTEST,
    SLOWEST,
    Count,
    Duration,
    ScenarioPart,
)

MOST_SEGMENTS: Final = 10_000

MOST_DEVIATIONS: Final = 8
"""How many standard deviations above the mean a draw may lie: one of 10^15 draws would lie higher."""

_NORMAL: Final = NormalDist()

_LIKE: Final = "like 10k/s or 200/s"

BETWEEN: Final = f"between {SLOWEST}/s and {FASTEST:,}/s"


def level(value: object) -> float:
    """Messages a second, 0 or a rate that can be sent; BadValue for anything else."""
    try:
        rate = parse_rate_per_second(value)
    except BadValue as error:
        raise BadValue("not a rate", f"Write messages a second {_LIKE}") from error
    return _speed(rate) if rate else rate


def _speed(rate: float) -> float:
    if not SLOWEST <= rate <= FASTEST:
        raise BadValue(f"a rate lies {BETWEEN}", f"Write one {_LIKE}")
    return rate


def _lasting(duration_ns: int) -> int:
    if duration_ns == 0:
        raise BadValue("a duration of 0s", "Write a duration like 30s")
    return duration_ns


def _ask_something(*rates: float) -> None:
    if not any(rates):
        raise BadValue("the rate is 0/s throughout", "Write a rate above 0/s")


def form(lowest: float, *more: object) -> WithJsonSchema:
    """The JSON Schema of a rate that is at least `lowest`, with `more` examples."""
    examples = ["10k/s", 200, *more]
    types = ["number", "string"]
    return WithJsonSchema(
        {"type": types, "x-form": "rate", "examples": examples, "minimum": lowest, "maximum": FASTEST}
    )


Level = Annotated[float, BeforeValidator(level), PlainSerializer(format_rate, return_type=str), form(0)]
"""A rate that may be 0/s: nothing is due."""

Speed = Annotated[Level, AfterValidator(_speed), form(SLOWEST)]

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
    """Time windows with a fixed or random number of messages."""

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
    """Poisson arrivals: independent messages at a mean rate."""

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
    """Closed loop without a schedule: the next batch is sent when the previous one is acknowledged."""

    batch: BatchMessages = 1
    """Messages that a producer sends before it waits for all their delivery reports: a number, or random, like
    `{uniform: {from: 1, to: 100}}`."""
