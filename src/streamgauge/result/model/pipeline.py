"""The pipeline under test, and the time messages spend in each of its stages."""

from typing import Literal

from pydantic import Field

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section


class PipelineStage(Section):
    """One stage of the way through the pipeline."""

    stage: str
    """One of the metrics `stage_...`; `stage_all` is the total."""
    from_: str | None = Field(alias="from")
    """Starting edge: `due`, `sent`, `source`, `batch` (its start), `sink`; null if the stage is absent."""
    to: str
    """Final edge: one of these, or `received`."""
    count: Count
    """Messages with every stage known."""
    mean_ms: Number | None
    """Mean; the means of the stages add up to that of the total."""
    min_ms: Number | None
    """Minimum; negative if the clocks disagree by more than the stage took."""
    p50_ms: Number | None
    """Median."""
    p90_ms: Number | None
    """90th percentile."""
    p99_ms: Number | None
    """99th percentile."""
    max_ms: Number | None
    """Maximum."""
    share: Number | None
    """Share of the total time of all stages."""
    error_ms: Amount | None
    """Error bound of one duration, up or down: brokers and Spark report whole milliseconds."""
    null_count: Count | None
    """Messages not counted because an edge of the stage is unknown."""
    reason: str | None
    """Why there is no such stage, or why messages are not counted."""


class PipelineGroup(Section):
    """Additional delivery counts of a pipeline, for one consumer group."""

    group: str
    """Name of the consumer group."""
    expected: Count | None
    """Subset: acknowledged messages that the oracle expects in the output, or for which it is unknown."""
    dropped: Count | None
    """Subset: acknowledged messages that the pipeline should drop; in no class of `delivery`."""
    unexpected: Count | None
    """Subset: of these, messages that were received."""
    duplicated_at_source: Count | None
    """Of `duplicate_producer` in `delivery`: messages that were in the source twice."""
    duplicated_by_pipeline: Count | None
    """Of the same: messages that were in the source once."""
    reasons: Reasons


class PipelineEvent(Section):
    """One event in the life of the query."""

    second: Number
    """Time of the event, in seconds from the start of the measure phase."""
    start: Count
    """Number of the query start that it belongs to, from 0."""
    event: Literal["started", "ready", "ended", "died", "failed"]
    """`started`, `ready`, `ended`, `died` or `failed`."""
    detail: str | None
    """Why it failed, or how it ended."""
    starting_s: Amount | None
    """Ready: time since it was started."""
    down_s: Amount | None
    """Ready: time since it died or failed; null if it had not."""


class PipelineExecutor(Section):
    """Work of one executor."""

    start: Count
    """Number of the query start that it belongs to, from 0."""
    executor: str
    """Spark's executor ID, like `0`, or `driver`."""
    tasks: Count | None
    """Finished tasks."""
    failed_tasks: Count | None
    """Failed tasks."""
    task_ms: Count | None
    """Task time, all cores."""
    gc_ms: Count | None
    """Of that: garbage collection."""
    gc_share: Amount | None
    """`gc_ms` / `task_ms`."""
    busy_cores: Amount | None
    """Task time / elapsed time: 1.0 is one core always in tasks."""
    cpu_cores: Amount | None
    """CPU time of its process / elapsed time, from the samples around the measure phase."""
    memory_bytes: Count | None
    """Maximum storage memory used."""


class PipelineLookups(Section):
    """Lookup queries of the table during the run."""

    count: Count
    """Lookups."""
    failed: Count
    """Failed lookups; in none of the values below."""
    error: str | None
    """Most frequent error."""
    p50_ms: Number | None
    """Median duration."""
    p99_ms: Number | None
    """99th percentile of the duration."""
    max_ms: Number | None
    """Longest duration."""
    rows_max: Count | None
    """Largest number of rows that were visible to one."""
    files_max: Count | None
    """Largest number of files that one read."""
    fresh_p50_ms: Number | None
    """Median age of the newest visible message, at the response."""
    fresh_p99_ms: Number | None
    """99th percentile of that age."""
    fresh_max_ms: Number | None
    """Maximum of that age."""


class PipelineSection(Section):
    """The pipeline between the topic that producers write to and the topic that consumers read."""

    job: str
    """Name of the job, or `function`."""
    does: Literal["same", "subset", "changed", "aggregate"]
    """`same`, `subset`, `changed` or `aggregate`."""
    engine: Literal["micro-batch", "available-now", "real-time", "client"]
    """`micro-batch`, `available-now`, `real-time` or `client`."""
    sink: Literal["topic", "table"]
    """`topic` or `table`."""
    starts: Count
    """Number of starts."""
    deaths: Count
    """How often it died or failed."""
    down_s: Amount | None
    """Time from deaths until ready again; null if it never died, or never came back."""
    batches: Count
    """Batches with messages, or with an unknown number."""
    batch_rows_mean: Amount | None
    """Mean messages per batch."""
    batch_rows_max: Count | None
    """Messages in the largest batch."""
    batch_p50_ms: Amount | None
    """Median duration of a batch."""
    batch_p99_ms: Amount | None
    """99th percentile of the duration."""
    batch_max_ms: Amount | None
    """Longest duration."""
    duplicated_at_source: Count | None
    """As in `pipeline_delivery`: whole run, first group."""
    duplicated_by_pipeline: Count | None
    """Likewise."""
    unexpected: Count | None
    """Likewise."""
    late_rows: Count | None
    """Rows dropped because they arrived after the watermark; whole run."""
    state_rows_max: Count | None
    """Maximum rows in the state."""
    state_bytes_max: Count | None
    """Maximum memory used by the state."""
    checkpoint_bytes_max: Count | None
    """Maximum size of the checkpoint."""
    cpu_cores: Amount | None
    """CPU time of its processes / elapsed time, measure phase: driver and executors; of a client the query's own."""
    cpu_us_per_message: Amount | None
    """CPU time per message in batches; a batch counts by the share of its time within the measure phase."""
    committed: Count | None
    """Committed offsets, all partitions together, at the end of the drain."""
    end: Count | None
    """Log end offsets of the source at that time."""
    committed_lag: Count | None
    """`end` - `committed`."""
    groups: list[PipelineGroup]
    """Additional delivery counts of each consumer group, besides `delivery`; whole run."""
    stages: list[PipelineStage]
    """Time of messages in each stage, and in total."""
    events: list[PipelineEvent]
    """Events in the life of the query, in order of time."""
    executors: list[PipelineExecutor]
    """Work of each executor in the measure phase."""
    lookups: PipelineLookups | None
    """Lookup queries of the table during the run; null without lookups."""
    reasons: Reasons
