"""What stands between two topics in the measured path: a job, and the engine that carries it out."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, Tag, WithJsonSchema, model_serializer, model_validator

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.address import is_spark_master
from streamgauge.scenario.model.values import EITHER, MADE, PLAIN, Count, Duration, OneOf, ScenarioPart, Setting

Does = Literal["same", "subset", "changed", "aggregate"]
SAME: Final = "same"
"""Every message comes out as it went in."""
SUBSET: Final = "subset"
"""Some messages come out, each as it went in; the job's oracle says which."""
CHANGED: Final = "changed"
"""Every message comes out, with another content."""
AGGREGATE: Final = "aggregate"
"""What comes out stands for several messages; its stamp is that of the newest of them."""

MICRO_BATCH: Final = "micro-batch"
AVAILABLE_NOW: Final = "available-now"
REAL_TIME: Final = "real-time"
CLIENT: Final = "client"

Between = Annotated[Duration, Field(ge=100 * NS_PER_MS)]


def _named(value: object) -> object:
    """A name alone means the same as the name with nothing below it: every default."""
    if isinstance(value, str):
        return {value: {}}
    if isinstance(value, Mapping) and len(value) == 1:
        return {name: {} if below is None else below for name, below in value.items()}
    return value


class Pass(ScenarioPart):
    """Bytes through."""


class Filter(ScenarioPart):
    """Keeps the lines that contain a text."""

    contains: str = Field(default='" 500 ', min_length=1, max_length=1000)
    """What a value must contain to be kept; when left out, the end of a request and the status 500, as lines of the
    payload `logline` have it."""


class Count_(ScenarioPart):  # noqa: N801 - `Count` is a number here
    """Counts by key in windows of event time, told each time that they change."""

    window: Between = Field(default="10s", validate_default=True)
    """How long a window is, at least 100ms."""
    watermark: Duration = Field(default="5s", validate_default=True)
    """How late a message may be and still be counted."""


class Enrich(ScenarioPart):
    """Joins each message with a table, by its key, and adds what it finds to the value."""

    rows: int = Field(default=1000, ge=1, le=1_000_000, strict=True)
    """Rows of the table: keys `0` up to this number."""


class Dedup(ScenarioPart):
    """Drops messages that came before, by their stamp."""

    watermark: Duration = Field(default="10s", validate_default=True)
    """For how long a message is remembered."""


class LogAlert(ScenarioPart):
    """Access log lines to alerts: the share of errors in a window that is over, where it is too large."""

    window: Between = Field(default="10s", validate_default=True)
    """How long a window is, at least 100ms."""
    watermark: Duration = Field(default="5s", validate_default=True)
    """How late a line may be and still be counted."""
    share: float = Field(default=0.05, ge=0, le=1, allow_inf_nan=False)
    """Share of responses of class 5xx above which a window gives an alert; of the payload `logline` it is a sixth."""


class FeatureStore(ScenarioPart):
    """Aggregates of each key in windows that are over: count, sum and mean of sizes, first and last time."""

    window: Between = Field(default="10s", validate_default=True)
    """How long a window is, at least 100ms."""
    watermark: Duration = Field(default="5s", validate_default=True)
    """How late a message may be and still be counted."""


