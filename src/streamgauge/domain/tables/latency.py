"""The gold tables of latencies, and which latencies there are."""

from collections.abc import Mapping
from types import MappingProxyType

from streamgauge.domain.latency.percentiles import PERCENTILES, percentile_words
from streamgauge.domain.tables.schema import Schema, Type, may, must
from streamgauge.domain.tables.throughput import SCOPE

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING

METRICS: Mapping[str, str] = MappingProxyType(
    {
        "ack_response": "acked_ns - due_ns",
        "ack_service": "acked_ns - sent_ns",
        "end_to_end_response": "received_ns - due_ns",
        "end_to_end_service": "received_ns - sent_ns",
        "processing_response": "processed_ns - due_ns",
        "processing_service": "processed_ns - sent_ns",
        "schedule_delay": "sent_ns - due_ns",
        "throttle": "admitted_ns - due_ns, 0 where it was let go before it was due",
        "own_schedule_delay": "sent_ns - admitted_ns, or - due_ns where that is later",
        "poll": "returned_ns - started_ns of one poll",
        "batch": "ended_ns - began_ns of one batch",
        "flush_wait": "ended_ns - waited_ns of one batch",
        "since_record_time": "received_ns - recorded_ns",
        "stage_schedule": "sent_ns - due_ns, of messages of which every stage is known",
        "stage_produce": "appended to the source - sent_ns, of the same messages",
        "stage_wait": "begin of the batch - appended to the source, of the same messages",
        "stage_process": "appended to the sink - begin of the batch, or - appended to the source where there is none",
        "stage_deliver": "received_ns - appended to the sink, of the same messages",
        "stage_all": "received_ns - due_ns, or - sent_ns without a schedule, of the same messages",
    }
)
"""Every latency that is measured, and the difference that it is."""

DELIVERED_PERCENTILES = ("p50", "p95", "p99", "p99_9")
"""Percentiles that are also told of the delivered messages alone: how good a run looks when the others vanish."""

METRICS_FORMERLY: Mapping[str, str] = MappingProxyType(
    {"schedule_delay": "lateness", "own_schedule_delay": "own_lateness"}
)
"""Metrics that had another name in format 1."""

UNPLACED = frozenset({"schedule_delay", "throttle", "own_schedule_delay", "poll", "batch", "flush_wait"})
"""Metrics that are not of messages in partitions."""

LATENCY_BUCKETS = Schema(
    "latency_buckets",
    "Histogram counts: by window (every second of the run) and by partition (measure phase only), never both.",
    (
        must("metric", _STR, "one of the metrics"),
        may("second", _I64, "window; null in the rows by partition"),
        may("topic", _I32, "topic; null in the rows by window"),
        may("partition", _I32, "partition; null in the rows by window"),
        must("measured", _BOOL, "whether the messages belong to the measure phase"),
        must("censored", _BOOL, "true for ages of messages that were never delivered"),
        must("bucket", _I64, "bucket index, see domain/latency/buckets.py"),
        must("count", _I64, "messages"),
    ),
)

LATENCY = Schema(
    "latency",
    "One latency: count, moments and percentiles; scopes measure, window and partition.",
    (
        must("metric", _STR, "one of the metrics"),
        *SCOPE,
        must("selected_by", _STR, "`due`, `sent`, `received`: the time by which messages belong to the scope"),
        must("count", _I64, "messages measured"),
        must("censored", _I64, "messages that never came, counted in the percentiles"),
        may("min_ms", _F64, "shortest of the messages delivered"),
        may("mean_ms", _F64, "mean of the messages delivered"),
        may("stddev_ms", _F64, "standard deviation of the messages delivered"),
        may("variance_ms2", _F64, "variance of the messages delivered, in ms squared"),
        may("mad_ms", _F64, "median of the absolute deviations from the median, messages delivered"),
        may("max_ms", _F64, "longest of the messages delivered"),
        *(
            may(f"{name}_ms", _F64, f"{percentile_words(name)}, messages that never came at their age")
            for name in PERCENTILES
        ),
        *(
            may(f"{name}_hi_ms", _F64, f"{percentile_words(name)}, messages that never came as infinite")
            for name in PERCENTILES
        ),
        *(must(f"{name}_censored", _BOOL, f"whether {percentile_words(name)} is an interval") for name in PERCENTILES),
        *(
            may(
                f"delivered_{name}_ms",
                _F64,
                f"{percentile_words(name)} of the messages delivered alone, where some never came",
            )
            for name in DELIVERED_PERCENTILES
        ),
        may("reason", _STR, "why there is nothing to measure"),
        may("negative", _I64, "metric since_record_time: how many are below zero"),
        may(
            "clock", _STR, "metric since_record_time: `append` (the broker's clock), `create` (its producer's), `both`"
        ),
    ),
)

BOUNDS = Schema(
    "bounds",
    "What each latency can have been without the instrument: the low ends of its figures; measure phase.",
    (
        must("metric", _STR, "one of the metrics"),
        must("known", _BOOL, "whether it is known of every message how much the instrument may have added"),
        may("min_ms", _F64, "low end of the minimum; all low ends are null where not every message is known"),
        may("mean_ms", _F64, "low end of the mean"),
        may("max_ms", _F64, "low end of the maximum"),
        *(may(f"{name}_ms", _F64, f"low end of {percentile_words(name)}") for name in PERCENTILES),
        may(
            "rms_width_ms",
            _F64,
            "root mean square of what may have been added: the standard deviation is off by no more",
        ),
    ),
)

CDF = Schema(
    "cdf",
    "Share of messages delivered within an edge; measure phase.",
    (
        must("metric", _STR, "one of the metrics"),
        must("le_ms", _F64, "upper edge"),
        must("share", _F64, "share of all messages of the measure phase, censored ones included"),
    ),
)

PERCENTILE_CURVE = Schema(
    "percentiles",
    "The percentile curve: ten points while the share beyond halves, up to the last message; measure phase.",
    (
        must("metric", _STR, "one of the metrics"),
        must("percent", _F64, "percentile, 0 to 100"),
        must("value_ms", _F64, "its value, messages that never came counted at their age"),
        may("hi_ms", _F64, "its value, messages that never came counted as infinite; null for infinite"),
        must("censored", _BOOL, "whether the two differ"),
    ),
)

HEAT = Schema(
    "heat",
    "Delivered messages by the time of the run and the time they took; whole run, in at most 120 columns of time.",
    (
        must("metric", _STR, "one of the metrics"),
        must("from_second", _I64, "begin of the cell, in seconds from the start of the measure phase"),
        must("to_second", _I64, "end of the cell"),
        must("above_ms", _F64, "messages that took longer than this"),
        must("le_ms", _F64, "and at most this"),
        must("count", _I64, "messages"),
    ),
)

SCHEDULE_DELAY = Schema(
    "schedule_delay",
    "How late each producer sent what its schedule wanted; measure phase.",
    (
        may("producer", _I32, "producer; null for all together"),
        must("count", _I64, "messages sent on a schedule"),
        *(may(f"{name}_ms", _F64, percentile_words(name)) for name in ("p50", "p99", "p99_9")),
        may("max_ms", _F64, "longest"),
    ),
    formerly="lateness",
)
