"""What the footers of parts tell, and which parts and rows are set aside."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.pipeline.read.bronze import Extent, look


@pytest.fixture
def part(run: Any) -> Path:
    """One part of `received`, half of whose rows carry no stamp."""
    count = 100
    columns = {
        "topic": 0, "group": 0, "consumer": 0, "poll": np.arange(count), "partition": 0, "offset": np.arange(count),
        "producer": [None if number % 2 else 3 for number in range(count)], "received_ns": np.arange(count) - 5,
        "size_bytes": 1, "intact": [number != 7 for number in range(count)],
    }  # fmt: skip
    path = run.events("received", columns)
    assert isinstance(path, Path)
    return path


@pytest.mark.parametrize("statistics", [True, False])
def test_extents_are_the_same_with_and_without_statistics(run: Any, part: Path, statistics: bool) -> None:
    table = pq.read_table(part, partitioning=None)
    pq.write_table(table, part, write_statistics=statistics, row_group_size=30)
    bronze = look(run.folder)
    assert bronze.rows("received") == 100
    assert bronze.extent("received", "producer") == Extent(100, 50, 3, 3)
    assert bronze.extent("received", "received_ns") == Extent(100, 0, -5, 94)
    assert bronze.extent("received", "intact") == Extent(100, 0, False, True)
    assert bronze.extent("received", "due_ns").unknown
    assert bronze.extent("sent", "error").unknown


def test_a_column_that_may_be_missing_is_null(run: Any, part: Path) -> None:
    pq.write_table(pq.read_table(part, partitioning=None).drop(["intact"]), part)
    bronze = look(run.folder)
    assert bronze.set_aside == ()
    assert bronze.extent("received", "intact") == Extent(100, 100, None, None)
    assert bronze.columns("received", ["offset", "intact"]).column("intact").null_count == 100


def test_a_column_of_another_type_sets_the_part_aside(run: Any, part: Path) -> None:
    table = pq.read_table(part, partitioning=None)
    wrong = table.set_column(table.schema.get_field_index("poll"), "poll", pa.array([0.5] * 100))
    pq.write_table(wrong, part)
    (aside,) = look(run.folder).set_aside
    assert (aside["kind"], aside["reason"]) == ("received", "column poll is double, not int64")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all, but long enough to hold a footer"])
def test_what_is_no_parquet_is_set_aside(run: Any, part: Path, content: bytes) -> None:
    (part.parent / "part-1.parquet").write_bytes(content)
    bronze = look(run.folder)
    assert [aside["source"] for aside in bronze.set_aside] == ["events/received/worker=w/part-1.parquet"]
    assert bronze.rows("received") == 100


def test_rows_that_lack_what_they_must_have_are_left_out(run: Any, part: Path) -> None:
    table = pq.read_table(part, partitioning=None).to_pydict()
    table["poll"][:3] = [None] * 3
    table["offset"][2:5] = [None] * 3
    pq.write_table(pa.table(table, pa.schema([(field.name, field.type) for field in pq.read_schema(part)])), part)
    bronze = look(run.folder)
    assert [aside["rows"] for aside in bronze.set_aside] == [5]
    assert len(bronze.columns("received")) == 95


def test_open_and_torn_parts_are_told_and_temporary_ones_are_not(run: Any, part: Path) -> None:
    for name in ("_open-0", "_part-1.parquet", "_torn-2", "notes.txt"):
        (part.parent / name).write_bytes(b"x")
    bronze = look(run.folder)
    assert [(each["kind"], Path(each["source"]).name, each["rows"]) for each in bronze.set_aside] == [
        ("received", "_open-0", None),
        ("received", "_torn-2", None),
    ]
    assert [each.path for each in bronze.parts["received"]] == [part]
