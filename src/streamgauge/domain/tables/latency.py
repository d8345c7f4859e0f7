"""The gold tables of latency, and the list of latency metrics."""

from collections.abc import Mapping
from types import MappingProxyType

from streamgauge.domain.latency.percentiles import PERCENTILES, percentile_words
from streamgauge.domain.tables.schema import Schema, Type, may, must
from streamgauge.domain.tables.throughput import SCOPE

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING

DIFFERENCES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ack_response": ("acked_ns", "due_ns"),
        "ack_service": ("acked_ns", "sent_ns"),
        "end_to_end_response": ("received_ns", "due_ns"),
        "end_to_end_service": ("received_ns", "sent_ns"),
        "processing_response": ("processed_ns", "due_ns"),
        "processing_service": ("processed_ns", "sent_ns"),
        "schedule_delay": ("sent_ns", "due_ns"),
    }
)
"""Latency metrics that are the difference of two columns: where each ends, and where it starts."""

METRICS: Mapping[str, str] = MappingProxyType(
    {
        **{name: f"{end} - {start}" for name, (end, start) in DIFFERENCES.items()},
        "throttle": "max(admitted_ns - due_ns, 0)",
        "own_schedule_delay": "sent_ns - max(admitted_ns, due_ns)",
        "poll": "returned_ns - started_ns of a poll",
        "poll_per_record": "returned_ns - started_ns of the poll that delivered a message",
        "batch": "ended_ns - began_ns of a batch",
        "flush_wait": "ended_ns - waited_ns of a batch",
        "since_record_time": "received_ns - recorded_ns",
        "stage_schedule": "sent_ns - due_ns, of messages with every stage known",
        "stage_produce": "source append time - sent_ns, same messages",
        "stage_wait": "batch start - source append time, same messages",
        "stage_process": "sink append time - (batch start, or source append time without batches), same messages",
        "stage_deliver": "received_ns - sink append time, same messages",
        "stage_all": "received_ns - (due_ns, or sent_ns without a schedule), same messages",
    }
)
"""Every latency metric and its formula."""

DELIVERED_PERCENTILES = ("p50", "p95", "p99", "p99_9")
"""Percentiles that are also reported for delivered messages only, to show the effect of the censored ones."""

METRICS_FORMERLY: Mapping[str, str] = MappingProxyType(
    {"schedule_delay": "lateness", "own_schedule_delay": "own_lateness"}
)
"""Metrics that had another name in format 1."""

UNPLACED = frozenset(
    {"schedule_delay", "throttle", "own_schedule_delay", "poll", "poll_per_record", "batch", "flush_wait"}
)
"""Metrics that are not measured by partition."""

LATENCY_BUCKETS = Schema(
    "latency_buckets",
    "Histogram counts: by window (every second of the run) and by partition (measure phase only), never both.",
    (
        must("metric", _STR, "one of the metrics"),
        may("second", _I64, "window; null in rows by partition"),
        may("topic", _I32, "topic; null in rows by window"),
        may("partition", _I32, "partition; null in rows by window"),
        must("measured", _BOOL, "whether the messages belong to the measure phase"),
        must("censored", _BOOL, "true for the ages of messages that were never delivered"),
        must("bucket", _I64, "bucket index, see domain/latency/buckets.py"),
        must("count", _I64, "messages"),
    ),
)

LATENCY = Schema(
    "latency",
    "One latency metric: count, moments and percentiles; scopes measure, window, partition and topic.",
    (
        must("metric", _STR, "one of the metrics"),
        *SCOPE,
        must("selected_by", _STR, "`due`, `sent` or `received`: the time that assigns messages to the scope"),
        must("count", _I64, "messages measured"),
        must("censored", _I64, "messages that never arrived, included in the percentiles"),
        may("min_ms", _F64, "minimum of delivered messages"),
        may("mean_ms", _F64, "mean of delivered messages"),
        may("stddev_ms", _F64, "standard deviation of delivered messages"),
        may("variance_ms2", _F64, "variance of delivered messages, in ms squared"),
        may("mad_ms", _F64, "median absolute deviation from the median, of delivered messages"),
        may("max_ms", _F64, "maximum of delivered messages"),
        *(
            may(f"{name}_ms", _F64, f"{percentile_words(name)}, with messages that never arrived counted at their age")
            for name in PERCENTILES
        ),
        *(
            may(
                f"{name}_hi_ms", _F64, f"{percentile_words(name)}, with messages that never arrived counted as infinite"
            )
            for name in PERCENTILES
        ),
        *(must(f"{name}_censored", _BOOL, f"whether {percentile_words(name)} is an interval") for name in PERCENTILES),
        *(
            may(f"delivered_{name}_ms", _F64, f"{percentile_words(name)} of delivered messages, if some never arrived")
            for name in DELIVERED_PERCENTILES
        ),
        may("reason", _STR, "why there are no values"),
        may("negative", _I64, "metric since_record_time: number of negative values"),
        may("clock", _STR, "metric since_record_time: `append` (the broker's clock), `create` (a producer's), `both`"),
    ),
)

