"""The gold tables of delivery."""

from collections.abc import Mapping
from types import MappingProxyType

from streamgauge.domain.latency.percentiles import percentile_words
from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.STRING

_COUNTED: Mapping[str, str] = MappingProxyType(
    {
        "sent": "messages handed to the client: reported by their producer, or received; without messages of unknown "
        "fate that were not received",
        "acked": "messages acknowledged",
        "failed": "messages that were rejected or timed out",
        "unsent": "messages due before the load ended and never handed to the client",
        "received": "deliveries to the group, including repeated ones",
        "delivered_once": "acknowledged messages received exactly once",
        "undelivered": "acknowledged messages not received, at or beyond the group's position at the end of the drain",
        "lost": "acknowledged messages that are gone: the group read past their offsets, or the log ends before them",
        "expired": "acknowledged messages not received because retention deleted them first",
        "unknown": "messages whose outcome cannot be determined: acknowledged ones, and those of unknown fate that "
        "were not received",
        "duplicate_consumer": "messages received more than once from the same offset",
        "duplicate_producer": "messages received from several offsets: written more than once",
        "reordered": "messages received after a later one of the same producer and partition",
        "corrupt": "deliveries whose checksum or stamp is damaged",
        "foreign": "deliveries of messages that are not of this run",
        "unrecorded": "messages of this run that were received, but not recorded as sent",
        "unacked_received": "messages that failed or have an unknown fate, but were received",
        "aborted": "messages acknowledged in transactions that were aborted",
        "aborted_received": "messages of aborted transactions that were received",
        "resent": "messages that failed and were sent again, by time of the failure",
        "unread": "messages acknowledged in partitions that consumers are configured not to read; in no other class",
        "fate_unknown": "messages that a producer claimed and did not report before it died; neither acknowledged "
        "nor failed. One without a due time belongs to the measure phase only if it was received",
        "fate_unknown_received": "messages of unknown fate that were received, hence sent; also in `unacked_received`",
        "unaccounted": "claimed sequence numbers without a row of `sent`, surplus rows of one sequence number, and "
        "rows of messages that no producer claimed; scope run only",
        "truncated": "acknowledged messages that the log no longer holds where they were acknowledged, received or "
        "not; null unless the log was read again",
        "vanished": "messages received from offsets that no longer hold them; null unless the log was read again",
        "offset_conflicts": "offsets of several messages; null unless the log was read again",
        "skipped_polls": "polls that passed over lost messages that the log still holds; null unless it was read again",
        "seen_elsewhere": "lost messages that another group received",
        "went_back": "polls that began at or below an offset that the same consumer had received before",
        "committed_unseen": "messages of committed transactions that are lost or undelivered",
        "received_early": "messages received before their producer asked for the commit of their transaction",
    }
)

DELIVERY_COUNTS = tuple(_COUNTED)
"""Names and order of the counts of `delivery`."""

DELIVERY = Schema(
    "delivery",
    "Exact delivery counts of messages; one row per scope (run, measure) and group.",
    (
        must("scope", _STR, "`run` or `measure`"),
        may("group", _I32, "consumer group; null in a run without consumers"),
        *(may(name, _I64, about) for name, about in _COUNTED.items()),
        may("checked", _I64, "received rows whose checksum was verified"),
        must("negative_latencies", _I64, "received rows with a negative end-to-end service time"),
    ),
)

PROBLEMS = Schema(
    "problems",
    "Up to 10,000 messages with a delivery problem, to investigate the counts.",
    (
        must("class", _STR, "delivery class, like `lost`"),
        may("group", _I32, "consumer group number, if the problem concerns one group"),
        may("topic", _I32, "topic number"),
        may("producer", _I32, "producer number, if the stamp has it"),
        may("seq", _I64, "sequence number within the producer"),
        may("partition", _I32, "partition that it was written to or read from"),
        may("offset", _I64, "offset in that partition"),
        may("due_ns", _I64, "scheduled send time"),
        may("error", _STR, "error of the send"),
    ),
)

