"""The tables of a run folder, replaced all together or not at all."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.processes.disk import sync


def write_tables(folder: RunFolder, tables: Mapping[str, pa.Table]) -> None:
    """Write all tables under temporary names, and rename them when all of them are on the disk.

    Until then those of an earlier analysis stay as they are. While names change `folder.replacing` is there; where it
    stays, because that was cut off, nobody may read the tables. Raises AnalysisError where they cannot be written.
    """
    path = folder.tables
    try:
        folder.tables.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            path = folder.table(name)
            _write(_temporary(path), table)
        path = folder.replacing
        path.touch()
        sync(folder.tables)
        for path in map(folder.table, tables):
            _temporary(path).replace(path)
        for name in tables:
            if formerly := TABLES[name].formerly:
                folder.table(formerly).unlink(missing_ok=True)
        sync(folder.tables)
        folder.replacing.unlink()
    except OSError as error:
        raise AnalysisError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            _remove_temporaries(folder)


def _temporary(path: Path) -> Path:
    return path.with_name(f"_{path.name}")


def _remove_temporaries(folder: RunFolder) -> None:
    """Also those that an analysis left which was killed."""
    for path in folder.tables.glob("_*.parquet"):
        path.unlink(missing_ok=True)


def _write(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, compression="zstd")
    sync(path)
