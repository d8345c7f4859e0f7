"""Recorded arrivals, from every kind of file that may hold them, and what is said of those that do not."""

import gzip
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.arrow import arrow_schema
from streamgauge.domain.errors import BadInput
from streamgauge.domain.events import SENT
from streamgauge.domain.folder.paths import RunFolder
from streamgauge.record.arrivals import read_arrivals

SECOND = 1_000_000_000


def fault_of(path: Path, column: str | None = None) -> str:
    with pytest.raises(BadInput) as caught:
        read_arrivals(path, column)
    (fault,) = caught.value.faults
    return str(fault)


def written(folder: Path, text: str | bytes, name: str = "arrivals.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parquet(folder: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), folder / "arrivals.parquet")
    return folder / "arrivals.parquet"


def sent(folder: Path, part: int, due_ns: list[int | None], sent_ns: list[int | None]) -> None:
    rows = [
        {"topic": 0, "producer": part, "seq": seq, "due_ns": due, "sent_ns": at}
        for seq, (due, at) in enumerate(zip(due_ns, sent_ns, strict=True))
    ]
    path = RunFolder(folder).worker_events("sent", f"producer-{part}") / "part-0.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, arrow_schema(SENT)), path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\n2\n4\n", [0, SECOND, 3 * SECOND]),
        ("1.25", [0]),
        ("0.5\n1e-3\n2\n", [0, 499_000_000, 1_999_000_000]),
        ("\r\n 7 \r\n\r\n7\r\n5", [0, 2 * SECOND, 2 * SECOND]),
        ("-1\n1\n", [0, 2 * SECOND]),
        ("1700000000\n1700000001\n", [0, SECOND]),
        ("1700000000.25\n1700000000.5\n", [0, 250_000_000]),
        ("1700000000000\n1700000000001\n", [0, 1_000_000]),
        ("1700000000000000\n1700000000000001\n", [0, 1_000]),
        ("1700000000000000000\n1700000000000000001\n", [0, 1]),
        ("2026-11-21T18:00:00Z\n2026-11-21T18:00:00.000000001Z\n", [0, 1]),
        ("2026-11-21 18:00:01.5\n2026-11-21 18:00:00\n", [0, 1_500_000_000]),
    ],
)
def test_a_text_has_a_time_in_each_line(tmp_path: Path, text: str, expected: list[int]) -> None:
    """Seconds, or what the largest looks like; in order, from the first one on."""
    assert read_arrivals(written(tmp_path, text), None).tolist() == expected


def test_one_unit_holds_for_all_times(tmp_path: Path) -> None:
    """The largest tells which: a count of milliseconds may have begun at zero."""
    path = written(tmp_path, "0\n1000000000000\n")

    assert read_arrivals(path, None).tolist() == [0, 10**18]


def test_what_comes_late_in_a_text_is_read_as_it_is(tmp_path: Path) -> None:
    """A million whole numbers, and then one with decimals."""
    path = written(tmp_path, "1\n" * 1_000_000 + "2.5\n")

    assert read_arrivals(path, None).tolist()[-1] == 1_500_000_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("arrivals.csv", 'name,at,"a, b"\nx,3,1\ny,1,2\n'),
        ("arrivals.tsv", "name\tat\nx, y\t3\nz\t1\n"),
        ("arrivals.log", "at\n3\n1\n"),
    ],
)
def test_a_column_of_a_csv_file(tmp_path: Path, name: str, text: str) -> None:
    assert read_arrivals(written(tmp_path, text, name), "at").tolist() == [0, 2 * SECOND]


