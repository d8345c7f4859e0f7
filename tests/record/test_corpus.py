"""Events from files: every form, and what is wrong with one."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.record import corpus
from streamgauge.record.corpus import read_events

CSV = b'k,v\n1,abc\n2,\n3,""\n4,"a\nb, c"\n5,\xff\xfe\n'
OF_CSV = [b"abc", None, b"", b"a\nb, c", b"\xff\xfe"]


def fault_of(path: Path | str, column: str | None = None) -> str:
    with pytest.raises(BadInput) as caught:
        read_events(str(path), column)
    (fault,) = caught.value.faults
    assert fault.where == str(path)
    return f"{fault.what}. {fault.mend}"


@pytest.mark.parametrize("name", ["events.txt", "events.jsonl", "events.csv", "events"])
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines(tmp_path: Path, name: str, compressed: bool, end: bytes) -> None:
    """Without their ends; an empty one is an event, what follows the last end is not."""
    content = end.join([b'{"a": 1}', b"", b"\xff\x00", b" x "]) + end
    path = tmp_path / (f"{name}.gz" if compressed else name)
    path.write_bytes(gzip.compress(content) if compressed else content)

    assert read_events(str(path), None) == [b'{"a": 1}', b"", b"\xff\x00", b" x "]


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    """As many editors write it."""
    path = tmp_path / "events"
    path.write_bytes(b"a\nb")

    assert read_events(str(path), None) == [b"a", b"b"]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_column_of_csv(tmp_path: Path, compressed: bool) -> None:
    """Quoted line ends, bytes that are no text; what is empty is null unless it is quoted."""
    path = tmp_path / ("events.csv.gz" if compressed else "events.csv")
    path.write_bytes(gzip.compress(CSV) if compressed else CSV)

    assert read_events(str(path), "v") == OF_CSV
    assert read_events(str(path), "k") == [b"1", b"2", b"3", b"4", b"5"]


@pytest.mark.parametrize("block", range(12, 24))
def test_csv_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Wherever one ends: a quoted line end does not end a row."""
    monkeypatch.setattr(corpus, "LONGEST_ROW", block)
    path = tmp_path / "events.csv"
    path.write_bytes(CSV)

    assert read_events(str(path), "v") == OF_CSV


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary(3),
        pa.dictionary(pa.int32(), pa.string()),
    ],
    ids=str,
)
def test_a_column_of_parquet(tmp_path: Path, kind: pa.DataType) -> None:
    """Texts or bytes; null is a tombstone."""
    path = tmp_path / "events.parquet"
    texts = pa.array([b"abc", None, b"def"], kind) if kind == pa.binary(3) else pa.array(["abc", None, "def"])
    pq.write_table(pa.table({"number": [1, 2, 3], "v": texts.cast(kind)}), path)

    assert read_events(str(path), "v") == [b"abc", None, b"def"]


def test_a_folder_of_parquet(tmp_path: Path) -> None:
    """As Spark writes it: all parts by their names, nothing else; an only column needs no name."""
    pq.write_table(pa.table({"v": ["c"]}), tmp_path / "part-1.parquet")
    pq.write_table(pa.table({"v": ["a", "b"]}), tmp_path / "part-0.parquet")
    (tmp_path / "_SUCCESS").touch()

    assert read_events(str(tmp_path), None) == [b"a", b"b", b"c"]


def test_a_path_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written as shells write it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "events").write_bytes(b"a\n")

    assert read_events("~/events", None) == [b"a"]


def text(path: Path) -> None:
    path.write_bytes(b"a\nb\n")


def table(path: Path) -> None:
    pq.write_table(pa.table({"number": [1], "v": ["a"]}), path)


@pytest.mark.parametrize(
    ("name", "column", "write", "what"),
    [
        ("missing", None, lambda path: None, "no such file. Correct the path"),
        ("empty", None, Path.touch, "holds no events. Name a file with at least one"),
        ("empty.csv", "v", Path.touch, "cannot be read: Empty CSV file"),
        ("head.csv", "v", lambda path: path.write_bytes(b"k,v\n"), "holds no events"),
        ("a.txt", "v", text, "a text file has no columns. Leave `column` out, or name a .csv or .parquet"),
        ("a.csv", "value", lambda path: path.write_bytes(CSV), "no column value. Write `column` with one of k, v"),
        ("a.csv", "v", lambda path: path.write_bytes(b"k,v\n1,2\n3\n"), "cannot be read: CSV parse error"),
        ("a.parquet", "value", table, "no column value. Write `column` with one of number, v"),
        ("a.parquet", None, table, "has several columns. Write `column` with one of number, v"),
        ("a.parquet", "number", table, "column number holds int64, not texts or bytes. Name another column"),
        ("b.parquet", "v", text, "cannot be read: "),
        ("a.gz", None, text, "cannot be read: Not a gzipped file"),
        ("a.gz", None, lambda path: path.write_bytes(gzip.compress(b"abc" * 99)[:-9]), "cannot be read: Compressed"),
        ("folder", "v", Path.mkdir, "holds no columns. Name a .csv or .parquet, or a folder"),
    ],
)
def test_what_cannot_be_used_is_said(
    tmp_path: Path, name: str, column: str | None, write: Callable[[Path], Any], what: str
) -> None:
    """One fault with the path, what is wrong, and the remedy."""
    write(tmp_path / name)

    assert fault_of(tmp_path / name, column).startswith(what)


def test_what_is_no_file_is_not_opened() -> None:
    """A device or a pipe might never end."""
    assert fault_of("/dev/null").startswith("a file of another kind")


def test_an_event_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without line ends is not read whole to say so."""
    monkeypatch.setattr(corpus, "MAX_SIZE_BYTES", 100)
    lines, table = tmp_path / "lines", tmp_path / "table.parquet"
    lines.write_bytes(b"a\n" + b"x" * 100 + b"\r\n" + b"x" * 101)
    pq.write_table(pa.table({"v": ["x" * 101]}), table)

    assert fault_of(lines) == "event 3 is larger than 100MiB. Leave it out"
    assert fault_of(table) == "event 1 is larger than 100MiB. Leave it out"


def test_a_row_of_csv_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said in words of ours."""
    monkeypatch.setattr(corpus, "LONGEST_ROW", 1_000)
    path = tmp_path / "a.csv"
    path.write_bytes(b"k,v\n1,a\n2," + b"x" * 5_000 + b"\n")

    assert fault_of(path, "v") == "a row is larger than 100MiB. Leave it out"


@pytest.mark.parametrize("name", ["events", "events.gz", "events.csv"])
def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Empty events count as well: each is an object."""
    monkeypatch.setattr(corpus, "MAX_READ_BYTES", 1_000)
    content = b"v\n" * 1_000_000
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    said = fault_of(path, "v" if name.endswith(".csv") else None)

    assert said == ("needs more than 1GiB of memory, which is the limit: 15 events. Name a file with fewer events")
