"""The gold tables of rates, polls and processing."""

from streamgauge.domain.latency.percentiles import PERCENTILES, percentile_words
from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.STRING

SCOPE = (
    must("scope", _STR, "`run`, `measure`, `window`, `partition`, `topic`, `group` or `step`"),
    may("second", _I64, "window, or first full second of a step, counted from the start of the measure phase"),
    may("topic", _I32, "topic; with scopes partition and topic"),
    may("partition", _I32, "partition; with scope partition"),
)

_FLOW = (
    must("due", _I64, "messages due by the schedule; 0 without a schedule"),
    must("sent", _I64, "messages handed to the client; see `sent` of `delivery`"),
    must("acked", _I64, "messages acknowledged"),
    must("failed", _I64, "messages that failed or timed out, by the time that was reported"),
    must("unsent", _I64, "messages due and never sent, by due time"),
    must("received", _I64, "deliveries, including repeated ones"),
)

THROUGHPUT = Schema(
    "throughput",
    "Messages that passed each stage; each count by the time of its own event.",
    (
        *SCOPE,
        may("group", _I32, "consumer group; with scope group, where counts of sent messages are those of all messages"),
        may("duration_ns", _I64, "time covered by the row"),
        *_FLOW,
        must("processed", _I64, "messages processed; equal to received without processing"),
        must("sent_bytes", _I64, "value bytes of the messages sent"),
        must("received_bytes", _I64, "value bytes of the messages received"),
        may("outstanding", _I64, "scope window: messages sent and not processed at its end, as in table `outstanding`"),
        may("first_sent_ms", _F64, "scope partition: first send of a delivered message, from the start of the phase"),
        may(
            "last_received_ms", _F64, "scope partition: last receipt of a message of the measure phase, from its start"
        ),
    ),
)

STEPS = Schema(
    "steps",
    "Each step of a load whose rate changes and is not repeated, by its full seconds; measure phase.",
    (
        must("step", _I32, "step number, from 1"),
        must("from_second", _I64, "first second, counted from the start of the measure phase"),
        must("to_second", _I64, "second in which the next step begins"),
        must("from_per_second", _F64, "target rate at its start"),
        must("to_per_second", _F64, "target rate at its end"),
        must("duration_ns", _I64, "time covered by the row"),
        *_FLOW,
        may("arrived", _I64, "messages that each group received, at least, each once; null where none is to get all"),
        *(
            may(f"{kind}_{name}_ms", _F64, f"{kind} time, {about}; end-to-end, or of acks without consumers")
            for kind in ("response", "service")
            for name, about in (*((name, percentile_words(name)) for name in PERCENTILES), ("max", "longest"))
        ),
    ),
)

MOST_TOPICS = 32
"""Of more topics than these there is no throughput by second."""

TOPIC_THROUGHPUT = Schema(
    "topics",
    f"Messages of each topic by second; whole run. Empty with one topic, and with more than {MOST_TOPICS}.",
    (
        must("second", _I64, "window, counted from the start of the measure phase"),
        must("topic", _I32, "topic number in run.json"),
        must("duration_ns", _I64, "time covered by the row"),
        *(each for each in _FLOW if each.name not in {"due", "unsent"}),
        must("sent_bytes", _I64, "value bytes of the messages sent"),
        must("received_bytes", _I64, "value bytes of the messages received"),
    ),
)

MOST_WORKERS = 64
"""Of more producers and consumers than these there is no throughput by second."""

WORKER_THROUGHPUT = Schema(
    "workers",
    f"Messages of each producer and consumer by second; whole run. Empty with more than {MOST_WORKERS} of them.",
    (
        must("second", _I64, "window, counted from the start of the measure phase"),
        must("role", _STR, "`producer` or `consumer`"),
        must("number", _I32, "producer or consumer number"),
        must("duration_ns", _I64, "time covered by the row"),
        must("messages", _I64, "producers: messages handed to the client; consumers: deliveries, with repeated ones"),
        must("bytes", _I64, "value bytes of these messages"),
    ),
)

POLLS_BY_CONSUMER = Schema(
    "polls",
    "Polls of each consumer; measure phase.",
    (
        must("consumer", _I32, "consumer number"),
        must("polls", _I64, "polls that returned in the measure phase"),
        must("empty", _I64, "polls that returned no messages"),
        must("messages", _I64, "messages returned"),
        may("mean_messages", _F64, "mean messages per non-empty poll"),
        may("in_poll_share", _F64, "share of the time spent in poll"),
        may("longest_gap_ms", _F64, "longest time from the return of a poll to the start of the next"),
    ),
)

_PROCESSING_FIGURES = (("mean", "mean"), ("p50", percentile_words("p50")), ("p99", percentile_words("p99")))

PROCESSING = Schema(
    "processing",
    "Processing of messages, by the time it ended; measure phase. Empty without processing.",
    (
        may("consumer", _I32, "consumer number; null for all consumers together"),
        may("phase", _I32, "which of the consecutive delays applied, from 0; null for all together"),
        must("processed", _I64, "messages processed"),
        must("unprocessed", _I64, "messages received and never processed: dropped, or buffered at the end of the run"),
        *(may(f"{name}_ms", _F64, f"{about} of processed_ns - started_ns") for name, about in _PROCESSING_FIGURES),
        may("max_ms", _F64, "longest"),
        may("target_ms", _F64, "configured mean; null for a function", formerly="asked_ms"),
        may("target_stddev_ms", _F64, "configured standard deviation", formerly="asked_stddev_ms"),
        may("busy_share", _F64, "time spent processing / total time of all slots"),
    ),
)
