"""Lag, backpressure, faults and recovery."""

from typing import Literal

from pydantic import Field

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section, Share

FaultKind = Literal[
    "pause", "kill", "stop", "restart", "rolling-restart",
    "move-leader", "elect-preferred", "reassign",
    "cut", "black-hole", "delay", "rate-limit", "stall", "slow-close",
    "disk-fails", "lose-data", "truncate-tail", "dir-fails", "dir-unreadable", "dir-full", "dir-slow",
    "burst",
]  # fmt: skip
"""What can be done to a run; `delay` is of consumers, or of links."""


class LagFigures(Section):
    """One lag, in messages."""

    max: Amount | None
    """Maximum."""
    max_second: Number
    """Time of the maximum, in seconds from the start of the measure phase."""
    final: Number | None
    """Last value of the run."""
    mean: Number | None
    """Mean of all values."""
    exact: bool | None = None
    """Outstanding: whether the maximum is exact; otherwise it is that of the interval ends."""


class TimeLagFigures(Section):
    """Time since the oldest unprocessed message was sent; 0 if there is none."""

    max_ms: Amount | None
    """Maximum."""
    max_second: Number
    """Time of the maximum, in seconds from the start of the measure phase."""
    final_ms: Amount | None
    """Last value of the run."""
    mean_ms: Amount | None
    """Mean of all values."""


class Lags(Section):
    """Four kinds of lag."""

    committed: LagFigures | None
    """Log end offset - committed offset, sampled; all partitions together."""
    position: LagFigures | None
    """Log end offset - next offset to read, sampled; all partitions together."""
    outstanding: LagFigures | None
    """Messages sent and not processed, computed from the recorded rows."""
    time_lag: TimeLagFigures | None
    """Time since the oldest unprocessed message was sent; 0 if there is none."""
    reasons: Reasons = Field(default_factory=dict)


class GroupLags(Lags):
    """Lags of one consumer group."""

    group: str
    """Name of the group."""


class LagSection(Lags):
    """Lag of the group that is furthest behind, its sampling, and the lags of each of several groups."""

    every_ms: Amount | None
    """Configured sampling interval."""
    samples: Count
    """Number of samples; whole run."""
    failed: Count | None
    """Samples that the cluster did not answer; null if an imported result does not say."""
    failed_share: Share | None
    """Their share."""
    cpu_cores: Amount | None
    """CPU used by sampling in the measure phase."""
    groups: list[GroupLags]
    """The same for each of several groups."""
    reasons: Reasons


class ThrottleWait(Section):
    """Time that due messages waited to be admitted."""

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
    """Maximum."""


class BackpressureSection(Section):
    """Summary of the backpressure policy."""

    policy: Literal["hysteresis", "credit"]
    """The policy."""
    limit: int
    """Credit: maximum of outstanding messages; hysteresis: lag above which producers pause."""
    resume: Count | None
    """Hysteresis: lag below which they resume."""
    poll_ms: Number
    """Interval of decisions."""
    decisions: Count
    """Decisions recorded."""
    outstanding_max: Count | None
    """Exact maximum of messages sent and not processed; whole run."""
    credits_used_max: Count | None
    """The same, with messages counted as processed only up to the first gap of each partition: the value that credit
    limits."""
    max_second: Number | None
    """Time of this maximum, in seconds from the start of the measure phase."""
    within_limit: bool | None
    """Credit: whether the limit was kept at all times."""
    pauses: Count | None
    """Hysteresis: how often producers paused."""
    paused_s: Amount | None
    """Hysteresis: total time paused, in the measure phase."""
    returned: Count | None
    """Credits returned for sends that certainly failed."""
    ambiguous: Count | None
    """Credits of messages that failed or have no delivery report, and may have been written: they are not returned."""
    controller_died_second: Number | None
    """Time the controller died; no decisions were made after that."""
    offered_per_second: Amount | None
    """Messages due per second."""
    admitted_per_second: Amount | None
    """Messages per second that were due and admitted."""
    sent_per_second: Amount | None
    """Messages per second handed to the client."""
    processed_per_second: Amount | None
    """Messages processed per second."""
    unsent: Count | None
    """Messages due in the measure phase and never sent."""
    throttle: ThrottleWait | None
    """Time that due messages waited to be admitted."""
    reasons: Reasons


