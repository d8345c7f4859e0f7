"""The gold tables of a pipeline in the measured path; `domain.tables.schemas` holds them beside the others."""

from collections.abc import Mapping
from types import MappingProxyType

from streamgauge.domain.latency.percentiles import percentile_words
from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING


WATERFALL = Schema(
    "waterfall",
    "Where the time of messages went on their way through a pipeline; measure phase, first deliveries of which every "
    "stage is known; one row for each stage, in order, then all together.",
    (
        must("stage", _STR, "one of the metrics `stage_...`; `stage_all` for all together"),
        may("from", _STR, "edge that it begins at: `due`, `sent`, `source`, `batch` (its begin), `sink`; null: absent"),
        must("to", _STR, "edge that it ends at: one of these, or `received`"),
        must("count", _I64, "messages of which every stage is known"),
        may("mean_ms", _F64, "mean; those of the stages add up to that of all together"),
        may("min_ms", _F64, "shortest; below zero where clocks disagree by more than the stage took"),
        *(may(f"{name}_ms", _F64, percentile_words(name)) for name in ("p50", "p90", "p99")),
        may("max_ms", _F64, "longest"),
        may("sum_ns", _I64, "sum, exact: those of the stages add up to that of all together"),
        may("share", _F64, "share of the time of all stages together"),
        may("error_ms", _F64, "how wrong one duration may be, up or down: brokers and Spark tell whole milliseconds"),
        may("null_count", _I64, "messages that are not counted because an edge of it is not known"),
        may("reason", _STR, "why there is no such stage, or why messages are not counted"),
    ),
)

THROUGH = Schema(
    "through",
    "What a pipeline did to the messages, besides `delivery`; one row per scope (run, measure) and group.",
    (
        must("scope", _STR, "`run` or `measure`"),
        must("group", _I32, "consumer group"),
        may("expected", _I64, "subset: acknowledged messages that were to come out, or of which nobody says"),
        may("dropped", _I64, "subset: acknowledged messages that were not to come out; in no class of `delivery`"),
        may("unexpected", _I64, "subset: of these, messages that came all the same"),
        may("duplicated_at_source", _I64, "of the duplicate_producer of `delivery`: stood twice in the source"),
        may("duplicated_by_pipeline", _I64, "of the same: stood once in the source"),
    ),
)

_STEPS: Mapping[str, str] = MappingProxyType(
    {
        "latest_offset": "asking the cluster for log ends",
        "get_batch": "describing what is to be read",
        "planning": "planning the query",
        "wal_commit": "writing down what the batch will read",
        "add_batch": "reading, computing and writing",
        "commit": "writing down that it is done",
    }
)

QUERY_BATCHES = Schema(
    "query_batches",
    "What the query in the measured path said of each batch, in the order of their begins; the whole run.",
    (
        must("second", _F64, "when it began, in seconds from the start of the measure phase; of a wall clock in ms"),
        must("start", _I32, "which start of the query it belongs to, from 0"),
        must("batch", _I64, "number of the batch"),
        must("source", _STR, "`told` by the query while it ran, or read from the `checkpoint` after it had died"),
        may("committed", _BOOL, "whether it is known to be done; null where it read nothing"),
        may("rows", _I64, "messages in it"),
        may("offsets", _I64, "offsets of the source that it went on by, all partitions together"),
        may("since_ms", _F64, "time since the batch before it began, within one start"),
        may("duration_ms", _F64, "how long it took"),
        *(may(f"{name}_ms", _F64, f"of that: {about}") for name, about in _STEPS.items()),
        may("input_per_second", _F64, "messages that came to the source a second, as Spark says"),
        may("processed_per_second", _F64, "messages of the batch by its duration, as Spark says"),
        may("committed_lag", _I64, "messages behind the log ends, all partitions together", formerly="behind"),
        may("state_rows", _I64, "rows in the state"),
        may("state_updated", _I64, "rows of the state that the batch changed"),
        may("state_bytes", _I64, "memory of the state"),
        may("late_rows", _I64, "rows that came after the watermark and were dropped"),
        may("watermark_behind_ms", _F64, "begin of the batch - watermark"),
        may("checkpoint_bytes", _I64, "size of the checkpoint when this was told"),
        may("sink_rows", _I64, "rows that it wrote, where the sink counts them"),
        may("max_offsets", _I64, "messages that a batch may hold, when it was done; null for any number"),
        *(
            may(f"{name}_{figure}_ms", _F64, f"real-time mode, as Spark says: {about}, {figure}")
            for name, about, figures in (
                ("processing", "processing time of a message", ("p50", "p99", "max")),
                ("queuing", "time in the source before it was read", ("p50", "p99")),
                ("e2e", "from the source's append until it is written", ("p50", "p99", "max")),
            )
            for figure in figures
        ),
    ),
)

