"""Views over runs: every row with its run, whatever the folders are called."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.pipeline.conftest import RunWriter

from streamgauge.arrow import arrow_schema
from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.pipeline.many.views import known_views, labelled, make_views, named_in

pytestmark = pytest.mark.spark

NAMES = ("plain", "a[1]b", "c{d,e}", "q?r", "s t+u%20", "tables")


@pytest.fixture
def runs(tmp_path: Path) -> list[RunFolder]:
    """Each with as many sent messages, and rows of a table, as its place says."""
    made = []
    for place, name in enumerate(NAMES, 1):
        writer = RunWriter(tmp_path / "events" / name)
        writer.facts()
        writer.events("sent", {"topic": [0] * place, "producer": [0] * place, "seq": list(range(place))})
        folder = writer.folder
        folder.tables.mkdir()
        rows = [{"kind": "sent", "source": "x", "reason": "y", "rows": place}] * place
        pq.write_table(pa.Table.from_pylist(rows, arrow_schema(TABLES["set_aside"])), folder.table("set_aside"))
        made.append(folder)
    return made


@pytest.mark.parametrize("view", ["events_sent", "set_aside"])
def test_every_row_tells_its_run(spark: SparkSession, runs: list[RunFolder], view: str) -> None:
    make_views(spark, list(labelled(runs)), [], [view])
    found = spark.sql(f"select run, count(*) as rows from {view} group by run").collect()
    assert {row["run"]: row["rows"] for row in found} == {name: place for place, name in enumerate(NAMES, 1)}


def test_one_run_needs_no_looking_for_it(spark: SparkSession, runs: list[RunFolder]) -> None:
    make_views(spark, list(labelled(runs[2:3])), [], ["events_sent"])
    assert {row["run"] for row in spark.table("events_sent").collect()} == {NAMES[2]}


@pytest.mark.parametrize("view", ["events_polls", "latency", "variants"])
def test_what_no_run_has_is_a_view_without_rows(spark: SparkSession, runs: list[RunFolder], view: str) -> None:
    make_views(spark, list(labelled(runs)), [runs[0].root], [view])
    assert spark.table(view).count() == 0
    assert ("run" in spark.table(view).columns) == (view != "variants")


def test_the_views_of_a_query_are_the_words_that_name_one() -> None:
    assert named_in("select * from EVENTS_SENT s join latency using (run) where x = 'lag'") == [
        "latency", "lag", "events_sent",
    ]  # fmt: skip
    assert named_in("show views") == []


def test_every_view_says_what_it_is_and_has_a_name_of_its_own() -> None:
    assert all(known_views().values())
    assert {"runs", "metrics", "variants", "pairs", "latency", "events_sent", "lag", "events_lag"} <= set(known_views())


def test_runs_of_the_same_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    folders = [RunFolder(tmp_path / name) for name in ("a/run", "b/run", "c")]
    assert [each.name for each in labelled(folders)] == [str(tmp_path / "a/run"), str(tmp_path / "b/run"), "c"]


def test_tables_of_experiments_with_other_settings_stand_together(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever their folders are called; what cannot be read is an error of ours."""
    for name, setting in (("a [new]", "load.size"), ("b", "load.rate")):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"experiment": [name], setting: ["1"]}), tmp_path / name / "runs.parquet")
    folders = [tmp_path / "a [new]", tmp_path / "b"]
    make_views(spark, [], folders, ["runs"])
    found = spark.sql("select experiment, `load.size`, `load.rate` from runs order by 1").collect()
    assert [tuple(row) for row in found] == [("a [new]", "1", None), ("b", None, "1")]

    (tmp_path / "b" / "runs.parquet").write_bytes(b"damaged")
    with pytest.raises(AnalysisError, match="Spark failed"):
        make_views(spark, [], folders, ["runs"])
