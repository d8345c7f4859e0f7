"""The model of a profile. Later versions may add keys, and change none.

Unknown keys are ignored.
"""

import math
from typing import Final

from pydantic import BaseModel, ConfigDict

from streamgauge.scenario.model.jobs import AGGREGATE, CHANGED, SUBSET, Does
from streamgauge.scenario.model.pipeline import AVAILABLE_NOW, MICRO_BATCH
from streamgauge.scenario.model.values import Setting

CONSTANT, MAX, CLOSED, BURST, UNKNOWN = "constant", "max", "closed", "burst", "unknown"
_ALIKE: Final = frozenset({CONSTANT, MAX, CLOSED, "poisson", "windows"})
"""Paces whose rate does not change in the long run."""


class _Meant(BaseModel):
    model_config = ConfigDict(
        extra="ignore", frozen=True, use_attribute_docstrings=True, json_schema_extra={"additionalProperties": False}
    )


class PaceSegment(_Meant):
    """A period with a constant rate or a linear ramp."""

    from_per_second: float
    """Messages per second at its start."""
    to_per_second: float
    """Messages per second at its end."""
    for_ns: int
    """Duration."""


class PaceProfile(_Meant):
    """Pace of the load: when the next message is sent."""

    kind: str
    """`constant`, `max`, `closed`, or the name of a shape as in `load.rate`; `unknown` for a shape of another
    version."""
    words: str
    """Short description, like `ramp from 1k/s to 10k/s over 1m`."""
    per_second: float | None
    """Mean target rate of all producers together; null without one, or if it depends on the duration."""
    segments: tuple[PaceSegment, ...]
    """Consecutive rates of the shape from the start of the measure phase, if it consists of rates."""
    then: tuple[PaceSegment, ...]
    """Rates that follow, repeated."""

    @property
    def is_scheduled(self) -> bool:
        """Whether messages have due times."""
        return self.kind not in {MAX, CLOSED}

    @property
    def is_shape(self) -> bool:
        """Whether the schedule is not one constant rate."""
        return self.is_scheduled and self.kind != CONSTANT


class LoadProfile(_Meant):
    """Load of the producers."""

    producers: int
    """Number of producers."""
    pace: PaceProfile
    """Pace of the load."""
    size: int | str
    """Value size in bytes; a description if it varies."""
    flushes: bool
    """Whether producers flush, waiting for all delivery reports."""
    transactional: bool
    """Whether producers send in transactions."""
    resend: int
    """How often a failed message is sent again."""
    acks: str | None
    """The client's setting `acks`; null for the client's default."""
    linger_ms: float | None
    """The client's setting `linger.ms`; null for the client's default."""
    message_timeout_ms: int | None = None
    """After how long a message fails that is not acknowledged; null in older runs."""
    processes: int | None = None
    """Processes of the producers; null in older runs."""
    batch: float | None = None
    """Closed loop: messages that a producer sends before it waits, on average; null for other paces."""


class Delay(_Meant):
    """Processing time of a message, from a given time on."""

    from_ns: int
    """Start, counted from the start of the measure phase; the first one also applies before."""
    delay_ns: int
    """Delay."""
    jitter_ns: int
    """Random addition, uniform between 0 and this."""
    exponential: bool
    """Whether `delay_ns` is the mean of an exponential distribution."""

    @property
    def mean_ns(self) -> float:
        """Mean processing time."""
        return self.delay_ns + self.jitter_ns / 2

    @property
    def stddev_ns(self) -> float:
        """Standard deviation: the mean of an exponential delay, and jitter times the root of 1/12."""
        return math.hypot(self.delay_ns if self.exponential else 0, self.jitter_ns / math.sqrt(12))


class ProcessingProfile(_Meant):
    """Processing of received messages."""

    function: bool
    """Whether a user function is called."""
    delays: tuple[Delay, ...]
    """Consecutive delays; none with a function."""
    drops: bool
    """Whether a share of the received messages is not processed."""
    slots: int | None
    """Messages that a consumer processes in parallel; null for one of each assigned partition."""


class AcknowledgeProfile(_Meant):
    """Acknowledgement of single messages, which are delivered again if it does not come."""

    carrier: str
    """`markers`, `retry` or `share`."""
    timeout_ms: float | None
    """Time after which a message is delivered again that is not acknowledged: the timeout of markers, the lock of a
    share group; null with retry topics."""
    delays_ms: tuple[float, ...] = ()
    """With retry topics, time after which a message comes again that failed once, twice, and so on; the last one also
    counts for later failures."""
    limit: int | None
    """Redeliveries before a message becomes a dead letter; null without a limit."""
    fail: float
    """Share of the deliveries whose processing fails."""
    poison: float
    """Share of the messages whose processing always fails."""
    is_expected: bool
    """Whether these shares alone decide how often messages are delivered."""
    dead_letters: bool = True
    """Whether messages that are given up are written to a topic."""

    @property
    def in_place(self) -> bool:
        """Whether a message keeps its offset when it is delivered again, at once after a failure."""
        return self.carrier == "share"


