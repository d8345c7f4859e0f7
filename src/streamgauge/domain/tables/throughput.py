"""The gold tables of rates, of polls and of processing."""

from streamgauge.domain.latency.percentiles import percentile_words
from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.STRING

SCOPE = (
    must("scope", _STR, "`run`, `measure`, `window`, `partition`, `topic` or `group`"),
    may("second", _I64, "window, counted from the start of the measure phase"),
    may("topic", _I32, "topic; with scopes partition and topic"),
    may("partition", _I32, "partition; with scope partition"),
)

THROUGHPUT = Schema(
    "throughput",
    "How many messages passed each stage; each count by the clock of its own event.",
    (
        *SCOPE,
        may("group", _I32, "consumer group; with scope group, whose sending side is that of all messages"),
        may("duration_ns", _I64, "length of what the row covers"),
        must("due", _I64, "messages that the schedule wanted; 0 without a schedule"),
        must("sent", _I64, "messages handed to the client, as far as anybody knows; see `sent` of `delivery`"),
        must("acked", _I64, "messages acknowledged"),
        must("failed", _I64, "messages that failed or timed out, by when that became known"),
        must("unsent", _I64, "messages due and never sent, by due time"),
        must("received", _I64, "messages received, every delivery counted"),
        must("processed", _I64, "messages processed; equal to received where there is no processing"),
        must("sent_bytes", _I64, "bytes of value of the messages sent"),
        must("received_bytes", _I64, "bytes of value of the messages received"),
        may("outstanding", _I64, "scope window: sent, not aborted, minus processed at its end, since the start"),
    ),
)

POLLS_BY_CONSUMER = Schema(
    "polls",
    "How each consumer polled; measure phase.",
    (
        must("consumer", _I32, "number of the consumer"),
        must("polls", _I64, "polls that returned in the measure phase"),
        must("empty", _I64, "polls that returned nothing"),
        must("messages", _I64, "messages they returned"),
        may("mean_messages", _F64, "messages per poll that returned any"),
        may("in_poll_share", _F64, "share of the time spent inside poll"),
        may("longest_gap_ms", _F64, "longest time between the return of a poll and the start of the next"),
    ),
)

_PROCESSING_FIGURES = (("mean", "mean"), ("p50", percentile_words("p50")), ("p99", percentile_words("p99")))

PROCESSING = Schema(
    "processing",
    "How consumers processed, by when they were done; measure phase. None where consumers do no processing.",
    (
        may("consumer", _I32, "number of the consumer; null for all together"),
        may("phase", _I32, "which of the delays that follow each other, from 0; null for all together"),
        must("processed", _I64, "messages processed"),
        must("unprocessed", _I64, "messages received and never processed: dropped, or buffered at the end of the run"),
        *(may(f"{name}_ms", _F64, f"{about} of processed_ns - started_ns") for name, about in _PROCESSING_FIGURES),
        may("max_ms", _F64, "longest"),
        may("target_ms", _F64, "configured mean; null for a function", formerly="asked_ms"),
        may("target_stddev_ms", _F64, "configured standard deviation", formerly="asked_stddev_ms"),
        may("busy_share", _F64, "time spent processing, by the time that there was in all slots"),
    ),
)
