"""Delivery of messages, transactions, and what faults did to messages."""

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
    truncated: Count | None = None
    """Acknowledged messages that the log no longer holds where they were acknowledged, whether they were received or
    not; messages of transactions that did not commit are left out. Null unless the log was read again."""
    vanished: Count | None = None
    """Messages received from an offset that, at the end, holds nothing or another message, whether they were
    acknowledged or not: the group read what did not survive. Null unless the log was read again."""
    offset_conflicts: Count | None = None
    """Offsets at which several messages were acknowledged, or received. Null unless the log was read again."""
    skipped_polls: Count | None = None
    """Polls that went on behind a lost message although the log still holds it. Null unless the log was read again."""
    seen_elsewhere: Count | None = None
    """Lost messages that another group received."""
    went_back: Count | None = None
    """Polls that brought a partition from an offset that the same consumer had received before, or from below it."""
    committed_unseen: Count | None = None
    """Messages of committed transactions that are lost or undelivered."""
    received_early: Count | None = None
    """Messages received before their producer asked for the commit of their transaction; those of aborted transactions
    are in `aborted_received`."""
    delivered_share: Share | None = None
    """Share of the acknowledged messages that were received at least once, those of aborted transactions, of
    partitions that are not read and those that a pipeline is to drop left out; messages whose outcome is not known
    count as not received."""
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


class FaultPromise(Section):
    """A timeout that limits an effect of a fault, and how long the effect lasted."""

    setting: str
    """Name of the setting."""
    allows_s: Amount
    """Its value, or its default if the scenario does not set it."""
    took_s: Amount
    """How long the effect lasted."""
    kept: bool
    """Whether the effect lasted no longer than the setting allows."""
    limit: str | None = None
    """What the setting allows, in words; null in results of older versions."""
    text: str
    """Both in words."""


class FaultScorecard(Section):
    """What one fault did, within its span: from its begin to 60 s after its end, or to the start of the next fault."""

    kind: str
    """Kind of fault."""
    target: str
    """Target of the fault."""
    detail: str | None
    """Its detail, as in `faults`."""
    error: str | None = None
    """What went wrong at its end, as in `faults`: it lasted until then at least."""
    began_second: Number
    """Begin, in seconds from the start of the measure phase."""
    ended_second: Number
    """End; of a kill that is not undone, the same as its begin."""
    until_second: Number
    """End of its span."""
    noticed_s: Amount | None
    """From the begin until the cluster reported another leader, no leader, or fewer in-sync replicas."""
    detected_s: Amount | None
    """From the begin until more messages were outstanding than before, as in `recovery`."""
    unwritable_s: Amount | None
    """The longest time in which messages of a partition waited and none was acknowledged; the worst partition."""
    unwritable_median_s: Amount | None
    """The median of these times over all partitions."""
    unwritable_partition: str | None
    """The worst partition, as topic/partition."""
    unwritable_leader_s: Amount | None = None
    """From the begin until the cluster reported this partition's next leader; null if its leader did not change."""
    unreadable_s: Amount | None
    """The longest time in which acknowledged messages of a partition waited and none was delivered; the worst one."""
    unreadable_median_s: Amount | None
    """The median of these times over all partitions."""
    unreadable_partition: str | None
    """The worst partition, as topic/partition."""
    held: Count | None
    """Messages that waited when the partitions became writable again; all partitions."""
    failed: Count | None
    """Messages that failed; their partitions are not known, and they do not count as waiting."""
    worst_message_ms: Number | None
    """Largest response time, up to the next fault, of messages due in the span or on their way when it began."""
    worst_message: str | None
    """This message, as topic/partition and producer:sequence."""
    p99_before_ms: Number | None
    """End-to-end p99 before the fault, as in `recovery`."""
    p99_during_ms: Number | None
    """The same during the fault."""
    p99_after_ms: Number | None
    """The same after the fault."""
    time_to_drain_s: Amount | None
    """From the end of the fault until no more messages were outstanding than before, as in `recovery`."""
    leaders_s: Amount | None
    """From the begin until every partition had its last leader of the span."""
    in_sync_s: Amount | None
    """From the end until all replicas were in sync."""
    promises: list[FaultPromise]
    """Timeouts that limit what the fault did."""
    reasons: Reasons
