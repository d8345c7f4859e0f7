"""Lag, backpressure, faults, and how the run came back."""

from typing import Literal

from pydantic import Field

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section, Share


class LagFigures(Section):
    """One lag in messages."""

    max: Amount | None
    """Most messages."""
    max_second: Number
    """When that was, in seconds from the start of the measure phase."""
    final: Number | None
    """The last value of the run."""
    mean: Number | None
    """Mean of all values."""
    exact: bool | None = None
    """Outstanding: whether the largest is exact to the message, and not that of the ends of intervals."""


class TimeLagFigures(Section):
    """Age, since it was sent, of the oldest message that is not processed; 0 where there is none."""

    max_ms: Amount | None
    """Oldest."""
    max_second: Number
    """When that was, in seconds from the start of the measure phase."""
    final_ms: Amount | None
    """At the end of the run."""
    mean_ms: Amount | None
    """Mean of all values."""


class Lags(Section):
    """Four lags."""

    committed: LagFigures | None
    """Log end - committed offset, as sampled; all partitions together."""
    position: LagFigures | None
    """Log end - next offset to be read, as sampled; all partitions together."""
    outstanding: LagFigures | None
    """Messages sent and not processed, replayed from the rows."""
    time_lag: TimeLagFigures | None
    """Age, since it was sent, of the oldest message that is not processed; 0 where there is none."""
    reasons: Reasons = Field(default_factory=dict)


class GroupLags(Lags):
    """Lags of one consumer group."""

    group: str
    """Name of the group."""


class LagSection(Lags):
    """Lag of the group that is furthest behind, how it was sampled, and lags of each of several groups."""

    every_ms: Amount | None
    """How often lag was to be sampled."""
    samples: Count
    """How often it was; whole run."""
    failed: Count
    """How many of these the cluster did not answer."""
    failed_share: Share | None
    """Their share."""
    cpu_cores: Amount | None
    """CPU that sampling used in the measure phase."""
    groups: list[GroupLags]
    """The same of each of several groups."""
    reasons: Reasons


class ThrottleWait(Section):
    """How long messages that were due waited to be let go."""

    count: Count
    """Messages that were sent."""
    mean_ms: Number | None
    """Mean."""
    p50_ms: Number | None
    """Median."""
    p99_ms: Number | None
    """99th percentile."""
    p99_9_ms: Number | None
    """99.9th percentile."""
    max_ms: Number | None
    """Longest."""


class BackpressureSection(Section):
    """What the policy that holds producers back did."""

    policy: Literal["hysteresis", "credit"]
    """Which policy."""
    limit: int
    """Credit: messages outstanding at most; hysteresis: lag above which producers pause."""
    resume: Count | None
    """Hysteresis: lag below which they go on."""
    poll_ms: Number
    """Time between two decisions."""
    decisions: Count
    """Decisions that were recorded."""
    outstanding_max: Count | None
    """Most messages sent and not processed, exact to the message; whole run."""
    credits_used_max: Count | None
    """The same with processed counted only up to the first gap of each partition: what credit bounds."""
    max_second: Number | None
    """When that was, in seconds from the start of the measure phase."""
    within_limit: bool | None
    """Credit: whether the limit held at any time."""
    pauses: Count | None
    """Hysteresis: how often producers paused."""
    paused_s: Amount | None
    """Hysteresis: for how long, in the measure phase."""
    returned: Count | None
    """Credits of sends that failed for certain, given back."""
    ambiguous: Count | None
    """Credits of messages that failed or have no report, and may have been written: they do not come back."""
    controller_died_second: Number | None
    """When the controller died; from then on nothing was decided."""
    offered_per_second: Amount | None
    """Messages a second that were due."""
    admitted_per_second: Amount | None
    """Messages a second that were due and let go."""
    sent_per_second: Amount | None
    """Messages a second handed to the client."""
    processed_per_second: Amount | None
    """Messages a second processed."""
    unsent: Count | None
    """Messages due in the measure phase and never sent."""
    throttle: ThrottleWait | None
    """How long messages that were due waited to be let go."""
    reasons: Reasons


class FaultAction(Section):
    """The begin or the end of a fault."""

    second: Number
    """When, in seconds from the start of the measure phase."""
    kind: Literal["pause", "kill", "delay", "burst"]
    """What was done."""
    target: str
    """What it was done to."""
    action: Literal["begin", "end"]
    """Whether it began or was over."""
    detail: str | None
    """What it is from then on."""
    error: str | None
    """Why it could not be done."""


class RecoveryScore(Section):
    """How the run came back after one cause, by one quantity."""

    cause: Literal["delay", "pause", "kill", "burst"]
    """What was done."""
    target: str
    """What it was done to."""
    detail: str | None
    """What it was."""
    quantity: Literal["outstanding", "committed_lag"]
    """What recovery is judged by: replayed from the rows, or as sampled."""
    group: str | None
    """Name of the consumer group."""
    began_second: Number | None
    """When it began, in seconds from the start of the measure phase."""
    ended_second: Number
    """When it was over: time 0 of the recovery."""
    interval_ms: Number
    """Time between two values."""
    floor: Number | None
    """Median before the cause, or of the tail that settled where there is no before."""
    tolerance: Amount | None
    """Distance from the floor that counts as recovered."""
    detected_s: Amount | None
    """From the begin of the cause until the value first left the floor."""
    peak: Number | None
    """Largest value from the begin of the cause on."""
    peak_second: Number | None
    """When that was."""
    at_end: Number | None
    """Value when the cause was over."""
    time_to_drain_s: Amount | None
    """From the end of the cause until the value is back at the floor, and stays there for three samples."""
    drain_rate_per_second: Amount | None
    """(Value at the end of the cause - floor) / time to drain."""
    peak_slope_per_second: Amount | None
    """Fastest fall between two values after the cause."""
    p99_before_ms: Number | None
    """End-to-end p99 before the cause, from due; from sent without a schedule."""
    p99_during_ms: Number | None
    """The same while it held."""
    p99_after_ms: Number | None
    """The same from its end on."""
    latency_debt_ms_s: Amount | None
    """Integral over time of what the p50 of a second exceeds that before the cause."""
    reasons: Reasons
