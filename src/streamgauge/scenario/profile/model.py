"""The model of a profile. It is additive: keys are added and never change what they say.

Keys that a version does not know are ignored.
"""

import math
from typing import Final

from pydantic import BaseModel, ConfigDict

from streamgauge.scenario.model.pipeline import AGGREGATE, AVAILABLE_NOW, CHANGED, MICRO_BATCH, SUBSET, Does
from streamgauge.scenario.model.values import Setting

CONSTANT, MAX, CLOSED, BURST, UNKNOWN = "constant", "max", "closed", "burst", "unknown"
_ALIKE: Final = frozenset({CONSTANT, MAX, CLOSED, "poisson", "windows"})
"""Paces that are the same at any time, in the long run."""


class _Meant(BaseModel):
    model_config = ConfigDict(
        extra="ignore", frozen=True, use_attribute_docstrings=True, json_schema_extra={"additionalProperties": False}
    )


class PaceSegment(_Meant):
    """A stretch of time at one rate, or from one rate evenly to another."""

    from_per_second: float
    """Messages a second at its begin."""
    to_per_second: float
    """Messages a second at its end."""
    for_ns: int
    """How long it lasts."""


class PaceProfile(_Meant):
    """What decides when the next message is sent."""

    kind: str
    """`constant`, `max`, `closed`, or the name of a shape as in `load.rate`; `unknown` for one of another version."""
    words: str
    """The pace in short, like `ramp from 1k/s to 10k/s over 1m`."""
    per_second: float | None
    """Target rate of all producers together, on average; null without one, or where it depends on how long."""
    segments: tuple[PaceSegment, ...]
    """Rates of a shape that is made of rates, one after the other from the begin of the measure phase on."""
    then: tuple[PaceSegment, ...]
    """Rates that follow, again and again."""

    @property
    def is_scheduled(self) -> bool:
        """Whether messages are due at some time."""
        return self.kind not in {MAX, CLOSED}

    @property
    def is_shape(self) -> bool:
        """Whether they are due at another pace than one rate."""
        return self.is_scheduled and self.kind != CONSTANT


class LoadProfile(_Meant):
    """What producers send."""

    producers: int
    """How many there are."""
    pace: PaceProfile
    """When they send."""
    size: int | str
    """Bytes of value; in words where they differ from message to message."""
    flushes: bool
    """Whether producers wait for all reports now and then."""
    transactional: bool
    """Whether they send in transactions."""
    resend: int
    """How often a message that failed is sent again."""
    acks: str | None
    """The client's setting `acks`; null where it is left to the client."""
    linger_ms: float | None
    """The client's setting `linger.ms`; null where it is left to the client."""


class Delay(_Meant):
    """How long processing a message takes, from a moment on."""

    from_ns: int
    """When it begins, after the begin of the measure phase; the first one also holds before."""
    delay_ns: int
    """How long it takes."""
    jitter_ns: int
    """What is added: uniform between 0 and this."""
    exponential: bool
    """Whether `delay_ns` is the mean of an exponential distribution."""

    @property
    def mean_ns(self) -> float:
        """How long it takes on average."""
        return self.delay_ns + self.jitter_ns / 2

    @property
    def stddev_ns(self) -> float:
        """An exponential delay deviates by its mean; jitter is uniform, so that it deviates by a root of 1/12."""
        return math.hypot(self.delay_ns if self.exponential else 0, self.jitter_ns / math.sqrt(12))


class ProcessingProfile(_Meant):
    """What consumers do with each message."""

    function: bool
    """Whether a function of the user's is called."""
    delays: tuple[Delay, ...]
    """The delays that follow each other; none with a function."""
    drops: bool
    """Whether some of what is received is left unprocessed."""
    slots: int | None
    """Messages that a consumer processes at once; null for one of each partition that it has."""


class ConsumeProfile(_Meant):
    """Who reads the topics."""

    consumers: int
    """Consumers of each group."""
    per_second: float | None
    """Messages a second that each group takes at most; null without a limit."""
    partitions: tuple[int, ...] | None
    """Partitions that consumers are told to read; null for all."""
    read_committed: bool
    """Whether consumers are not to see what was aborted."""
    processing: ProcessingProfile | None
    """What is done with each message; null for nothing."""


class PipelineProfile(_Meant):
    """What stands between the topic that is sent to and the one that is read."""

    job: str
    """What is done with the messages."""
    does: Does
    """What becomes of them: `same`, `subset`, `changed` or `aggregate`; the last where that is not known."""
    engine: str
    """What carries it out."""
    every_ns: int | None
    """Between the begins of two micro-batches; null for as fast as possible, and for other engines."""
    table: bool
    """Whether it writes a table instead of a topic."""

    @property
    def is_one_for_one(self) -> bool:
        """Whether every message is to come out by itself."""
        return self.does not in {SUBSET, AGGREGATE}

    @property
    def keeps_content(self) -> bool:
        """Whether what comes out has the bytes that went in, so that checksums say something."""
        return self.does not in {CHANGED, AGGREGATE}

    @property
    def batches(self) -> bool:
        """Whether a message waits for a batch to begin."""
        return self.engine in {MICRO_BATCH, AVAILABLE_NOW}


class PolicyProfile(_Meant):
    """What holds producers back."""

    name: str
    """`hysteresis` or `credit`."""
    limit: int
    """Credit: messages outstanding at most; hysteresis: the lag above which producers pause."""
    resume: int | None
    """Hysteresis: the lag below which they go on."""
    poll_ms: float
    """Between two decisions."""

    @property
    def is_credit(self) -> bool:
        """Whether it promises a bound."""
        return self.name == "credit"


class ConnectionsProfile(_Meant):
    """Connections of one kind, beside the load."""

    kind: str
    """`open`, `metadata`, `hold-producer`, `hold-consumer` or `hold-metadata`."""
    per_second: float
    """Target rate of operations."""
    held: int
    """How many are held open; 0 where every operation makes one of its own."""
    at_once: int
    """Operations that may be under way at once."""


class Profile(_Meant):
    """What a scenario means: roles, numbers, and all that figures and checks depend on."""

    load: LoadProfile | None
    """What is sent; null for nothing."""
    consume: ConsumeProfile | None
    """Who reads; null for nobody."""
    pipeline: PipelineProfile | None
    """What stands between; null for nothing."""
    backpressure: PolicyProfile | None
    """What holds producers back; null for nothing."""
    connections: tuple[ConnectionsProfile, ...]
    """Connections beside the load, kind by kind."""
    partitions: int
    """Partitions of each topic."""
    lag_every_ns: int | None
    """Between two samples of lag; null for none."""
    fault_count: int
    """How many faults are injected."""
    start_at: str | None
    """When the load is to begin, in wall time; null for at once."""
    verify_every: int | None
    """Every n-th checksum is verified; null for none."""
    judge_by: tuple[str, ...] = ()
    """What the verdict is about; empty for what it is about by default."""
    expect: dict[str, Setting]
    """What the result must say: path to a value or a bound."""

    @property
    def pace(self) -> PaceProfile | None:
        """When producers send; None where nothing is sent."""
        return None if self.load is None else self.load.pace

    @property
    def processing(self) -> ProcessingProfile | None:
        """What is done with each message that is received; None for nothing."""
        return None if self.consume is None else self.consume.processing

    @property
    def is_steady(self) -> bool:
        """Whether a run is meant to be the same at any time of the measure phase."""
        changes = self.processing is not None and len(self.processing.delays) > 1
        return not changes and not self.fault_count and (self.pace is None or self.pace.kind in _ALIKE)
