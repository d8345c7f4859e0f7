"""Latencies of the measure phase, and how late the generator sent."""

from typing import Literal

from pydantic import Field

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section, Share


class CdfPoint(Section):
    """One point of a cumulative distribution."""

    le_ms: Number
    """Upper edge."""
    share: Share
    """Share of all messages of the measure phase, those that never came included."""


class DeliveredPercentiles(Section):
    """Percentiles of the delivered messages alone, as if those that never came had not been; there only where some
    never came.
    """

    p50_ms: Number | None
    """Median."""
    p95_ms: Number | None
    """95th percentile."""
    p99_ms: Number | None
    """99th percentile."""
    p99_9_ms: Number | None
    """99.9th percentile; null where there are too few messages for it."""


class LatencyFigures(Section):
    """Moments and maximum cover delivered messages. Percentiles also count messages that never came: at their age in
    `p99_ms`, as infinite in `p99_hi_ms`, which is absent where it is the same and null where it is infinite. A
    percentile is null where there are too few messages for it; all are where the table `latency` is missing.
    """

    count: Count
    """Messages measured."""
    censored: Count
    """Messages that never came."""
    selected_by: Literal["due", "sent", "received"]
    """The time by which messages belong to the measure phase."""
    min_ms: Number | None
    """Shortest."""
    mean_ms: Number | None
    """Mean."""
    stddev_ms: Amount | None
    """Standard deviation."""
    variance_ms2: Amount | None
    """Variance, in ms squared."""
    mad_ms: Amount | None
    """Median of the absolute deviations from the median."""
    p50_ms: Number | None
    """Median."""
    p50_hi_ms: Number | None = None
    """The same, messages that never came counted as infinite."""
    p75_ms: Number | None
    """75th percentile."""
    p75_hi_ms: Number | None = None
    """The same, messages that never came counted as infinite."""
    p90_ms: Number | None
    """90th percentile."""
    p90_hi_ms: Number | None = None
    """The same, messages that never came counted as infinite."""
    p95_ms: Number | None
    """95th percentile."""
    p95_hi_ms: Number | None = None
    """The same, messages that never came counted as infinite."""
    p99_ms: Number | None
    """99th percentile."""
    p99_hi_ms: Number | None = None
    """The same, messages that never came counted as infinite."""
    p99_5_ms: Number | None
    """99.5th percentile."""
    p99_5_hi_ms: Number | None = None
    """The same, messages that never came counted as infinite."""
    p99_9_ms: Number | None
    """99.9th percentile."""
    p99_9_hi_ms: Number | None = None
    """The same, messages that never came counted as infinite."""
    p99_99_ms: Number | None
    """99.99th percentile."""
    p99_99_hi_ms: Number | None = None
    """The same, messages that never came counted as infinite."""
    max_ms: Number | None
    """Longest."""
    delivered: DeliveredPercentiles | None = None
    """Percentiles of the delivered messages alone, as if those that never came had not been; there only where some
    never came."""
    cdf: list[CdfPoint]
    """Share of messages delivered within each upper edge."""
    reasons: Reasons

    def ms(self, name: str) -> float | None:
        """A figure by its name: `p99_9`, `max`."""
        value: float | None = getattr(self, f"{name}_ms")
        return value

    def high_ms(self, name: str) -> float | None:
        """The high end of a percentile; None for infinite, and where it is the same as the low end."""
        return self.ms(f"{name}_hi")

    def is_least(self, name: str) -> bool:
        """Whether messages that never came may make a percentile more: its high end is told, be it infinite."""
        return f"{name}_hi_ms" in self.model_fields_set


class RecordAge(LatencyFigures):
    """Latency counted from the time that a record carries."""

    clock: Literal["append", "create", "both"] | None
    """Whose clock stamped the records: `append` the broker's, `create` that of their producers, `both` where topics
    differ."""
    negative: Count | None
    """Records that were received before the time that they carry."""
    error_ms: Amount
    """What the time of a record is exact to."""
    error: str
    """What else may make it wrong, in words."""


class LatencyPair(Section):
    """One latency, from two begins."""

    response: LatencyFigures | None
    """From when the message was due; null percentiles where the load has no schedule."""
    service: LatencyFigures | None
    """From when the message was sent."""

    @property
    def kinds(self) -> dict[str, LatencyFigures | None]:
        """Both by their names, response time first."""
        return {"response": self.response, "service": self.service}


class LatencySection(Section):
    """Measure phase. Response time is counted from when a message was due, service time from when it was sent."""

    ack: LatencyPair
    """Acknowledgement: until the delivery report was served."""
    end_to_end: LatencyPair
    """Until the poll that delivered the message returned."""
    processing: LatencyPair
    """Until the consumer had processed the message."""
    poll: LatencyFigures | None
    """How long the calls of consumers for messages took."""
    batch: LatencyFigures | None = None
    """How long batches took, from their first message to their last report; null where producers do not wait for
    their reports."""
    flush_wait: LatencyFigures | None = None
    """How long producers waited for the reports of a batch; null where they do not."""
    throttle: LatencyFigures | None = None
    """How long messages that were due waited for the policy; null where nothing holds producers back."""
    own_schedule_delay: LatencyFigures | None = None
    """How late messages were sent after they were due and let go; null where nothing holds producers back."""
    since_record_time: RecordAge | None = None
    """How old records were when they were received, by the time that they carry; null where the run sends what it
    receives."""
    reasons: Reasons = Field(default_factory=dict)


class ScheduleDelay(Section):
    """How late messages were sent."""

    count: Count
    """Messages sent on a schedule."""
    p50_ms: Number | None
    """Median."""
    p99_ms: Number | None
    """99th percentile."""
    p99_9_ms: Number | None
    """99.9th percentile."""
    max_ms: Number | None
    """Longest."""


class ProducerDelay(ScheduleDelay):
    """Schedule delay of one producer."""

    producer: int
    """Number of the producer."""


class ScheduleDelaySection(ScheduleDelay):
    """Schedule delay of all producers together, and of each."""

    producers: list[ProducerDelay]
    """The same of each producer."""
