"""Rows and tables of format 1: what had another name then is read under its name of today."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from streamgauge.arrow import arrow_schema
from streamgauge.domain.events import EVENTS
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.schema import Schema
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.pipeline.many.views import NamedRun, answer, make_views, views_kept
from streamgauge.pipeline.read.bronze import look
from streamgauge.pipeline.writing import write_tables
from streamgauge.report.files import read_table

VALUES: dict[pa.DataType, Any] = {
    pa.int32(): 3, pa.int64(): 5, pa.float64(): 1.5, pa.bool_(): True, pa.string(): "x",
}  # fmt: skip


def is_renamed(schema: Schema) -> bool:
    """Whether it, or a column of it, had another name."""
    return bool(schema.formerly or any(column.formerly for column in schema.columns))


OLD_KINDS = [kind for kind, schema in EVENTS.items() if is_renamed(schema)]
OLD_TABLES = [name for name, schema in TABLES.items() if is_renamed(schema)]


def old(schema: Schema) -> pa.Table:
    """One row with the names of format 1."""
    today = arrow_schema(schema)
    row = {field.name: VALUES[field.type] for field in today}
    names = [column.formerly or column.name for column in schema.columns]
    return pa.Table.from_pylist([row], schema=today).rename_columns(names)


def test_something_was_renamed() -> None:
    assert {"resends", "query", "progress"} <= set(OLD_KINDS)
    assert {"resends", "schedule_delay", "processing", "connections"} <= set(OLD_TABLES)


@pytest.mark.spark
@pytest.mark.parametrize("kind", OLD_KINDS)
def test_rows_of_format_1_are_read(kind: str, tmp_path: Path, spark: SparkSession) -> None:
    """Footers, too: nothing is set aside."""
    schema, folder = EVENTS[kind], RunFolder(tmp_path)
    path = folder.worker_events(schema.formerly or kind, "producer-0") / "part-0.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(old(schema), path)

    found = look(folder, thoroughly=True)
    assert found.set_aside == ()
    assert found.rows(kind) == 1
    (row,) = found.columns(kind).to_pylist()
    assert None not in row.values()
    assert all(found.extent(kind, column.name).nulls == 0 for column in schema.columns)
    assert found.frame(spark, kind).toArrow().to_pylist() == [row]


@pytest.mark.parametrize("name", OLD_TABLES)
def test_tables_of_format_1_are_read_and_replaced(name: str, tmp_path: Path) -> None:
    """Those of today stand under their own names alone."""
    schema, folder = TABLES[name], RunFolder(tmp_path)
    folder.tables.mkdir()
    pq.write_table(old(schema), folder.table(schema.formerly or name))

    read = read_table(folder, name)
    assert read.column_names == list(schema.names)
    write_tables(folder, {name: read})
    assert [path.stem for path in folder.tables.iterdir()] == [name]
    assert read_table(folder, name).equals(read)


@pytest.mark.spark
@pytest.mark.parametrize("name", OLD_TABLES)
def test_queries_of_tables_of_format_1_see_what_is_in_them(name: str, tmp_path: Path, spark: SparkSession) -> None:
    schema, run = TABLES[name], NamedRun("old", RunFolder(tmp_path))
    run.folder.tables.mkdir()
    pq.write_table(old(schema), run.folder.table(schema.formerly or name))

    with views_kept(spark, [name]):
        make_views(spark, [run], [], [name])
        (row,) = answer(spark, f"select * from {name}").to_pylist()
    assert row == {"run": "old"} | {field.name: VALUES[field.type] for field in arrow_schema(schema)}


@pytest.mark.spark
def test_metrics_of_format_1_have_their_names_of_today(tmp_path: Path, spark: SparkSession) -> None:
    folder = RunFolder(tmp_path)
    folder.tables.mkdir()
    schema = arrow_schema(TABLES["cdf"])
    rows = [{"metric": name, "le_ms": 1.0, "share": 0.5} for name in ("lateness", "own_lateness", "poll")]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder.table("cdf"))

    names = ["schedule_delay", "own_schedule_delay", "poll"]
    assert read_table(folder, "cdf")["metric"].to_pylist() == names
    with views_kept(spark, ["cdf"]):
        make_views(spark, [NamedRun("old", folder)], [], ["cdf"])
        assert answer(spark, "select metric from cdf")["metric"].to_pylist() == names
