"""The gold tables of a pipeline in the measured path; `domain.tables.schemas` has them beside the others."""

from collections.abc import Mapping
from types import MappingProxyType

from streamgauge.domain.latency.percentiles import percentile_words
from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING


WATERFALL = Schema(
    "waterfall",
    "Stages of messages on their way through a pipeline; measure phase, first deliveries with every stage known; "
    "one row for each stage, in order, then the total.",
    (
        must("stage", _STR, "one of the metrics `stage_...`; `stage_all` is the total"),
        may("from", _STR, "start edge: `due`, `sent`, `source`, `batch` (its start), `sink`; null: stage absent"),
        must("to", _STR, "end edge: one of these, or `received`"),
        must("count", _I64, "messages with every stage known"),
        may("mean_ms", _F64, "mean; the means of the stages add up to that of the total"),
        may("min_ms", _F64, "minimum; negative if the clocks disagree by more than the stage took"),
        *(may(f"{name}_ms", _F64, percentile_words(name)) for name in ("p50", "p90", "p99")),
        may("max_ms", _F64, "maximum"),
        may("sum_ns", _I64, "exact sum; the sums of the stages add up to that of the total"),
        may("share", _F64, "share of the total time of all stages"),
        may("error_ms", _F64, "error bound of one duration, up or down: brokers and Spark report whole milliseconds"),
        may("null_count", _I64, "messages not counted because an edge of the stage is unknown"),
        may("reason", _STR, "why there is no such stage, or why messages are not counted"),
    ),
)

PIPELINE_DELIVERY = Schema(
    "pipeline_delivery",
    "Additional delivery counts of a pipeline, besides `delivery`; one row per scope (run, measure) and group.",
    (
        must("scope", _STR, "`run` or `measure`"),
        must("group", _I32, "consumer group"),
        may("expected", _I64, "subset: acknowledged messages expected in the output by the oracle, or not known to be"),
        may("dropped", _I64, "subset: acknowledged messages that the pipeline should drop; in no class of `delivery`"),
        may("unexpected", _I64, "subset: of these, messages that were received"),
        may("duplicated_at_source", _I64, "of `duplicate_producer` in `delivery`: twice in the source"),
        may("duplicated_by_pipeline", _I64, "of the same: once in the source"),
    ),
    formerly="through",
)

_STEPS: Mapping[str, str] = MappingProxyType(
    {
        "latest_offset": "fetching log end offsets",
        "get_batch": "describing the data to be read",
        "planning": "query planning",
        "wal_commit": "writing the offsets of the batch to the checkpoint",
        "add_batch": "reading, processing and writing",
        "commit": "committing the batch to the checkpoint",
    }
)

QUERY_BATCHES = Schema(
    "query_batches",
    "Progress of the query in the measured path, batch by batch in order of their start; whole run.",
    (
        must("second", _F64, "start (wall clock in ms), in seconds from the start of the measure phase"),
        must("start", _I32, "number of the query start that it belongs to, from 0"),
        must("batch", _I64, "batch number"),
        must("source", _STR, "`told` by the query while it ran, or read from the `checkpoint` after it died"),
        may("committed", _BOOL, "whether it is known to be committed; null if it read nothing"),
        may("rows", _I64, "messages in the batch"),
        may("offsets", _I64, "offsets of the source that it advanced by, all partitions together"),
        may("since_ms", _F64, "time since the start of the previous batch, within one start of the query"),
        may("duration_ms", _F64, "duration of the batch"),
        *(may(f"{name}_ms", _F64, f"of that: {about}") for name, about in _STEPS.items()),
        may("input_per_second", _F64, "arrival rate at the source in messages per second, as reported by Spark"),
        may("processed_per_second", _F64, "messages / duration of the batch, as reported by Spark"),
        may("committed_lag", _I64, "messages behind the log ends, all partitions together", formerly="behind"),
        may("state_rows", _I64, "rows in the state"),
        may("state_updated", _I64, "rows of the state updated by the batch"),
        may("state_bytes", _I64, "memory used by the state"),
        may("late_rows", _I64, "rows dropped because they arrived after the watermark"),
        may("watermark_behind_ms", _F64, "start of the batch - watermark"),
        may("checkpoint_bytes", _I64, "size of the checkpoint at the time of the report"),
        may("sink_rows", _I64, "rows written, if the sink counts them"),
        may("max_offsets", _I64, "size limit of a batch in messages, when it was done; null for no limit"),
        *(
            may(f"{name}_{figure}_ms", _F64, f"real-time mode, as reported by Spark: {about}, {figure}")
            for name, about, figures in (
                ("processing", "processing time of a message", ("p50", "p99", "max")),
                ("queuing", "time in the source before it was read", ("p50", "p99")),
                ("e2e", "time from the source's append until it is written", ("p50", "p99", "max")),
            )
            for figure in figures
        ),
    ),
)

