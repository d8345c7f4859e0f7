"""The open part: rows appended to a file as they come, so that they outlive the process that wrote them.

Layout: a head of `HEAD_BYTES` with a JSON description, then rows of fixed size, packed. How many there are follows from
the length of the file, and a last row that was cut off does not count. Plain writes instead of a mapping: they cost
less than page faults, need no room in advance, and a full disk is an error instead of a signal.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from streamgauge.domain.blocks import Block, Values
from streamgauge.domain.errors import RecordError
from streamgauge.domain.events import EVENTS, NULL, Column, Schema, Type

HEAD_BYTES: Final = 16 << 10
_ITEM: Final[Mapping[Type, str]] = {Type.INT32: "<i4", Type.INT64: "<i8", Type.BOOL: "<i1", Type.STRING: "<i4"}
"""What a column's items are in the file; strings are numbers of a vocabulary, 0 for null."""

Constants = Mapping[str, int | str | None]
Columns = Mapping[str, Any]
"""Arrays of numbers with NULL, (codes, vocabulary) for strings, or one value for all rows."""


class OpenPart:
    """A file of rows of one kind; `constants` are columns with the same value in every row and take no room."""

    def __init__(self, path: Path, schema: Schema, number: int, constants: Constants) -> None:
        self.path = path
        self.schema = schema
        self.number = number
        self.count = 0
        self._constants = dict(constants)
        self._stored = [column for column in schema.columns if column.name not in self._constants]
        self._dtype = _row(self._stored)
        self._words: dict[str, int] = {}
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
        except OSError as error:
            raise RecordError(f"{path}: cannot be made: {error.strerror}") from error
        self._describe()
        os.lseek(self._file, HEAD_BYTES, os.SEEK_SET)

    def append(self, block: Block, first: int, count: int) -> None:
        """Take `count` rows of the block from row `first` on; raises RecordError when they cannot be written."""
        rows = np.empty(count, self._dtype)
        for column in self._stored:
            rows[column.name] = self._encode(column, block[column.name], first, count)
        left = rows.view(np.uint8).data
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            raise RecordError(f"{self.path}: rows cannot be written: {error.strerror}") from error
        self.count += count

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
            self._describe()
        return self._words[word]

    def _describe(self) -> None:
        """Write what a reader needs to know, before any row that needs it."""
        described = {
            "kind": self.schema.name,
            "number": self.number,
            "constants": self._constants,
            "words": list(self._words),
        }
        text = json.dumps(described).encode()
        if len(text) > HEAD_BYTES:
            raise RecordError(f"{self.path}: too many different texts for one part")
        try:
            os.pwrite(self._file, text.ljust(HEAD_BYTES), 0)
        except OSError as error:
            raise RecordError(f"{self.path}: cannot be written: {error.strerror}") from error


def read_open_part(path: Path) -> tuple[Schema, int, int, Columns]:
    """What is in an open part: schema, part number, number of rows, columns.

    Raises RecordError when the file is no open part.
    """
    try:
        with path.open("rb") as file:
            described = json.loads(file.read(HEAD_BYTES))
            schema = EVENTS[described["kind"]]
            number, constants, words = int(described["number"]), described["constants"], list(described["words"])
            stored = [column for column in schema.columns if column.name not in constants]
            dtype = _row(stored)
            count = (path.stat().st_size - HEAD_BYTES) // dtype.itemsize
            rows = np.fromfile(file, dtype, count)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path}: not an open part that can be read: {error}") from error
    columns = dict(constants)
    for column in stored:
        items = np.ascontiguousarray(rows[column.name])
        columns[column.name] = (items, words) if column.type is Type.STRING else items
    return schema, number, len(rows), columns


def _row(stored: Sequence[Column]) -> np.dtype[Any]:
    """The layout of one row."""
    return np.dtype([(column.name, _ITEM[column.type]) for column in stored])
