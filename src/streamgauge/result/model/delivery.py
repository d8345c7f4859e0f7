"""What became of messages and of transactions."""

from typing import Literal

from pydantic import Field

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section, Share


class DeliveryCounts(Section):
    """Exact counts of messages and deliveries."""

    sent: Count | None
    """Messages handed to the client, as far as anybody knows: reported by their producer, or received; not those of
    unknown fate that were not received."""
    acked: Count | None
    """Messages acknowledged."""
    failed: Count | None
    """Messages refused or timed out."""
    unsent: Count | None
    """Messages due before the load ended and never handed to the client."""
    received: Count | None
    """Deliveries to the group, every one counted."""
    delivered_once: Count | None
    """Acknowledged messages received exactly once."""
    undelivered: Count | None
    """Acknowledged messages not received, beyond where the group had read when the drain ended."""
    lost: Count | None
    """Acknowledged messages gone: the group read past their offsets, or the log ends before them."""
    expired: Count | None
    """Acknowledged messages not received, deleted by retention before."""
    unknown: Count | None
    """Messages whose fate cannot be decided: acknowledged ones, those of transactions without a known end among
    them, and those of unknown fate that were not received."""
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
    """Messages of this run received, and not recorded as sent."""
    unacked_received: Count | None
    """Messages that failed, or whose fate is unknown, and that were received all the same."""
    aborted: Count | None
    """Messages acknowledged in transactions that were aborted; they are not meant to be received, and in no other
    class."""
    aborted_received: Count | None = None
    """Messages of aborted transactions that were received all the same."""
    resent: Count | None = None
    """Messages that failed and were sent again."""
    unread: Count | None = None
    """Messages acknowledged in partitions that consumers are told not to read; in no other class."""
    fate_unknown: Count | None = None
    """Messages that a producer took up and could not report before it died; neither acknowledged nor failed. One
    without a due time belongs to the measure phase only if it was received."""
    fate_unknown_received: Count | None = None
    """Messages of unknown fate that were received, and so were sent; in `unacked_received`, too."""
    unaccounted: Count | None = None
    """Sequences that a producer took up and that have no row of `sent`, rows too many of one sequence, and rows of
    messages that nobody took up; whole run only."""
    checked: Count | None
    """Deliveries whose checksum was verified."""
    checked_share: Share | None
    """Share of the deliveries whose checksum was verified."""
    negative_latencies: Count | None
    """Deliveries whose end-to-end service time is below zero."""
    reasons: Reasons


class DeliveryOfGroup(DeliveryCounts):
    """Counts of one consumer group."""

    group: str
    """Name of the group."""


class DeliverySection(DeliveryCounts):
    """Exact counts over the whole run, of the group that fared worst; beside it the measure phase and every group."""

    measure: DeliveryCounts
    """The same counts of the measure phase alone."""
    groups: list[DeliveryOfGroup]
    """The same counts of every group, with its name."""


class MissingMessage(Section):
    """One message that did not come back."""

    class_: Literal["lost", "undelivered", "failed", "expired", "unknown"] = Field(alias="class")
    """What became of it."""
    topic: str | None
    """Name of the topic."""
    producer: int | None
    """Number of the producer."""
    seq: int | None
    """Sequence within the producer."""
    partition: int | None
    """Partition that took it."""
    offset: int | None
    """Offset it was acknowledged at."""
    error: str | None
    """Why its send failed."""


class EndedTransactions(Section):
    """Transactions that ended in one way."""

    count: Count
    """How many there were."""
    per_second: Amount | None
    """How many there were in a second."""
    messages: Count
    """Messages in them."""
    mean_messages: Amount | None
    """Messages in one of them; null where there was none, like all that follow."""
    p50_ms: Number | None
    """Median of how long they took, from their begin."""
    p99_ms: Number | None
    """99th percentile."""
    max_ms: Number | None
    """Longest."""


class TransactionsSection(Section):
    """Transactions by how they ended."""

    committed: EndedTransactions
    """Those that were committed."""
    aborted: EndedTransactions
    """Those that were aborted."""
    unknown: EndedTransactions
    """Those of which the broker did not say how they ended."""
