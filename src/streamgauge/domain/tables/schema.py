"""What a schema is: columns with their types, and what each says."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class Type(StrEnum):
    """The types a column may have; strings come from small vocabularies (error names, moments, roles)."""

    INT32 = "int32"
    INT64 = "int64"
    FLOAT64 = "float64"
    BOOL = "bool"
    STRING = "string"


NULL: Mapping[Type, Any] = MappingProxyType(
    {Type.INT32: -(1 << 31), Type.INT64: -(1 << 63), Type.FLOAT64: float("-inf"), Type.BOOL: -1}
)
"""What stands for null in a block of numbers, which has no other way to say it; never in a file that is closed."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its type, whether a value may be unknown, and what it says."""

    name: str
    type: Type
    about: str
    nullable: bool = False
    formerly: str | None = None
    """Its name in format 1, if that was another."""

    def found_in(self, names: Container[str]) -> str:
        """What it is called among the columns of a file, of whatever format."""
        return self.formerly if self.formerly and self.formerly in names and self.name not in names else self.name


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of one kind of row, in order."""

    name: str
    about: str
    columns: tuple[Column, ...]
    formerly: str | None = None
    """Its name in format 1, if that was another."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def renamed(self, names: Sequence[str]) -> list[str]:
        """The names of a file's columns, of whatever format, as they are today."""
        today = {column.found_in(names): column.name for column in self.columns}
        return [today.get(name, name) for name in names]


def must(name: str, type_: Type, about: str, *, formerly: str | None = None) -> Column:
    """A column whose value is always known."""
    return Column(name, type_, about, formerly=formerly)


def may(name: str, type_: Type, about: str, *, formerly: str | None = None) -> Column:
    """A column whose value may be unknown."""
    return Column(name, type_, about, nullable=True, formerly=formerly)
