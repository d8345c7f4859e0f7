"""The gold tables of what became of messages."""

from collections.abc import Mapping
from types import MappingProxyType

from streamgauge.domain.latency.percentiles import percentile_words
from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.STRING

_COUNTED: Mapping[str, str] = MappingProxyType(
    {
        "sent": "messages handed to the client, as far as anybody knows: reported by their producer, or received; not "
        "those of unknown fate that were not received",
        "acked": "messages acknowledged",
        "failed": "messages refused or timed out",
        "unsent": "messages due before the load ended and never handed to the client",
        "received": "deliveries to the group, every one counted",
        "delivered_once": "acknowledged messages received exactly once",
        "undelivered": "acknowledged messages not received, beyond where the group had read when the drain ended",
        "lost": "acknowledged messages gone: the group read past their offsets, or the log ends before them",
        "expired": "acknowledged messages not received, deleted by retention before",
        "unknown": "messages whose fate cannot be decided: acknowledged ones, and those of unknown fate that were not "
        "received",
        "duplicate_consumer": "messages received more than once from the same offset",
        "duplicate_producer": "messages received from several offsets: written more than once",
        "reordered": "messages received after a later one of the same producer and partition",
        "corrupt": "deliveries whose checksum or stamp is damaged",
        "foreign": "deliveries of messages that are not of this run",
        "unrecorded": "messages of this run received, and not recorded as sent",
        "unacked_received": "messages that failed, or whose fate is unknown, and that were received all the same",
        "aborted": "messages acknowledged in transactions that were aborted",
        "aborted_received": "messages of aborted transactions that were received all the same",
        "resent": "messages that failed and were sent again, by when they failed",
        "unread": "messages acknowledged in partitions that consumers are told not to read; in no other class",
        "fate_unknown": "messages that a producer took up and could not report before it died; neither acknowledged "
        "nor failed. One without a due time belongs to the measure phase only if it was received",
        "fate_unknown_received": "messages of unknown fate that were received, and so were sent; in "
        "`unacked_received`, too",
        "unaccounted": "sequences that a producer took up and that have no row of `sent`, rows too many of one "
        "sequence, and rows of messages that nobody took up; scope run only",
    }
)

DELIVERY_COUNTS = tuple(_COUNTED)
"""Names and order of the counts of `delivery`."""

DELIVERY = Schema(
    "delivery",
    "What became of the messages, exactly; one row per scope (run, measure) and group.",
    (
        must("scope", _STR, "`run` or `measure`"),
        may("group", _I32, "consumer group; null when nobody consumes"),
        *(may(name, _I64, about) for name, about in _COUNTED.items()),
        may("checked", _I64, "received rows whose checksum was verified"),
        must("negative_latencies", _I64, "received rows whose end-to-end service time is below zero"),
    ),
)

PROBLEMS = Schema(
    "problems",
    "Up to 10,000 messages that are not simply delivered once, so that a count can be looked into.",
    (
        must("class", _STR, "class of delivery, like `lost`"),
        may("group", _I32, "number of the consumer group, where it is a matter of one"),
        may("topic", _I32, "number of the topic"),
        may("producer", _I32, "number of the producer, where the stamp tells it"),
        may("seq", _I64, "sequence within the producer"),
        may("partition", _I32, "partition that it was written to or read from"),
        may("offset", _I64, "offset in there"),
        may("due_ns", _I64, "when it was due"),
        may("error", _STR, "error of the send"),
    ),
)

TRANSACTIONS_BY_OUTCOME = Schema(
    "transactions",
    "How transactions ended, by when they did; one row per scope (run, measure) and outcome where there are any.",
    (
        must("scope", _STR, "`run` or `measure`"),
        must("outcome", _STR, "`committed`, `aborted` or `unknown`"),
        must("count", _I64, "transactions"),
        may("per_second", _F64, "transactions a second"),
        must("messages", _I64, "messages in them"),
        may("mean_messages", _F64, "messages in one of them"),
        *(may(f"{name}_ms", _F64, f"{percentile_words(name)} of how long they took") for name in ("p50", "p99")),
        may("max_ms", _F64, "longest"),
    ),
)

RESENDS_BY_ERROR = Schema(
    "resends",
    "Sends that failed and were made again, by when they failed; one row per scope (run, measure) and error.",
    (
        must("scope", _STR, "`run` or `measure`"),
        may("error", _STR, "the client's name of the error; null for all together"),
        must("count", _I64, "sends that failed"),
        must("messages", _I64, "messages that they were of"),
    ),
    formerly="attempts",
)
