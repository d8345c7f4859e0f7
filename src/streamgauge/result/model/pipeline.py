"""A pipeline under test: what it did, and where the time of messages went."""

from typing import Literal

from pydantic import Field

from streamgauge.result.model.base import Amount, Count, Number, Reasons, Section


class PipelineStage(Section):
    """One stage of the way through the pipeline."""

    stage: str
    """One of the metrics `stage_...`; `stage_all` for all together."""
    from_: str | None = Field(alias="from")
    """Edge that it begins at: `due`, `sent`, `source`, `batch` (its begin), `sink`; null: absent."""
    to: str
    """Edge that it ends at: one of these, or `received`."""
    count: Count
    """Messages of which every stage is known."""
    mean_ms: Number | None
    """Mean; those of the stages add up to that of all together."""
    min_ms: Number | None
    """Shortest; below zero where clocks disagree by more than the stage took."""
    p50_ms: Number | None
    """Percentile 50."""
    p90_ms: Number | None
    """Percentile 90."""
    p99_ms: Number | None
    """Percentile 99."""
    max_ms: Number | None
    """Longest."""
    share: Number | None
    """Share of the time of all stages together."""
    error_ms: Amount | None
    """How wrong one duration may be, up or down: brokers and Spark tell whole milliseconds."""
    null_count: Count | None
    """Messages that are not counted because an edge of it is not known."""
    reason: str | None
    """Why there is no such stage, or why messages are not counted."""


class PipelineGroup(Section):
    """What became of the messages of a pipeline, for one group of consumers."""

    group: str
    """Name of the consumer group."""
    expected: Count | None
    """Subset: acknowledged messages that were to come out, or of which nobody says."""
    dropped: Count | None
    """Subset: acknowledged messages that were not to come out; in no class of `delivery`."""
    unexpected: Count | None
    """Subset: of these, messages that came all the same."""
    duplicated_at_source: Count | None
    """Of the duplicate_producer of `delivery`: stood twice in the source."""
    duplicated_by_pipeline: Count | None
    """Of the same: stood once in the source."""
    reasons: Reasons


class PipelineEvent(Section):
    """Something that happened to the query."""

    second: Number
    """When, in seconds from the start of the measure phase."""
    start: Count
    """Which start of the query it belongs to, from 0."""
    event: Literal["started", "ready", "ended", "died", "failed"]
    """`started`, `ready`, `ended`, `died` or `failed`."""
    detail: str | None
    """Why it failed, or how it ended."""
    starting_s: Amount | None
    """Ready: since it was started."""
    down_s: Amount | None
    """Ready: since it died or failed; null where it had not."""


class PipelineExecutor(Section):
    """What one executor did."""

    start: Count
    """Which start of the query it belongs to, from 0."""
    executor: str
    """Spark's name of the executor, like `0`, or `driver`."""
    tasks: Count | None
    """Tasks that it finished."""
    failed_tasks: Count | None
    """Tasks that failed."""
    task_ms: Count | None
    """Time in tasks, all cores."""
    gc_ms: Count | None
    """Of that: time in garbage collection."""
    gc_share: Amount | None
    """Gc_ms by task_ms."""
    busy_cores: Amount | None
    """Time in tasks per time: 1.0 is one core in tasks all the time."""
    cpu_cores: Amount | None
    """CPU time of its process per time, from the looks at it around the interval."""
    memory_bytes: Count | None
    """Memory used for storage at the end; with scope measure the largest."""


class PipelineLookups(Section):
    """Queries of a table while it grew."""

    count: Count
    """Queries."""
    failed: Count
    """Queries that failed; they count in no figure below."""
    error: str | None
    """The most frequent error."""
    p50_ms: Number | None
    """Percentile 50 of how long they took."""
    p99_ms: Number | None
    """Percentile 99 of how long they took."""
    max_ms: Number | None
    """Longest."""
    rows_max: Count | None
    """Most rows of the table that one saw."""
    files_max: Count | None
    """Most files that one read."""
    fresh_p50_ms: Number | None
    """Percentile 50 of the age, at the answer, of the newest message seen."""
    fresh_p99_ms: Number | None
    """Percentile 99 of the age, at the answer, of the newest message seen."""
    fresh_max_ms: Number | None
    """Oldest answer."""


class PipelineSection(Section):
    """What stood between the topic that is sent to and the one that is read."""

    job: str
    """Its name, or `function`."""
    does: Literal["same", "subset", "changed", "aggregate"]
    """`same`, `subset`, `changed` or `aggregate`."""
    engine: Literal["micro-batch", "available-now", "real-time", "client"]
    """`micro-batch`, `available-now`, `real-time` or `client`."""
    sink: Literal["topic", "table"]
    """`topic` or `table`."""
    starts: Count
    """How often it was started."""
    deaths: Count
    """How often it died or failed."""
    down_s: Amount | None
    """Time from deaths to ready again; null where it never died, or never came back."""
    batches: Count
    """Batches with messages, or of which that is not known."""
    batch_rows_mean: Amount | None
    """Messages in one of them."""
    batch_rows_max: Count | None
    """Messages in the largest."""
    batch_p50_ms: Amount | None
    """Percentile 50 of how long they took."""
    batch_p99_ms: Amount | None
    """Percentile 99 of how long they took."""
    batch_max_ms: Amount | None
    """Longest."""
    duplicated_at_source: Count | None
    """As in `through`: whole run, first group."""
    duplicated_by_pipeline: Count | None
    """The same."""
    unexpected: Count | None
    """The same."""
    late_rows: Count | None
    """Rows dropped because they came after the watermark; whole run."""
    state_rows_max: Count | None
    """Most rows in the state."""
    state_bytes_max: Count | None
    """Most memory of the state."""
    checkpoint_bytes_max: Count | None
    """Largest checkpoint."""
    cpu_cores: Amount | None
    """CPU time of its processes per time, measure phase: driver and executors; of a client the query's own."""
    cpu_us_per_message: Amount | None
    """The same by message in batches, each counted by the share of its time that lies in the measure phase."""
    committed: Count | None
    """Offsets that it committed, all partitions together, at the end of the drain."""
    end: Count | None
    """Log ends of the source then."""
    committed_lag: Count | None
    """End - committed."""
    groups: list[PipelineGroup]
    """What came of messages beside `delivery`, for each group of consumers, over the whole run."""
    stages: list[PipelineStage]
    """Where the time of messages went, stage by stage, and all together."""
    events: list[PipelineEvent]
    """What happened to the query, in the order of its times."""
    executors: list[PipelineExecutor]
    """What each executor did in the measure phase."""
    lookups: PipelineLookups | None
    """Queries of the table while it grew; null where nobody asked."""
    reasons: Reasons