BOUNDS = Schema(
    "bounds",
    "What each latency can have been without the instrument: the ends of its figures; measure phase.",
    (
        must("metric", _STR, "one of the metrics"),
        may("second", _I64, "second in which a step of the load begins; null for the measure phase"),
        must("known", _BOOL, "whether it is known of every message how much the instrument may have added"),
        may("min_ms", _F64, "low end of the minimum; all ends are null where not every message is known"),
        may("mean_ms", _F64, "low end of the mean"),
        may("max_ms", _F64, "low end of the maximum"),
        *(may(f"{name}_ms", _F64, f"low end of {percentile_words(name)}") for name in PERCENTILES),
        *(
            may(f"delivered_{name}_ms", _F64, f"of delivered messages only: low end of {percentile_words(name)}")
            for name in DELIVERED_PERCENTILES
        ),
        may("min_high_ms", _F64, "stages of a pipeline: high end of the minimum; that of others is their value"),
        may("mean_high_ms", _F64, "stages of a pipeline: high end of the mean"),
        may("max_high_ms", _F64, "stages of a pipeline: high end of the maximum"),
        *(
            may(f"{name}_high_ms", _F64, f"stages of a pipeline: high end of {percentile_words(name)}")
            for name in PERCENTILES
        ),
        may("mad_low_ms", _F64, "low end of the median absolute deviation"),
        may("mad_high_ms", _F64, "high end of the median absolute deviation"),
        may("stddev_low_ms", _F64, "low end of the standard deviation"),
        may("stddev_high_ms", _F64, "high end of the standard deviation"),
    ),
)

LATENCY_WIDTHS = Schema(
    "latency_widths",
    "Delivered messages by latency and by how much of it the instrument may have added; measure phase.",
    (
        must("metric", _STR, "one of the metrics"),
        must("bucket", _I64, "bucket index, see domain/latency/buckets.py"),
        may("width_us", _I64, "how much the instrument may have added at most; null where that is not known"),
        must("count", _I64, "messages"),
    ),
)

SAMPLING = Schema(
    "sampling",
    "How far each percentile may be off by chance: 95 % intervals of a moving-block bootstrap; measure phase.",
    (
        must("metric", _STR, "metric name"),
        must("percentile", _STR, "percentile name, like `p99`"),
        may("low_ms", _F64, "low end"),
        may("high_ms", _F64, "high end"),
        must("block_seconds", _I64, "length of a block"),
        may("reason", _STR, "why there is no interval"),
    ),
)

CDF = Schema(
    "cdf",
    "Cumulative distribution (CDF): share of messages delivered within an upper edge; measure phase.",
    (
        must("metric", _STR, "one of the metrics"),
        must("le_ms", _F64, "upper edge"),
        must("share", _F64, "share of all messages of the measure phase, including censored ones"),
    ),
)

PERCENTILE_CURVE = Schema(
    "percentiles",
    "Percentile curve: ten points each time the remaining share halves, up to the last message; measure phase.",
    (
        must("metric", _STR, "one of the metrics"),
        must("percent", _F64, "percentile, 0 to 100"),
        must("value_ms", _F64, "value, with messages that never arrived counted at their age"),
        may("hi_ms", _F64, "value, with messages that never arrived counted as infinite; null for infinite"),
        must("censored", _BOOL, "whether the two values differ"),
    ),
)

HEAT = Schema(
    "heat",
    "Delivered messages by time and latency (heat map); whole run, at most 120 time columns.",
    (
        must("metric", _STR, "one of the metrics"),
        must("from_second", _I64, "start of the cell, in seconds from the start of the measure phase"),
        must("to_second", _I64, "end of the cell"),
        must("above_ms", _F64, "lower edge, exclusive"),
        must("le_ms", _F64, "upper edge, inclusive"),
        must("count", _I64, "messages"),
    ),
)

SCHEDULE_DELAY = Schema(
    "schedule_delay",
    "Schedule delay of each producer; measure phase.",
    (
        may("producer", _I32, "producer; null for all producers together"),
        must("count", _I64, "messages sent on a schedule"),
        *(may(f"{name}_ms", _F64, percentile_words(name)) for name in ("p50", "p99", "p99_9")),
        may("max_ms", _F64, "longest"),
    ),
    formerly="lateness",
)
