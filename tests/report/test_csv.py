"""CSV: every table that is there, as exact as Parquet, harmless to spreadsheets, whole or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.exports import csv_files
from streamgauge.report.exports.csv_files import harmless, write_csv

Make = Callable[..., RunFolder]


def read(path: Path, schema: pa.Schema) -> pa.Table:
    types = csv.ConvertOptions(column_types=schema, strings_can_be_null=True, quoted_strings_can_be_null=False)
    return csv.read_csv(path, convert_options=types)


def names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.iterdir())


def test_every_table_reads_back_as_it_was(make: Make) -> None:
    """The largest integer, a float of seventeen digits, null and empty text included."""

    def odd(_facts: Any, tables: Any) -> None:
        tables["problems"] = [{"class": "lost", "seq": 2**63 - 1, "error": ""}, {"class": "", "offset": -1}]
        tables["cdf"].append({"metric": "poll", "le_ms": 0.1 + 0.2, "share": 1e-300})

    folder = make(odd)
    written = write_csv(folder)

    assert names(folder.csv) == names(folder.tables) == sorted(path.stem for path in written)
    for path in written:
        expected = pq.read_table(folder.table(path.stem))
        assert read(path, expected.schema).to_pylist() == expected.to_pylist(), path.stem


def test_text_is_quoted_and_null_is_nothing(make: Make) -> None:
    rows = [
        {"kind": "sent", "source": "a,b", "reason": 'said "no"\nand left', "rows": None},
        {"kind": "=1+1", "source": "", "reason": "-", "rows": -3},
    ]
    folder = make(lambda _facts, tables: tables.update(set_aside=rows))
    write_csv(folder)

    assert (folder.csv / "set_aside.csv").read_text(encoding="utf-8") == (
        '"kind","source","reason","rows"\n'
        '"sent","a,b","said ""no""\nand left",\n'
        '"\'=1+1","","\'-",-3\n'
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK()", "'=HYPERLINK()"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("==", "'=="),
        ("'=1", "'=1"),
        ("a=1", "a=1"),
        ("a\n=1", "a\n=1"),
        ("", ""),
        (None, None),
    ],
)
def test_no_text_is_a_formula(text: str | None, cell: str | None) -> None:
    assert harmless(pa.record_batch({"text": pa.array([text], pa.string())}))["text"].to_pylist() == [cell]


def test_numbers_below_zero_stay_numbers() -> None:
    batch = pa.record_batch({"int": [-1], "float": [-0.5]})
    assert harmless(batch).equals(batch)


def test_a_table_goes_through_in_batches(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one header, however many there are."""
    folder = make()
    write_csv(folder)
    at_once = (folder.csv / "latency.csv").read_bytes()
    monkeypatch.setattr(csv_files, "ROWS_AT_ONCE", 7)
    write_csv(folder)

    assert (folder.csv / "latency.csv").read_bytes() == at_once
    assert at_once.count(b'"metric"') == 1


def test_without_tables_there_is_nothing(make: Make) -> None:
    folder = make(lambda _facts, tables: tables.clear(), judged=False)

    assert write_csv(folder) == []
    assert not folder.csv.exists()


def test_what_cannot_be_read_leaves_nothing_behind(make: Make) -> None:
    """A table that is damaged in its middle: what was there before stays, and the remedy is named."""
    folder = make()
    write_csv(folder)
    before = (folder.csv / "throughput.csv").read_bytes()
    table = folder.table("throughput")
    table.write_bytes(b"PAR1" + b"\xff" * 500 + table.read_bytes()[504:])

    with pytest.raises(AnalysisError, match=r"(?s)throughput.parquet cannot be read: .*; analyse the run again"):
        write_csv(folder)
    assert (folder.csv / "throughput.csv").read_bytes() == before
    assert not list(folder.csv.glob("_*"))


def test_where_there_is_no_room_it_is_said(make: Make) -> None:
    folder = make()
    folder.csv.write_text("a file where a folder should be")

    with pytest.raises(AnalysisError, match=r"throughput.csv cannot be written: "):
        write_csv(folder)