PROBLEM_COUNTS = Schema(
    "problem_counts",
    "Delivery problems, all of them: one row per class, group, partition and second of the due time, or else of the "
    "send.",
    (
        must("class", _STR, "delivery class, like `lost`"),
        may("group", _I32, "consumer group number, if the problem concerns one group"),
        may("topic", _I32, "topic number"),
        may("partition", _I32, "partition that messages were written to or read from"),
        may("second", _I32, "second from the start of the measure phase; null for polls and foreign messages"),
        must("count", _I64, "messages, deliveries, offsets or polls"),
    ),
)

TRANSACTIONS_BY_OUTCOME = Schema(
    "transactions",
    "Transactions by outcome and by the time they ended; one row per scope (run, measure) and outcome, if "
    "there are any.",
    (
        must("scope", _STR, "`run` or `measure`"),
        must("outcome", _STR, "`committed`, `aborted` or `unknown`"),
        must("count", _I64, "transactions"),
        may("per_second", _F64, "transactions per second"),
        must("messages", _I64, "messages in these transactions"),
        may("mean_messages", _F64, "mean messages per transaction"),
        *(may(f"{name}_ms", _F64, f"{percentile_words(name)} of their duration") for name in ("p50", "p99")),
        may("max_ms", _F64, "longest duration"),
    ),
)

RESENDS_BY_ERROR = Schema(
    "resends",
    "Failed sends that were retried, by time of the failure; one row per scope (run, measure) and error.",
    (
        must("scope", _STR, "`run` or `measure`"),
        may("error", _STR, "the client's error name; null for all errors together"),
        must("count", _I64, "failed sends"),
        must("messages", _I64, "messages concerned"),
    ),
    formerly="attempts",
)

_DELIVERIES: Mapping[str, str] = MappingProxyType(
    {
        "deliveries": "deliveries: offsets that messages were read from",
        "accepted": "deliveries that were acknowledged",
        "rejected": "deliveries whose processing failed, and that were not to come again",
        "released": "deliveries whose processing failed, without those that are rejected",
        "timed_out": "deliveries that were acknowledged when their lock was over",
        "unanswered": "deliveries of which the consumer told nothing: it took too long, or died",
    }
)
REDELIVERY = Schema(
    "redelivery",
    "Messages that are acknowledged one by one, and their deliveries; one row per group, whole run.",
    (
        must("group", _I32, "consumer group number"),
        must("messages", _I64, "messages that were delivered"),
        must("succeeded", _I64, "messages that were acknowledged"),
        must("dead", _I64, "messages that became dead letters"),
        must("dead_after_success", _I64, "dead letters that had been acknowledged, too late"),
        must("archived", _I64, "messages that a share group gave up without a dead letter"),
        must("open", _I64, "messages that were none of these at the end of the run"),
        may("overtaken", _I64, "messages that succeeded after a later one of their producer and partition"),
        *(must(name, _I64, about) for name, about in _DELIVERIES.items()),
        must("reread", _I64, "reads of an offset that had been read before"),
        must("duplicates", _I64, "deliveries that began when the message was processed already"),
        must("early", _I64, "redeliveries before the deadline of the delivery before"),
        may("expected_dead_share", _F64, "share of dead letters that follows from the scenario; null if it tells none"),
        *(
            may(f"{name}_{each}_ms", _F64, f"{'longest' if each == 'max' else percentile_words(each)} {about}")
            for name, about in (
                ("delay", "time from the deadline of a delivery to the start of the next"),
                ("answer", "time from the due time to the confirmed acknowledgement"),
                ("success", "time from the due time to the end of the successful processing"),
            )
            for each in ("p50", "p90", "p99", "max")
        ),
    ),
)

DELIVERIES_BY_NUMBER = Schema(
    "deliveries_by_number",
    "Deliveries by their number, counted from 1 for each message; one row per group and number, whole run.",
    (
        must("group", _I32, "consumer group number"),
        must("number", _I32, "delivery number"),
        *(must(name, _I64, about) for name, about in _DELIVERIES.items()),
        must("dead_letter", _I64, "deliveries after which the message became a dead letter"),
        may("expected", _F64, "deliveries that follow from the scenario; null if it tells none"),
    ),
)
