"""How long consumers take to process messages, and what of it goes wrong."""

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_serializer, model_validator

from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import Duration, ScenarioPart, as_list

MAX_SLOTS = 10_000
MOST_TIMES = 100


def _multiple(value: object) -> float:
    text = str(value).strip().removesuffix("x")
    try:
        times = float(text)
    except ValueError:
        times = math.nan
    if isinstance(value, bool) or not 1 < times <= MOST_TIMES:
        raise BadValue("not a multiple", f"Write one above 1x, up to {MOST_TIMES}x, like 2x")
    return times


Multiple = Annotated[
    float,
    BeforeValidator(_multiple),
    PlainSerializer(lambda times: f"{times:g}x", return_type=str),
    WithJsonSchema({"type": "string", "examples": ["2x", "1.5x"]}),
]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
ProcessingOrder = Literal["loop", "partitions", "slots"]


class Change(ScenarioPart):
    """Processing time from a given time on."""

    at: Duration
    """Start, counted from the start of the measure phase."""
    delay: Duration = Field(default="0s", validate_default=True)
    """Processing time of a message from then on."""
    jitter: Duration = Field(default="0s", validate_default=True)
    """Random addition from then on, uniform between 0 and this."""


class Overrun(ScenarioPart):
    """Deliveries whose processing takes longer than that of others."""

    share: Share
    """Share of the deliveries, from 0 to 1."""
    by: Multiple = Field(default="2x", validate_default=True)
    """Processing time of these deliveries, as a multiple of the timeout of `acknowledge`."""
    takes: Annotated[Duration, Field(gt=0)] | None = None
    """Processing time of these deliveries, instead of `by`; without a timeout, too."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.takes is not None and "by" in self.model_fields_set:
            raise BadValue("by and takes", "Write one of them")
        return self

    @model_serializer(mode="wrap")
    def _meant(self, dump: Any) -> dict[str, Any]:
        absent = "takes" if self.takes is None else "by"
        return {name: value for name, value in dump(self).items() if name != absent}

    def lasts_ns(self, timeout_ns: int) -> int:
        """Processing time of these deliveries, where messages are to be acknowledged in `timeout_ns`."""
        return round(self.by * timeout_ns) if self.takes is None else self.takes


class Processing(ScenarioPart):
    """Processing of received messages."""

    delay: Duration = Field(default="0s", validate_default=True)
    """Processing time of a message."""
    jitter: Duration = Field(default="0s", validate_default=True)
    """Random addition to the delay, uniform between 0 and this."""
    exponential: bool = Field(default=False, strict=True)
    """Whether delays have an exponential distribution with mean `delay`."""
    changes: Annotated[tuple[Change, ...], BeforeValidator(as_list)] = ()
    """Other delays from given times on, like `[{at: 30s, delay: 0s}]`, in chronological order."""
    skip: Share = 0.0
    """Share of the messages, from 0 to 1, that are received and never processed. What fails, and what mqperf calls
    dropped, is `fail`."""
    fail: Share = 0.0
    """Share of the deliveries, from 0 to 1, whose processing fails. With `acknowledge: offsets`, the consumer goes on
    without these messages; with `markers`, `retry` and `share`, they are delivered again."""
    poison: Share = 0.0
    """Share of the messages, from 0 to 1, whose processing fails in every delivery."""
    overrun: Overrun | None = None
    """Deliveries whose processing takes longer: than the timeout of `acknowledge`, like `{share: 0.01, by: 2x}`, or so
    long, like `{share: 0.001, takes: 500ms}`."""
    function: str | None = Field(default=None, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")
    """Your own function, called with value and key of each message in the poll loop, like `package.module:name`;
    needs `--trust FOLDER` or `--allow-code`."""
    order: ProcessingOrder = "loop"
    """Concurrency: `loop`, one message after another; `partitions`, one message of each assigned partition at a time;
    `slots`, up to `slots` messages of any partition."""
    slots: int = Field(default=1, ge=1, le=MAX_SLOTS, strict=True)
    """Messages that a consumer processes in parallel with order slots."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        given = self.model_fields_set
        if "slots" in given and self.order != "slots":
            raise BadValue(f"slots have no effect with order {self.order}", "Write `order: slots`, or leave slots out")
        if self.function is not None:
            if ways := [
                name for name in ("delay", "jitter", "exponential", "changes", "overrun") if getattr(self, name)
            ]:
                what = f"a function determines the processing time, {' and '.join(ways)} cannot be added"
                raise BadValue(what, f"Write function, or {' and '.join(ways)}")
            if self.order != "loop":
                raise BadValue(f"a function runs in the poll loop, not in {self.order}", "Leave order out")
        if any(later.at <= earlier.at for earlier, later in zip(self.changes, self.changes[1:], strict=False)):
            raise BadValue("changes are not in chronological order", "Write each later than the one before")
        return self

    @model_serializer(mode="wrap")
    def _meant(self, dump: Any) -> dict[str, Any]:
        """Slots are written only where they mean something: what is written parses back."""
        absent = {"slots"} if self.order != "slots" else set()
        absent |= {name for name in ("fail", "poison", "overrun") if not getattr(self, name)}
        return {name: value for name, value in dump(self).items() if name not in absent}

    @property
    def mean_delay_ns(self) -> float:
        """How long processing takes on average until the first change."""
        return self.delay + self.jitter / 2
