"""The gold tables of an experiment, from the results and histograms of its runs: no event is read again.

Percentiles of several runs are never averaged: the histograms of their messages are added, and percentiles taken of the
sum.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.arrow import arrow_schema
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.buckets import SUB_BITS
from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord
from streamgauge.experiments.tables import EXPERIMENT_TABLES
from streamgauge.pipeline.many.histograms import pooled_counts
from streamgauge.pipeline.many.views import RUN, NamedRun
from streamgauge.pipeline.spark.session import first_line
from streamgauge.scenario.comparing import flat, setting_text
from streamgauge.verdict.trust.parts import is_nothing_believed

_FIGURES: Final = pa.schema(
    [(RUN, pa.string()), ("metric", pa.string())]
    + [(name, pa.float64()) for name in ("value", "low", "high")]
    + [("trust", pa.string())]
)
"""What is read of each figure of a result.json."""
_USED: Final = ("resources", "wire")
"""Sections of a result.json that say what a run used; no check judges their figures."""
_NOT_BELIEVED: Final = "not_believed"
_KEYS: Final = ("experiment", "variant")
_WANTED: Final = pa.schema(
    [("variant", pa.string()), ("metric", pa.string()), ("rank", pa.int32()), ("pool", pa.int32())]
)
"""Percentiles, and of which pool they are taken."""
_PERCENTILE: Final = r"^latency\.(.+)\.(response|service)\.(.+)_ms$"
"""The path of a percentile, with the name of its latency in `latency_buckets`."""


@dataclass(frozen=True, slots=True)
class _Tables:
    """The gold tables as Spark frames."""

    runs: DataFrame
    metrics: DataFrame
    variants: DataFrame
    pairs: DataFrame


def write_gold(spark: SparkSession, folder: ExperimentFolder, record: ExperimentRecord) -> None:
    """Write the gold tables of an experiment below `tables/`; raises AnalysisError where they cannot be written."""
    paths = list(dict.fromkeys(path for each in record.variants for path in each.settings))
    try:
        found = _tables(spark, folder, record, paths)
        frames = {"runs": found.runs, "metrics": found.metrics, "variants": found.variants, "pairs": found.pairs}
        tables = {name: _arrow(frame, name, [] if name == "pairs" else paths) for name, frame in frames.items()}
    except (PySparkException, Py4JError) as error:
        raise AnalysisError(f"Spark failed: {first_line(error)}") from error
    for name, table in tables.items():
        _write(folder.tables / f"{name}.parquet", table)


def _tables(spark: SparkSession, folder: ExperimentFolder, record: ExperimentRecord, paths: Sequence[str]) -> _Tables:
    runs = _runs(spark, folder, record)
    folders = [NamedRun(run.folder, RunFolder(folder.runs / run.folder)) for run in record.runs if run.folder]
    metrics = _metrics(spark, runs, folders)
    variants = _variants(metrics, _pooled(spark, metrics, folders))
    settings = _settings(spark, record, paths)
    return _Tables(
        _with_settings(runs, settings).orderBy("_place"),
        _with_settings(metrics, settings).orderBy("_place", "metric"),
        _with_settings(variants, settings).orderBy("_number", "metric"),
        _pairs(metrics).orderBy("_number", "metric", "round"),
    )


def _runs(spark: SparkSession, folder: ExperimentFolder, record: ExperimentRecord) -> DataFrame:
    """The runs with a folder, with their place in the record and the number of their variant."""
    rows = [
        (folder.root.name, record.variants[run.variant].name, run.round, run.folder, run.outcome, run.seconds, place,
         run.variant)
        for place, run in enumerate(record.runs)
        if run.folder
    ]  # fmt: skip
    schema = pa.schema([*arrow_schema(EXPERIMENT_TABLES["runs"]), ("_place", pa.int32()), ("_number", pa.int32())])
    named = [dict(zip(schema.names, row, strict=True)) for row in rows]
    return spark.createDataFrame(pa.Table.from_pylist(named, schema))


def _settings(spark: SparkSession, record: ExperimentRecord, paths: Sequence[str]) -> DataFrame:
    """The values of each variant as text, a column for each path; null where a variant does not set it."""
    rows = [
        {"variant": each.name, **{path: setting_text(value) for path, value in each.settings.items()}}
        for each in record.variants
    ]
    schema = pa.schema([(name, pa.string()) for name in ("variant", *paths)])
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema))


def _with_settings(frame: DataFrame, settings: DataFrame) -> DataFrame:
    return frame.join(F.broadcast(settings), "variant")


def _metrics(spark: SparkSession, runs: DataFrame, folders: Sequence[NamedRun]) -> DataFrame:
    """The figures of the runs that finished."""
    # Here, not in Spark: a thousand results are a hundred megabytes of text, of which little is wanted.
    rows = [row for each in folders if each.folder.result.exists() for row in _figures(each)]
    figures = spark.createDataFrame(pa.Table.from_pylist(rows, _FIGURES))
    names = ("metric", "value", "low", "high", "trust", "_place", "_number")
    return runs.join(figures, RUN).select(*_KEYS, "round", RUN, *names)


def _figures(run: NamedRun) -> Iterator[dict[str, Any]]:
    """The figures of a run that finished, one by one; none of a result that cannot be read."""
    try:
        result = json.loads(run.folder.result.read_bytes())
    except ValueError:
        return
    if result.get("run", {}).get("ending") != "finished":
        return
    trust = result.get("trust") or {}
    for metric, figure in trust.items():
        yield {**figure, RUN: run.name, "metric": metric}
    # As comparisons have it: they do not depend on when messages are sent, and fall with all that the verdict judges.
    trusts = {path: figure["trust"] for path, figure in trust.items()}
    distrust = _NOT_BELIEVED if is_nothing_believed(trusts, result.get("verdict", {}).get("used", [])) else None
    for metric, value in (each for section in _USED for each in flat(result.get(section), section)):
        # No list: runs have them of different lengths.
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield {RUN: run.name, "metric": metric, "value": float(value), "trust": distrust}


def _counting(metrics: DataFrame) -> DataFrame:
    """The figures that count: not disbelieved, and of a run that was repeated the last."""
    last = Window.partitionBy(*_KEYS, "round", "metric").orderBy(F.desc("_place"))
    usable = metrics.where(F.coalesce("trust", F.lit("")) != _NOT_BELIEVED)
    return usable.withColumn("_rank", F.row_number().over(last)).where("_rank = 1").drop("_rank")


def _variants(metrics: DataFrame, pooled: DataFrame) -> DataFrame:
    counting = (
        _counting(metrics)
        .groupBy(*_KEYS, "metric")
        .agg(
            F.count("*").cast("int").alias("runs"),
            F.median("value").alias("median"),
            F.min("value").alias("least"),
            F.max("value").alias("most"),
        )
    )
    unbelieved = F.sum(F.when(F.col("trust") == _NOT_BELIEVED, 1).otherwise(0)).cast("int")
    all_runs = metrics.groupBy(*_KEYS, "metric", "_number").agg(unbelieved.alias("left_out"))
    return (
        all_runs.join(counting, [*_KEYS, "metric"], "left")
        .join(pooled, ["variant", "metric"], "left")
        .withColumn("runs", F.coalesce("runs", F.lit(0)))
    )


def _pooled(spark: SparkSession, metrics: DataFrame, folders: Sequence[NamedRun]) -> DataFrame:
    """Percentiles of all measured messages of the runs whose figure counts, in ms, by variant and metric.

    Of one run a p50 may be believed and a p99 not, so each may be of other runs; those of the same runs are taken of
    one sum, a pool. A rank that falls among messages that never arrived has no value.
    """
    numbers: dict[tuple[str, str, tuple[str, ...]], int] = {}
    pools: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    wanted = []
    for each in _percentiles(metrics).toArrow().to_pylist():
        members = (each["variant"], each["latency"], tuple(each["members"]))
        if members not in numbers:
            numbers[members] = len(numbers)
            for run in each["members"]:
                pools[run][each["latency"]].append(numbers[members])
        wanted.append({**each, "pool": numbers[members]})
    counts = spark.createDataFrame(pooled_counts(folders, pools))
    pool = Window.partitionBy("pool")
    arrived = (
        counts.withColumn("messages", F.sum("count").over(pool))
        .where("not censored")
        .withColumn("upto", F.sum("count").over(pool.orderBy("bucket")))
    )
    rank = F.greatest(F.lit(1), F.ceil(F.col("messages") * F.col("rank") / 10_000))
    ranks = spark.createDataFrame(pa.Table.from_pylist(wanted, _WANTED))
    found = ranks.join(arrived, "pool").where((F.col("upto") >= rank) & (F.col("upto") - F.col("count") < rank))
    return found.select("variant", "metric", "messages", (_upper_edge_ns() / NS_PER_MS).alias("pooled"))


def _percentiles(metrics: DataFrame) -> DataFrame:
    """The percentiles of each variant: their latency, their rank, and the runs of which they count."""
    name = F.regexp_extract("metric", _PERCENTILE, 3)
    latency = F.concat(
        F.regexp_extract("metric", _PERCENTILE, 1), F.lit("_"), F.regexp_extract("metric", _PERCENTILE, 2)
    )
    ranks = F.create_map(*(F.lit(each) for pair in PERCENTILES.items() for each in pair))
    return (
        _counting(metrics)
        .where(name.isin(*PERCENTILES))
        .groupBy("variant", "metric")
        .agg(F.array_sort(F.collect_set(RUN)).alias("members"))
        .select("*", latency.alias("latency"), ranks[name].cast("int").alias("rank"))
    )


def _upper_edge_ns() -> Column:
    """The largest value of a bucket, as `domain.latency.buckets.upper_edge_ns` has it."""
    exponent = f"greatest(shiftright(bucket, {SUB_BITS}) - 1, 0)"
    mantissa = f"(bucket - shiftleft({exponent}, {SUB_BITS}))"
    return F.expr(f"if(bucket < 0, -1L, shiftleft({mantissa} + 1, cast({exponent} as int)) - 1)")


def _pairs(metrics: DataFrame) -> DataFrame:
    """The first variant beside each other one, by round."""
    counting = _counting(metrics)
    ones = counting.where("_number = 0").select(
        "experiment", "round", "metric", F.col("variant").alias("one"), F.col("value").alias("one_value")
    )
    others = counting.where("_number > 0").select(
        "round", "metric", F.col("variant").alias("other"), F.col("value").alias("other_value"), "_number"
    )
    ratio = F.when(F.col("one_value") != 0, F.col("other_value") / F.col("one_value"))
    return ones.join(others, ["round", "metric"]).withColumn("ratio", ratio)


def _arrow(frame: DataFrame, name: str, paths: Sequence[str]) -> pa.Table:
    """The rows in the order and the types of the schema, then the varied settings."""
    schema = arrow_schema(EXPERIMENT_TABLES[name])
    columns: list[Any] = [*schema.names, *(f"`{path}`" for path in paths)]
    settings = [pa.field(path, pa.string()) for path in paths]
    return frame.select(*columns).toArrow().cast(pa.schema([*schema, *settings]))


def _write(path: Path, table: pa.Table) -> None:
    draft = path.with_name(f"_{path.name}")
    try:
        path.parent.mkdir(exist_ok=True)
        pq.write_table(table, draft, compression="zstd")
        draft.rename(path)
    except OSError as error:
        raise AnalysisError(f"{path} cannot be written: {error.strerror}") from error