class ReplicationSection(Section):
    """Replication of the topics that are sent to, as the cluster told: leaders every 200 ms, followers each second."""

    replicas: int | None
    """Replicas of each partition."""
    partitions: int
    """Partitions of all topics that are sent to."""
    under_replicated_partitions: int
    """Partitions that had fewer in-sync replicas than replicas at some time."""
    under_replicated_seconds: float | None
    """The longest time that a partition had fewer in-sync replicas than replicas."""
    least_in_sync: int | None
    """The smallest number of in-sync replicas of a partition."""
    leaderless_partitions: int
    """Partitions that had no leader at some time."""
    leaderless_seconds: float | None
    """The longest time that a partition had no leader."""
    leader_changes: int
    """How often another node became the leader of a partition, over all partitions."""
    controller_changes: int | None = None
    """How often another node became the active controller; null if nobody told."""
    most_behind: Amount | None = None
    """The most messages of a partition that a broker lacked of the longest log; asked each second."""
    most_behind_node: int | None = None
    """Node id of this broker."""
    most_behind_second: Number | None = None
    """When, in seconds from the start of the measure phase."""
    cpu_cores: Amount | None = None
    """CPU that asking for all this used in the measure phase: cost of the instrument."""


class FaultAction(Section):
    """Start or end of a fault."""

    second: Number
    """Time, in seconds from the start of the measure phase."""
    kind: FaultKind
    """Kind of fault."""
    target: str
    """Target of the fault."""
    action: Literal["begin", "end"]
    """Whether it began or ended."""
    detail: str | None
    """Value from then on, like `4ms`; or the role by which the target was found."""
    error: str | None
    """Why it could not be injected, or not in order."""
    asked_second: Number | None = None
    """Time that the scenario asks for; null where it waits for something else, and in older results."""


class RecoveryScore(Section):
    """Recovery of one quantity after one cause."""

    cause: FaultKind
    """Kind of cause."""
    target: str
    """Target of the cause."""
    detail: str | None
    """Its detail, as in `faults`."""
    quantity: Literal["outstanding", "committed_lag"]
    """Quantity that recovers: computed from the recorded rows, or sampled."""
    group: str | None
    """Consumer group name."""
    began_second: Number | None
    """Start of the cause, in seconds from the start of the measure phase."""
    ended_second: Number
    """End of the cause: time 0 of the recovery."""
    interval_ms: Number
    """Time between two values."""
    floor: Number | None
    """Median before the cause; if there is no before, median of the settled tail."""
    tolerance: Amount | None
    """Distance from the floor that counts as recovered."""
    detected_s: Amount | None
    """From the start of the cause until the value first exceeded floor + tolerance."""
    peak: Number | None
    """Largest value from the start of the cause."""
    peak_second: Number | None
    """Time of the peak."""
    at_end: Number | None
    """Value at the end of the cause."""
    time_to_drain_s: Amount | None
    """From the end of the cause until the value is back within the tolerance for three samples."""
    drain_rate_per_second: Amount | None
    """(Value at the end of the cause - floor) / time to drain."""
    peak_slope_per_second: Amount | None
    """Fastest decrease between two values after the cause."""
    p99_before_ms: Number | None
    """End-to-end p99 before the cause: response time (service time without a schedule)."""
    p99_during_ms: Number | None
    """The same during the cause."""
    p99_after_ms: Number | None
    """The same after the cause."""
    latency_debt_ms_s: Amount | None
    """Integral over time of the amount by which each second's p50 exceeds that before the cause."""
    reasons: Reasons
