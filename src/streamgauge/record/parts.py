"""Event sinks: blocks of rows go to an open part; a full one becomes a closed Parquet part on a second thread."""

import contextlib
import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.arrow import ARROW_TYPES, arrow_schema
from streamgauge.domain.blocks import Block
from streamgauge.domain.errors import RecordError
from streamgauge.domain.events import EVENTS
from streamgauge.domain.folder.paths import RunFolder
from streamgauge.domain.tables.schema import NULL, Column, Type
from streamgauge.processes.disk import sync
from streamgauge.processes.lock import FolderLock
from streamgauge.record.openpart import Buffers, Constants, OpenPart, Rows, make_buffers, read_open_part

ROWS_PER_PART = 1 << 18
"""A worker keeps the columns of two parts in memory: 20 MB each."""
FEW_ROWS_PER_PART = 1 << 16
"""The same for kinds without a row for every message."""
_SELDOM = 1 << 10
_ROWS_PER_PART = {
    "sent": ROWS_PER_PART, "received": ROWS_PER_PART, "appended": ROWS_PER_PART,
    **dict.fromkeys(("client", "query", "progress", "executors", "lookups"), _SELDOM),
}  # fmt: skip
"""Of the kinds that have more rows than most, or fewer: a client is looked at every other second."""
_PART, _OPEN, _TORN = "part-", "_open-", "_torn-"

WriteTable = Callable[[pa.Table, Path], None]


def write_parquet(table: pa.Table, path: Path | pa.BufferOutputStream) -> None:
    """Write one closed part. Deltas suit rising sequences, offsets and times; level 1 keeps up with the load."""
    deltas = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    pq.write_table(
        table,
        path,
        compression="zstd",
        compression_level=1,
        use_dictionary=[field.name for field in table.schema if field.name not in deltas],
        column_encoding=dict.fromkeys(deltas, "DELTA_BINARY_PACKED"),
        write_page_checksum=True,
    )


class PartSink:
    """The rows of one kind of event of one worker; not for use by several threads.

    `lock` keeps others from analysing the folder until the sink is closed; it is let go with the process, too.
    Raises RecordError when rows can no longer be written; those already taken stay in the folder.
    """

    def __init__(
        self,
        folder: RunFolder,
        kind: str,
        worker: str,
        constants: Constants | None = None,
        rows_per_part: int = ROWS_PER_PART,
        write: WriteTable = write_parquet,
        lock: FolderLock | None = None,
    ) -> None:
        self._lock = lock
        self._schema = EVENTS[kind]
        self._directory = folder.worker_events(kind, worker)
        self._constants = constants or {}
        self._rows_per_part = rows_per_part
        self._write = write
        self._closing: threading.Thread | None = None
        self._failure: RecordError | None = None
        self._spare: Buffers | None = None
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordError(f"{self._directory}: cannot be made: {error.strerror}") from error
        self._open = self._new_open_part(_first_free(self._directory))
        # The second part begins in the middle of the load.
        self._spare = make_buffers(self._schema, self._constants, rows_per_part)

    def append(self, block: Block, count: int) -> None:
        """Take `count` rows; every column that is not constant must be in the block.

        Raises RecordError, with the number of rows that were not taken, when they cannot be written.
        """
        first = 0
        try:
            while first < count:
                taken = min(count - first, self._rows_per_part - self._open.count)
                self._open.append(block, first, taken)
                first += taken
                if self._open.count == self._rows_per_part:
                    self._turn()
        except RecordError as error:
            error.dropped_rows = count - first
            raise

    def close(self) -> None:
        """Turn what is still open into a closed part; raises RecordError where that is not possible.

        The folder is let go in any case: then others close what stays open.
        """
        try:
            self._open.close()
            self._await_closing()
            _write_closed(self._open.path, self._open.rows(), self._write)
            with contextlib.suppress(OSError):
                # A worker that recorded nothing leaves nothing.
                self._directory.rmdir()
        finally:
            if self._lock:
                self._lock.close()

    def _turn(self) -> None:
        """Go on in another open part while the full one is turned into a closed one."""
        self._await_closing()
        full, self._open = self._open, self._new_open_part(self._open.number + 1)
        full.close()
        self._closing = threading.Thread(target=self._close_full, args=(full,), name="close-part")
        self._closing.start()

    def _close_full(self, full: OpenPart) -> None:
        try:
            _write_closed(full.path, full.rows(), self._write)
            # Pages that were touched already cost no fault again.
            self._spare = full.buffers
        except RecordError as error:
            # The rows stay in the open part; the next turn tells the worker.
            self._failure = error

    def _await_closing(self) -> None:
        if self._closing:
            self._closing.join()
            self._closing = None
        if self._failure:
            raise self._failure

    def _new_open_part(self, number: int) -> OpenPart:
        path, spare = self._directory / f"{_OPEN}{number}", self._spare
        self._spare = None
        return OpenPart(path, self._schema, number, self._constants, self._rows_per_part, spare)


