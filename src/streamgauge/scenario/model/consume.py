"""Consumers of the topics."""

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
from streamgauge.scenario.model.acknowledge import Acknowledge, Markers, Retry, ShareGroup
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
    WorkerCount,
    epoch_ns,
    off_is_none,
    rate_between,
)

MAX_BUFFER = 1_000_000
MAX_SLOTS = 10_000
MOST_TIMES = 100
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
        what = error.what if isinstance(value, str) and value[:1].isdigit() else "not a start position"
        mend = f"Write {', '.join(_STARTS)}, or a time with a time zone like 2026-11-21T10:00:00Z"
        raise BadValue(what, mend) from error
    return str(value).strip()


def _multiple(value: object) -> float:
    text = str(value).strip().removesuffix("x")
    try:
        times = float(text)
    except ValueError:
        times = math.nan
    if isinstance(value, bool) or not 1 < times <= MOST_TIMES:
        raise BadValue("not a multiple", f"Write one above 1x, up to {MOST_TIMES}x, like 2x")
    return times


def _listed(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise BadValue("not a list", "Write one in brackets")
    return value


def _dealt(partitions: tuple[int, ...]) -> tuple[int, ...]:
    if not partitions:
        raise BadValue("an empty list", "Name some like [0, 1], or leave partitions out for all")
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
StartPosition = Annotated[
    str,
    BeforeValidator(_start),
    WithJsonSchema({"type": "string", "x-form": "start", "examples": [*_STARTS, "2026-11-21T10:00:00Z"]}),
]
Multiple = Annotated[
    float,
    BeforeValidator(_multiple),
    PlainSerializer(lambda times: f"{times:g}x", return_type=str),
    WithJsonSchema({"type": "string", "examples": ["2x", "1.5x"]}),
]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Partition = Annotated[int, Field(ge=0, lt=10_000, strict=True)]
Partitions = Annotated[tuple[Partition, ...], BeforeValidator(_listed), AfterValidator(_dealt)]
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
    """Deliveries whose processing takes longer than the consumer has for it."""

    share: Share
    """Share of the deliveries, from 0 to 1."""
    by: Multiple = Field(default="2x", validate_default=True)
    """Processing time of these deliveries, as a multiple of the timeout."""


class Processing(ScenarioPart):
    """Processing of received messages."""

    delay: Duration = Field(default="0s", validate_default=True)
    """Processing time of a message."""
    jitter: Duration = Field(default="0s", validate_default=True)
    """Random addition to the delay, uniform between 0 and this."""
    exponential: bool = Field(default=False, strict=True)
    """Whether delays have an exponential distribution with mean `delay`."""
    changes: Annotated[tuple[Change, ...], BeforeValidator(_listed)] = ()
    """Other delays from given times on, like `[{at: 30s, delay: 0s}]`, in chronological order."""
    drop: Share = 0.0
    """Share of the messages, from 0 to 1, that are received and never processed."""
    fail: Share = 0.0
    """Share of the deliveries, from 0 to 1, whose processing fails. With `acknowledge: offsets`, the consumer goes on
    without these messages; with `markers`, `retry` and `share`, they are delivered again."""
    poison: Share = 0.0
    """Share of the messages, from 0 to 1, whose processing fails in every delivery."""
    overrun: Overrun | None = None
    """Deliveries whose processing takes longer than the timeout of `acknowledge`, like `{share: 0.01, by: 2x}`."""
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


class Commit(ScenarioPart):
    """When a consumer commits."""

    messages: Count | None = Field(default=None, ge=1)
    """Commit after this number of messages."""
    interval: Duration | None = Field(default=None, ge=NS_PER_MS)
    """Commit after this time, at least 1ms."""
    asynchronous: bool = Field(default=False, strict=True)
    """Whether commits are asynchronous."""

    @model_validator(mode="before")
    @classmethod
    def _one(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and len(given.keys() & {"messages", "interval"}) != 1:
            raise BadValue("not exactly one condition", "Write one of messages and interval")
        return given

    @model_serializer(mode="wrap")
    def _given(self, dump: Any) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if value is not None}


CommitWay = Literal["auto", "batch", "never"]


class Consume(ScenarioPart):
    """Consumers of the topics."""

    consumers: WorkerCount = 2
    """Consumers of each group: a number, `per-topic` or `per-partition`. The last two are assigned their partitions,
    without a rebalance."""
    processes: int | None = Field(default=None, ge=1, le=256, strict=True)
    """Processes that all consumers share; one for each by default."""
    groups: int = Field(default=1, ge=1, le=64, strict=True)
    """Consumer groups, each of which reads every message."""
    group: str | None = Field(default=None, min_length=1, max_length=249, pattern=r"^[\w.:@+/-]+$")
    """Name of your own consumer group, which begins where it has committed. The run never sets, resets or deletes its
    offsets; by default it makes a group, and deletes it."""
    processing: Annotated[
        Processing | None,
        BeforeValidator(off_is_none),
        WrapSerializer(lambda value, dump: "off" if value is None else dump(value)),
    ] = None
    """Processing of received messages, like `{delay: 4ms}`; `off` if messages count as processed when received."""
    buffer: int = Field(default=1000, ge=1, le=MAX_BUFFER, strict=True)
    """Limit of buffered messages (polled, but not processed); with order partitions at least one of each partition."""
    commit: Annotated[Annotated[CommitWay, Tag(PLAIN)] | Annotated[Commit, Tag(MADE)], EITHER] = "auto"
    """When offsets of processed messages are committed: `auto`, at the client's interval; `batch`, after the
    messages of each poll; `never`; `{messages: 1000}` or `{interval: 1s}`, optionally with `asynchronous: true`."""
    acknowledge: Annotated[Annotated[Literal["offsets"], Tag(PLAIN)] | Annotated[Acknowledge, Tag(MADE)], EITHER] = (
        "offsets"
    )
    """Acknowledgement: `offsets`, of all messages below a commit; `{retry: {delays: [1s, 5s]}}`, the same, and
    what fails comes again from retry topics; `{markers: {timeout: 5s}}`, of each message, and what is not acknowledged
    in time comes again; `{share: {lock: 30s}}`, of each message to a share group, whose brokers deliver again."""
    start: StartPosition = "auto"
    """Start offsets of the groups: `latest` is the log end before the load, `earliest` the log start; `auto` is latest,
    or earliest if nothing is produced; a time like `2026-11-21T10:00:00Z` is the first message since then."""
    sent_time: Literal["record", "value"] = "record"
    """Where the time comes from at which messages were sent, in runs that only read: `record` is Kafka's timestamp,
    `value` the first 8 bytes of the value, milliseconds since 1970 in little endian, as Trogdor writes them."""
    partitions: Partitions | None = None
    """Partitions of each topic to assign to the consumers in turn, without a rebalance; all, by the group
    protocol, by default."""
    rate: Limit = Field(default="unlimited", validate_default=True)
    """Rate limit of each group, like `1k/s`, shared evenly by its consumers; or `unlimited`."""
    client: ClientSettings = Field(default={})
    """Settings of the consumers' librdkafka client, like `fetch.min.bytes`."""

    @property
    def carrier(self) -> Acknowledge | None:
        """What delivers messages again; None where offsets are committed, and nothing comes again."""
        return self.acknowledge if isinstance(self.acknowledge, Acknowledge) else None

    @property
    def markers(self) -> Markers | None:
        """The markers that acknowledge messages; None without."""
        return self.carrier.markers if self.carrier else None

    @property
    def retry(self) -> Retry | None:
        """The retry topics; None without."""
        return self.carrier.retry if self.carrier else None

    @property
    def share(self) -> ShareGroup | None:
        """The share group; None without."""
        return self.carrier.share if self.carrier else None

    @property
    def start_ms(self) -> int | None:
        """Milliseconds since 1970 of the time to start at; None where `start` is none."""
        return None if self.start in _STARTS else math.ceil(epoch_ns(self.start) / NS_PER_MS)


def consumer_settings(consume: Consume) -> dict[str, Setting]:
    """The scenario's settings of the consuming client."""
    if consume.share:
        # It commits nothing, and refuses to be told so.
        return dict(consume.client)
    return {**consume.client, _AUTO_COMMIT: consume.commit == "auto" and consume.markers is None}
