"""Recorded arrivals, to be replayed: from a text file, a table, or an earlier run."""

import contextlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.paths import RunFolder
from streamgauge.domain.text.shown import one_line, shown
from streamgauge.workload.pacing import NEVER, Int64s

_FILE: Final = "load.rate.replay.file"
_COLUMN: Final = "load.rate.replay.column"
_UNITS: Final = ((10**18, 1), (10**15, 1_000), (10**12, 1_000_000))
"""Whole numbers from so much on count so many ns: since 1970 it is 1.8e18 ns, 1.8e15 us or 1.8e12 ms."""
_MEND: Final = "Write a number or a date in each line, and name the column of a table in `column`"
_PARQUET: Final = b"PAR1"


def read_arrivals(path: Path, column: str | None) -> Int64s:
    """When messages came, in ns from the first one on, in order.

    A folder is a run: its messages count at their due times, at sent times where they have none. A file is Parquet,
    or, where a `column` is named, CSV with names in its first line (`.tsv`: between tabs), or else text with a time in
    each line. A time is a date, or a number: of seconds, unless all are whole and the largest is from 10^12, 10^15 or
    10^18 on, which are milliseconds, microseconds and nanoseconds since 1970. Seconds since 1970 with decimals are
    known to 0.3 us.

    Raises BadInput, with the remedy, for what is not there, cannot be read, is empty, or is no time.
    """
    try:
        times_ns = _of_run(path) if path.is_dir() else _in_ns(path, _of_file(path, column))
    except OSError as error:
        raise _fault(path, f"cannot be read: {error.strerror or error}", "Name another file") from error
    except (pa.ArrowException, ValueError) as error:
        what = f"cannot be read: {one_line(str(error))}"
        raise _fault(path, what, _MEND) from error
    if not len(times_ns):
        raise _fault(path, "contains no times", _MEND)
    times_ns = np.sort(times_ns)
    return times_ns - int(times_ns[0])


def _of_run(folder: Path) -> Int64s:
    parts = sorted(str(part) for part in (RunFolder(folder).events / "sent").glob("*/part-*.parquet"))
    if not parts:
        raise _fault(folder, "not the folder of a run that sent messages", "Name a run folder, or a file of times")
    rows = ds.dataset(parts).to_table(columns=["due_ns", "sent_ns"])
    return _numbers(pc.coalesce(rows["due_ns"], rows["sent_ns"]).drop_null())


def _of_file(path: Path, column: str | None) -> pa.ChunkedArray:
    with path.open("rb") as file:
        begin = file.read(len(_PARQUET))
    if begin == _PARQUET:
        return _of_parquet(path, column)
    if not begin:
        return pa.chunked_array([], pa.int64())
    parse = csv.ParseOptions(delimiter="\t" if ".tsv" in path.suffixes else ",")
    read = csv.ReadOptions(column_names=None if column else ["time"])
    convert = csv.ConvertOptions(null_values=[])
    if column:
        convert.include_columns = [_column(path, csv.open_csv(path, parse_options=parse).schema.names, column)]
    return csv.read_csv(path, read, parse, convert)[0]


def _of_parquet(path: Path, column: str | None) -> pa.ChunkedArray:
    with pq.ParquetFile(path) as file:
        return file.read([_column(path, file.schema_arrow.names, column)])[0]


def _column(path: Path, names: Sequence[str], wanted: str | None) -> str:
    """The column that is wanted, or the only one."""
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None or wanted not in names:
        what = f"{len(names)} columns" if wanted is None else f"no column {shown('column', wanted)}"
        raise BadInput.single(_COLUMN, f"{path} has {what}", f"Name one of {one_line(', '.join(names))}")
    return wanted


def _in_ns(path: Path, column: pa.ChunkedArray) -> Int64s:
    """The times of a column; whole seconds and fractions are counted from the first one, so that they fit."""
    kind = column.type
    if column.null_count:
        raise _fault(path, f"{column.null_count:,} of {len(column):,} times are missing", "Remove those rows")
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _numbers(column.cast(pa.timestamp("ns")))
    if not len(column):
        return np.empty(0, np.int64)
    if pa.types.is_integer(kind):
        whole = _numbers(column)
        first, last = int(whole.min()), int(whole.max())
        unit = next((unit for least, unit in _UNITS if last >= least), NS_PER_SECOND)
        _check_span(path, (last - first) * unit)
        return (whole - first) * unit
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        seconds: NDArray[np.float64] = column.cast(pa.float64()).to_numpy()
        if not np.isfinite(seconds).all():
            raise _fault(path, "contains a time that is not a finite number", "Leave it out")
        since_first_ns = (seconds - seconds.min()) * NS_PER_SECOND
        _check_span(path, since_first_ns.max())
        rounded: Int64s = np.rint(since_first_ns).astype(np.int64)
        return rounded
    raise _fault(path, _no_times(column), _MEND)


def _numbers(column: pa.ChunkedArray) -> Int64s:
    numbers: Int64s = column.cast(pa.int64()).to_numpy()
    return numbers


def _check_span(path: Path, span_ns: float) -> None:
    if span_ns >= NEVER:
        raise _fault(path, "its times span 146 years or more", "Check that all have the same unit")


def _no_times(column: pa.ChunkedArray) -> str:
    """What is wrong with a column that holds neither numbers nor dates."""
    if not pa.types.is_string(column.type):
        return f"holds values of type {column.type}, not times"
    for place, text in enumerate(column.to_pylist(), 1):
        if not _is_time(text):
            return f"entry {place:,} is {shown('entry', text)}, which is not a time"
    return "contains times of several kinds, which cannot be ordered"


def _is_time(text: str) -> bool:
    for read in (float, datetime.fromisoformat):
        with contextlib.suppress(ValueError):
            read(text)
            return True
    return False


def _fault(path: Path, what: str, mend: str) -> BadInput:
    return BadInput.single(_FILE, f"{path}: {what}", mend)
