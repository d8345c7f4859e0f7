"""Processing, network traffic and connections of clients."""

from typing import Literal

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section, Share


class ProcessingTimes(Section):
    """Processing time of messages."""

    processed: Count
    """Messages processed."""
    unprocessed: Count
    """Messages received and never processed: skipped by `consume.processing.skip`, or buffered when the run ended."""
    mean_ms: Number | None
    """Mean processing time; null if nothing was processed, as are the following values."""
    p50_ms: Number | None
    """Median."""
    p99_ms: Number | None
    """99th percentile."""
    max_ms: Number | None
    """Longest."""
    target_ms: Number | None
    """Configured mean; null for a function."""


class ConsumerProcessing(ProcessingTimes):
    """Processing of one consumer."""

    consumer: int
    """Consumer number."""
    busy_share: Amount | None
    """Time spent processing / total time of its slots."""


class DelayProcessing(ProcessingTimes):
    """Processing while one of several consecutive delays applied."""

    phase: int
    """Which delay, from 0."""


class ProcessingSection(ProcessingTimes):
    """Processing of all consumers together, of each consumer, and by delay."""

    busy_share: Amount | None
    """Time spent processing / total time of all slots."""
    consumers: list[ConsumerProcessing]
    """The same for each consumer."""
    phases: list[DelayProcessing]
    """The same for each of the consecutive delays."""


class WireTraffic(Section):
    """Messages, requests and bytes of clients, from their own statistics."""

    messages: Count
    """Messages in requests, including retries; of consumers: in responses."""
    message_bytes: Count
    """Uncompressed bytes of their keys and values."""
    wire_bytes: Count
    """Bytes of all requests of producers, or of all responses to consumers."""
    ratio: Amount | None
    """`message_bytes` / `wire_bytes`."""
    requests: Count
    """Produce requests of producers, Fetch requests of consumers."""
    retries: Count
    """Requests that were retried, without Produce requests, whose messages clients put into new ones."""
    retried_messages: Count | None = None
    """Producers: messages put into another Produce request again, at least; `messages` counts them each time."""
    tx_bytes: Count | None = None
    """Bytes of all requests, of every kind."""
    rx_bytes: Count | None = None
    """Bytes of all responses."""
    tx_requests: Count | None = None
    """Requests of every kind."""
    messages_per_request: Amount | None
    """Messages / requests."""
    batch_messages: Amount | None = None
    """Producers: mean messages per batch."""
    batch_bytes: Amount | None = None
    """Producers: mean size of a batch as sent."""
    queue_ms: Amount | None = None
    """Producers: mean time of a message in the client's queue."""
    rtt_ms: Amount | None
    """Mean request round-trip time."""
    rtt_p99_ms: Amount | None
    """99th percentile of the round-trip time in the worst second."""
    throttle_ms: Count
    """Longest throttle time that a broker requested."""


class WorkerTraffic(WireTraffic):
    """Traffic of one worker."""

    worker: str
    """Worker name."""


class WireOfRole(WireTraffic):
    """Traffic of all clients of a role together, and of each worker."""

    scope: Literal["run", "measure"]
    """`measure`: the measure phase; `run`: the whole run, if the measure phase was too short for two statistics."""
    workers: list[WorkerTraffic]
    """The same for each worker."""
    reasons: Reasons


class WireSection(Section):
    """Network traffic of clients, from their own statistics."""

    producers: WireOfRole | None
    """All producers together, and each worker."""
    consumers: WireOfRole | None
    """All consumers together, and each worker."""
    acknowledgements: WireOfRole | None = None
    """The producers that consumers have for markers, retries and dead letters."""
    tracker_consumers: WireOfRole | None = None
    """The clients by which trackers read markers, and messages again."""
    tracker_producers: WireOfRole | None = None
    """The clients by which trackers deliver again, and write end markers and dead letters."""
    bytes_per_message: Amount | None = None
    """Bytes that all clients sent and received / messages that producers sent; null where a client did not tell."""
    requests_per_message: Amount | None = None
    """The same of requests of every kind."""
    reasons: Reasons


