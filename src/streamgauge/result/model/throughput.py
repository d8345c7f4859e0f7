"""Rates of the measure phase, and the run second by second."""

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section


class ThroughputSection(Section):
    """Measure phase; each rate by the clock of its own event. MB are 10^6 bytes of value."""

    measured_seconds: Amount | None
    """Length of the measure phase as it was."""
    target_per_second: Amount | None
    """Messages a second that the scenario asks for; of a load that changes, those that were due in the measure
    phase, by its length. Null without a schedule."""
    sent_per_second: Amount | None
    """Messages a second handed to the client."""
    acked_per_second: Amount | None
    """Messages a second acknowledged."""
    received_per_second: Amount | None
    """Messages a second received, every delivery counted."""
    processed_per_second: Amount | None
    """Messages a second processed."""
    sent_mb_per_second: Amount | None
    """MB a second handed to the client."""
    received_mb_per_second: Amount | None
    """MB a second received."""
    reasons: Reasons


class SecondLatency(Section):
    """Latencies of one second."""

    p50_ms: Number | None
    """Median."""
    p99_ms: Number | None
    """99th percentile."""
    max_ms: Number | None
    """Longest."""


class SecondLatencies(Section):
    """One latency of a second, from two begins."""

    response: SecondLatency | None
    """From when messages were due; null where there is nothing to measure."""
    service: SecondLatency | None
    """From when messages were sent; null where there is nothing to measure."""


class TimelineSecond(Section):
    """One second of the run, counted from the start of the measure phase: warm-up is negative. `errors` are messages
    that failed or were never sent.
    """

    second: int
    """Which second."""
    sent_per_second: Amount | None
    """Messages a second handed to the client."""
    acked_per_second: Amount | None
    """Messages a second acknowledged."""
    received_per_second: Amount | None
    """Messages a second received."""
    processed_per_second: Amount | None
    """Messages a second processed."""
    ack: SecondLatencies
    """Acknowledgement latency."""
    end_to_end: SecondLatencies
    """End-to-end latency."""
    outstanding: int | None
    """Messages sent and not yet processed at the end of the second, since the start."""
    errors: Count | None
    """Messages that failed or were never sent."""
    due_per_second: Amount | None = None
    """Messages a second that the schedule wanted; null without a schedule."""
    admitted_per_second: Amount | None = None
    """Messages a second that were due and let go; null where that is not known."""
    committed_lag: Count | None = None
    """Log end - committed offset, as last sampled in the second, of the group that is furthest behind."""
    position_lag: Count | None = None
    """Log end - next offset to be read, as last sampled in the second, of the group that is furthest behind."""
    time_lag_ms: Amount | None = None
    """Age of the oldest message that is sent and not processed at the end of the second; 0 where there is none."""
