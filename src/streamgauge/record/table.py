"""A table that a pipeline writes, read as it grows: like a topic with one partition, whose offsets count its rows.

Spark's file sink notes in `_spark_metadata` which files belong to the table, one note for each batch; what is not noted
is not part of it. A row is visible from the moment that its batch is noted.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.domain import clock, stamp
from streamgauge.domain.blocks import Block, ClientSpec, Fetched, Place
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import RecordError
from streamgauge.domain.stamp import Stamps

NOTES: Final = "_spark_metadata"
STAMP: Final = "stamp"
"""The column that holds the stamp of a row."""
LOOK_NS: Final = 10 * NS_PER_MS
_NOTE: Final = re.compile(r"(\d+)(\.compact)?")


@dataclass(frozen=True, slots=True)
class NotedFile:
    """One file of a table."""

    path: Path
    written_ms: int
    """When it was last written to, by the wall clock."""


def batches(folder: Path, after: int) -> list[tuple[int, list[NotedFile]]]:
    """The batches noted after this one, in their order, with the files that each added."""
    found, is_whole = _notes(folder, after)
    if not is_whole:
        # Spark removes a note when a newer one repeats it, which may not have been there yet when they were listed.
        found, _ = _notes(folder, after)
    known: set[Path] = set()
    result = []
    for number in sorted(found):
        # A compacted note repeats those of all batches before.
        fresh = [each for each in found[number] if each.path not in known]
        known.update(each.path for each in fresh)
        result.append((number, fresh))
    return result


def _notes(folder: Path, after: int) -> tuple[dict[int, list[NotedFile]], bool]:
    """What each whole note after this one says, by number, and whether none was removed meanwhile."""
    found: dict[int, list[NotedFile]] = {}
    is_whole = True
    for path in (folder / NOTES).glob("*") if (folder / NOTES).is_dir() else ():
        name = _NOTE.fullmatch(path.name)
        if name and int(name.group(1)) > after:
            try:
                files = _noted(path)
            except FileNotFoundError:
                is_whole = False
                continue
            if files is not None:
                found[int(name.group(1))] = files
    return found, is_whole


def _noted(path: Path) -> list[NotedFile] | None:
    """What a note says; None for one that is not whole, which is being written."""
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        files = [json.loads(line) for line in lines[1:]]
        return [
            NotedFile(_path(each["path"]), int(each["modificationTime"])) for each in files if each["action"] == "add"
        ]
    except (ValueError, KeyError):
        return None


def _path(written: str) -> Path:
    return Path(unquote(urlparse(written).path))


def committed_rows(folder: Path) -> int:
    """How many rows a table has; 0 where there is none yet."""
    paths = {each.path for _, files in batches(folder, -1) for each in files}
    return sum(int(pq.read_metadata(path).num_rows) for path in paths)


@dataclass(frozen=True, slots=True)
class GrowingTable:
    """Asks a table the same question again and again: how many rows there are, and how new the newest is."""

    folder: Path

    def look(self) -> tuple[int, int, int | None]:
        """Rows, files, and the due time of the newest message that any row comes from; RecordError if it fails."""
        files = {each.path for _, added in batches(self.folder, -1) for each in added}
        rows, newest_ns = 0, None
        for path in files:
            try:
                table = pq.read_table(path, columns=[STAMP], partitioning=None)
            except (OSError, pa.ArrowException) as error:
                raise RecordError(f"{path} cannot be read: {error}") from error
            rows += table.num_rows
            stamps = _stamps(table)
            if len(dues := stamps["due_ns"][stamp.is_stamp(stamps, None)]):
                newest_ns = max(int(dues.max()), newest_ns or int(dues.max()))
        return rows, len(files), newest_ns


def _stamps(table: pa.Table) -> Stamps:
    """The stamps of rows; what is none does not look like one."""
    cells = table.column(STAMP).to_pylist()
    blank = bytes(stamp.SIZE)
    return stamp.decode(b"".join(each if each is not None and len(each) == stamp.SIZE else blank for each in cells))


@dataclass(slots=True)
class TableConsumer:
    """Reads a table as a consumer of the engine reads a topic; nothing is committed."""

    spec: ClientSpec
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    _batch: int = -1
    _offset: int = 0
    _known: set[Path] = field(default_factory=set)
    _held: bool = False
    _stock: list[Fetched] = field(default_factory=list)
    commits: None = None
    acknowledgements: None = None

    def poll(self, timeout_seconds: float, limit: int, room: Callable[[Place], int] | None = None) -> Fetched | None:
        """The rows of the next file, at most `limit` of them."""
        if self._held or limit == 0:
            self.sleep(min(timeout_seconds, LOOK_NS / NS_PER_SECOND))
            return None
        share = limit if room is None else min(limit, room(self._place))
        if not self._stock and share > 0:
            self._stock.extend(self._look())
        if not self._stock or share <= 0:
            self.sleep(min(timeout_seconds, LOOK_NS / NS_PER_SECOND))
            return None
        first = self._stock.pop(0)
        if first.count > share:
            self._stock.insert(0, _rows(first, share, first.count))
            first = _rows(first, 0, share)
        return first

    @property
    def _place(self) -> Place:
        return (self._topic, 0)

    @property
    def _topic(self) -> int:
        return self.spec.reads[0] if self.spec.reads else 0

    def _look(self) -> Iterator[Fetched]:
        """The rows of files that were noted since the last look."""
        folder = Path(self.spec.topics[self._topic])
        for number, files in batches(folder, self._batch):
            self._batch = number
            for noted in files:
                if noted.path in self._known:
                    continue
                self._known.add(noted.path)
                table = pq.read_table(noted.path, columns=[STAMP], partitioning=None)
                if table.num_rows:
                    yield self._fetched(table, noted)

    def _fetched(self, table: pa.Table, noted: NotedFile) -> Fetched:
        count = table.num_rows
        first, self._offset = self._offset, self._offset + count
        return Fetched(
            partition=np.zeros(count, np.int32),
            offset=np.arange(first, first + count, dtype=np.int64),
            append_ms=np.full(count, noted.written_ms, np.int64),
            size_bytes=np.zeros(count, np.int32),
            stamps=_stamps(table),
            values=[b""] * count,
            in_header=True,
            topic=self._topic,
            contents=lambda: [(None, None)] * count,
        )

    def ends(self) -> list[tuple[int, int, int]]:
        """A table has no end that a reader would be told of."""
        return []

    def assigned(self) -> int:
        """One: the table."""
        return 1

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of rows."""
        self._held = held

    def positions(self) -> list[tuple[int, int, int | None]]:
        """The next row."""
        waiting = sum(each.count for each in self._stock)
        return [(*self._place, self._offset - waiting)]

    def statistics(self) -> tuple[Block, int]:
        """None: it has no client."""
        return {}, 0

    def close(self) -> None:
        """There is nothing to let go of."""


def _rows(fetched: Fetched, first: int, end: int) -> Fetched:
    """Some rows of a block."""
    assert fetched.append_ms is not None
    return Fetched(
        partition=fetched.partition[first:end],
        offset=fetched.offset[first:end],
        append_ms=fetched.append_ms[first:end],
        size_bytes=fetched.size_bytes[first:end],
        stamps=fetched.stamps[first:end],
        values=fetched.values[first:end],
        in_header=True,
        topic=fetched.topic,
        contents=lambda: [(None, None)] * (end - first),
    )