def test_a_compressed_file(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"at,b\n1,2\n3,4\n"), "arrivals.csv.gz")

    assert read_arrivals(path, "at").tolist() == [0, 2 * SECOND]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, 1], pa.uint8()),
        pa.array([3.0, 1.0], pa.float32()),
        pa.array([Decimal("3.0"), Decimal("1.0")]),
        pa.array([1_700_000_002, 1_700_000_000], pa.timestamp("s")),
        pa.array([datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)]),
    ],
)
def test_a_column_of_a_parquet_file(tmp_path: Path, values: pa.Array) -> None:
    """Numbers and dates of any width; the only column need not be named."""
    assert read_arrivals(parquet(tmp_path, at=values, other=["a", "b"]), "at").tolist() == [0, 2 * SECOND]
    assert read_arrivals(parquet(tmp_path, at=values), None).tolist() == [0, 2 * SECOND]


def test_a_run_is_its_due_times_and_sent_times_where_it_has_none(tmp_path: Path) -> None:
    """Of all producers; what was neither due nor sent did not come."""
    sent(tmp_path, 0, [1 << 60, (1 << 60) + 7, None], [None, (1 << 60) + 9, None])
    sent(tmp_path, 1, [None, (1 << 60) + 3], [(1 << 60) + 5, None])

    assert read_arrivals(tmp_path, None).tolist() == [0, 3, 5, 7]


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("", None, "contains no times. Write a number or a date in each line"),
        ("\n\n", None, "contains no times."),
        ("at,b\n", "at", "contains no times."),
        ("1\nsoon\n3\n", None, "entry 2 is 'soon', which is not a time."),
        (
            "at\n1\n",
            None,
            "entry 1 is 'at', which is not a time. Write a number or a date in each line, and name the column of",
        ),
        ("at,b\n1,\n,2\n", "at", "entry 2 is '', which is not a time."),
        ("2026-11-21T18:00:00Z\n5\n", None, "contains times of several kinds, which cannot be ordered."),
        ("18:00:00\n", None, "holds values of type time32[s], not times."),
        ("1\nnan\n", None, "contains a time that is not a finite number. Leave it out"),
        ("inf\n", None, "contains a time that is not a finite number."),
        ("0\n999999999999\n", None, "its times span 146 years or more. Check that all have the same unit"),
        ("0\n1e99\n", None, "its times span 146 years or more."),
        ("1,2\n3\n", None, "cannot be read: CSV parse error: Expected 1 columns, got 2: 1,2. Write a number"),
        (b"\xff\xfe\x00\n", None, "holds values of type binary, not times."),
        (b"PAR1 and nothing more", None, "cannot be read: "),
    ],
)
def test_what_is_no_file_of_times_is_told(tmp_path: Path, text: str | bytes, column: str | None, expected: str) -> None:
    path = written(tmp_path, text)

    found = fault_of(path, column)

    assert found.startswith(f"load.rate.replay.file: {path}: ")
    assert expected in found


def test_a_column_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "at,b\n1,2\n")

    assert fault_of(path, "when") == f"load.rate.replay.column: {path} has no column 'when'. Name one of at, b"


def test_columns_of_a_parquet_file_are_checked(tmp_path: Path) -> None:
    several = parquet(tmp_path, at=[1], b=[2])
    assert fault_of(several).endswith("has 2 columns. Name one of at, b")
    assert fault_of(several, "when").endswith("has no column 'when'. Name one of at, b")

    assert "1 of 2 times are missing. Remove those rows" in fault_of(parquet(tmp_path, at=[1, None]))
    assert "holds values of type bool, not times." in fault_of(parquet(tmp_path, at=[True]))
    assert "contains no times." in fault_of(parquet(tmp_path, at=pa.array([], pa.float64())))


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    assert "cannot be read: No such file or directory. Name another file" in fault_of(tmp_path / "none")
    assert "not the folder of a run that sent messages. Name a run folder" in fault_of(tmp_path)
    assert "cannot be read: " in fault_of(Path("a\0b"))


def test_a_run_that_sent_nothing_has_no_times(tmp_path: Path) -> None:
    sent(tmp_path, 0, [None], [None])

    assert "contains no times." in fault_of(tmp_path)
