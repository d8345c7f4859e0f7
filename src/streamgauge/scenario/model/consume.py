"""Who reads the topics, and how."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    Tag,
    WithJsonSchema,
    WrapSerializer,
    model_serializer,
    model_validator,
)

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import format_rate
from streamgauge.scenario.model.values import (
    EITHER,
    FASTEST,
    MADE,
    PLAIN,
    SLOWEST,
    ClientSettings,
    Count,
    Duration,
    ScenarioPart,
    Setting,
    epoch_ns,
    off_is_none,
    rate_between,
)

MAX_BUFFER = 1_000_000
MAX_SLOTS = 10_000
_AUTO_COMMIT = "enable.auto.commit"
_STARTS = ("auto", "earliest", "latest")


def _limit(value: object) -> float | str:
    if value is None or value == "unlimited":
        return "unlimited"
    return rate_between(value, FASTEST, say="messages a second like 1k/s, or unlimited", like="1k/s, or unlimited")


def _start(value: object) -> str:
    if value in _STARTS:
        return str(value)
    try:
        epoch_ns(value if isinstance(value, str) else "")
    except BadValue as error:
        what = error.what if isinstance(value, str) and value[:1].isdigit() else "no place to start"
        mend = f"Write {', '.join(_STARTS)}, or a time with its zone like 2026-11-21T10:00:00Z"
        raise BadValue(what, mend) from error
    return str(value).strip()


def _listed(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise BadValue("not a list", "Write one in brackets")
    return value


def _dealt(partitions: tuple[int, ...]) -> tuple[int, ...]:
    if not partitions:
        raise BadValue("no partition", "Name some like [0, 1], or leave partitions out for all")
    if len(set(partitions)) < len(partitions):
        raise BadValue("names a partition twice", "Write each once")
    return partitions


Limit = Annotated[
    float | Literal["unlimited"],
    BeforeValidator(_limit),
    PlainSerializer(lambda rate: rate if rate == "unlimited" else format_rate(rate), return_type=str),
    WithJsonSchema(
        {
            "type": ["number", "string"],
            "x-form": "rate",
            "examples": ["1k/s", 200, "unlimited"],
            "minimum": SLOWEST,
            "maximum": FASTEST,
        }
    ),
]
Start = Annotated[
    str,
    BeforeValidator(_start),
    WithJsonSchema({"type": "string", "x-form": "start", "examples": [*_STARTS, "2026-11-21T10:00:00Z"]}),
]
Partition = Annotated[int, Field(ge=0, lt=10_000, strict=True)]
Partitions = Annotated[tuple[Partition, ...], BeforeValidator(_listed), AfterValidator(_dealt)]
Order = Literal["loop", "partitions", "slots"]


class Change(ScenarioPart):
    """How long processing takes from a moment on."""

    at: Duration
    """When it begins, counted from the begin of the measure phase."""
    delay: Duration = Field(default="0s", validate_default=True)
    """How long the processing of a message takes from then on."""
    jitter: Duration = Field(default="0s", validate_default=True)
    """What is added from then on: uniform between 0 and this."""


class Processing(ScenarioPart):
    """What is done with a message after it was received."""

    delay: Duration = Field(default="0s", validate_default=True)
    """How long the processing of a message takes."""
    jitter: Duration = Field(default="0s", validate_default=True)
    """What is added: uniform between 0 and this."""
    exponential: bool = Field(default=False, strict=True)
    """Whether delays are drawn from an exponential distribution with the mean `delay`."""
    changes: Annotated[tuple[Change, ...], BeforeValidator(_listed)] = ()
    """Other delays from a moment on, like `[{at: 30s, delay: 0s}]`, each later than the one before."""
    drop: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False)
    """Share of the messages, from 0 to 1, that are received and never processed."""
    function: str | None = Field(default=None, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")
    """Your own function, called with value and key of each message on the polling loop, like `package.module:name`;
    needs `--trust FOLDER` or `--allow-code`."""
    order: Order = "loop"
    """What processes at once: `loop`, one message after the other; `partitions`, one of each partition that a consumer
    has; `slots`, so many as `slots` says, from any partition."""
    slots: int = Field(default=1, ge=1, le=MAX_SLOTS, strict=True)
    """Messages that a consumer processes at once with order slots."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        given = self.model_fields_set
        if "slots" in given and self.order != "slots":
            raise BadValue(f"slots say nothing with order {self.order}", "Write `order: slots`, or leave slots out")
        if self.function is not None:
            if ways := [name for name in ("delay", "jitter", "exponential", "changes") if getattr(self, name)]:
                what = f"a function takes its own time, {' and '.join(ways)} would be another"
                raise BadValue(what, f"Write function, or {' and '.join(ways)}")
            if self.order != "loop":
                raise BadValue(f"a function runs on the polling loop, not in {self.order}", "Leave order out")
        if any(later.at <= earlier.at for earlier, later in zip(self.changes, self.changes[1:], strict=False)):
            raise BadValue("changes are not in the order of their times", "Write each later than the one before")
        return self

    @model_serializer(mode="wrap")
    def _meant(self, dump: Any) -> dict[str, Any]:
        """Slots are written only where they mean something: what is written parses back."""
        return {name: value for name, value in dump(self).items() if name != "slots" or self.order == "slots"}

    @property
    def mean_delay_ns(self) -> float:
        """How long processing takes on average until the first change."""
        return self.delay + self.jitter / 2


