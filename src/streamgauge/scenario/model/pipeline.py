"""The pipeline under test: a job and its engine."""

from typing import Annotated, Final, Self

from pydantic import AfterValidator, BeforeValidator, Field, Tag, WithJsonSchema, model_validator

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.address import is_spark_master
from streamgauge.scenario.model.jobs import Chosen, Period, PipelineJob, named_alone
from streamgauge.scenario.model.values import EITHER, MADE, PLAIN, Count, Duration, ScenarioPart, Setting

MICRO_BATCH: Final = "micro-batch"
AVAILABLE_NOW: Final = "available-now"
REAL_TIME: Final = "real-time"
CLIENT: Final = "client"


class MicroBatch(ScenarioPart):
    """Spark's micro-batches."""

    every: Period | None = None
    """Trigger interval, at least 100ms; as fast as possible by default."""


class AvailableNow(ScenarioPart):
    """Spark's available-now trigger, started after the load: processes what is there, then ends."""


class RealTime(ScenarioPart):
    """Spark's real-time mode: messages are passed on one by one, and batches are only units of commit."""

    batch: Annotated[Duration, Field(ge=5 * NS_PER_SECOND)] = Field(default="60s", validate_default=True)
    """Duration of a batch, at least 5s."""


class Client(ScenarioPart):
    """A plain consumer and producer without Spark: the baseline."""


class Engine(Chosen):
    """The engine of the job."""

    micro_batch: MicroBatch | None = Field(default=None, alias="micro-batch")
    """Micro-batches, like `{every: 1s}`; as fast as possible by default."""
    available_now: AvailableNow | None = Field(default=None, alias="available-now")
    """The available-now trigger, started after the load."""
    real_time: RealTime | None = Field(default=None, alias="real-time")
    """Real-time mode, like `{batch: 60s}`."""
    client: Client | None = None
    """A plain client without Spark."""

    @property
    def interval_ns(self) -> int | None:
        """Between the begins of two batches; None for as fast as possible."""
        if self.real_time:
            return self.real_time.batch
        return self.micro_batch.every if self.micro_batch else None


class Table(ScenarioPart):
    """A table of Parquet files as the sink."""

    table: str = Field(min_length=1, max_length=4000)
    """Folder of the table; relative to the run folder; a folder elsewhere needs `--allow-code`."""
    queried: Duration | None = Field(default=None, ge=10 * NS_PER_MS)
    """Interval of queries of the growing table, at least 10ms; no queries by default."""


SinkTopic = Annotated[
    str, Field(min_length=1, max_length=249, pattern=r"^[a-zA-Z0-9._-]+$"), AfterValidator(lambda name: name)
]


def _master(value: str) -> str:
    if not is_spark_master(value):
        raise BadValue("not a Spark master", "Write one like spark://host:7077, or local-cluster[2,1,1024]")
    return value


class BatchTime(ScenarioPart):
    """A batch limit that is adjusted to a target duration while the query runs."""

    batch: Period
    """Target duration of a batch, at least 100ms."""
    begin: Annotated[Count, Field(ge=1)] = Field(default=1_000, validate_default=True)
    """Initial limit of messages in a batch."""
    least: Annotated[Count, Field(ge=1)] = Field(default=100, validate_default=True)
    """Lower bound of the limit."""
    most: Annotated[Count, Field(ge=1)] = Field(default=1_000_000, validate_default=True)
    """Upper bound of the limit."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.least <= self.begin <= self.most:
            bounds = f"least {self.least:,} and most {self.most:,}"
            raise BadValue(f"begin {self.begin:,} is not between {bounds}", "Write another begin, or other bounds")
        return self


_MostOffsets = Annotated[Annotated[Count, Field(ge=1), Tag(PLAIN)] | Annotated[BatchTime, Tag(MADE)], EITHER]


class Pipeline(ScenarioPart):
    """The pipeline under test, between the topic of the producers and that of the consumers."""

    job: Annotated[
        PipelineJob,
        BeforeValidator(named_alone),
        WithJsonSchema({"type": ["string", "object"], "examples": ["pass", {"count": {"window": "10s"}}]}),
    ] = Field(default="pass", validate_default=True)
    """The job: `pass`, `filter`, `count`, `enrich`, `dedup`, `log-alert`, `feature-store`, each
    alone or with options; or `{function: {call: "package.module:function", does: changed}}`."""
    engine: Annotated[
        Engine,
        BeforeValidator(named_alone),
        WithJsonSchema({"type": ["string", "object"], "examples": ["micro-batch", {"real-time": {"batch": "60s"}}]}),
    ] = Field(default="micro-batch", validate_default=True)
    """The engine: `micro-batch`, as fast as possible, or `{micro-batch: {every: 1s}}`; `available-now`;
    `real-time`, or `{real-time: {batch: 60s}}`; `client`, a plain consumer and producer without Spark."""
    sink: Annotated[Annotated[SinkTopic, Tag(PLAIN)] | Annotated[Table, Tag(MADE)], EITHER] | None = None
    """Topic to write to, with as many partitions as the source; `<topic>-out` by default. Or a
    table of Parquet files, like `{table: features}`."""
    parallelism: int | None = Field(default=None, ge=1, le=1024, strict=True)
    """Task slots if Spark runs on this machine; by default one for each core, and in real-time
    mode one for each partition plus one."""
    master: Annotated[str, AfterValidator(_master)] | None = None
    """Spark master, like `spark://host:7077`, or `local-cluster[2,1,1024]` for a cluster of processes
    on this machine: workers, cores of each, MB of each. By default Spark runs in one process; a cluster on other
    machines needs `--allow-code`."""
    max_offsets: _MostOffsets | None = None
    """Limit of messages in a batch: Spark's `maxOffsetsPerTrigger`. Or a target duration of batches, like
    `{batch: 1s}`: the limit is then adjusted to the duration of batches and the lag of the query."""
    checkpoint: str | None = Field(default=None, min_length=1, max_length=4000)
    """Folder of the checkpoint; in the run folder by default, elsewhere only with `--allow-code`."""
    settings: dict[str, Setting] = Field(default={})
    """Spark settings, like `spark.sql.shuffle.partitions`; values other than numbers, sizes, times and booleans may
    need `--allow-code`."""
    restarts: int = Field(default=3, ge=0, le=1000, strict=True)
    """How often it is restarted from its checkpoint after it was killed."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.master is not None and self.parallelism is not None:
            raise BadValue("the cluster determines the parallelism", "Leave parallelism out, or master")
        return self

    @property
    def batch_time(self) -> BatchTime | None:
        """What `max_offsets` is chosen by while the query runs; None where it stays as it is."""
        return self.max_offsets if isinstance(self.max_offsets, BatchTime) else None

    @property
    def first_limit(self) -> int | None:
        """Messages of a batch, at most, at the begin; None for any number."""
        return self.max_offsets.begin if isinstance(self.max_offsets, BatchTime) else self.max_offsets

    @property
    def table(self) -> Table | None:
        """The table that it writes; None for a topic."""
        return self.sink if isinstance(self.sink, Table) else None
