"""Rows and columns in memory: what tables are made of that need no Spark."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.latency.buckets import Int64s

Row = dict[str, Any]
Rows = Sequence[Row]


def known(rows: Iterable[Row], name: str) -> list[Any]:
    """The values of a column that are not null."""
    return [row[name] for row in rows if row[name] is not None]


def largest(rows: Iterable[Row], name: str) -> Any:
    """The largest value of a column; None where all are null."""
    return max(known(rows, name), default=None)


def share(part: float | None, whole: float | None) -> float | None:
    """A part by the whole; None where one is not known, or the whole is 0."""
    return None if part is None or not whole else part / whole


def grown(first: int | None, last: int | None) -> int | None:
    """How far a counter moved; None where it is not known or was set back."""
    return None if first is None or last is None or last < first else last - first


def numbers(table: pa.Table, name: str) -> Int64s:
    """A column of integers without nulls."""
    column: Int64s = table.column(name).to_numpy().astype(np.int64)
    return column


def measured(table: pa.Table, name: str, measure: MeasureSpan) -> pa.Table:
    """The rows whose time lies in the measure phase."""
    at = table.column(name)
    return table.filter(pc.and_(pc.greater_equal(at, measure.from_ns), pc.less(at, measure.to_ns)))


def shaped(columns: Mapping[str, Any], rows: int, schema: pa.Schema) -> pa.Table:
    """A table of that schema; columns that are None or left out are null."""
    arrays = [_cast(columns.get(field.name), rows, field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _cast(values: Any, rows: int, type_: pa.DataType) -> pa.Array | pa.ChunkedArray:
    if values is None:
        return pa.nulls(rows, type_)
    return (values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)).cast(type_)