class ConnectionsOfKind(Section):
    """Operations of one kind; null if the scenario configures none."""

    target_per_second: Amount | None
    """Target rate of operations."""
    made: Count
    """Operations that succeeded."""
    failed: Count
    """Operations that failed."""
    error: str | None
    """Most frequent error."""
    per_second: Amount | None
    """Successful operations per second."""
    p50_ms: Number | None
    """Median time to the response."""
    p99_ms: Number | None
    """99th percentile of the time to the response."""
    max_ms: Number | None
    """Longest time to the response."""
    schedule_delay_p99_ms: Number | None
    """99th percentile of the time from due to start."""
    schedule_delay_max_ms: Number | None
    """Longest time from due to start."""
    held: Count | None = None
    """Held connections whose last use succeeded."""
    reasons: Reasons


class ConnectionsSection(Section):
    """Operations on connections besides the load, by kind."""

    open: ConnectionsOfKind | None
    """Connections opened, answered and closed."""
    metadata: ConnectionsOfKind | None
    """Clients created, that fetched metadata and were closed."""
    hold_producer: ConnectionsOfKind | None
    """Producers held open and used."""
    hold_consumer: ConnectionsOfKind | None
    """Consumers held open and used."""
    hold_metadata: ConnectionsOfKind | None
    """Admin clients held open that fetch metadata."""
    reasons: Reasons


class DeliveriesOfNumber(Section):
    """Deliveries with the same number, counted from 1 for each message."""

    number: Count
    """Delivery number."""
    deliveries: Count
    """Deliveries."""
    accepted: Count
    """Deliveries that were acknowledged."""
    rejected: Count
    """Deliveries whose processing failed, and that were not to come again."""
    released: Count
    """Deliveries whose processing failed, without those that are rejected."""
    timed_out: Count
    """Deliveries that were acknowledged when their lock was over: the broker of a share group did not take it."""
    unanswered: Count
    """Deliveries of which the consumer told nothing: it took too long, or died."""
    dead_letter: Count
    """Deliveries after which the message became a dead letter."""
    expected: Amount | None = None
    """Deliveries that follow from the scenario's `fail`, `poison` and `limit`; null if other things decide, too."""


class RedeliverySection(Section):
    """Messages that are acknowledged one by one, and their deliveries."""

    messages: Count
    """Messages that were delivered."""
    succeeded: Count
    """Messages that were acknowledged."""
    dead: Count
    """Messages that became dead letters."""
    dead_after_success: Count
    """Dead letters that had been acknowledged, too late."""
    archived: Count
    """Messages that the brokers of a share group gave up, and that have no dead letter."""
    open: Count
    """Messages that were none of these at the end of the run."""
    overtaken: Count | None = None
    """Messages that succeeded after a later message of their producer and partition: they are out of order."""
    deliveries: Count
    """Deliveries: offsets that messages were read from."""
    accepted: Count
    """Deliveries that were acknowledged."""
    rejected: Count
    """Deliveries whose processing failed, and that were not to come again."""
    released: Count
    """Deliveries whose processing failed, without those that are rejected."""
    timed_out: Count
    """Deliveries that were acknowledged when their lock was over: the broker of a share group did not take it."""
    unanswered: Count
    """Deliveries of which the consumer told nothing: it took too long, or died."""
    reread: Count
    """Reads of an offset that had been read before."""
    duplicates: Count
    """Deliveries that began when the message was processed already."""
    early: Count
    """Redeliveries before the deadline of the delivery before."""
    deliveries_per_message: Amount | None
    """Deliveries by messages."""
    expected_per_message: Amount | None
    """The same, as it follows from the scenario; null if other things decide, too."""
    dead_share: Share | None
    """Dead letters by messages."""
    expected_dead_share: Share | None
    """The same, as it follows from the scenario; null if other things decide, too."""
    delay_p50_ms: Number | None
    """Median time from the deadline of a delivery to the start of the next one."""
    delay_p90_ms: Number | None
    """90th percentile of this time."""
    delay_p99_ms: Number | None
    """99th percentile of this time."""
    delay_max_ms: Number | None
    """Longest of these times."""
    answer_p50_ms: Number | None
    """Median time from the due time of a message to its confirmed acknowledgement."""
    answer_p90_ms: Number | None
    """90th percentile of this time."""
    answer_p99_ms: Number | None
    """99th percentile of this time."""
    answer_max_ms: Number | None
    """Longest of these times."""
    success_p50_ms: Number | None
    """Median time from the due time of a message to the end of its successful processing."""
    success_p90_ms: Number | None
    """90th percentile of this time."""
    success_p99_ms: Number | None
    """99th percentile of this time."""
    success_max_ms: Number | None
    """Longest of these times."""
    by_number: list[DeliveriesOfNumber]
    """Deliveries by their number."""
    reasons: Reasons
