"""What a job may give back, and where it goes.

For a topic: `value` (binary or string), and where they are wanted `key` (binary or string), `partition` (int),
`headers` (array of struct(key string, value binary)), `stamp` (binary). Columns of the input that are still there
(`topic`, `offset`, `timestamp`) are left out; others are refused. For a table: any columns, and `stamp`.

Every output tells where it comes from: messages that come out as they went in by themselves; what has another content
or stands for several by `stamp`, which becomes the header `streamgauge`, or by the `headers` that it came with.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import DataType

from streamgauge.domain import stamp
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import WorkerError
from streamgauge.domain.query import QuerySpec
from streamgauge.jobs.driver.security import kafka_options
from streamgauge.jobs.schema import HEADERS, STAMP, stamp_of
from streamgauge.jobs.shipped.catalogue import output_mode
from streamgauge.scenario.model.jobs import SAME, SUBSET
from streamgauge.scenario.model.pipeline import AVAILABLE_NOW, REAL_TIME

_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    HEADERS: ("array<struct<key:string,value:binary>>",),
    "partition": ("int",),
    STAMP: ("binary",),
}
_LEFT_OUT: Final = ("topic", "offset", "timestamp")
"""Columns of the input that say nothing about the output."""


def started(made: DataFrame, spec: QuerySpec) -> StreamingQuery:
    """The query that writes what the job made; raises WorkerError for wrong columns."""
    written = for_table(made, spec) if spec.table is not None else for_topic(made, spec)
    writer = written.writeStream.queryName(spec.name).outputMode(output_mode(spec))
    writer = writer.option("checkpointLocation", spec.checkpoint)
    if spec.table is not None:
        writer = writer.format("parquet").option("path", spec.table)
    else:
        writer = writer.format("kafka").options(**kafka_options(spec.connection)).option("topic", str(spec.sink))
    return triggered(writer, spec).start()


def triggered(writer: DataStreamWriter, spec: QuerySpec) -> DataStreamWriter:
    """The writer with the trigger of the engine."""
    interval = None if spec.interval_ns is None else f"{spec.interval_ns // NS_PER_MS} milliseconds"
    if spec.engine == AVAILABLE_NOW:
        return writer.trigger(availableNow=True)
    if spec.engine == REAL_TIME:
        # The types of PySpark 4.2 do not know it yet.
        return cast("DataStreamWriter", cast("Any", writer).trigger(realTime=interval))
    return writer.trigger(processingTime=interval) if interval else writer


def for_topic(made: DataFrame, spec: QuerySpec) -> DataFrame:
    """The columns of Spark's Kafka sink; raises WorkerError for wrong ones."""
    _refuse(spec, [*_wrong_types(made), *_wrong_names(made), *_without_origin(made, spec)])
    columns = [name for name in ("key", "value", HEADERS, "partition") if name in made.columns]
    if spec.does in (SAME, SUBSET) or STAMP not in made.columns:
        return made.select(columns)
    ours = F.array(F.struct(F.lit(stamp.HEADER_KEY).alias("key"), F.col(STAMP).alias("value")))
    if HEADERS in columns:
        others = F.filter(HEADERS, lambda header: header["key"] != stamp.HEADER_KEY)
        whole = F.when(F.col(STAMP).isNull(), F.col(HEADERS)).otherwise(F.concat(F.coalesce(others, F.array()), ours))
    else:
        whole = F.when(F.col(STAMP).isNotNull(), ours)
    return made.select(*[name for name in columns if name != HEADERS], whole.alias(HEADERS))


def for_table(made: DataFrame, spec: QuerySpec) -> DataFrame:
    """The columns of the table, a stamp among them; raises WorkerError where there is none and none can be told."""
    if STAMP in made.columns:
        _refuse(spec, [wrong for wrong in _wrong_types(made) if wrong.startswith(f"`{STAMP}`")])
        return made
    carrier = HEADERS if spec.in_headers else "value"
    if carrier not in made.columns or (spec.does not in (SAME, SUBSET) and not spec.in_headers):
        _refuse(spec, [f"`{STAMP}` is missing: it identifies the message of a row"])
    return made.withColumn(STAMP, stamp_of(in_headers=spec.in_headers))


def _wrong_types(made: DataFrame) -> Iterator[str]:
    for field in made.schema.fields:
        allowed = _TYPES.get(field.name)
        if allowed and _simple(field.dataType) not in allowed:
            yield f"`{field.name}` is {_simple(field.dataType)}, expected {' or '.join(allowed)}"


def _wrong_names(made: DataFrame) -> Iterator[str]:
    if "value" not in made.columns:
        yield "`value` is missing"
    unknown = [name for name in made.columns if name not in _TYPES and name not in _LEFT_OUT]
    if unknown:
        yield f"{', '.join(f'`{name}`' for name in unknown)} cannot be written to a topic: put it into `value`"


def _without_origin(made: DataFrame, spec: QuerySpec) -> Iterator[str]:
    carrier = HEADERS if spec.in_headers else "value"
    if spec.does in (SAME, SUBSET):
        if carrier not in made.columns and carrier != "value":
            yield f"`{carrier}` is missing: it identifies the message of an output"
    elif STAMP not in made.columns and not (spec.in_headers and HEADERS in made.columns):
        yield f"`{STAMP}` is missing: it identifies the message of an output"


def _refuse(spec: QuerySpec, faults: list[str]) -> None:
    if faults:
        name = spec.options.get("call", spec.job)
        raise WorkerError(f"{name}: wrong columns: {'; '.join(faults)}")


def _simple(data_type: DataType) -> str:
    return data_type.simpleString()
