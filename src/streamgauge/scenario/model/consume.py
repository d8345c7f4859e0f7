"""Consumers of the topics."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

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
from streamgauge.scenario.model.pacing.processing import Processing
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
    as_list,
    epoch_ns,
    off_is_none,
    rate_between,
)

MAX_BUFFER = 1_000_000
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
Partition = Annotated[int, Field(ge=0, lt=10_000, strict=True)]
Partitions = Annotated[tuple[Partition, ...], BeforeValidator(as_list), AfterValidator(_dealt)]


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