class ConsumeProfile(_Meant):
    """Consumers of the topics."""

    consumers: int
    """Consumers of each group."""
    groups: int = 1
    """Consumer groups."""
    processes: int | None = None
    """Processes of the consumers; null in older runs."""
    per_second: float | None
    """Rate limit of each group in messages per second; null without a limit."""
    partitions: tuple[int, ...] | None
    """Partitions that consumers are configured to read; null for all."""
    read_committed: bool
    """Whether consumers use isolation level read_committed."""
    longest_silence_ms: float | None = None
    """A consumer that is silent for longer loses its partitions: `session.timeout.ms` or `max.poll.interval.ms`; null
    in older runs."""
    commit_every_ms: float | None = None
    """Interval at which a consumer commits offsets; null if something else than time decides it, and in older runs."""
    processing: ProcessingProfile | None
    """Processing of each message; null without processing."""
    acknowledge: AcknowledgeProfile | None = None
    """Acknowledgement of single messages; null where offsets are committed."""


class PipelineProfile(_Meant):
    """The pipeline between the topic that producers write to and the topic that consumers read."""

    job: str
    """The job."""
    does: Does
    """Effect on messages: `same`, `subset`, `changed` or `aggregate`; `aggregate` if unknown."""
    engine: str
    """The engine."""
    every_ns: int | None
    """Trigger interval of micro-batches; null for as fast as possible, and for other engines."""
    table: bool
    """Whether it writes a table instead of a topic."""

    @property
    def is_one_for_one(self) -> bool:
        """Whether every message yields one output message."""
        return self.does not in {SUBSET, AGGREGATE}

    @property
    def keeps_content(self) -> bool:
        """Whether output messages keep their content, so that checksums can be verified."""
        return self.does not in {CHANGED, AGGREGATE}

    @property
    def batches(self) -> bool:
        """Whether messages wait for the start of a batch."""
        return self.engine in {MICRO_BATCH, AVAILABLE_NOW}


class PolicyProfile(_Meant):
    """The backpressure policy."""

    name: str
    """`hysteresis` or `credit`."""
    limit: int
    """Credit: maximum of outstanding messages; hysteresis: lag above which producers pause."""
    resume: int | None
    """Hysteresis: lag below which they resume."""
    poll_ms: float
    """Interval of decisions."""

    @property
    def is_credit(self) -> bool:
        """Whether the policy guarantees a limit."""
        return self.name == "credit"


class ConnectionsProfile(_Meant):
    """Connections of one kind, besides the load."""

    kind: str
    """`open`, `metadata`, `hold-producer`, `hold-consumer` or `hold-metadata`."""
    per_second: float
    """Target rate of operations."""
    held: int
    """Connections held open; 0 if every operation creates its own."""
    at_once: int
    """Limit of concurrent operations."""


class Profile(_Meant):
    """Properties derived from a scenario: roles, numbers, and everything that values and checks depend on."""

    load: LoadProfile | None
    """Load of the producers; null if the run only consumes."""
    consume: ConsumeProfile | None
    """Consumers; null if the run only produces."""
    pipeline: PipelineProfile | None
    """The pipeline; null without one."""
    backpressure: PolicyProfile | None
    """The backpressure policy; null without one."""
    connections: tuple[ConnectionsProfile, ...]
    """Connections besides the load, by kind."""
    partitions: int | None
    """Partitions of each topic; null if an imported result does not say."""
    replication: int = 1
    """Replicas of each partition."""
    lag_every_ns: int | None
    """Interval of lag samples; null for none."""
    fault_count: int
    """Number of faults to inject."""
    timeouts_ms: dict[str, float] | None = None
    """Timeouts that the scenario sets for brokers, producers and consumers, by the names of their settings; null in
    older runs."""
    bytes_per_partition: int | None = None
    """Bytes of messages after which the measure phase ends in each partition; null if it ends otherwise."""
    start_at: str | None
    """Scheduled start of the load in wall time; null for at once."""
    verify_every: int | None
    """Every n-th checksum is verified; null for none."""
    reads_log: bool = False
    """Whether the topics that are sent to are read once more after the drain."""
    judge_by: tuple[str, ...] = ()
    """What the verdict is about; empty for what it is about by default."""
    expect: dict[str, Setting]
    """Expectations on the result: path to a value or a bound."""

    def sent_topics(self, topics: int) -> int:
        """How many of the topics of a run are no retry topics; `topics` is their number."""
        acknowledge = self.consume.acknowledge if self.consume else None
        return topics // (1 + len(acknowledge.delays_ms)) if acknowledge else topics

    @property
    def pace(self) -> PaceProfile | None:
        """Pace of the load; None without a load."""
        return None if self.load is None else self.load.pace

    @property
    def processing(self) -> ProcessingProfile | None:
        """Processing of each received message; None without processing."""
        return None if self.consume is None else self.consume.processing

    @property
    def is_steady(self) -> bool:
        """Whether load and processing are constant over the measure phase."""
        changes = self.processing is not None and len(self.processing.delays) > 1
        return not changes and not self.fault_count and (self.pace is None or self.pace.kind in _ALIKE)
