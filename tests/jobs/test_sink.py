"""What a job may give back: columns that are written, and those that are refused."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from tests.jobs.conftest import Frame, Row, head

from streamgauge.domain.errors import WorkerError
from streamgauge.domain.query import QuerySpec
from streamgauge.jobs.driver.sink import for_table, for_topic
from streamgauge.jobs.shipped import catalogue

pytestmark = pytest.mark.spark

MakeSpec = Callable[..., QuerySpec]


@pytest.mark.parametrize(
    ("does", "in_headers", "columns", "written"),
    [
        ("same", False, ["value", "partition"], ["value", "partition"]),
        ("subset", False, ["*"], ["key", "value", "partition"]),
        ("subset", True, ["*"], ["key", "value", "headers", "partition"]),
        ("changed", False, ["value", "stamp"], ["value", "headers"]),
        ("changed", True, ["value", "headers"], ["value", "headers"]),
        ("aggregate", True, ["key", "value", "stamp"], ["key", "value", "headers"]),
    ],
)
def test_columns_for_a_topic(
    frame: Frame, make_spec: MakeSpec, does: str, in_headers: bool, columns: list[str], written: list[str]
) -> None:
    made = frame([], in_headers=in_headers).select(*columns)

    assert for_topic(made, make_spec(does=does, in_headers=in_headers)).columns == written


@pytest.mark.parametrize("in_headers", [False, True])
def test_a_stamp_goes_as_a_header(frame: Frame, make_spec: MakeSpec, in_headers: bool) -> None:
    rows = [Row(b"k", b"body", head=head(1)), Row(b"k", b"foreign")]
    made = frame(rows, in_headers=in_headers).withColumn("stamp", F.when(F.col("stamp").isNotNull(), F.lit(head(2))))
    spec = make_spec(does="changed", in_headers=in_headers)

    written = [
        None if row.headers is None else [(header.key, bytes(header.value)) for header in row.headers]
        for row in for_topic(made, spec).collect()
    ]

    others = [("other", b"x")] if in_headers else []
    assert written == [[*others, ("streamgauge", head(2))], others or None]


@pytest.mark.parametrize(
    ("does", "in_headers", "change", "why"),
    [
        ("same", False, lambda df: df.select("key"), "`value` is missing"),
        ("same", False, lambda df: df.withColumn("value", F.lit(5)), "`value` is int, expected binary or string"),
        ("same", False, lambda df: df.withColumn("n", F.lit(5)), "`n` cannot be written to a topic"),
        ("same", False, lambda df: df.withColumn("partition", F.lit("0")), "`partition` is string, expected int"),
        ("subset", True, lambda df: df.drop("headers"), "`headers` is missing"),
        ("changed", False, lambda df: df.drop("stamp"), "`stamp` is missing"),
        ("aggregate", True, lambda df: df.drop("stamp", "headers"), "`stamp` is missing"),
    ],
)
def test_wrong_columns_are_refused(
    frame: Frame, make_spec: MakeSpec, does: str, in_headers: bool, change: Callable[[DataFrame], Any], why: str
) -> None:
    spec = make_spec(job="function", options={"call": "my.module:job"}, does=does, in_headers=in_headers)

    with pytest.raises(WorkerError, match=rf"^my\.module:job: wrong columns: .*{re.escape(why)}"):
        for_topic(change(frame([], in_headers=in_headers)), spec)


@pytest.mark.parametrize("in_headers", [False, True])
def test_a_table_has_a_stamp(frame: Frame, make_spec: MakeSpec, in_headers: bool) -> None:
    """Also of a job that gives messages as they came."""
    made = frame([Row(b"k", b"body", head=head(1))], in_headers=in_headers).drop("stamp")

    row = for_table(made, make_spec(table="/t", in_headers=in_headers)).collect()[0]

    assert row.stamp == head(1)


def test_a_table_without_stamps_is_refused(frame: Frame, make_spec: MakeSpec) -> None:
    with pytest.raises(WorkerError, match="`stamp` is missing"):
        for_table(frame([]).drop("stamp"), make_spec(table="/t", does="aggregate"))


FUNCTIONS = """
from pyspark.sql import DataFrame
def same(df): return df
def raises(df): raise ValueError("no such thing\\nand more")
def number(df): return 5
"""


def test_a_function_of_the_user(frame: Frame, make_spec: MakeSpec, tmp_path: Path) -> None:
    (tmp_path / "jobs_of_mine.py").write_text(FUNCTIONS)

    def made_by(name: str) -> DataFrame:
        return catalogue.made_by(make_spec(job="function", options={"call": f"jobs_of_mine:{name}"}), frame([]))

    assert made_by("same").columns == frame([]).columns
    with pytest.raises(WorkerError, match=r"jobs_of_mine:raises: raised ValueError: no such thing$"):
        made_by("raises")
    with pytest.raises(WorkerError, match="jobs_of_mine:number: returned a value of type int, not a DataFrame"):
        made_by("number")