EXECUTORS_BY_INTERVAL = Schema(
    "executors",
    "Work of each executor of the query between two samples, and over the measure phase.",
    (
        must("scope", _STR, "`interval` or `measure`"),
        may("second", _F64, "end of the interval, in seconds from the start of the measure phase"),
        must("start", _I32, "number of the query start that it belongs to, from 0"),
        must("executor", _STR, "Spark's executor ID, like `0`, or `driver`"),
        must("duration_ns", _I64, "length of the interval"),
        may("tasks", _I64, "finished tasks"),
        may("failed_tasks", _I64, "failed tasks"),
        may("task_ms", _I64, "task time, all cores"),
        may("gc_ms", _I64, "of that: garbage collection"),
        may("gc_share", _F64, "`gc_ms` / `task_ms`"),
        may("busy_cores", _F64, "task time / elapsed time: 1.0 is one core always in tasks"),
        may("cpu_cores", _F64, "CPU time of its process / elapsed time, from the samples around the interval"),
        may("memory_bytes", _I64, "storage memory used at the end; with scope measure the maximum"),
    ),
)

QUERY_LIFE = Schema(
    "query",
    "Events in the life of the query in the measured path.",
    (
        must("second", _F64, "time of the event, in seconds from the start of the measure phase"),
        must("start", _I32, "number of the query start that it belongs to, from 0"),
        must("event", _STR, "`started`, `ready`, `limited`, `ended`, `died` or `failed`", formerly="what"),
        may("detail", _STR, "why it failed, how it ended, or the new size limit of batches"),
        may("starting_s", _F64, "ready: time since it was started"),
        may("down_s", _F64, "ready: time since it died or failed; null if it had not"),
    ),
)

LOOKUPS_BY_SCOPE = Schema(
    "lookups",
    "Lookup queries of the table that a pipeline writes, during the run; one row per scope (run, measure) if "
    "there are any.",
    (
        must("scope", _STR, "`run` or `measure`, by their start"),
        must("count", _I64, "lookups"),
        must("failed", _I64, "failed lookups; in none of the values below"),
        may("error", _STR, "most frequent error"),
        *(may(f"{name}_ms", _F64, f"{percentile_words(name)} of their duration") for name in ("p50", "p99")),
        may("max_ms", _F64, "longest duration"),
        may("rows_max", _I64, "largest number of rows that were visible to one"),
        may("files_max", _I64, "largest number of files that one read"),
        *(
            may(
                f"fresh_{name}_ms",
                _F64,
                f"{percentile_words(name)} of the age of the newest visible message, at the response",
            )
            for name in ("p50", "p99")
        ),
        may("fresh_max_ms", _F64, "maximum of that age"),
    ),
)

PIPELINE = Schema(
    "pipeline",
    "Summary of the pipeline in the measured path; one row, none without a pipeline. Batch values are of batches "
    "with messages that started in the measure phase; with `available-now`, which starts after it, of the whole "
    "run.",
    (
        must("job", _STR, "name of the job, or `function`"),
        must("does", _STR, "`same`, `subset`, `changed` or `aggregate`"),
        must("engine", _STR, "`micro-batch`, `available-now`, `real-time` or `client`"),
        must("sink", _STR, "`topic` or `table`"),
        must("starts", _I64, "number of starts"),
        must("deaths", _I64, "how often it died or failed"),
        may("down_s", _F64, "time from deaths until ready again; null if it never died, or never came back"),
        must("batches", _I64, "batches with messages, or with an unknown number"),
        may("batch_rows_mean", _F64, "mean messages per batch"),
        may("batch_rows_max", _I64, "messages in the largest batch"),
        *(may(f"batch_{name}_ms", _F64, f"{percentile_words(name)} of their duration") for name in ("p50", "p99")),
        may("batch_max_ms", _F64, "longest duration"),
        may("duplicated_at_source", _I64, "as in `pipeline_delivery`: whole run, first group"),
        may("duplicated_by_pipeline", _I64, "likewise"),
        may("unexpected", _I64, "likewise"),
        may("late_rows", _I64, "rows dropped because they arrived after the watermark; whole run"),
        may("state_rows_max", _I64, "maximum rows in the state"),
        may("state_bytes_max", _I64, "maximum memory used by the state"),
        may("checkpoint_bytes_max", _I64, "maximum size of the checkpoint"),
        may(
            "cpu_cores",
            _F64,
            "CPU time of its processes / elapsed time, measure phase: driver, executors and Python, or the client",
        ),
        may("cpu_us_per_message", _F64, "the same per message in batches, each by its share of the measure phase"),
        may("committed", _I64, "committed offsets, all partitions together, at the end of the drain"),
        may("end", _I64, "log end offsets of the source at that time"),
        may("committed_lag", _I64, "`end` - `committed`", formerly="behind"),
    ),
)

QUERY_TABLES = (
    PIPELINE,
    PIPELINE_DELIVERY,
    WATERFALL,
    QUERY_BATCHES,
    QUERY_LIFE,
    EXECUTORS_BY_INTERVAL,
    LOOKUPS_BY_SCOPE,
)
"""All of them."""
