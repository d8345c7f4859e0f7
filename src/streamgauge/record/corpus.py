"""Events and keys from files: lines of a text, or a column of a CSV or Parquet file."""

import gzip
import os.path
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as ds

from streamgauge.domain.blocks import MAX_SIZE_BYTES
from streamgauge.domain.errors import BadInput

MAX_READ_BYTES: Final = 1 << 30
"""What is read of one file at most: it is held in memory."""
EVENT_BYTES: Final = 64
"""What an event takes in memory besides its own bytes, about."""
LONGEST_ROW: Final = MAX_SIZE_BYTES + (1 << 20)
"""Bytes that a row of a CSV file may have."""
_ROWS: Final = 4_096
_BINARY: Final = pa.large_binary()
_TEXTS: Final = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)


def read_events(path: str, column: str | None) -> list[bytes | None]:
    r"""The events of a file in their order; null in a column is None, a tombstone.

    Without a column, each line of a text file without its end (`\n` or `\r\n`); with one, the texts or bytes of that
    column of a CSV file (first row: names; what is empty and not in quotes is null) or of a Parquet file or folder.
    Texts and CSV may be compressed (`.gz`). Raises BadInput where there is nothing that can be sent, where an event is
    larger than 100 MiB, or where all of them take more than 1 GiB of memory.
    """
    # pathlib's own raises where there is no such user.
    file = Path(os.path.expanduser(path))  # noqa: PTH111
    if not (file.is_file() or file.is_dir()):
        raise BadInput.single(path, "a file of another kind" if file.exists() else "no such file", "Correct the path")
    try:
        return _bounded(path, _found(path, file, column))
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        what = f"cannot be read: {str(error).partition(chr(10))[0]}"
        raise BadInput.single(path, what, "Name a complete text, .csv or .parquet file") from error


def _found(path: str, file: Path, column: str | None) -> Iterator[bytes | None]:
    """Events by the form of the file."""
    name = file.name.removesuffix(".gz")
    if name.endswith(".parquet") or file.is_dir():
        return _parquet(path, file, column)
    if column is None:
        return _lines(file)
    if name.endswith(".csv"):
        return _csv(path, file, column)
    raise BadInput.single(path, "a text file has no columns", "Leave `column` out, or name a .csv or .parquet")


def _bounded(path: str, found: Iterator[bytes | None]) -> list[bytes | None]:
    """The events as long as there is room for them."""
    events: list[bytes | None] = []
    room = MAX_READ_BYTES
    for event in found:
        size = len(event or b"")
        if size > MAX_SIZE_BYTES:
            raise BadInput.single(path, f"event {len(events) + 1:,} is larger than 100MiB", "Leave it out")
        room -= size + EVENT_BYTES
        if room < 0:
            what = f"needs more than 1GiB of memory, which is the limit: {len(events):,} events"
            raise BadInput.single(path, what, "Name a file with fewer events")
        events.append(event)
    if not events:
        raise BadInput.single(path, "holds no events", "Name a file with at least one")
    return events


def _lines(file: Path) -> Iterator[bytes]:
    """Lines without their end, each read as far as it may be long."""
    with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as text:
        while line := text.readline(MAX_SIZE_BYTES + 2):
            yield line.removesuffix(b"\n").removesuffix(b"\r")


def _csv(path: str, file: Path, column: str) -> Iterator[bytes | None]:
    """A column of a CSV file."""
    reading = pacsv.ReadOptions(block_size=LONGEST_ROW, use_threads=False)
    parsing = pacsv.ParseOptions(newlines_in_values=True)
    converting = pacsv.ConvertOptions(
        include_columns=[column],
        column_types={column: _BINARY},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    try:
        with pacsv.open_csv(file, reading, parsing, converting) as batches:
            for batch in batches:
                yield from batch.column(0).to_pylist()
    except pa.ArrowInvalid as error:
        if "straddl" not in str(error):
            raise
        raise BadInput.single(path, "a row is larger than 100MiB", "Leave it out") from error
    except pa.ArrowKeyError as error:
        with pacsv.open_csv(file, reading, parsing) as head:
            raise _no_column(path, column, head.schema.names) from error


def _parquet(path: str, file: Path, column: str | None) -> Iterator[bytes | None]:
    """A column of a Parquet file, or of all files of a folder by their names."""
    data = ds.dataset(file, format="parquet")
    names = data.schema.names
    if column is None and len(names) == 1:
        column = names[0]
    if column not in names:
        raise _no_column(path, column, names)
    kind = data.schema.field(column).type
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not any(is_text(values) for is_text in _TEXTS):
        raise BadInput.single(path, f"column {column} holds {kind}, not texts or bytes", "Name another column")
    scanner = data.scanner(columns={column: ds.field(column)}, batch_size=_ROWS, use_threads=False)
    for batch in scanner.to_batches():
        yield from batch.column(0).cast(_BINARY).to_pylist()


def _no_column(path: str, column: str | None, names: Sequence[str]) -> BadInput:
    if not names:
        return BadInput.single(path, "holds no columns", "Name a .csv or .parquet, or a folder of .parquet files")
    what = "has several columns" if column is None else f"no column {column}"
    return BadInput.single(path, what, f"Write `column` with one of {', '.join(names)}")
