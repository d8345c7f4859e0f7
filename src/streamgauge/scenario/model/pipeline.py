"""The pipeline under test: a job and its engine."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, Tag, WithJsonSchema, model_serializer, model_validator

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.address import is_spark_master
from streamgauge.scenario.model.values import EITHER, MADE, PLAIN, Count, Duration, OneOf, ScenarioPart, Setting

Does = Literal["same", "subset", "changed", "aggregate"]
SAME: Final = "same"
"""Outputs every message unchanged."""
SUBSET: Final = "subset"
"""Outputs some messages unchanged; the job's predicate selects them."""
CHANGED: Final = "changed"
"""Outputs every message with changed content."""
AGGREGATE: Final = "aggregate"
"""An output row aggregates several messages; its stamp is that of the newest."""

MICRO_BATCH: Final = "micro-batch"
AVAILABLE_NOW: Final = "available-now"
REAL_TIME: Final = "real-time"
CLIENT: Final = "client"

Period = Annotated[Duration, Field(ge=100 * NS_PER_MS)]


def _named(value: object) -> object:
    """A name alone means the same as the name with nothing below it: every default."""
    if isinstance(value, str):
        return {value: {}}
    if isinstance(value, Mapping) and len(value) == 1:
        return {name: {} if below is None else below for name, below in value.items()}
    return value


class Pass(ScenarioPart):
    """Passes messages on unchanged."""


class Filter(ScenarioPart):
    """Keeps the values that contain a text."""

    contains: str = Field(default='" 500 ', min_length=1, max_length=1000)
    """Text to search for; by default the end of a request and the status 500, as in lines of the
    payload `logline`."""


class Count_(ScenarioPart):  # noqa: N801 - `Count` is a number here
    """Counts by key in windows of event time, output at every change."""

    window: Period = Field(default="10s", validate_default=True)
    """Duration of a window, at least 100ms."""
    watermark: Duration = Field(default="5s", validate_default=True)
    """Watermark delay: how late a message may be and still be counted."""


class Enrich(ScenarioPart):
    """Joins each message with a static table by key, and appends the match to the value."""

    rows: int = Field(default=1000, ge=1, le=1_000_000, strict=True)
    """Rows of the table: keys from `0` below this number."""


class Dedup(ScenarioPart):
    """Drops duplicates by their stamp."""

    watermark: Duration = Field(default="10s", validate_default=True)
    """Watermark delay: how long a message is remembered."""


class LogAlert(ScenarioPart):
    """Alerts from access log lines: the share of errors in a closed window, if it is too high."""

    window: Period = Field(default="10s", validate_default=True)
    """Duration of a window, at least 100ms."""
    watermark: Duration = Field(default="5s", validate_default=True)
    """Watermark delay: how late a line may be and still be counted."""
    share: float = Field(default=0.05, ge=0, le=1, allow_inf_nan=False)
    """Share of 5xx responses above which a window raises an alert; it is a sixth in the payload `logline`."""


class FeatureStore(ScenarioPart):
    """Aggregates by key of closed windows: count, sum and mean of sizes, first and last time."""

    window: Period = Field(default="10s", validate_default=True)
    """Duration of a window, at least 100ms."""
    watermark: Duration = Field(default="5s", validate_default=True)
    """Watermark delay: how late a message may be and still be counted."""


class Function(ScenarioPart):
    """Your function, from a streaming DataFrame to a streaming DataFrame."""

    call: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """Its name, like `package.module:function`; needs `--trust FOLDER` or `--allow-code`, or `--job`."""
    does: Does = CHANGED
    """Effect on messages: `same`, outputs all unchanged; `subset`, outputs some unchanged; `changed`, outputs all with
    changed content; `aggregate`, an output row aggregates several."""
    expects: str | None = Field(default=None, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """For a subset: a Python predicate on key and value that selects the messages to expect."""
    output_mode: Literal["append", "update"] = "append"
    """Output mode of the query; in real-time mode it is always update."""


class Chosen(OneOf):
    """Exactly one of several keys, whose names may be invalid in Python."""

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
    """The job: one of these."""

    pass_: Pass | None = Field(default=None, alias="pass")
    """Passes messages on unchanged."""
    filter: Filter | None = None
    """Keep the values that contain a text, like `{contains: ERROR}`."""
    count: Count_ | None = None
    """Counts by key in windows, like `{window: 10s, watermark: 5s}`."""
    enrich: Enrich | None = None
    """Join with a static table by key, like `{rows: 1000}`."""
    dedup: Dedup | None = None
    """Drop duplicates by their stamp, like `{watermark: 10s}`."""
    log_alert: LogAlert | None = Field(default=None, alias="log-alert")
    """Alerts on the share of errors in access log lines, like `{share: 0.05}`."""
    feature_store: FeatureStore | None = Field(default=None, alias="feature-store")
    """Windowed aggregates by key, written to a table."""
    function: Function | None = None
    """Your function, like `{call: "package.module:function", does: changed}`."""

    @property
    def does(self) -> Does:
        """The effect on messages."""
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


class Pipeline(ScenarioPart):
    """The pipeline under test, between the topic of the producers and that of the consumers."""

    job: Annotated[
        PipelineJob,
        BeforeValidator(_named),
        WithJsonSchema({"type": ["string", "object"], "examples": ["pass", {"count": {"window": "10s"}}]}),
    ] = Field(default="pass", validate_default=True)
    """The job: `pass`, `filter`, `count`, `enrich`, `dedup`, `log-alert`, `feature-store`, each
    alone or with options; or `{function: {call: "package.module:function", does: changed}}`."""
    engine: Annotated[
        Engine,
        BeforeValidator(_named),
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
    max_offsets: (
        Annotated[Annotated[Count, Field(ge=1), Tag(PLAIN)] | Annotated[BatchTime, Tag(MADE)], EITHER] | None
    ) = None
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
