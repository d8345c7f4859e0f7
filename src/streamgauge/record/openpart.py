"""The open part: rows kept as columns in memory, and appended to a file so that they outlive the process.

Only after a death is the file read; a worker that lives turns its columns into a closed part. Layout: a head of
`HEAD_BYTES` with a JSON description, then blocks. A block of rows: their number as a 32-bit integer, one byte for each
column that tells whether it is `_SAME` in all rows of the block, then the columns, packed, a same one as a single item.
A block of texts, before the first row that needs them: a number of 0, the length of what follows as a 32-bit integer, a
JSON list. What follows the last whole block is not read, but told. Plain writes instead of a mapping: they cost less
than page faults, need no room in advance, and a full disk is an error instead of a signal.
"""

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.blocks import Block, Values
from streamgauge.domain.errors import RecordError
from streamgauge.domain.events import EVENTS
from streamgauge.domain.tables.schema import NULL, Column, Schema, Type

HEAD_BYTES: Final = 16 << 10
_ITEM: Final[Mapping[Type, np.dtype[Any]]] = {
    Type.INT32: np.dtype("<i4"),
    Type.INT64: np.dtype("<i8"),
    Type.FLOAT64: np.dtype("<f8"),
    Type.BOOL: np.dtype("i1"),
    Type.STRING: np.dtype("<i4"),
}
"""What a column's items are; strings are numbers of a vocabulary, 0 for null."""
_NUMBER_BYTES: Final = 4
_SAME: Final = 1

Constants = Mapping[str, int | str | None]
Columns = Mapping[str, Any]
"""Arrays of numbers with NULL, (codes, vocabulary) for strings, or one value for all rows."""
Buffers = Mapping[str, NDArray[Any]]
"""Room for the columns of a part; may be used again for a later one."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What is in a part."""

    schema: Schema
    number: int
    count: int
    columns: Columns
    unread_bytes: int = 0
    """What stands in the file behind the last whole block: rows that were cut off or damaged."""


def make_buffers(schema: Schema, constants: Constants, room: int) -> Buffers:
    """Room for `room` rows, every page of it touched: a first touch costs microseconds, and not amid the load."""
    return {column.name: np.full(room, 0, _ITEM[column.type]) for column in _stored(schema, constants)}


class OpenPart:
    """Up to `room` rows of one kind; `constants` are columns with the same value in every row and take no room."""

    def __init__(
        self, path: Path, schema: Schema, number: int, constants: Constants, room: int, buffers: Buffers | None = None
    ) -> None:
        self.path = path
        self.number = number
        self.count = 0
        self._schema = schema
        self._constants = dict(constants)
        self._stored = _stored(schema, constants)
        self.buffers = buffers or make_buffers(schema, constants, room)
        self._words: dict[str, int] = {}
        self._new_words: list[str] = []
        """Texts that no block in the file has yet."""
        self._end = HEAD_BYTES
        """Where the last whole block ends in the file."""
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
        except OSError as error:
            raise RecordError(f"{path}: cannot be made: {error.strerror}") from error
        self._describe()
        os.lseek(self._file, HEAD_BYTES, os.SEEK_SET)

    def append(self, block: Block, first: int, count: int) -> None:
        """Take `count` rows of the block from row `first` on; raises RecordError when they cannot be written."""
        begin, end = self.count, self.count + count
        same = bytearray(len(self._stored))
        pieces: list[bytes | bytearray | memoryview] = [_number(count), same]
        for place, column in enumerate(self._stored):
            items = self.buffers[column.name][begin:end]
            values = self._encode(column, block[column.name], first, count)
            items[:] = values
            if isinstance(values, int | float):
                same[place] = _SAME
                items = items[:1]
            pieces.append(items.data)
        if self._new_words:
            texts = json.dumps(self._new_words).encode()
            pieces = [_number(0), _number(len(texts)), texts, *pieces]
        self._write(pieces)
        self._new_words = []
        self.count = end

    def _write(self, pieces: Sequence[bytes | bytearray | memoryview]) -> None:
        """Append a block to the file, whole or not at all."""
        size = sum(memoryview(piece).nbytes for piece in pieces)
        try:
            written = os.writev(self._file, pieces)
            left = b"" if written == size else b"".join(pieces)[written:]
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            # Half a block at the end would look like damage to whoever closes this part, and so would a hole before
            # the next one.
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)
                os.lseek(self._file, self._end, os.SEEK_SET)
            raise RecordError(f"{self.path}: rows cannot be written: {error.strerror}") from error
        self._end += size

    def rows(self) -> Rows:
        """The rows so far; their columns are views of the buffers."""
        columns = {
            column.name: _column(column, self.buffers[column.name][: self.count], list(self._words))
            for column in self._stored
        }
        return Rows(self._schema, self.number, self.count, {**self._constants, **columns})

    def close(self) -> None:
        """Close the file; it stays where it is."""
        os.close(self._file)

    def _encode(self, column: Column, values: Values, first: int, count: int) -> Any:
        if column.type is Type.STRING:
            if values is None or isinstance(values, str):
                return self._code(values)
            if not isinstance(values, Sequence):
                raise TypeError(f"column {column.name} takes strings")
            return [self._code(value) for value in values[first : first + count]]
        if values is None:
            return NULL[column.type]
        return values[first : first + count] if isinstance(values, np.ndarray) else values

    def _code(self, word: str | None) -> int:
        if word is None:
            return 0
        if word not in self._words:
            self._words[word] = len(self._words) + 1
            self._new_words.append(word)
        return self._words[word]

    def _describe(self) -> None:
        """Write what a reader needs to know before any row."""
        text = json.dumps(
            {"kind": self._schema.name, "number": self.number, "constants": self._constants, "words": []}
        ).encode()
        if len(text) > HEAD_BYTES:
            raise RecordError(f"{self.path}: constant columns of {len(text)} bytes, at most {HEAD_BYTES} have room")
        head, written = text.ljust(HEAD_BYTES), 0
        try:
            while written < HEAD_BYTES:
                written += os.pwrite(self._file, head[written:], written)
        except OSError as error:
            # Without a head it is no part, and whoever looks for rows later could not tell that it has none.
            os.close(self._file)
            self.path.unlink(missing_ok=True)
            raise RecordError(f"{self.path}: cannot be written: {error.strerror}") from error


