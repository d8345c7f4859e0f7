"""The rows that a run through a pipeline records besides; `domain.events` holds them beside the others."""

from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING

QUERY = Schema(
    "query",
    "Something that happened to the query in the measured path.",
    (
        must("at_ns", _I64, "when it happened"),
        must("start", _I32, "which start of the query it belongs to, from 0"),
        must(
            "event",
            _STR,
            "`started`; `ready`, it reads; `limited`, batches hold more or less from now on; `ended`, as it was told "
            "to; `died`; `failed`, by its own error",
            formerly="what",
        ),
        may("detail", _STR, "why it failed, how it ended, or what batches hold"),
    ),
)

PROGRESS = Schema(
    "progress",
    "What the query said of one batch.",
    (
        must("at_ns", _I64, "when it was told; of what was read from the checkpoint, when that was read"),
        must("start", _I32, "which start of the query it belongs to, from 0"),
        must("batch", _I64, "number of the batch, from the checkpoint; after a restart numbers may come again"),
        must("began_ms", _I64, "wall clock at which the batch began"),
        must("source", _STR, "`told` by the query while it ran, or read from the `checkpoint` after it had died"),
        may("rows", _I64, "messages in it"),
        may("duration_ms", _I64, "how long it took"),
        may("latest_offset_ms", _I64, "of that: asking the cluster for log ends"),
        may("get_batch_ms", _I64, "of that: describing what is to be read"),
        may("planning_ms", _I64, "of that: planning the query"),
        may("wal_commit_ms", _I64, "of that: writing down what the batch will read"),
        may("add_batch_ms", _I64, "of that: reading, computing and writing"),
        may("commit_ms", _I64, "of that: writing down that it is done"),
        may("input_per_second", _F64, "messages that came to the source a second, as Spark says"),
        may("processed_per_second", _F64, "messages of the batch by its duration, as Spark says"),
        may("committed_lag", _I64, "messages behind the log ends, all partitions together", formerly="behind"),
        may("state_rows", _I64, "rows in the state, of all its operators"),
        may("state_updated", _I64, "rows of the state that the batch changed"),
        may("state_bytes", _I64, "memory of the state"),
        may("late_rows", _I64, "rows that came after the watermark and were dropped"),
        may("watermark_ms", _I64, "event time below which rows are late; null without a watermark"),
        may("checkpoint_bytes", _I64, "size of the checkpoint when this was told"),
        may("sink_rows", _I64, "rows that it wrote, where the sink counts them"),
        may("max_offsets", _I64, "messages that a batch may hold, when this was told; null for any number"),
        may("processing_p50_ms", _F64, "real-time mode: processing time of a message, median, as Spark says"),
        may("processing_p99_ms", _F64, "real-time mode: the same, 99th percentile"),
        may("processing_max_ms", _F64, "real-time mode: the same, longest"),
        may("queuing_p50_ms", _F64, "real-time mode: time in the source before it was read, median, as Spark says"),
        may("queuing_p99_ms", _F64, "real-time mode: the same, 99th percentile"),
        may("e2e_p50_ms", _F64, "real-time mode: from the source's append until it is written, median, as Spark says"),
        may("e2e_p99_ms", _F64, "real-time mode: the same, 99th percentile"),
        may("e2e_max_ms", _F64, "real-time mode: the same, longest"),
    ),
)

ADVANCES = Schema(
    "advances",
    "How far one batch of the query went in one partition of the source.",
    (
        must("start", _I32, "which start of the query it belongs to, from 0"),
        must("batch", _I64, "number of the batch"),
        must("began_ms", _I64, "wall clock at which the batch began"),
        must("topic", _I32, "number of the topic in run.json"),
        must("partition", _I32, "number of the partition"),
        must("from_offset", _I64, "first offset of the batch"),
        must("to_offset", _I64, "first offset that is not in the batch"),
        may("latest", _I64, "log end when the batch was planned"),
        must("committed", _BOOL, "whether the batch is known to be done"),
    ),
)

APPENDED = Schema(
    "appended",
    "One message as it stands in the source of a pipeline, read after the drain.",
    (
        must("topic", _I32, "number of the topic in run.json"),
        must("partition", _I32, "partition it stands in"),
        must("offset", _I64, "offset it stands at"),
        may("producer", _I32, "from the stamp; null when the message is foreign"),
        may("seq", _I64, "from the stamp; null when the message is foreign"),
        may("append_ms", _I64, "wall clock of the broker's append; null unless the topic stamps LogAppendTime"),
        may("expected", _BOOL, "whether it is to come out of the pipeline, by the job's oracle; null without one"),
    ),
)

EXECUTORS = Schema(
    "executors",
    "What Spark said of one executor.",
    (
        must("at_ns", _I64, "when it was asked"),
        must("start", _I32, "which start of the query it belongs to, from 0"),
        must("executor", _STR, "Spark's name of the executor, like `0`, or `driver`"),
        may("tasks", _I64, "tasks that it finished so far"),
        may("failed_tasks", _I64, "tasks that failed so far"),
        may("task_ms", _I64, "time in tasks so far, all cores"),
        may("gc_ms", _I64, "of that: time in garbage collection"),
        may("memory_bytes", _I64, "memory used for storage"),
    ),
)

LOOKUPS = Schema(
    "lookups",
    "One query of the table that a pipeline writes, while it grows.",
    (
        must("at_ns", _I64, "when it began"),
        must("took_ns", _I64, "how long it took"),
        must("rows", _I64, "rows of the table that it saw"),
        must("files", _I32, "files of the table that it read"),
        may("newest_ns", _I64, "due time of the newest message whose effect it saw"),
        may("error", _STR, "why it failed"),
    ),
)

QUERY_EVENTS = (QUERY, PROGRESS, ADVANCES, APPENDED, EXECUTORS, LOOKUPS)
"""All of them."""