EXECUTORS_BY_INTERVAL = Schema(
    "executors",
    "What each executor of the query did between two looks, and over the measure phase.",
    (
        must("scope", _STR, "`interval` or `measure`"),
        may("second", _F64, "end of the interval, in seconds from the start of the measure phase"),
        must("start", _I32, "which start of the query it belongs to, from 0"),
        must("executor", _STR, "Spark's name of the executor, like `0`, or `driver`"),
        must("duration_ns", _I64, "length of the interval"),
        may("tasks", _I64, "tasks that it finished"),
        may("failed_tasks", _I64, "tasks that failed"),
        may("task_ms", _I64, "time in tasks, all cores"),
        may("gc_ms", _I64, "of that: time in garbage collection"),
        may("gc_share", _F64, "gc_ms by task_ms"),
        may("busy_cores", _F64, "time in tasks per time: 1.0 is one core in tasks all the time"),
        may("cpu_cores", _F64, "CPU time of its process per time, from the looks at it around the interval"),
        may("memory_bytes", _I64, "memory used for storage at the end; with scope measure the largest"),
    ),
)

QUERY_LIFE = Schema(
    "query",
    "What happened to the query in the measured path.",
    (
        must("second", _F64, "when, in seconds from the start of the measure phase"),
        must("start", _I32, "which start of the query it belongs to, from 0"),
        must("event", _STR, "`started`, `ready`, `limited`, `ended`, `died` or `failed`", formerly="what"),
        may("detail", _STR, "why it failed, how it ended, or what batches hold"),
        may("starting_s", _F64, "ready: since it was started"),
        may("down_s", _F64, "ready: since it died or failed; null where it had not"),
    ),
)

LOOKUPS_BY_SCOPE = Schema(
    "lookups",
    "Queries of the table that a pipeline writes, while it grows; one row per scope (run, measure) if there are any.",
    (
        must("scope", _STR, "`run` or `measure`, by when they began"),
        must("count", _I64, "queries"),
        must("failed", _I64, "queries that failed; they count in no figure below"),
        may("error", _STR, "the most frequent error"),
        *(may(f"{name}_ms", _F64, f"{percentile_words(name)} of how long they took") for name in ("p50", "p99")),
        may("max_ms", _F64, "longest"),
        may("rows_max", _I64, "most rows of the table that one saw"),
        may("files_max", _I64, "most files that one read"),
        *(
            may(
                f"fresh_{name}_ms",
                _F64,
                f"{percentile_words(name)} of the age, at the answer, of the newest message seen",
            )
            for name in ("p50", "p99")
        ),
        may("fresh_max_ms", _F64, "oldest answer"),
    ),
)

PIPELINE = Schema(
    "pipeline",
    "The pipeline in the measured path, in one row; none without one. Figures of batches are those of batches with "
    "messages that began in the measure phase; with `available-now`, which begins after it, of the whole run.",
    (
        must("job", _STR, "its name, or `function`"),
        must("does", _STR, "`same`, `subset`, `changed` or `aggregate`"),
        must("engine", _STR, "`micro-batch`, `available-now`, `real-time` or `client`"),
        must("sink", _STR, "`topic` or `table`"),
        must("starts", _I64, "how often it was started"),
        must("deaths", _I64, "how often it died or failed"),
        may("down_s", _F64, "time from deaths to ready again; null where it never died, or never came back"),
        must("batches", _I64, "batches with messages, or of which that is not known"),
        may("batch_rows_mean", _F64, "messages in one of them"),
        may("batch_rows_max", _I64, "messages in the largest"),
        *(may(f"batch_{name}_ms", _F64, f"{percentile_words(name)} of how long they took") for name in ("p50", "p99")),
        may("batch_max_ms", _F64, "longest"),
        may("duplicated_at_source", _I64, "as in `through`: whole run, first group"),
        may("duplicated_by_pipeline", _I64, "the same"),
        may("unexpected", _I64, "the same"),
        may("late_rows", _I64, "rows dropped because they came after the watermark; whole run"),
        may("state_rows_max", _I64, "most rows in the state"),
        may("state_bytes_max", _I64, "most memory of the state"),
        may("checkpoint_bytes_max", _I64, "largest checkpoint"),
        may(
            "cpu_cores",
            _F64,
            "CPU time of its processes per time, measure phase: driver, executors and Python, or the client",
        ),
        may(
            "cpu_us_per_message",
            _F64,
            "the same by message in batches, each counted by the share of its time that lies in the measure phase",
        ),
        may("committed", _I64, "offsets that it committed, all partitions together, at the end of the drain"),
        may("end", _I64, "log ends of the source then"),
        may("committed_lag", _I64, "end - committed", formerly="behind"),
    ),
)

QUERY_TABLES = (PIPELINE, THROUGH, WATERFALL, QUERY_BATCHES, QUERY_LIFE, EXECUTORS_BY_INTERVAL, LOOKUPS_BY_SCOPE)
"""All of them."""
