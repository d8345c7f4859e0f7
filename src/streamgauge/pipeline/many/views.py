"""Tables and events of runs as Spark SQL views: one of each kind, over all runs, with the run of each row."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.domain.errors import AnalysisError, BadInput
from streamgauge.domain.events import EVENTS
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.latency import METRICS_FORMERLY
from streamgauge.domain.tables.schema import Schema
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.experiments.tables import EXPERIMENT_TABLES
from streamgauge.pipeline.read.bronze import look
from streamgauge.pipeline.read.parts import place_of, read_parquet
from streamgauge.pipeline.read.schemas import spark_schema
from streamgauge.pipeline.spark.session import first_line

EVENTS_OF: Final = "events_"
"""How the names of views of recorded rows begin: some kinds are called as tables are."""
RUN: Final = "run"
"""The column that tells the run of a row."""
_FILE: Final = "_file"
_METRIC: Final = "metric"
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class NamedRun:
    """A run, and what its rows call it."""

    name: str
    folder: RunFolder


def known_views() -> dict[str, str]:
    """Every view, and what its rows are."""
    return {
        **{name: schema.about for name, schema in EXPERIMENT_TABLES.items()},
        **{name: schema.about for name, schema in TABLES.items()},
        **{f"{EVENTS_OF}{kind}": schema.about for kind, schema in EVENTS.items()},
    }


def named_in(query: str) -> list[str]:
    """The views that a query may mean: those whose names are words of it."""
    words = {word.lower() for word in _WORD.findall(query)}
    return [name for name in known_views() if name in words]


def make_views(
    spark: SparkSession, runs: Sequence[NamedRun], experiments: Sequence[Path], names: Sequence[str]
) -> None:
    """Make the views of these names for this session; a table that a run does not have has no rows of it.

    `experiments` are the folders with the gold tables of experiments. Raises AnalysisError for one that cannot be read.
    """
    with _translated():
        for name in names:
            _frame(spark, runs, experiments, name).createOrReplaceTempView(name)


@contextmanager
def views_kept(spark: SparkSession, names: Sequence[str]) -> Iterator[None]:
    """After the block the session has the views of these names that it had before: it may be one of the user's."""
    with _translated():
        catalog = spark.catalog
        theirs = {name: spark.table(name) for name in names if _is_view(spark, name)}
    try:
        yield
    finally:
        with _translated():
            for name in names:
                catalog.dropTempView(name)
                if name in theirs:
                    theirs[name].createOrReplaceTempView(name)


def _is_view(spark: SparkSession, name: str) -> bool:
    return spark.catalog.tableExists(name) and spark.catalog.getTable(name).isTemporary


def answer(spark: SparkSession, query: str) -> pa.Table:
    """What a query answers, in memory.

    Raises BadInput for a query that Spark cannot understand, AnalysisError for one that it cannot answer.
    """
    with _translated():
        try:
            return spark.sql(query).toArrow()
        except (ParseException, AnalysisException) as error:
            mend = "Correct it; the reference of tables and events has the views and their columns"
            raise BadInput.single("query", first_line(error), mend) from error


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of Spark are ours: an AnalysisError with the first line of what it says."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise AnalysisError(f"Spark failed: {first_line(error)}") from error


def _frame(spark: SparkSession, runs: Sequence[NamedRun], experiments: Sequence[Path], name: str) -> DataFrame:
    if name in EXPERIMENT_TABLES:
        return _of_experiments(spark, experiments, name)
    if name in TABLES:
        schema = TABLES[name]
        # One of them is there: an analysis removes a table that has its name of format 1.
        files = [file for file in (name, schema.formerly) if file]
        rows = _with_run(spark, schema, {each: [each.folder.table(file) for file in files] for each in runs})
        if _METRIC not in schema.names:
            return rows
        return rows.replace([*METRICS_FORMERLY.values()], [*METRICS_FORMERLY], [_METRIC])
    kind = name.removeprefix(EVENTS_OF)
    parts = {each: [part.path for part in look(each.folder).parts[kind] if part.rows] for each in runs}
    return _with_run(spark, EVENTS[kind], parts)


def _with_run(spark: SparkSession, schema: Schema, files: Mapping[NamedRun, Sequence[Path]]) -> DataFrame:
    """The rows of these files of runs, those that are there, with the name of the run first."""
    there = [(each, path) for each, paths in files.items() for path in paths if path.exists()]
    if not there:
        return spark.createDataFrame([], spark_schema(schema)).select(F.lit("").alias(RUN), "*")
    rows = read_parquet(spark, schema, [path for _, path in there])
    names = {each for each, _ in there}
    if len(names) == 1:
        return rows.select(F.lit(next(iter(names)).name).alias(RUN), "*")
    # By file, since to find the run of each row costs more than to read them. Spark tells a file as an address.
    of_file = {place_of(path): each.name for each, path in there}
    known = {address: of_file[unquote(urlparse(address).path)] for address in rows.inputFiles()}
    runs = spark.createDataFrame(pa.table({_FILE: [*known], RUN: [*known.values()]}))
    return rows.withColumn(_FILE, F.input_file_name()).join(F.broadcast(runs), _FILE).select(RUN, *schema.names)


def _of_experiments(spark: SparkSession, experiments: Sequence[Path], name: str) -> DataFrame:
    """A gold table of experiments; those whose variants differ in other settings lack each other's columns."""
    files = [path for folder in experiments if (path := folder / f"{name}.parquet").exists()]
    if not files:
        return spark.createDataFrame([], spark_schema(EXPERIMENT_TABLES[name]))
    frames = [read_parquet(spark, None, [path]) for path in files]
    together = frames[0]
    for frame in frames[1:]:
        together = together.unionByName(frame, allowMissingColumns=True)
    return together


def labelled(folders: Sequence[RunFolder]) -> Iterator[NamedRun]:
    """The runs by the names of their folders; by their paths where two have the same name."""
    names = [folder.root.absolute().name for folder in folders]
    for folder, name in zip(folders, names, strict=True):
        yield NamedRun(name if names.count(name) == 1 else str(folder.root), folder)
