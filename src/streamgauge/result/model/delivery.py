"""Delivery of messages, and transactions."""

from typing import Literal

from pydantic import Field

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section, Share


class DeliveryCounts(Section):
    """Exact counts of messages and deliveries."""

    sent: Count | None
    """Messages handed to the client: reported by their producer, or received; without messages of unknown fate that
    were not received."""
    acked: Count | None
    """Messages acknowledged."""
    failed: Count | None
    """Messages that were rejected or timed out."""
    unsent: Count | None
    """Messages due before the load ended and never handed to the client."""
    received: Count | None
    """Deliveries to the group, including repeated ones."""
    delivered_once: Count | None
    """Acknowledged messages received exactly once."""
    undelivered: Count | None
    """Acknowledged messages not received, at or beyond the group's position at the end of the drain."""
    lost: Count | None
    """Acknowledged messages that are gone: the group read past their offsets, or the log ends before them."""
    expired: Count | None
    """Acknowledged messages not received because retention deleted them first."""
    unknown: Count | None
    """Messages whose outcome cannot be determined: acknowledged ones, including those of transactions with an unknown
    outcome, and those of unknown fate that were not received."""
    duplicate_consumer: Count | None
    """Messages received more than once from the same offset."""
    duplicate_producer: Count | None
    """Messages received from several offsets: written more than once."""
    reordered: Count | None
    """Messages received after a later one of the same producer and partition."""
    corrupt: Count | None
    """Deliveries whose checksum or stamp is damaged."""
    foreign: Count | None
    """Deliveries of messages that are not of this run."""
    unrecorded: Count | None
    """Messages of this run that were received, but not recorded as sent."""
    unacked_received: Count | None
    """Messages that failed or have an unknown fate, but were received."""
    aborted: Count | None
    """Messages acknowledged in transactions that were aborted; they should not be received, and are in no other
    class."""
    aborted_received: Count | None = None
    """Messages of aborted transactions that were received."""
    resent: Count | None = None
    """Messages that failed and were sent again."""
    unread: Count | None = None
    """Messages acknowledged in partitions that consumers are configured not to read; in no other class."""
    fate_unknown: Count | None = None
    """Messages that a producer claimed and did not report before it died; neither acknowledged nor failed. One without
    a due time belongs to the measure phase only if it was received."""
    fate_unknown_received: Count | None = None
    """Messages of unknown fate that were received, hence sent; also in `unacked_received`."""
    unaccounted: Count | None = None
    """Claimed sequence numbers without a row of `sent`, surplus rows of one sequence number, and rows of messages that
    no producer claimed; whole run only."""
    checked: Count | None
    """Deliveries whose checksum was verified."""
    checked_share: Share | None
    """Share of the deliveries whose checksum was verified."""
    negative_latencies: Count | None
    """Deliveries with a negative end-to-end service time."""
    reasons: Reasons


class DeliveryOfGroup(DeliveryCounts):
    """Counts of one consumer group."""

    group: str
    """Name of the group."""


class DeliverySection(DeliveryCounts):
    """Exact counts of the whole run for the worst group; also those of the measure phase and of every group."""

    measure: DeliveryCounts
    """The same counts for the measure phase only."""
    groups: list[DeliveryOfGroup]
    """The same counts for every group."""


class MissingMessage(Section):
    """One message that was not delivered."""

    class_: Literal["lost", "undelivered", "failed", "expired", "unknown"] = Field(alias="class")
    """Its delivery class."""
    topic: str | None
    """Topic name."""
    producer: int | None
    """Producer number."""
    seq: int | None
    """Sequence number within the producer."""
    partition: int | None
    """Partition that it was written to."""
    offset: int | None
    """Acknowledged offset."""
    error: str | None
    """Error of the send."""


class EndedTransactions(Section):
    """Transactions with one outcome."""

    count: Count
    """Number of transactions."""
    per_second: Amount | None
    """Transactions per second."""
    messages: Count
    """Messages in these transactions."""
    mean_messages: Amount | None
    """Mean messages per transaction; null without transactions, as are the following values."""
    p50_ms: Number | None
    """Median duration."""
    p99_ms: Number | None
    """99th percentile of the duration."""
    max_ms: Number | None
    """Longest duration."""


class TransactionsSection(Section):
    """Transactions by outcome."""

    committed: EndedTransactions
    """Committed transactions."""
    aborted: EndedTransactions
    """Aborted transactions."""
    unknown: EndedTransactions
    """Transactions whose outcome the broker did not report."""
