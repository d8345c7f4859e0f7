"""The model of a scenario: its parts, and every default."""

import math
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, Tag, model_validator

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.backpressure import Backpressure
from streamgauge.scenario.model.consume import Consume
from streamgauge.scenario.model.environment.connections import Connections
from streamgauge.scenario.model.environment.embedded import EmbeddedSpec, brokers_for
from streamgauge.scenario.model.environment.faults.kinds import Injected
from streamgauge.scenario.model.environment.topic import Topic
from streamgauge.scenario.model.environment.verified import VerifyField, every_of, is_read_again
from streamgauge.scenario.model.load import Load
from streamgauge.scenario.model.pipeline import Pipeline
from streamgauge.scenario.model.values import (
    EITHER,
    MADE,
    PLAIN,
    Count,
    Duration,
    ManyBytes,
    Moment,
    ScenarioPart,
    Setting,
    number_of_workers,
    off_is_none,
)
from streamgauge.scenario.topic_names import expanded, retry_topic


class Measure(ScenarioPart):
    """A measure phase with an end condition."""

    messages: Count | None = Field(default=None, ge=1)
    """End after this number of messages of the measure phase, over all producers; in runs that only read, over all
    consumers."""
    bytes_per_partition: ManyBytes | None = Field(default=None, ge=1)
    """End after this number of value bytes per partition, converted to messages by their mean size."""
    drained: Literal[True] | None = None
    """End when consumers have read all messages that were in the log at the start."""
    at_most: Duration = Field(default="10m", validate_default=True)
    """Time limit; more than 0s."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(value is not None for value in (self.messages, self.bytes_per_partition, self.drained)) != 1:
            raise BadValue("not exactly one end condition", "Write one of messages, bytes_per_partition, drained")
        return self


class Phases(ScenarioPart):
    """Duration of each phase."""

    warmup: Duration = Field(default="5s", validate_default=True)
    """Load that is recorded and audited but not measured."""
    measure: Annotated[Annotated[Duration, Tag(PLAIN)] | Annotated[Measure, Tag(MADE)], EITHER] = Field(
        default="30s", validate_default=True
    )
    """Load that is measured: a duration of more than 0s, or an end condition, like `{messages: 100k}`."""
    drain: Duration = Field(default="30s", validate_default=True)
    """Time limit for consumers to reach the log end after the load; also limits `message.timeout.ms`; more
    than 0s."""

    start_at: Moment | None = None
    """Start of the load in wall time; at once by default. Broker and workers must be ready by then: a time that is too
    close is rejected, and a late start makes the result invalid."""

    @property
    def measure_ns(self) -> int:
        """How long the measure phase lasts at most."""
        return self.measure.at_most if isinstance(self.measure, Measure) else self.measure

    @property
    def is_counted(self) -> bool:
        """Whether a number of messages ends the measure phase."""
        return isinstance(self.measure, Measure) and not self.measure.drained

    @property
    def is_drained(self) -> bool:
        """Whether the measure phase ends when all is read."""
        return isinstance(self.measure, Measure) and self.measure.drained is True


class LagSampling(ScenarioPart):
    """Sampling of lag, by a separate worker with its own client."""

    every: Annotated[Duration, Field(ge=50 * NS_PER_MS, le=60 * NS_PER_SECOND)] = Field(
        default="1s", validate_default=True
    )
    """Interval of samples, 50ms to 60s."""


def _faults(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise BadValue("not a list", "Write one, like [{at: 10s, kind: pause, target: consumer-0, for: 5s}]")
    return value


class Scenario(ScenarioPart):
    """One scenario, resolved: every default filled in."""

    name: str = Field(min_length=1, max_length=100, pattern=r"^[a-z0-9][a-z0-9._-]*$")
    """Short name: lower-case letters, digits, `.`, `_` and `-`; it starts with a letter or digit."""
    about: str = ""
    """Description in one sentence."""
    topic: Topic = Topic()
    cluster: EmbeddedSpec = EmbeddedSpec()
    load: Annotated[Load | None, BeforeValidator(off_is_none)] = Load()
    """`off` for a run that only consumes."""
    consume: Annotated[Consume | None, BeforeValidator(off_is_none)] = Consume()
    """`off` for a run that only produces."""
    connections: Annotated[Connections | None, BeforeValidator(off_is_none)] = None
    """Connections held open, or opened and closed at a rate; `off` for none."""
    pipeline: Annotated[Pipeline | None, BeforeValidator(off_is_none)] = None
    """The pipeline under test, between the topic of the producers and that of the consumers, like `{job: pass, engine:
    real-time}`; `off` for none."""
    backpressure: Annotated[Backpressure | None, BeforeValidator(off_is_none)] = None
    """Backpressure policy, like `{credit: {limit: 5k}}` or `{hysteresis: {max_lag: 20k}}`; `off` for none."""
    lag: Annotated[LagSampling | None, BeforeValidator(off_is_none)] = LagSampling()
    """Sampling of lag, by a separate worker with its own client, like `{every: 200ms}`; `off` for none."""
    faults: Annotated[tuple[Injected, ...], BeforeValidator(_faults)] = ()
    """Faults to inject, like `[{at: 10s, kind: pause, target: consumer-0, for: 5s}]`."""
    phases: Phases = Phases()
    verify: VerifyField = "all"
    """Share of messages whose checksum consumers verify: `all`, `1/16` (every sixteenth), or `off`; or a mapping, like
    `{content: all, log: true}`."""
    seed: int = Field(default=42, ge=0, lt=1 << 63, strict=True)
    """Random seed; the same seed generates the same load."""
    judge_by: tuple[str, ...] = ()
    """Figures that the verdict is about, like `[throughput, latency.ack]`: paths in the result, or how they begin; by
    default rates, delivery, p50 and p99 of the end-to-end latency, and what `expect` names."""
    expect: dict[str, Setting] = Field(default={})
    """Expectations on the result: path to a value or a bound, like `{latency.ack.response.p99_ms: "<= 20"}`."""

    @property
    def brokers(self) -> int:
        """Brokers of an embedded cluster."""
        return self.cluster.brokers or brokers_for(self.topic.brokers)

    @property
    def topic_name(self) -> str:
        """The name of the topic or the range of topics, given or derived."""
        return self.topic.name or f"streamgauge-{self.name}"

    @property
    def sent_topics(self) -> tuple[str, ...]:
        """The names of the topics that are sent to."""
        name, count = self.topic_name, self.topic.count
        return expanded(name) if count is None else tuple(f"{name}-{number + 1}" for number in range(count))

    @property
    def sink_name(self) -> str | None:
        """The name of the topic or table that a pipeline writes; None without one."""
        if self.pipeline is None:
            return None
        if table := self.pipeline.table:
            return table.table
        return self.pipeline.sink if isinstance(self.pipeline.sink, str) else f"{self.topic_name}-out"

    @property
    def sink_topic(self) -> str | None:
        """The name of the topic that a pipeline writes; None where it writes a table, and without one."""
        return None if self.pipeline is None or self.pipeline.table else self.sink_name

    @property
    def retry_topics(self) -> tuple[str, ...]:
        """The names of the topics from which messages that failed come again: first all of the first delay."""
        delays = self.consume.retry.delays if self.consume and self.consume.retry else ()
        return tuple(retry_topic(name, level + 1) for level in range(len(delays)) for name in self.sent_topics)

    @property
    def topic_names(self) -> tuple[str, ...]:
        """The names of all topics, and of a table that is read as one; the place of a name is its number."""
        return (*self.sent_topics, *([self.sink_name] if self.sink_name else []), *self.retry_topics)

    @property
    def read_topics(self) -> tuple[int, ...]:
        """The numbers of the topics that consumers read: those sent to and retry topics, or what a pipeline writes."""
        sent = len(self.sent_topics)
        return tuple(range(sent + len(self.retry_topics))) if self.pipeline is None else (sent,)

    @property
    def _first_topics(self) -> tuple[int, ...]:
        """Those of the topics that consumers read that are no retry topics."""
        return self.read_topics[: len(self.sent_topics)]

    @property
    def places(self) -> int:
        """Partitions of all topics together."""
        return len(self.topic_names) * self.topic.partitions

    @property
    def producers(self) -> int:
        """The number of producers."""
        asked = self.load.producers if self.load else 0
        return number_of_workers(asked, len(self.sent_topics), self.topic.partitions)

    @property
    def consumers(self) -> int:
        """The number of consumers of each group."""
        if self.consume is None:
            return 0
        return number_of_workers(self.consume.consumers, len(self._first_topics), len(self._partitions_read))

    @property
    def rate_per_consumer(self) -> float | None:
        """Messages a second that one consumer takes at most; None without a limit."""
        rate = self.consume.rate if self.consume else "unlimited"
        return None if isinstance(rate, str) else rate / self.consumers

    @property
    def _partitions_read(self) -> tuple[int, ...]:
        return (self.consume and self.consume.partitions) or tuple(range(self.topic.partitions))

    def assigned(self, consumer: int) -> tuple[tuple[int, int], ...] | None:
        """Topics and partitions of one consumer of a group, from 0; None where the group's protocol decides."""
        topics, partitions, first = self.read_topics, self._partitions_read, len(self._first_topics)
        match self.consume:
            case Consume(consumers="per-topic"):
                return tuple((topic, each) for topic in topics[consumer::first] for each in partitions)
            case Consume(consumers="per-partition"):
                return tuple((topic, partitions[consumer // first]) for topic in topics[consumer % first :: first])
            case Consume(partitions=tuple()):
                return tuple((topic, each) for topic in topics for each in partitions[consumer :: self.consumers])
        return None

    @property
    def verify_every(self) -> int | None:
        """The n where every n-th message is verified; None for none."""
        return every_of(self.verify)

    @property
    def reads_log(self) -> bool:
        """Whether the topics that are sent to are read again after the drain; the source of a pipeline always is."""
        may_vanish = self.topic.replication > 1 or bool(self.faults)
        if self.pipeline or self.load is None:
            return self.pipeline is not None
        may_vanish = may_vanish and self.load.acks != "0" and not self.topic.is_compacted
        return is_read_again(self.verify, self.expect, may_vanish=may_vanish)

    @property
    def harms_cluster(self) -> bool:
        """Whether a fault is done to the cluster, and not to workers only."""
        return any(fault.needs_own_cluster for fault in self.faults)

    @property
    def load_ns(self) -> int:
        """How long the load lasts: warm-up and measure phase."""
        return self.phases.warmup + self.phases.measure_ns

    @property
    def received_messages(self) -> int | None:
        """Messages of all consumers together that end the measure phase of a run that only reads; None without."""
        measure = self.phases.measure
        is_end = isinstance(measure, Measure) and self.load is None and self.consume is not None
        return measure.messages if is_end and isinstance(measure, Measure) else None

    @property
    def measured_messages(self) -> int | None:
        """Messages of the measure phase, of all producers together, that end it; None where they do not."""
        measure = self.phases.measure
        if not isinstance(measure, Measure) or self.load is None:
            return None
        mean = self.load.mean_size_bytes
        if measure.bytes_per_partition is None or not mean:
            return measure.messages
        return math.ceil(measure.bytes_per_partition / mean) * len(self.sent_topics) * self.topic.partitions
