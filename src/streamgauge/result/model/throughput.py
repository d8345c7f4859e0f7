"""Rates of the measure phase, and the timeline of the run."""

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section
from streamgauge.result.model.latency import LatencyFigures
from streamgauge.result.model.verdict import ExpectationResult


class ThroughputSection(Section):
    """Measure phase; each rate by the time of its own event. MB are 10^6 bytes of value."""

    measured_seconds: Amount | None
    """Actual length of the measure phase."""
    target_per_second: Amount | None
    """Target rate in messages per second; for a variable load, messages due in the measure phase / its length. Null
    without a schedule."""
    sent_per_second: Amount | None
    """Messages per second handed to the client."""
    acked_per_second: Amount | None
    """Messages acknowledged per second."""
    received_per_second: Amount | None
    """Deliveries per second, including repeated ones."""
    processed_per_second: Amount | None
    """Messages processed per second."""
    sent_mb_per_second: Amount | None
    """MB per second handed to the client."""
    received_mb_per_second: Amount | None
    """MB received per second."""
    reasons: Reasons


class PartRates(Section):
    """Rates of a part of the load, or of the time."""

    acked_per_second: Amount | None
    """Messages acknowledged per second; null without a load."""
    received_per_second: Amount | None
    """Deliveries per second, including repeated ones; null without consumers."""
    received_mb_per_second: Amount | None
    """MB received per second; null without consumers."""


class TopicRates(PartRates):
    """Rates of one topic."""

    topic: str
    """Its name."""


class PartitionRates(TopicRates):
    """Rates of one partition."""

    partition: int
    """Its number."""


class MinuteRates(PartRates):
    """Rates of one whole minute of the measure phase."""

    minute: Count
    """Minute, counted from 0 at the start of the measure phase."""


class RatesSection(Section):
    """Rates of the measure phase by topic, by partition and by minute."""

    topics: list[TopicRates]
    """Topics; empty with one."""
    partitions: list[PartitionRates]
    """Partitions of each topic."""
    minutes: list[MinuteRates]
    """Whole minutes, as tools have them that average over one."""


class WarmupTotals(Section):
    """Totals of the warm-up: what is in no figure of the measure phase."""

    seconds: Amount
    """Length of the warm-up."""
    sent: Count | None
    """Messages handed to the client."""
    acked: Count | None
    """Messages acknowledged."""
    errors: Count | None
    """Messages that failed, or were due and never sent."""
    received: Count | None
    """Deliveries, including repeated ones."""
    sent_bytes: Count | None
    """Value bytes of the messages sent."""
    received_bytes: Count | None
    """Value bytes of the messages received."""
    reasons: Reasons


class SecondLatency(Section):
    """Latencies of one second."""

    p50_ms: Number | None
    """Median."""
    p99_ms: Number | None
    """99th percentile."""
    max_ms: Number | None
    """Maximum."""


class SecondLatencies(Section):
    """One latency of a second as response time and as service time."""

    response: SecondLatency | None
    """From the due time of messages; null if there are no values."""
    service: SecondLatency | None
    """From the send time of messages; null if there are no values."""


class TimelineSecond(Section):
    """One second of the run, counted from the start of the measure phase: warm-up is negative. `errors` are messages
    that failed or were never sent.
    """

    second: int
    """The second."""
    sent_per_second: Amount | None
    """Messages per second handed to the client."""
    acked_per_second: Amount | None
    """Messages acknowledged per second."""
    received_per_second: Amount | None
    """Messages received per second."""
    processed_per_second: Amount | None
    """Messages processed per second."""
    ack: SecondLatencies
    """Acknowledgement latency."""
    end_to_end: SecondLatencies
    """End-to-end latency."""
    outstanding: int | None
    """Messages sent and not processed, from the start of the run to the end of the second."""
    errors: Count | None
    """Messages that failed or were never sent."""
    due_per_second: Amount | None = None
    """Messages due per second; null without a schedule."""
    admitted_per_second: Amount | None = None
    """Messages per second that were due and admitted; null if unknown."""
    committed_lag: Count | None = None
    """Log end offset - committed offset of the group that is furthest behind, last sample in the second."""
    position_lag: Count | None = None
    """Log end offset - next offset to read of the group that is furthest behind, last sample in the second."""
    time_lag_ms: Amount | None = None
    """Time since the oldest unprocessed message was sent, at the end of the second; 0 if there is none."""


class StepResult(Section):
    """One step of a load whose rate changes: its full seconds. Nothing is reset between steps: the next one starts with
    what this one left behind.
    """

    step: int
    """Step number, from 1."""
    from_second: int
    """First second, counted from the start of the measure phase."""
    to_second: int
    """Second in which the next step begins."""
    target_per_second: Amount
    """Messages due per second."""
    sent_per_second: Amount
    """Messages per second handed to the client."""
    acked_per_second: Amount
    """Messages acknowledged per second."""
    received_per_second: Amount | None
    """Deliveries per second, including repeated ones; null without consumers."""
    errors: Count
    """Messages that failed or were never sent."""
    response: LatencyFigures | None
    """Latency from the due time of messages: end-to-end, or of acknowledgements without consumers."""
    service: LatencyFigures | None
    """The same latency from the send time of messages."""
    expectations: list[ExpectationResult]
    """Those expectations of the scenario that are about these latencies and rates, for this step alone."""
    held: bool
    """Whether at least 99 % of the target rate arrived at every consumer group, no message failed, was left unsent or
    never arrived, and the expectations passed. Where no group is to receive all that is sent (no consumers,
    `consume.partitions`, a pipeline that drops or merges messages), what was acknowledged counts as arrived."""
