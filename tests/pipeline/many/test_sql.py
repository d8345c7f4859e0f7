"""The command `sql`: which folders are meant, what a query answers, and what is said where it cannot."""

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.pipeline.conftest import RunWriter
from typer.testing import CliRunner

import streamgauge
from streamgauge.cli.main import app
from streamgauge.cli.results.sql import csv_text, table_text
from streamgauge.domain.errors import BadInput
from streamgauge.experiments.paths import ExperimentFolder, SearchFolder
from streamgauge.runs.results.sql import questioned

pytestmark = pytest.mark.spark
COUNT = "select run, count(*) as rows from events_sent group by run order by run"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs with one and two messages, in a folder of runs."""
    for place, name in enumerate(("one", "two"), 1):
        writer = RunWriter(tmp_path / "runs" / name)
        writer.facts()
        writer.events("sent", {"topic": [0] * place, "producer": [0] * place, "seq": list(range(place))})
    return tmp_path / "runs"


def said(*words: str) -> str:
    result = CliRunner().invoke(app, ["sql", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_a_query_is_answered_in_three_forms(spark: SparkSession, runs: Path) -> None:
    assert json.loads(said(str(runs), COUNT, "--json")) == [{"run": "one", "rows": 1}, {"run": "two", "rows": 2}]
    assert list(csv.reader(io.StringIO(said(str(runs), COUNT, "--csv")))) == [
        ["run", "rows"],
        ["one", "1"],
        ["two", "2"],
    ]
    assert [line.split() for line in said(str(runs), COUNT).splitlines()] == [
        ["run", "rows"],
        ["one", "1"],
        ["two", "2"],
    ]


def test_single_runs_experiments_and_searches_can_be_named(spark: SparkSession, runs: Path, tmp_path: Path) -> None:
    assert [row["run"] for row in json.loads(said(str(runs / "two"), COUNT, "--json"))] == ["two"]
    search = SearchFolder(tmp_path)
    search.record.write_text("{}")
    assert [row["run"] for row in json.loads(said(str(tmp_path), COUNT, "--json"))] == ["one", "two"]
    search.record.rename(ExperimentFolder(tmp_path).record)
    found = questioned([tmp_path, runs / "two"])
    assert [each.root.name for each in found.runs] == ["one", "two"]
    assert [each.root for each in found.experiments] == [tmp_path]


def test_the_python_api_answers_the_same(spark: SparkSession, runs: Path) -> None:
    """One folder, or several; as text, too."""
    both = [{"run": "one", "rows": 1}, {"run": "two", "rows": 2}]
    assert streamgauge.sql(runs, COUNT).to_pylist() == both
    assert streamgauge.sql([str(runs / "two"), runs / "one"], COUNT).to_pylist() == both


def test_a_session_keeps_the_views_that_it_had(spark: SparkSession, runs: Path) -> None:
    """It may be the user's, who has a view of the same name, in other letters."""
    spark.sql("select 7 as mine").createOrReplaceTempView("Events_Sent")
    try:
        streamgauge.sql(runs, f"select * from latency join ({COUNT}) using (run)")
        with pytest.raises(BadInput):
            streamgauge.sql(runs, "select nothing from events_sent")
        assert spark.table("events_sent").collect() == [(7,)]
        assert [each.name for each in spark.catalog.listTables() if each.isTemporary] == ["events_sent"]
    finally:
        spark.catalog.dropTempView("events_sent")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("selct 1", "query: [PARSE_SYNTAX_ERROR]"),
        ("select nothing from events_sent", "query: [UNRESOLVED_COLUMN"),
        ("select * from nothing", "query: [TABLE_OR_VIEW_NOT_FOUND]"),
    ],
)
def test_a_query_that_cannot_be_understood_is_bad_input(spark: SparkSession, runs: Path, query: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        CliRunner().invoke(app, ["sql", str(runs), query], catch_exceptions=False)
    assert str(caught.value).startswith(says)


def test_no_folder_is_told_without_spark() -> None:
    with pytest.raises(BadInput, match=r"RUN: there is none\. Name a run folder"):
        streamgauge.sql([], "select 1")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing", "empty", "select 1"], "RUN nothing: there is no run in it"),
        (["nothing", "select 1", "--csv", "--json"], "--csv: cannot be combined"),
    ],
)
def test_what_cannot_be_asked_is_told_without_spark(words: list[str], says: str) -> None:
    with pytest.raises(BadInput) as caught:
        CliRunner().invoke(app, ["sql", *words], catch_exceptions=False)
    assert str(caught.value).startswith(says)


def test_a_terminal_shows_the_first_rows_and_says_how_many_there_are() -> None:
    found = pa.table({"n": list(range(101)), "text": [None, "\x1b[31mred", *["x"] * 99]})
    shown = table_text(found)
    assert "101 rows; the first 100 are shown" in shown
    assert "\x1b[31m" not in shown
    assert csv_text(found).splitlines()[1] == "0,"
    assert len(csv_text(found).splitlines()) == 102
