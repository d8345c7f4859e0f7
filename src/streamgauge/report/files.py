"""What exports share: files that are written whole or not at all, and run folders that are read or refused."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFacts, RunFolder, parse_facts
from streamgauge.domain.tables.latency import LATENCY_BUCKETS, METRICS_FORMERLY
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.processes import disk


class Unwritten(AnalysisError):
    """A file of the report could not be written: most of all because the disk is full."""


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """The unfinished name to write under; the file is renamed to `path` at the end, and removed if anything fails.

    Raises Unwritten, with the remedy, where it cannot be written.
    """
    try:
        with disk.whole(path, synced=True) as unfinished:
            yield unfinished
    except OSError as error:
        raise Unwritten(f"{path} cannot be written: {_first_line(error)}; {_go_on(path)}") from error


def _go_on(path: Path) -> str:
    run = next((str(folder) for folder in path.parents if RunFolder(folder).facts.exists()), "RUN")
    return f"then write the report again: streamgauge report {shlex.quote(run)}"


@contextmanager
def reading(table: Path) -> Iterator[None]:
    """Raises AnalysisError, with the remedy, where a gold table is unreadable, or of another analysis than others."""
    folder = RunFolder(table.parent.parent)
    if folder.replacing.exists():
        raise AnalysisError(
            f"{folder.tables} cannot be read: an analysis was cut off while it replaced them, so they are of two "
            "analyses; analyse the run again"
        )
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise AnalysisError(f"{table} cannot be read: {_first_line(error)}; analyse the run again") from error


def _first_line(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).partition("\n")[0]


def table_file(folder: RunFolder, name: str) -> Path:
    """The file of a gold table, which may be there in the name of format 1."""
    path, formerly = folder.table(name), TABLES[name].formerly
    return folder.table(formerly) if formerly and not path.exists() else path


def in_names_of_today(name: str, rows: pa.Table) -> pa.Table:
    """Rows of a gold table of whatever format, with the names that columns and metrics have today."""
    rows = rows.rename_columns(TABLES[name].renamed(rows.column_names))
    place = rows.schema.get_field_index("metric")
    if place < 0:
        return rows
    metric = rows.column(place)
    for today, formerly in METRICS_FORMERLY.items():
        metric = pc.if_else(pc.equal(metric, formerly), today, metric)
    return rows.set_column(place, rows.schema.field(place), metric)


def read_table(folder: RunFolder, name: str, **wanted: str) -> pa.Table:
    """The rows of a gold table that have these values; raises AnalysisError where it cannot be read."""
    path = table_file(folder, name)
    with reading(path):
        filters = [(column, "=", value) for column, value in wanted.items()] or None
        return in_names_of_today(name, pq.read_table(path, filters=filters, partitioning=None))


def metric_windows(folder: RunFolder, metric: str) -> pa.Table:
    """The buckets of one latency in every second; also where it has its name of format 1.

    Raises AnalysisError where the table cannot be read.
    """
    path = folder.table(LATENCY_BUCKETS.name)
    named = pc.field("metric").isin([metric, METRICS_FORMERLY.get(metric, metric)])
    columns = ["second", "measured", "censored", "bucket", "count"]
    with reading(path):
        return pq.read_table(path, columns=columns, filters=named & pc.field("second").is_valid(), partitioning=None)


def read_gold(path: Path) -> pa.Table:
    """The rows of a gold table of an experiment; raises AnalysisError where it cannot be read."""
    with reading(path):
        return pq.read_table(path, partitioning=None)


def rows_of(folder: RunFolder, name: str, **wanted: str) -> list[Mapping[str, Any]]:
    """The rows of a gold table that have these values, with a null for each column that it was made without.

    Raises AnalysisError where it cannot be read, or lacks what its rows must have.
    """
    path, columns = table_file(folder, name), TABLES[name].columns
    table = read_table(folder, name, **wanted)
    absent = [column for column in columns if column.name not in table.column_names]
    if lacking := next((column.name for column in absent if not column.nullable), None):
        raise AnalysisError(f"{path} cannot be read: it has no column `{lacking}`; analyse the run again")
    nulls = dict.fromkeys(column.name for column in absent)
    return [{**row, **nulls} for row in table.to_pylist()]


def read_facts(folder: RunFolder) -> RunFacts:
    """run.json; raises AnalysisError where it cannot be read, or is of a format that this version does not know."""
    try:
        return parse_facts(folder.facts.read_bytes())
    except OSError as error:
        raise AnalysisError(f"{folder.facts} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise AnalysisError(f"{folder.facts}: {error}") from error
