"""The definition of a schema: columns with their types and descriptions."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any


class Type(StrEnum):
    """Types of columns, by the names that Arrow gives them.

    Strings come from small vocabularies (error names, moments, roles).
    """

    INT32 = "int32"
    INT64 = "int64"
    FLOAT64 = "float64"
    BOOL = "bool"
    STRING = "string"


NULL: Mapping[Type, Any] = MappingProxyType(
    {Type.INT32: -(1 << 31), Type.INT64: -(1 << 63), Type.FLOAT64: float("-inf"), Type.BOOL: -1}
)
"""Value that stands for null in a block of numbers, which cannot hold null; never in a closed file."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name, type, description, and whether a value may be null."""

    name: str
    type: Type
    about: str
    nullable: bool = False
    formerly: str | None = None
    """Its name in format 1, if different."""

    def found_in(self, names: Container[str]) -> str:
        """Its name among the columns of a file of any format."""
        return self.formerly if self.formerly and self.formerly in names and self.name not in names else self.name


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of one kind of row, in order."""

    name: str
    about: str
    columns: tuple[Column, ...]
    formerly: str | None = None
    """Its name in format 1, if different."""

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(column.name for column in self.columns)

    def renamed(self, names: Sequence[str]) -> list[str]:
        """Today's names of a file's columns, for a file of any format."""
        today = {column.found_in(names): column.name for column in self.columns}
        return [today.get(name, name) for name in names]


must = Column
"""A column that is never null."""
may = partial(Column, nullable=True)
"""A nullable column."""
