"""The gold tables as CSV: one header row, nothing for null, `""` for an empty text, numbers with all their digits.

A spreadsheet takes a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return for a formula and may run it.
Texts that begin so get an apostrophe in front, which spreadsheets understand as "this is text"; numbers stay as they
are. Whoever needs the texts as they were reads the Parquet files.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.report.files import in_names_of_today, reading, table_file, whole

ROWS_AT_ONCE: Final = 1 << 16

_FORMULA: Final = r"^([=+\-@\t\r])"


def write_csv(folder: RunFolder) -> list[Path]:
    """One file for each gold table that is there, each written whole or not at all; returns what was written.

    Raises AnalysisError where a table cannot be read or a file cannot be written.
    """
    written = []
    for name in TABLES:
        table, target = table_file(folder, name), folder.csv / f"{name}.csv"
        if table.exists():
            _write(name, table, target)
            written.append(target)
    return written


def _write(name: str, table: Path, target: Path) -> None:
    with reading(table):
        schema = in_names_of_today(name, pq.read_schema(table).empty_table()).schema
    with whole(target) as unfinished, csv.CSVWriter(unfinished, schema) as writer:
        for batch in _batches(table):
            for part in in_names_of_today(name, pa.Table.from_batches([batch])).to_batches():
                writer.write_batch(harmless(part))


def _batches(table: Path) -> Iterator[pa.RecordBatch]:
    with reading(table), pq.ParquetFile(table) as file:
        yield from file.iter_batches(ROWS_AT_ONCE)


def harmless_table(table: pa.Table) -> pa.Table:
    """The same of a table."""
    return pa.Table.from_batches([harmless(each) for each in table.to_batches()], table.schema)


def harmless(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows, with an apostrophe before every text that a spreadsheet would take for a formula."""
    for index, field in enumerate(batch.schema):
        if pa.types.is_string(field.type):
            texts = pc.replace_substring_regex(batch.column(index), _FORMULA, r"'\1")
            batch = batch.set_column(index, field, texts)
    return batch
