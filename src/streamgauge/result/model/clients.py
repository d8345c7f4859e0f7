"""What clients did besides messages: processing, the wire, connections."""

from typing import Literal

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section


class ProcessingTimes(Section):
    """How long processing took."""

    processed: Count
    """Messages processed."""
    unprocessed: Count
    """Messages received and never processed: dropped by `consume.processing.drop`, or buffered when the run ended."""
    mean_ms: Number | None
    """Mean time from begin to end of the processing; null where nothing was processed, like all that follow."""
    p50_ms: Number | None
    """Median."""
    p99_ms: Number | None
    """99th percentile."""
    max_ms: Number | None
    """Longest."""
    target_ms: Number | None
    """Mean that the scenario asks for; null for a function."""


class ConsumerProcessing(ProcessingTimes):
    """Processing of one consumer."""

    consumer: int
    """Number of the consumer."""
    busy_share: Amount | None
    """Time spent processing, by the time that there was in its slots."""


class DelayProcessing(ProcessingTimes):
    """Processing while one of several delays was asked for."""

    phase: int
    """Which delay, from 0."""


class ProcessingSection(ProcessingTimes):
    """Processing of all consumers together, of each, and by delay."""

    busy_share: Amount | None
    """Time spent processing, by the time that there was in all slots."""
    consumers: list[ConsumerProcessing]
    """The same of each consumer."""
    phases: list[DelayProcessing]
    """The same while each of the delays was asked for that follow each other."""


class WireTraffic(Section):
    """Messages, requests and bytes of clients, by their own statistics."""

    messages: Count
    """Messages in requests, those of retries again; of consumers: in responses."""
    message_bytes: Count
    """Bytes of their keys and values, not compressed."""
    wire_bytes: Count
    """Bytes of all requests of producers, of all responses to consumers."""
    ratio: Amount | None
    """message_bytes by wire_bytes."""
    requests: Count
    """Produce requests of producers, Fetch requests of consumers."""
    retries: Count
    """Requests that were sent again."""
    messages_per_request: Amount | None
    """Messages by requests."""
    batch_messages: Amount | None = None
    """Producers: mean number of messages in a batch."""
    batch_bytes: Amount | None = None
    """Producers: mean bytes of a batch as it was sent."""
    queue_ms: Amount | None = None
    """Producers: mean time of a message in the client's queue."""
    rtt_ms: Amount | None
    """Mean time from request to response."""
    rtt_p99_ms: Amount | None
    """99th percentile of these times in the worst second."""
    throttle_ms: Count
    """Longest time that a broker told a client to wait."""


class WorkerTraffic(WireTraffic):
    """Traffic of one worker."""

    worker: str
    """Name of the worker."""


class WireOfRole(WireTraffic):
    """Traffic of all clients of a role together, and of each worker."""

    scope: Literal["run", "measure"]
    """What it covers: the measure phase, or the run where that was too short to look twice."""
    workers: list[WorkerTraffic]
    """The same of each worker."""
    reasons: Reasons


class WireSection(Section):
    """What clients sent and received, by their own statistics."""

    producers: WireOfRole | None
    """All producers together, and each worker."""
    consumers: WireOfRole | None
    """All consumers together, and each worker."""
    reasons: Reasons


class ConnectionsOfKind(Section):
    """What became of one kind of operation; null where the scenario asks for none."""

    target_per_second: Amount | None
    """Operations a second that the scenario asks for."""
    made: Count
    """Operations that were answered."""
    failed: Count
    """Operations that failed."""
    error: str | None
    """The most frequent error."""
    per_second: Amount | None
    """Operations answered a second."""
    p50_ms: Number | None
    """Median of the time to the answer."""
    p99_ms: Number | None
    """99th percentile of it."""
    max_ms: Number | None
    """Longest."""
    schedule_delay_p99_ms: Number | None
    """99th percentile of the time from due to begin."""
    schedule_delay_max_ms: Number | None
    """Longest."""
    held: Count | None = None
    """Held connections whose last use was answered."""
    reasons: Reasons


class ConnectionsSection(Section):
    """What became of connections beside the load, kind by kind."""

    open: ConnectionsOfKind | None
    """Connections opened, answered and closed."""
    metadata: ConnectionsOfKind | None
    """Clients made, that asked for metadata and were closed."""
    hold_producer: ConnectionsOfKind | None
    """Producers held and used."""
    hold_consumer: ConnectionsOfKind | None
    """Consumers held and used."""
    hold_metadata: ConnectionsOfKind | None
    """Clients held that ask for metadata."""
    reasons: Reasons
