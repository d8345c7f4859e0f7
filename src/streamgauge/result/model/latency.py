"""Latencies and schedule delay of the measure phase."""

from typing import Literal

from pydantic import Field

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section, Share


class CdfPoint(Section):
    """One point of the cumulative distribution (CDF)."""

    le_ms: Number
    """Upper edge."""
    share: Share
    """Share of all messages of the measure phase, including those that never arrived."""


class DeliveredPercentiles(Section):
    """Percentiles of delivered messages only, without those that never arrived; absent if all arrived."""

    p50_ms: Number | None
    """Median."""
    p95_ms: Number | None
    """95th percentile."""
    p99_ms: Number | None
    """99th percentile."""
    p99_9_ms: Number | None
    """99.9th percentile; null if there are too few messages for it."""


class LatencyFigures(Section):
    """Moments and maximum cover delivered messages. Percentiles also count messages that never arrived: at their age in
    `p99_ms`, as infinite in `p99_hi_ms`, which is absent if it is the same and null if it is infinite. A percentile is
    null if there are too few messages for it; all are null if the table `latency` is missing.
    """

    count: Count | None
    """Messages measured; null if an imported result does not say."""
    censored: Count | None
    """Messages that never arrived; null in imported results, which leave them out."""
    selected_by: Literal["due", "sent", "received"] | None
    """The time that assigns messages to the measure phase; null in imported results."""
    min_ms: Number | None
    """Minimum."""
    mean_ms: Number | None
    """Mean."""
    stddev_ms: Amount | None
    """Standard deviation."""
    variance_ms2: Amount | None
    """Variance, in ms squared."""
    mad_ms: Amount | None
    """Median absolute deviation from the median."""
    p50_ms: Number | None
    """Median."""
    p50_hi_ms: Number | None = None
    """The same, with messages that never arrived counted as infinite."""
    p75_ms: Number | None
    """75th percentile."""
    p75_hi_ms: Number | None = None
    """The same, with messages that never arrived counted as infinite."""
    p90_ms: Number | None
    """90th percentile."""
    p90_hi_ms: Number | None = None
    """The same, with messages that never arrived counted as infinite."""
    p95_ms: Number | None
    """95th percentile."""
    p95_hi_ms: Number | None = None
    """The same, with messages that never arrived counted as infinite."""
    p99_ms: Number | None
    """99th percentile."""
    p99_hi_ms: Number | None = None
    """The same, with messages that never arrived counted as infinite."""
    p99_5_ms: Number | None
    """99.5th percentile."""
    p99_5_hi_ms: Number | None = None
    """The same, with messages that never arrived counted as infinite."""
    p99_9_ms: Number | None
    """99.9th percentile."""
    p99_9_hi_ms: Number | None = None
    """The same, with messages that never arrived counted as infinite."""
    p99_99_ms: Number | None
    """99.99th percentile."""
    p99_99_hi_ms: Number | None = None
    """The same, with messages that never arrived counted as infinite."""
    max_ms: Number | None
    """Maximum."""
    delivered: DeliveredPercentiles | None = None
    """Percentiles of delivered messages only, without those that never arrived; absent if all arrived."""
    cdf: list[CdfPoint]
    """Share of messages delivered within each upper edge."""
    reasons: Reasons

    def ms(self, name: str) -> float | None:
        """A value by its name: `p99_9`, `max`."""
        value: float | None = getattr(self, f"{name}_ms")
        return value

    def high_ms(self, name: str) -> float | None:
        """The high end of a percentile; None for infinite, and if it is the same as the low end."""
        return self.ms(f"{name}_hi")

    def is_least(self, name: str) -> bool:
        """Whether a percentile is a lower bound because of messages that never arrived: its high end is set, even if
        infinite.
        """
        return f"{name}_hi_ms" in self.model_fields_set


class RecordAge(LatencyFigures):
    """Latency from the timestamp of the record."""

    clock: Literal["append", "create", "both"] | None
    """Clock that stamped the records: `append` the broker's, `create` the producers', `both` if topics differ."""
    negative: Count | None
    """Records received before their own timestamp."""
    error_ms: Amount
    """Resolution of record timestamps."""
    error: str
    """Other sources of error."""


class LatencyPair(Section):
    """One latency as response time and as service time."""

    response: LatencyFigures | None
    """From the due time of the message; null percentiles without a schedule."""
    service: LatencyFigures | None
    """From the send time of the message."""

    @property
    def kinds(self) -> dict[str, LatencyFigures | None]:
        """Both by their names, response time first."""
        return {"response": self.response, "service": self.service}


class TopicLatency(Section):
    """Latencies of one of several topics."""

    topic: str
    """Its name."""
    ack: LatencyPair
    """Acknowledgement."""
    end_to_end: LatencyPair
    """Until the poll that delivered the message returned."""


class LatencySection(Section):
    """Measure phase. Response time starts when a message was due, service time when it was sent."""

    ack: LatencyPair
    """Acknowledgement: until the delivery report was served."""
    end_to_end: LatencyPair
    """Until the poll that delivered the message returned."""
    processing: LatencyPair
    """Until the consumer had processed the message."""
    poll: LatencyFigures | None
    """Duration of the consumers' poll calls."""
    poll_per_record: LatencyFigures | None = None
    """Duration of the poll call that delivered a message, counted for each message: empty polls weigh nothing. Null
    without consumers."""
    batch: LatencyFigures | None = None
    """Duration of batches, from the first message to the last delivery report; null if producers do not wait for
    delivery reports."""
    flush_wait: LatencyFigures | None = None
    """Time that producers waited for the delivery reports of a batch; null if they do not wait."""
    throttle: LatencyFigures | None = None
    """Time that due messages waited for the backpressure policy; null without a policy."""
    own_schedule_delay: LatencyFigures | None = None
    """Delay of sends after messages were due and admitted; null without a backpressure policy."""
    since_record_time: RecordAge | None = None
    """Age of records when received, from their timestamps; null if the run also sends the messages."""
    topics: list[TopicLatency] = Field(default_factory=list)
    """Latencies of each topic, without their distributions; empty with one topic."""
    reasons: Reasons = Field(default_factory=dict)


class ScheduleDelay(Section):
    """Delay of sends after their due time."""

    count: Count
    """Messages sent on a schedule."""
    p50_ms: Number | None
    """Median."""
    p99_ms: Number | None
    """99th percentile."""
    p99_9_ms: Number | None
    """99.9th percentile."""
    max_ms: Number | None
    """Maximum."""


class ProducerDelay(ScheduleDelay):
    """Schedule delay of one producer."""

    producer: int
    """Producer number."""


class ScheduleDelaySection(ScheduleDelay):
    """Schedule delay of all producers together, and of each producer."""

    producers: list[ProducerDelay]
    """The same for each producer."""