class Commit(ScenarioPart):
    """After what a consumer commits."""

    messages: Count | None = Field(default=None, ge=1)
    """After so many messages."""
    interval: Duration | None = Field(default=None, ge=NS_PER_MS)
    """After so long, at least 1ms."""
    asynchronous: bool = Field(default=False, strict=True)
    """Whether the consumer goes on before the commit is answered."""

    @model_validator(mode="before")
    @classmethod
    def _one(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and len(given.keys() & {"messages", "interval"}) != 1:
            raise BadValue("not one occasion to commit", "Write one of messages and interval")
        return given

    @model_serializer(mode="wrap")
    def _given(self, dump: Any) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if value is not None}


CommitWay = Literal["auto", "batch", "never"]


class Consume(ScenarioPart):
    """Who reads the topics."""

    consumers: int = Field(default=2, ge=1, le=256, strict=True)
    """Consumers of each group."""
    processes: int | None = Field(default=None, ge=1, le=256, strict=True)
    """Processes that all consumers share; one for each when left out."""
    groups: int = Field(default=1, ge=1, le=64, strict=True)
    """Consumer groups, each of which reads every message."""
    processing: Annotated[
        Processing | None,
        BeforeValidator(off_is_none),
        WrapSerializer(lambda value, dump: "off" if value is None else dump(value)),
    ] = None
    """What is done with each message, like `{delay: 4ms}`; `off` for nothing, so that what is received is done with."""
    buffer: int = Field(default=1000, ge=1, le=MAX_BUFFER, strict=True)
    """Messages that a consumer has polled and not processed, at most; with order partitions at least one of each."""
    commit: Annotated[Annotated[CommitWay, Tag(PLAIN)] | Annotated[Commit, Tag(MADE)], EITHER] = "auto"
    """When offsets of what was processed are committed: `auto`, at the interval of the client; `batch`, after the
    messages of each poll; `never`; `{messages: 1000}` or `{interval: 1s}`, with `asynchronous: true` if you like."""
    start: Start = "auto"
    """Where the groups start: `latest` is the log end before the load, `earliest` the log start; `auto` is latest, or
    earliest where nothing is produced; a time like `2026-11-21T10:00:00Z` is the first message since."""
    partitions: Partitions | None = None
    """Partitions of each topic that are dealt to the consumers in turn, without a rebalance; all, by the group's
    protocol, when left out."""
    rate: Limit = Field(default="unlimited", validate_default=True)
    """Messages a second that each group takes at most, like `1k/s`, shared evenly by its consumers; or `unlimited`."""
    client: ClientSettings = Field(default={})
    """Settings of the consuming client, by librdkafka's names, like `fetch.min.bytes`."""

    @property
    def start_ms(self) -> int | None:
        """Milliseconds since 1970 of the time to start at; None where `start` is none."""
        return None if self.start in _STARTS else math.ceil(epoch_ns(self.start) / NS_PER_MS)

    @property
    def rate_per_consumer(self) -> float | None:
        """Messages a second that one consumer takes at most; None without a limit."""
        return None if isinstance(self.rate, str) else self.rate / self.consumers

    def partitions_of(self, consumer: int) -> tuple[int, ...] | None:
        """The partitions dealt to one consumer of a group, from 0; None where the group's protocol decides."""
        return None if self.partitions is None else self.partitions[consumer :: self.consumers]


def consumer_settings(consume: Consume) -> dict[str, Setting]:
    """The scenario's settings of the consuming client."""
    return {**consume.client, _AUTO_COMMIT: consume.commit == "auto"}
