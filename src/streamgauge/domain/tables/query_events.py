"""Additional event schemas of a run with a pipeline; `domain.events` has them beside the others."""

from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING

QUERY = Schema(
    "query",
    "One event in the life of the query in the measured path.",
    (
        must("at_ns", _I64, "time of the event"),
        must("start", _I32, "number of the query start that it belongs to, from 0"),
        must(
            "event",
            _STR,
            "`started`; `ready`, it reads; `limited`, the size limit of batches changes; `ended`, as requested; "
            "`died`; `failed`, by its own error",
            formerly="what",
        ),
        may("detail", _STR, "why it failed, how it ended, or the new size limit"),
    ),
)

PROGRESS = Schema(
    "progress",
    "The query's progress report of one batch.",
    (
        must("at_ns", _I64, "time of the report; for rows from the checkpoint, time it was read"),
        must("start", _I32, "number of the query start that it belongs to, from 0"),
        must("batch", _I64, "batch number, from the checkpoint; numbers may repeat after a restart"),
        must("began_ms", _I64, "wall-clock start of the batch"),
        must("source", _STR, "`told` by the query while it ran, or read from the `checkpoint` after it died"),
        may("rows", _I64, "messages in the batch"),
        may("duration_ms", _I64, "duration of the batch"),
        may("latest_offset_ms", _I64, "of that: fetching log end offsets"),
        may("get_batch_ms", _I64, "of that: describing the data to be read"),
        may("planning_ms", _I64, "of that: query planning"),
        may("wal_commit_ms", _I64, "of that: writing the offsets of the batch to the checkpoint"),
        may("add_batch_ms", _I64, "of that: reading, processing and writing"),
        may("commit_ms", _I64, "of that: committing the batch to the checkpoint"),
        may("input_per_second", _F64, "arrival rate at the source in messages per second, as reported by Spark"),
        may("processed_per_second", _F64, "messages / duration of the batch, as reported by Spark"),
        may("committed_lag", _I64, "messages behind the log ends, all partitions together", formerly="behind"),
        may("state_rows", _I64, "rows in the state of all operators"),
        may("state_updated", _I64, "rows of the state updated by the batch"),
        may("state_bytes", _I64, "memory used by the state"),
        may("late_rows", _I64, "rows dropped because they arrived after the watermark"),
        may("watermark_ms", _I64, "watermark: event time below which rows are late; null without a watermark"),
        may("checkpoint_bytes", _I64, "size of the checkpoint at the time of the report"),
        may("sink_rows", _I64, "rows written, if the sink counts them"),
        may("max_offsets", _I64, "size limit of a batch in messages, at the time of the report; null for no limit"),
        may("processing_p50_ms", _F64, "real-time mode: median processing time of a message, as reported by Spark"),
        may("processing_p99_ms", _F64, "real-time mode: the same, 99th percentile"),
        may("processing_max_ms", _F64, "real-time mode: the same, maximum"),
        may("queuing_p50_ms", _F64, "real-time mode: median time in the source, as reported by Spark"),
        may("queuing_p99_ms", _F64, "real-time mode: the same, 99th percentile"),
        may(
            "e2e_p50_ms",
            _F64,
            "real-time mode: median time from append to the source until written, as reported by Spark",
        ),
        may("e2e_p99_ms", _F64, "real-time mode: the same, 99th percentile"),
        may("e2e_max_ms", _F64, "real-time mode: the same, maximum"),
    ),
)

ADVANCES = Schema(
    "advances",
    "Offset range of one batch of the query in one partition of the source.",
    (
        must("start", _I32, "number of the query start that it belongs to, from 0"),
        must("batch", _I64, "batch number"),
        must("began_ms", _I64, "wall-clock start of the batch"),
        must("topic", _I32, "topic number in run.json"),
        must("partition", _I32, "partition number"),
        must("from_offset", _I64, "first offset of the batch"),
        must("to_offset", _I64, "first offset after the batch"),
        may("latest", _I64, "log end offset when the batch was planned"),
        must("committed", _BOOL, "whether the batch is known to be committed"),
    ),
)

APPENDED = Schema(
    "appended",
    "One message in the log of a topic that is sent to, as it was read again after the drain.",
    (
        must("topic", _I32, "topic number in run.json"),
        must("partition", _I32, "partition of the message"),
        must("offset", _I64, "offset of the message"),
        may("producer", _I32, "producer number from the stamp; null for a foreign message"),
        may("seq", _I64, "sequence number from the stamp; null for a foreign message"),
        may("append_ms", _I64, "wall-clock time of the broker's append; null unless the topic uses LogAppendTime"),
        may("expected", _BOOL, "whether the job's oracle expects it in the output; null without an oracle"),
    ),
)

EXECUTORS = Schema(
    "executors",
    "One sample of Spark's metrics of one executor.",
    (
        must("at_ns", _I64, "time of the request"),
        must("start", _I32, "number of the query start that it belongs to, from 0"),
        must("executor", _STR, "Spark's executor ID, like `0`, or `driver`"),
        may("tasks", _I64, "cumulative finished tasks"),
        may("failed_tasks", _I64, "cumulative failed tasks"),
        may("task_ms", _I64, "cumulative task time, all cores"),
        may("gc_ms", _I64, "of that: garbage collection"),
        may("memory_bytes", _I64, "storage memory used"),
    ),
)

LOOKUPS = Schema(
    "lookups",
    "One lookup query of the table that a pipeline writes, during the run.",
    (
        must("at_ns", _I64, "start of the lookup"),
        must("took_ns", _I64, "duration"),
        must("rows", _I64, "rows of the table that were visible to it"),
        must("files", _I32, "files of the table that it read"),
        may("newest_ns", _I64, "due time of the newest message visible to it"),
        may("error", _STR, "why it failed"),
    ),
)

QUERY_EVENTS = (QUERY, PROGRESS, ADVANCES, APPENDED, EXECUTORS, LOOKUPS)
"""All of them."""
