"""Producers and their load."""

from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, Tag, model_validator

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.content import (
    Content,
    Keys,
    MadeKeys,
    Partition,
    Sizes,
    mean_bytes,
    needs_headers,
)
from streamgauge.scenario.model.pacing.batches import BatchMessages
from streamgauge.scenario.model.pacing.pace import Pacing, closed_batch, mean_rate
from streamgauge.scenario.model.values import (
    EITHER,
    MADE,
    PLAIN,
    ClientSettings,
    Count,
    Duration,
    ScenarioPart,
    WorkerCount,
    off_is_none,
)

MESSAGE_TIMEOUT: Final = ("message.timeout.ms", "delivery.timeout.ms")
"""The names of one setting; the first is librdkafka's own."""
_MESSAGE_TIMEOUT_MS: Final = 300_000
"""librdkafka's default."""

ACKS: Final = ("acks", "request.required.acks")
"""The names of the client for how many replicas acknowledge."""


class Flush(ScenarioPart):
    """A random number of messages, at least 1."""

    mean: float = Field(ge=1, le=1_000_000)
    """Mean."""
    deviation: float = Field(default=0.0, ge=0, le=1_000_000)
    """Standard deviation."""


FlushEvery = Annotated[Annotated[Count, Tag(PLAIN)] | Annotated[Flush, Tag(MADE)], EITHER]


class Transactions(ScenarioPart):
    """Consecutive transactions."""

    messages: Count | None = Field(default=None, ge=1)
    """Messages of a transaction."""
    interval: Duration | None = Field(default=None, ge=1_000_000)
    """Duration of a transaction, at least 1ms."""
    abort: float = Field(default=0.0, ge=0, le=1)
    """Share of transactions to abort."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.messages is None) == (self.interval is None):
            raise BadValue("messages and interval exclude each other", "Write one of them")
        return self


class Load(ScenarioPart):
    """Producers and their load."""

    rate: Pacing = Field(default="10k/s", validate_default=True)
    """Target rate of all producers together, like `10k/s`; `max` sends as fast as the client accepts, `closed` sends
    the next message when the previous one is acknowledged; or a shape, like `{poisson: {rate: 5k/s}}`."""
    producers: WorkerCount = 2
    """Producers, each in its own process unless `processes` is set: a number, `per-topic` or `per-partition`.
    A producer per partition sends to its partition only."""
    size: Sizes = 512
    """Size of values, at most 100MiB: fixed, or random, like `{gaussian: {mean: 512, deviation: 100}}`."""
    payload: Content = "mixed"
    """Content of values besides the stamp: a payload type, or one with options, like `{random: {padding: 10}}`."""
    keys: Keys = "none"
    """Keys: `none`, `sequential`, or random, like `{zipf: {keys: 1000}}`."""
    partition: Partition = "client"
    """How partitions are chosen: `client` uses the client's partitioner (setting `partitioner`), `round-robin`, or the
    number of one partition."""
    stamp: Literal["auto", "value", "headers"] = "auto"
    """Where the 40-byte stamp is put; `auto` uses the value, or headers for json, events of files and functions,
    tombstones, and values that may be smaller than 40 bytes."""
    processes: int | None = Field(default=None, ge=1, le=256, strict=True)
    """Processes that the producers share; one for each by default."""
    flush: Annotated[FlushEvery | None, BeforeValidator(off_is_none)] = None
    """Wait for all delivery reports after this number of messages: `16`, or random around a mean; `off` for never."""
    transactions: Annotated[Transactions | None, BeforeValidator(off_is_none)] = None
    """Consecutive transactions: `{messages: 100}` or `{interval: 1s}`, with an `abort` share; or `off`."""
    resend: int = Field(default=0, ge=0, le=100, strict=True)
    """How often a failed message is sent again, with the same stamp."""
    codecs: bool = Field(default=False, strict=True)
    """Before the run, compress batches of this load with every codec; `compression` in the result has how small they
    get, and the CPU time that it takes."""
    client: ClientSettings = Field(default={})
    """Settings of the producers' librdkafka client, like `linger.ms`."""

    def message_timeout_ms(self, drain_ns: int) -> int:
        """After how long a message fails that is not acknowledged: the drain limits the client's setting."""
        asked_ms = next((int(self.client[name]) for name in MESSAGE_TIMEOUT if name in self.client), 0)
        return max(1, min(asked_ms or _MESSAGE_TIMEOUT_MS, drain_ns // NS_PER_MS))

    @property
    def mean_size_bytes(self) -> float | None:
        """Bytes of value on average; None where they come from a file or a function."""
        return mean_bytes(self.payload, self.size)

    @property
    def is_from_outside(self) -> bool:
        """Whether contents or keys come from a file or a function."""
        return self.mean_size_bytes is None or (isinstance(self.keys, MadeKeys) and self.keys.file is not None)

    @property
    def mean_rate(self) -> float | None:
        """Target rate on average, in messages a second; None where there is none, or where it depends on how long."""
        return mean_rate(self.rate)

    @property
    def acks(self) -> str | None:
        """The client's setting `acks`; None for the client's default."""
        return next((str(self.client[name]) for name in ACKS if name in self.client), None)

    @property
    def batch(self) -> BatchMessages | None:
        """Messages that a producer of a closed loop sends before it waits; None where the loop is open."""
        return closed_batch(self.rate)

    @property
    def mean_batch(self) -> float | None:
        """The same on average."""
        batch = self.batch
        return batch if batch is None or isinstance(batch, int) else float(batch.chosen[1].mean)

    @property
    def is_idempotent(self) -> bool:
        """Whether brokers refuse what a producer writes twice: by its setting, or because it is transactional."""
        return bool(self.transactions) or str(self.client.get("enable.idempotence", False)).lower() == "true"

    @property
    def is_closed(self) -> bool:
        """Whether the next message waits for the acknowledgement of the last."""
        return self.batch is not None

    @property
    def has_schedule(self) -> bool:
        """Whether messages are due at some time, rather than sent as fast as possible or in a closed loop."""
        return self.rate != "max" and not self.is_closed

    @property
    def stamped_in_headers(self) -> bool:
        """Whether the stamp travels in a record header."""
        if self.stamp == "auto":
            return needs_headers(self.payload, self.size)
        return self.stamp == "headers"
