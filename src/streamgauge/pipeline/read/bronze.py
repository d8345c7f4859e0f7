"""The closed parts of a run folder: which of them can be read, and what their footers tell without reading rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from streamgauge.arrow import ARROW_TYPES, arrow_schema
from streamgauge.domain.events import EVENTS
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.schema import Column, Schema, Type
from streamgauge.pipeline.read.parts import listed, read_parquet
from streamgauge.pipeline.read.rows import Row, shaped
from streamgauge.pipeline.read.schemas import spark_schema

UNREADABLE = (pa.ArrowException, OSError)


@dataclass(frozen=True, slots=True)
class Extent:
    """What is known of all values of a column: how many there are, how many are null, the smallest, the largest."""

    rows: int
    nulls: int
    low: Any
    high: Any

    @property
    def unknown(self) -> bool:
        """Whether there is no value at all."""
        return self.nulls == self.rows

    def plus(self, other: "Extent") -> "Extent":
        """The extent of both."""
        lows = [value for value in (self.low, other.low) if value is not None]
        highs = [value for value in (self.high, other.high) if value is not None]
        return Extent(
            self.rows + other.rows, self.nulls + other.nulls, min(lows, default=None), max(highs, default=None)
        )


NOTHING = Extent(0, 0, None, None)


@dataclass(frozen=True, slots=True)
class Part:
    """One part that can be read."""

    path: Path
    rows: int
    extents: Mapping[str, Extent]


@dataclass(frozen=True, slots=True)
class Bronze:
    """All parts of a run that can be read, by kind, and rows of `set_aside` for what cannot."""

    parts: Mapping[str, tuple[Part, ...]]
    set_aside: tuple[Row, ...]

    def rows(self, kind: str) -> int:
        """How many rows of a kind there are."""
        return sum(part.rows for part in self.parts[kind])

    def extent(self, kind: str, column: str) -> Extent:
        """The extent of one column over all parts."""
        return reduce(Extent.plus, (part.extents[column] for part in self.parts[kind]), NOTHING)

    def frame(self, spark: SparkSession, kind: str) -> DataFrame:
        """The rows of a kind as a Spark frame; rows without a value that they must have are left out."""
        schema = EVENTS[kind]
        paths = [part.path for part in self.parts[kind] if part.rows]
        if not paths:
            return spark.createDataFrame([], spark_schema(schema))
        rows = read_parquet(spark, schema, paths)
        incomplete = [column.name for column in _must(schema) if self.extent(kind, column.name).nulls]
        return rows.dropna(subset=incomplete) if incomplete else rows

    def only(self, kind: str, column: str, values: frozenset[str]) -> "Bronze":
        """Without the parts of a kind that, by their footers, hold no row with one of these texts in a column."""
        kept = tuple(part for part in self.parts[kind] if _may_hold(part.extents[column], values))
        return Bronze({**self.parts, kind: kept}, self.set_aside)

    def columns(self, kind: str, names: Iterable[str] | None = None) -> pa.Table:
        """The rows of a kind of which there are few, in memory; rows that lack what they must have are left out."""
        names = tuple(names or EVENTS[kind].names)
        return pa.concat_tables([_wanted(kind, names).empty_table(), *self.each(kind, names)])

    def each(self, kind: str, names: Iterable[str]) -> Iterator[pa.Table]:
        """The same, part by part, for kinds of which there are many rows."""
        wanted = _wanted(kind, names)
        must = [column.name for column in _must(EVENTS[kind]) if column.name in wanted.names]
        for part in self.parts[kind]:
            table = _read(part, EVENTS[kind], wanted)
            yield table.filter(reduce(pc.and_, (pc.is_valid(table.column(name)) for name in must)))


def _wanted(kind: str, names: Iterable[str]) -> pa.Schema:
    schema = arrow_schema(EVENTS[kind])
    return pa.schema([schema.field(name).with_nullable(True) for name in names])


def _may_hold(extent: Extent, values: frozenset[str]) -> bool:
    """Whether one of these values lies in an extent; also where its limits are not known."""
    return extent.low is None or any(extent.low <= value <= extent.high for value in values)


def look(folder: RunFolder, *, thoroughly: bool = False) -> Bronze:
    """The parts of a run folder. `thoroughly` reads every page and not only the footers."""
    found: dict[str, list[Part]] = {kind: [] for kind in EVENTS}
    aside: list[Row] = []
    for kind, path, reason in listed(folder):
        source = str(path.relative_to(folder.root))
        if reason is not None:
            aside.append(_aside(kind, source, reason, None))
            continue
        try:
            part = _part(path, EVENTS[kind], thoroughly=thoroughly)
        except UNREADABLE as error:
            aside.append(_aside(kind, source, f"cannot be read: {str(error).splitlines()[0]}", None))
            continue
        if isinstance(part, str):
            aside.append(_aside(kind, source, part, None))
            continue
        found[kind].append(part)
        if incomplete := _incomplete(part, EVENTS[kind]):
            aside.append(_aside(kind, source, "a value that must be there is missing", incomplete))
    return Bronze({kind: tuple(parts) for kind, parts in found.items()}, tuple(aside))


def _table(path: Path, schema: Schema) -> pa.Table:
    """What is in a file, its columns in the names of today."""
    table = pq.read_table(path, partitioning=None)
    return table.rename_columns(schema.renamed(table.column_names))


def _read(part: Part, schema: Schema, wanted: pa.Schema) -> pa.Table:
    """A part as columns of the wanted types; a column that it does not have is null."""
    table = _table(part.path, schema)
    have = {name: table.column(name) for name in wanted.names if name in table.column_names}
    return shaped(have, part.rows, wanted)


def _aside(kind: str, source: str, reason: str, rows: int | None) -> Row:
    return {"kind": kind, "source": source, "reason": reason, "rows": rows}


def _must(schema: Schema) -> list[Column]:
    return [column for column in schema.columns if not column.nullable]


def _part(path: Path, schema: Schema, *, thoroughly: bool) -> Part | str:
    """The part, or why it does not fit; raises what pyarrow raises when it cannot be read."""
    with pq.ParquetFile(path, page_checksum_verification=thoroughly) as file:
        unfit = _unfit(file.schema_arrow, schema)
        if unfit:
            return unfit
        if thoroughly:
            for batch in file.iter_batches():
                batch.validate(full=True)
        places = {file.metadata.schema.column(index).name: index for index in range(file.metadata.num_columns)}
        extents = {
            column.name: _extent(file, places[name], column)
            for column in schema.columns
            if (name := column.found_in(places)) in places
        }
        rows = int(file.metadata.num_rows)
    absent = Extent(rows, rows, None, None)
    return Part(path, rows, {column.name: extents.get(column.name, absent) for column in schema.columns})


def _unfit(found: pa.Schema, schema: Schema) -> str | None:
    for column in schema.columns:
        place = found.get_field_index(column.found_in(found.names))
        if place < 0:
            if not column.nullable:
                return f"has no column {column.name}"
            continue
        kind = found.field(place).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if kind != ARROW_TYPES[column.type]:
            return f"column {column.name} is {kind}, not {ARROW_TYPES[column.type]}"
    return None


def _extent(file: pq.ParquetFile, place: int, column: Column) -> Extent:
    """From the statistics in the footer; from the values where a writer left them out."""
    found = NOTHING
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        statistics = group.column(place).statistics
        if statistics is None or not statistics.has_null_count:
            return _read_extent(file, column)
        nulls = int(statistics.null_count)
        if nulls < group.num_rows and not statistics.has_min_max and column.type is not Type.STRING:
            return _read_extent(file, column)
        low, high = (statistics.min, statistics.max) if statistics.has_min_max else (None, None)
        found = found.plus(Extent(group.num_rows, nulls, low, high))
    return found


def _read_extent(file: pq.ParquetFile, column: Column) -> Extent:
    values = file.read(columns=[column.found_in(file.schema_arrow.names)]).column(0)
    if column.type is Type.STRING:
        return Extent(len(values), values.null_count, None, None)
    both = pc.min_max(values)
    return Extent(len(values), values.null_count, both["min"].as_py(), both["max"].as_py())


def _incomplete(part: Part, schema: Schema) -> int:
    """How many rows lack a value that they must have."""
    lacking = [column.name for column in _must(schema) if part.extents[column.name].nulls]
    if not lacking:
        return 0
    table = _table(part.path, schema).select(lacking)
    return int(pc.sum(reduce(pc.or_, (pc.is_null(table.column(name)) for name in lacking))).as_py())
