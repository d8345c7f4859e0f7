"""The files of recorded rows in a run folder: which are parts to be read, and which are there and cannot be used."""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know
from pyspark.sql.types import StructField, StructType

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.events import EVENTS, is_of_kind
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.schema import Schema
from streamgauge.pipeline.read.schemas import SPARK_TYPES, spark_schema

NOT_CLOSED: Final = "an open part that could not be closed: its rows are not used"
TORN: Final = "the end of this part could not be read"
UNKNOWN_KIND: Final = "a kind of event that this version does not know: its rows are not used"
MISPLACED: Final = "not where a worker keeps its parts (worker=<name>/part-<n>.parquet): its rows are not used"

_PART: Final = re.compile(r"part-(\d+)\.parquet")
_LEFT: Final = {"_open-": NOT_CLOSED, "_torn-": TORN}
_PATTERN: Final = re.compile(r"[\\\[\]{}*?,]")

Found = tuple[str, Path, str | None]
"""Kind, file or folder, and why it cannot be used; None for a part to be read."""


def read_parquet(spark: SparkSession, schema: Schema | None, paths: Sequence[Path]) -> DataFrame:
    """The rows of these files, of which there is at least one, each once; without a schema by their own.

    With a schema their columns have the names of today, whatever their format.
    """
    if schema is None:
        return _read(spark.read, paths)
    # Spark takes a column that a file lacks for null.
    former = [StructField(each.formerly, SPARK_TYPES[each.type]) for each in schema.columns if each.formerly]
    rows = _read(spark.read.schema(StructType(spark_schema(schema).fields + former)), paths)
    if not former:
        return rows
    return rows.select(
        *(
            F.coalesce(each.name, each.formerly).alias(each.name) if each.formerly else F.col(each.name)
            for each in schema.columns
        )
    )


def _read(reader: DataFrameReader, paths: Sequence[Path]) -> DataFrame:
    places = [place_of(path) for path in paths]
    if not any(_PATTERN.search(place) and ":" in place for place in places):
        return reader.parquet(*map(spark_path, paths))
    # Hadoop takes a colon in a pattern for the end of the scheme of an address. With patterns switched off, Spark reads
    # all files again for each whose path looks like one; so they are read one by one.
    one_by_one = reader.option("__globPaths__", "false")
    return reduce(DataFrame.union, (one_by_one.parquet(f"file://{place}") for place in places))


def spark_path(path: Path) -> str:
    """A file as Spark is told it: exactly this one, where a name may look like a pattern or like an address."""
    return "file://" + _PATTERN.sub(lambda letter: "\\" + letter.group(), place_of(path))


def place_of(path: Path) -> str:
    """A path as Spark is told it, without the scheme."""
    place = path.absolute()
    # Hadoop would take a link and the way back from it for nothing.
    return str(place.resolve() if ".." in place.parts else place)


def listed(folder: RunFolder) -> Iterator[Found]:
    """All that holds rows, in the order of kinds, workers and numbers of parts.

    Raises AnalysisError where the folder of the events cannot be listed; one that is not there holds nothing.
    """
    try:
        there = {place.name: place for place in _sorted(folder.events)}
    except FileNotFoundError:
        return
    except OSError as error:
        raise AnalysisError(f"{folder.events} {_unreadable(error)}") from error
    for kind, schema in EVENTS.items():
        for name in (kind, schema.formerly):
            if name in there and is_of_kind(kind, name, _names_in(there[name])):
                yield from _found_in(kind, there.pop(name), _of_kind)
    for name, place in there.items():
        if _holds_rows(place):
            yield name, place, UNKNOWN_KIND


def _names_in(place: Path) -> list[str]:
    """The names of what is in a folder; none where it cannot be listed, which is told when it is read."""
    with contextlib.suppress(OSError):
        return [entry.name for entry in place.iterdir()]
    return []


def _found_in(kind: str, place: Path, of_entry: Callable[[str, Path], Iterator[Found]]) -> Iterator[Found]:
    """What is in a folder, or why it cannot be listed."""
    try:
        entries = _sorted(place)
    except OSError as error:
        yield kind, place, _unreadable(error)
        return
    for entry in entries:
        yield from of_entry(kind, entry)


def _of_kind(kind: str, entry: Path) -> Iterator[Found]:
    """What is in the folder of a kind: folders of workers, and what should not be there."""
    if entry.name.startswith("worker=") and entry.is_dir():
        yield from _found_in(kind, entry, _of_worker)
    elif _holds_rows(entry):
        yield kind, entry, MISPLACED


def _of_worker(kind: str, entry: Path) -> Iterator[Found]:
    """What is in the folder of a worker: parts, what could not be closed, and what should not be there."""
    left = next((reason for begin, reason in _LEFT.items() if entry.name.startswith(begin)), None)
    if left is not None:
        yield kind, entry, left
    elif _PART.fullmatch(entry.name):
        yield kind, entry, None
    elif _holds_rows(entry):
        yield kind, entry, MISPLACED


def _holds_rows(place: Path) -> bool:
    """Whether there seem to be rows in a file or a folder; what is hidden or unfinished repeats what others hold."""
    if place.name.startswith(tuple(_LEFT)):
        return True
    if place.name.startswith((".", "_")):
        return False
    try:
        return any(map(_holds_rows, place.iterdir())) if place.is_dir() else place.suffix == ".parquet"
    except OSError:
        return True


def _sorted(place: Path) -> list[Path]:
    """What is in a folder, parts by their numbers. Raises OSError where it cannot be listed."""
    return sorted(place.iterdir(), key=_natural)


def _natural(path: Path) -> tuple[int, str]:
    part = _PART.fullmatch(path.name)
    return (int(part.group(1)) if part else -1, path.name)


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {error.strerror}"