def read_open_part(path: Path) -> Rows:
    """What the file of an open part holds; raises RecordError when it is none."""
    try:
        with path.open("rb") as file:
            described = json.loads(file.read(HEAD_BYTES))
            schema = EVENTS[described["kind"]]
            number, constants, words = int(described["number"]), described["constants"], list(described["words"])
            stored = _stored(schema, constants)
            data = file.read()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path}: not an open part that can be read: {error}") from error
    items = [_ITEM[column.type] for column in stored]
    blocks, at = _blocks(data, items, words)
    columns = {}
    for place, (column, item) in enumerate(zip(stored, items, strict=True)):
        column_items = np.concatenate([np.empty(0, item), *(block[place] for block in blocks)])
        columns[column.name] = _column(column, column_items, words)
    count = sum(len(block[0]) for block in blocks)
    return Rows(schema, number, count, {**constants, **columns}, unread_bytes=len(data) - at)


def _blocks(data: bytes, items: Sequence[np.dtype[Any]], words: list[str]) -> tuple[list[list[NDArray[Any]]], int]:
    """The columns of each whole block, and where the last of them ends; texts are added to `words`."""
    blocks: list[list[NDArray[Any]]] = []
    at = 0
    while at + _NUMBER_BYTES <= len(data):
        count = int.from_bytes(data[at : at + _NUMBER_BYTES], "little")
        if count == 0:
            found = _texts(data, at + _NUMBER_BYTES)
            if found is None:
                break
            texts, at = found
            words += texts
            continue
        columns = at + _NUMBER_BYTES + len(items)
        stored = [1 if flag == _SAME else count for flag in data[at + _NUMBER_BYTES : columns]]
        size = sum(n * item.itemsize for n, item in zip(stored, items, strict=False))
        if len(stored) < len(items) or columns + size > len(data):
            break
        blocks.append(_columns(data, columns, items, stored, count))
        at = columns + size
    return blocks, at


def _columns(
    data: bytes, at: int, items: Sequence[np.dtype[Any]], stored: Sequence[int], count: int
) -> list[NDArray[Any]]:
    block = []
    for n, item in zip(stored, items, strict=True):
        found = np.frombuffer(data, item, n, at)
        block.append(found if n == count else np.repeat(found, count))
        at += n * item.itemsize
    return block


def _texts(data: bytes, at: int) -> tuple[list[str], int] | None:
    """The texts of a block of texts and where it ends; None where it is not whole."""
    begin = at + _NUMBER_BYTES
    end = begin + int.from_bytes(data[at:begin], "little")
    if begin > len(data) or begin == end or end > len(data):
        return None
    try:
        texts = json.loads(data[begin:end])
    except ValueError:
        return None
    return ([str(text) for text in texts], end) if isinstance(texts, list) else None


def _number(value: int) -> bytes:
    return value.to_bytes(_NUMBER_BYTES, "little")


def _stored(schema: Schema, constants: Constants) -> list[Column]:
    return [column for column in schema.columns if column.name not in constants]


def _column(column: Column, items: NDArray[Any], words: list[str]) -> Any:
    return (items, words) if column.type is Type.STRING else items
