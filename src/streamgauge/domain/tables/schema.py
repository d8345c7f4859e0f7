"""What a schema is: columns with their types, and what each says."""

from collections.abc import Mapping
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


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of one kind of row, in order."""

    name: str
    about: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)


def must(name: str, type_: Type, about: str) -> Column:
    """A column whose value is always known."""
    return Column(name, type_, about)


def may(name: str, type_: Type, about: str) -> Column:
    """A column whose value may be unknown."""
    return Column(name, type_, about, nullable=True)