def open_sink(run: Path, kind: str, worker: str, constants: Constants) -> PartSink:
    """A sink in the folder `run`, ready to take rows at once: what a first use costs is paid here.

    Nobody can analyse the folder before the sink is closed or its process has ended. Raises RecordError when somebody
    does so already.
    """
    _warm_up()
    rows_per_part = _ROWS_PER_PART.get(kind, FEW_ROWS_PER_PART)
    return PartSink(RunFolder(run), kind, worker, constants, rows_per_part, lock=hold(RunFolder(run)))


def hold(folder: RunFolder) -> FolderLock:
    """Hold a run folder together with others who write rows; raises RecordError while somebody analyses it."""
    try:
        lock = FolderLock.shared(folder.root)
    except OSError as error:
        raise RecordError(f"{folder.root}: cannot be opened: {error.strerror}") from error
    if lock is None:
        raise RecordError(f"{folder.root}: is being analysed; no rows can be written meanwhile")
    return lock


def close_left_open(folder: RunFolder, write: WriteTable = write_parquet) -> list[tuple[Path, str]]:
    """Close what dead workers left open; returns the files of which not every row could be used, each with the reason.

    Nobody may write to the folder meanwhile. A file that cannot be read stays; of one whose end cannot be read the rows
    before are used, and it stays beside them under a name of its own.
    """
    left = []
    for path in sorted(folder.events.glob(f"*/worker=*/{_OPEN}*")):
        try:
            rows = read_open_part(path)
            _write_closed(path, rows, write)
        except RecordError as error:
            left.append((path, str(error)))
            continue
        if rows.unread_bytes:
            left.append(
                (_torn(path), f"its last {rows.unread_bytes:,} bytes, after {rows.count:,} rows, cannot be read")
            )
    for unfinished in folder.events.glob(f"*/worker=*/_{_PART}*.parquet"):
        unfinished.unlink(missing_ok=True)
    return left


def _write_closed(path: Path, rows: Rows, write: WriteTable) -> None:
    """Turn an open part into a closed one: under a temporary name, then renamed, so that a part is whole or absent.

    It is on the disk before the open one goes, so that a power failure costs no row that was closed.
    """
    closed = path.parent / f"{_PART}{rows.number}.parquet"
    temporary = path.parent / f"_{_PART}{rows.number}.parquet"
    try:
        # It may be there already, if a worker died between the two last steps.
        if rows.count and not closed.exists():
            write(_table(rows), temporary)
            sync(temporary)
            temporary.rename(closed)
            sync(closed.parent)
        path.rename(_torn(path)) if rows.unread_bytes else path.unlink()
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RecordError(f"{closed}: cannot be written: {error}") from error


def _torn(path: Path) -> Path:
    """Where an open part stays whose end could not be read."""
    return path.with_name(path.name.replace(_OPEN, _TORN))


def _first_free(directory: Path) -> int:
    """The first number that no part of a folder has; an earlier process may have written there."""
    numbers = [path.stem.rpartition("-")[2] for path in directory.iterdir()]
    return max((int(number) + 1 for number in numbers if number.isdigit()), default=0)


def _table(rows: Rows) -> pa.Table:
    arrays = [_array(column, rows.columns[column.name], rows.count) for column in rows.schema.columns]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(rows.schema))


def _array(column: Column, values: Any, rows: int) -> pa.Array:
    """One column as Arrow: NULL becomes null, codes become words."""
    kind = ARROW_TYPES[column.type]
    if isinstance(values, tuple):
        codes, words = values
        coded = pa.array(codes - 1, pa.int32(), mask=codes == 0)
        return pa.DictionaryArray.from_arrays(coded, pa.array(words, pa.string())).cast(pa.string())
    if not isinstance(values, np.ndarray):
        return pa.repeat(pa.scalar(values, kind), rows)
    known = values != NULL[column.type] if column.nullable else None
    # Arrow's own conversion would hold the interpreter, and with it the loop that sends; numpy packs without it.
    validity = None if known is None or known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    data = np.packbits(values == 1, bitorder="little") if column.type is Type.BOOL else values
    return pa.Array.from_buffers(kind, rows, [validity, pa.py_buffer(np.ascontiguousarray(data))])


@functools.cache
def _warm_up() -> None:
    """Write a small part to memory: the first use of Arrow and Parquet takes as long as writing a whole part."""
    count = 1_000
    for schema in (EVENTS["sent"], EVENTS["received"]):
        columns = make_buffers(schema, {}, count)
        texts = {column.name: (columns[column.name], ["x"]) for column in schema.columns if column.type is Type.STRING}
        write_parquet(_table(Rows(schema, 0, count, {**columns, **texts})), pa.BufferOutputStream())
