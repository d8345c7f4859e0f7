"""The tables of a run folder, replaced all together or not at all."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.runfolder import RunFolder


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
        _sync(folder.tables)
        for path in map(folder.table, tables):
            _temporary(path).replace(path)
        _sync(folder.tables)
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
    """Write one table, and wait until it is on the disk: a name may otherwise get there before what it names."""
    with path.open("wb") as file:
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