class Function(ScenarioPart):
    """A function of yours, from a streaming DataFrame to a streaming DataFrame."""

    call: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """Where it is, like `package.module:function`; needs `--trust FOLDER` or `--allow-code`, or `--job`."""
    does: Does = CHANGED
    """What becomes of messages: `same`, all come out as they went in; `subset`, some do; `changed`, all come out with
    another content; `aggregate`, what comes out stands for several."""
    expects: str | None = Field(default=None, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """For a subset, the oracle: a function in plain Python, from key and value to whether the message comes out."""
    output_mode: Literal["append", "update"] = "append"
    """Output mode of the query; in real-time mode it is always update."""


class Chosen(OneOf):
    """One thing out of several, whose names may be no names of Python's."""

    @model_serializer(mode="wrap")
    def _written(self, dump: Any) -> dict[str, Any]:
        fields = type(self).model_fields
        found = {fields[name].alias or name: value for name, value in dump(self).items() if value is not None}
        return {name: {key: each for key, each in below.items() if each is not None} for name, below in found.items()}

    @property
    def name(self) -> str:
        """The name that scenarios give it."""
        field = self.chosen[0]
        return type(self).model_fields[field].alias or field


class PipelineJob(Chosen):
    """What is done with the messages: one job."""

    pass_: Pass | None = Field(default=None, alias="pass")
    """Bytes through."""
    filter: Filter | None = None
    """Keep the lines that contain a text, like `{contains: ERROR}`."""
    count: Count_ | None = None
    """Counts by key in windows, like `{window: 10s, watermark: 5s}`."""
    enrich: Enrich | None = None
    """Join with a table, by key, like `{rows: 1000}`."""
    dedup: Dedup | None = None
    """Drop what came before, by its stamp, like `{watermark: 10s}`."""
    log_alert: LogAlert | None = Field(default=None, alias="log-alert")
    """Access log lines to the share of errors in a window, where it is too large, like `{share: 0.05}`."""
    feature_store: FeatureStore | None = Field(default=None, alias="feature-store")
    """Windowed aggregates of each key, into a table."""
    function: Function | None = None
    """A function of yours, like `{call: "package.module:function", does: changed}`."""

    @property
    def does(self) -> Does:
        """What becomes of messages."""
        return self.function.does if self.function else DOES[self.name]

    @property
    def is_stateful(self) -> bool:
        """Whether it keeps something from one message to another; of a function of the user's that is not known."""
        return self.does == AGGREGATE or self.dedup is not None


DOES: Final[Mapping[str, Does]] = {
    "pass": SAME, "filter": SUBSET, "count": AGGREGATE, "enrich": CHANGED, "dedup": SUBSET, "log-alert": AGGREGATE,
    "feature-store": AGGREGATE,
}  # fmt: skip


class MicroBatch(ScenarioPart):
    """Spark's micro-batches."""

    every: Between | None = None
    """Between the begins of two batches, at least 100ms; each begins when the last is over when left out."""


class AvailableNow(ScenarioPart):
    """Spark's micro-batches over what is there when the load is over, and then the end."""


class RealTime(ScenarioPart):
    """Spark's real-time mode: messages are passed on as they come, and batches only say what is committed."""

    batch: Annotated[Duration, Field(ge=5 * NS_PER_SECOND)] = Field(default="60s", validate_default=True)
    """How long a batch lasts, at least 5s."""


class Client(ScenarioPart):
    """A plain client that reads and sends, without Spark: the yardstick."""


class Engine(Chosen):
    """What carries out the job."""

    micro_batch: MicroBatch | None = Field(default=None, alias="micro-batch")
    """Batch after batch, like `{every: 1s}`; as fast as possible when nothing is said."""
    available_now: AvailableNow | None = Field(default=None, alias="available-now")
    """What there is when the load is over, and then the end."""
    real_time: RealTime | None = Field(default=None, alias="real-time")
    """Message by message, like `{batch: 60s}`."""
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
    """Folder of the table; a relative one lies in the run folder, one elsewhere needs `--allow-code`."""
    queried: Duration | None = Field(default=None, ge=10 * NS_PER_MS)
    """Between two queries of the table while it grows, at least 10ms; it is only read when left out."""


SinkTopic = Annotated[
    str, Field(min_length=1, max_length=249, pattern=r"^[a-zA-Z0-9._-]+$"), AfterValidator(lambda name: name)
]


def _master(value: str) -> str:
    if not is_spark_master(value):
        raise BadValue("no Spark master", "Write one like spark://host:7077, or local-cluster[2,1,1024]")
    return value


class BatchTime(ScenarioPart):
    """As many messages in a batch as it holds in a time that is wanted, found while the query runs."""

    batch: Between
    """How long a batch is to take, at least 100ms."""
    begin: Annotated[Count, Field(ge=1)] = Field(default=1_000, validate_default=True)
    """Messages of a batch, at most, at the begin."""
    least: Annotated[Count, Field(ge=1)] = Field(default=100, validate_default=True)
    """However long a batch takes, it may hold so many."""
    most: Annotated[Count, Field(ge=1)] = Field(default=1_000_000, validate_default=True)
    """However short a batch is, it may not hold more."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.least <= self.begin <= self.most:
            bounds = f"least {self.least:,} and most {self.most:,}"
            raise BadValue(f"begin {self.begin:,} is not between {bounds}", "Write another begin, or other bounds")
        return self


class Pipeline(ScenarioPart):
    """What stands between the topic that is sent to and the one that is read."""

    job: Annotated[
        PipelineJob,
        BeforeValidator(_named),
        WithJsonSchema({"type": ["string", "object"], "examples": ["pass", {"count": {"window": "10s"}}]}),
    ] = Field(default="pass", validate_default=True)
    """What is done with the messages: `pass`, `filter`, `count`, `enrich`, `dedup`, `log-alert`, `feature-store`, each
    alone or with its options below it; or `{function: {call: "package.module:function", does: changed}}`."""
    engine: Annotated[
        Engine,
        BeforeValidator(_named),
        WithJsonSchema({"type": ["string", "object"], "examples": ["micro-batch", {"real-time": {"batch": "60s"}}]}),
    ] = Field(default="micro-batch", validate_default=True)
    """What carries it out: `micro-batch`, as fast as possible, or `{micro-batch: {every: 1s}}`; `available-now`;
    `real-time`, or `{real-time: {batch: 60s}}`; `client`, a plain consumer and producer without Spark."""
    sink: Annotated[Annotated[SinkTopic, Tag(PLAIN)] | Annotated[Table, Tag(MADE)], EITHER] | None = None
    """Topic that it writes to, with as many partitions as the one that it reads; `<topic>-out` when left out. Or a
    table of Parquet files, like `{table: features}`."""
    parallelism: int | None = Field(default=None, ge=1, le=1024, strict=True)
    """Tasks at once, where Spark runs in this machine; as many as it has processors when left out, and in real-time
    mode one for each partition and one more."""
    master: Annotated[str, AfterValidator(_master)] | None = None
    """Spark cluster that carries it out, like `spark://host:7077`, or `local-cluster[2,1,1024]` for one of processes
    in this machine: workers, cores of each, MB of each. Spark runs within one process when left out; a cluster on other
    machines needs `--allow-code`."""
    max_offsets: (
        Annotated[Annotated[Count, Field(ge=1), Tag(PLAIN)] | Annotated[BatchTime, Tag(MADE)], EITHER] | None
    ) = None
    """Messages of a batch, at most: Spark's `maxOffsetsPerTrigger`. Or how long a batch is to take, like
    `{batch: 1s}`: then it is chosen by how long batches take and how far the query is behind."""
    checkpoint: str | None = Field(default=None, min_length=1, max_length=4000)
    """Folder of the checkpoint; in the run folder when left out, and elsewhere only with `--allow-code`."""
    settings: dict[str, Setting] = Field(default={})
    """Settings of Spark by its names, like `spark.sql.shuffle.partitions`; what is no number, size, time or truth may
    need `--allow-code`."""
    restarts: int = Field(default=3, ge=0, le=1000, strict=True)
    """How often it is started again, from its checkpoint, after it was killed."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.master is not None and self.parallelism is not None:
            raise BadValue("a cluster decides how many tasks run at once", "Leave parallelism out, or master")
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
