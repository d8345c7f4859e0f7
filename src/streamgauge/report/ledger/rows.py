"""The recorded rows of one message, without Spark: of each part only row groups that may hold them are read."""

import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import ParquetFileFormat
from pyarrow.fs import LocalFileSystem

from streamgauge.domain.errors import AnalysisError, BadInput
from streamgauge.domain.events import EVENTS, is_of_kind
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.domain.tables.schema import Schema
from streamgauge.verdict.evidence import Row

_STAMP: Final = re.compile(r"(\d{1,9}):(\d{1,18})")
_PLACE: Final = re.compile(r"(.+)/(\d{1,9})@(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The message that is looked for: by its stamp, or by an offset."""

    stamp: tuple[int, int] | None = None
    """Producer and sequence."""
    place: tuple[int, int, int] | None = None
    """Number of the topic, partition and offset."""


@dataclass(slots=True)
class MessageRows:
    """All rows of one message, by kind; and those that tell what was around it."""

    sent: list[Row] = field(default_factory=list)
    resends: list[Row] = field(default_factory=list)
    received: list[Row] = field(default_factory=list)
    appended: list[Row] = field(default_factory=list)
    attempts: list[Row] = field(default_factory=list)
    transactions: list[Row] = field(default_factory=list)
    replicas: list[Row] = field(default_factory=list)
    commits: list[Row] = field(default_factory=list)
    lag: list[Row] = field(default_factory=list)
    faults: list[Row] = field(default_factory=list)
    log_read: bool = False
    """Whether the log was read again after the drain."""


def wanted_of(text: str, facts: RunFacts) -> Wanted:
    """What a user names, `PRODUCER:SEQUENCE` or `TOPIC/PARTITION@OFFSET`; raises BadInput."""
    if found := _STAMP.fullmatch(text):
        return Wanted(stamp=(int(found[1]), int(found[2])))
    mend = "Write PRODUCER:SEQUENCE, like 0:1234, or TOPIC/PARTITION@OFFSET, like orders/3@1234"
    found = _PLACE.fullmatch(text)
    if found is None:
        raise BadInput.single("MESSAGE", f"{text!r} names no message", mend)
    topics = {topic.name: topic.id for topic in facts.topics}
    if found[1] not in topics:
        raise BadInput.single("MESSAGE", f"the run has no topic {found[1]!r}", f"Name one of {', '.join(topics)}")
    return Wanted(place=(topics[found[1]], int(found[2]), int(found[3])))


def rows_of_message(folder: RunFolder, wanted: Wanted) -> list[MessageRows]:
    """The rows of the message; of an offset at which there were several, those of each, in the order of stamps.

    A delivery or a stamp of another run has no message: it is found by its offset alone. None where there are no rows.
    Raises AnalysisError where a part cannot be read.
    """
    if wanted.stamp:
        return rows_of_stamps(folder, [wanted.stamp])
    topic, partition, offset = wanted.place or (0, 0, 0)
    here = (pc.field("topic") == topic) & (pc.field("partition") == partition) & (pc.field("offset") == offset)
    at = {kind: event_rows(folder, kind, here) for kind in ("sent", "received", "appended")}
    rows = [row for each in at.values() for row in each]
    stamps = {(row["producer"], row["seq"]) for row in rows if None not in (row["producer"], row["seq"])}
    if rows and not stamps:
        return _with_around(folder, [MessageRows(received=at["received"], appended=at["appended"])])
    return rows_of_stamps(folder, sorted(stamps))


_OF_STAMP: Final = ("sent", "resends", "received", "appended", "attempts")


def rows_of_stamps(folder: RunFolder, stamps: Sequence[tuple[int, int]]) -> list[MessageRows]:
    """The rows of each of a few messages, in this order; those without any are left out.

    Every part is looked at once, however many they are. Raises AnalysisError where a part cannot be read.
    """
    if not stamps:
        return []
    each = ((pc.field("producer") == producer) & (pc.field("seq") == seq) for producer, seq in stamps)
    wanted = reduce(operator.or_, each)
    of_kinds = [event_rows(folder, kind, wanted) for kind in _OF_STAMP]
    found = [_of_stamp(of_kinds, stamp) for stamp in stamps]
    return _with_around(folder, [rows for rows in found if rows.sent or rows.received or rows.appended])


def _of_stamp(of_kinds: Sequence[Sequence[Row]], stamp: tuple[int, int]) -> MessageRows:
    mine = ([row for row in rows if (row["producer"], row["seq"]) == stamp] for rows in of_kinds)
    sent, resends, received, appended, attempts = mine
    return MessageRows(sent, resends, received, appended, attempts)


def _with_around(folder: RunFolder, found: list[MessageRows]) -> list[MessageRows]:
    """The same, with what tells of their transactions, leaders, commits and faults."""
    if not found:
        return []
    log_read = first_row(folder, "lag", pc.field("moment") == "reread") is not None
    faults = event_rows(folder, "faults", None)
    for each in found:
        _add_around(folder, each)
        each.log_read, each.faults = log_read, faults
    return found


def _add_around(folder: RunFolder, rows: MessageRows) -> None:
    """What tells of its transaction, leader and commits."""
    numbers = {(row["producer"], row["transaction"]) for row in rows.sent if row["transaction"] is not None}
    for producer, number in numbers:
        which = (pc.field("producer") == producer) & (pc.field("transaction") == number)
        rows.transactions += event_rows(folder, "transactions", which)
    lanes = {(row["topic"], row["partition"]) for row in (*rows.sent, *rows.received) if row["partition"] is not None}
    for topic, partition in sorted(lanes):
        lane = (pc.field("topic") == topic) & (pc.field("partition") == partition)
        rows.replicas += event_rows(folder, "replicas", lane)
    # A message that failed again and again was delivered often; each place and each consumer is looked up once.
    for topic, partition, group, offset in sorted({_lane_of(row) for row in rows.received}):
        passed = (pc.field("topic") == topic) & (pc.field("partition") == partition)
        passed &= (pc.field("group") == group) & (pc.field("committed") > offset)
        rows.lag += filter(None, [first_row(folder, "lag", passed)])
    since: dict[int, list[int]] = {}
    for row in rows.received:
        since.setdefault(row["consumer"], []).append(row["processed_ns"] or row["received_ns"])
    for consumer, times in since.items():
        rows.commits += _next_commits(folder, consumer, times)


def _lane_of(row: Row) -> tuple[int, int, int, int]:
    return row["topic"], row["partition"], row["group"], row["offset"]


def _next_commits(folder: RunFolder, consumer: int, since: Sequence[int]) -> list[Row]:
    """The first commit of a consumer that did not fail, after each of these times."""
    mine = (pc.field("consumer") == consumer) & (pc.field("at_ns") >= min(since))
    tables = list(event_tables(folder, "commits", mine))
    if not tables:
        return []
    table = pa.concat_tables(tables, promote_options="default").sort_by("at_ns")
    table = table.filter(pc.field("error").is_null()) if "error" in table.column_names else table
    places = np.searchsorted(table["at_ns"].to_numpy(), since)
    return _with_nulls("commits", table.take(np.unique(places[places < len(table)])))


def first_row(folder: RunFolder, kind: str, which: Any) -> Row | None:
    """The first row of a kind of event by its time `at_ns`, of those that are wanted.

    Raises AnalysisError where a part cannot be read.
    """
    firsts = (table.sort_by("at_ns").slice(0, 1) for table in event_tables(folder, kind, which))
    rows = (row for table in firsts for row in _with_nulls(kind, table))
    return min(rows, key=lambda row: int(row["at_ns"]), default=None)


def event_rows(folder: RunFolder, kind: str, which: Any) -> list[Row]:
    """The rows of a kind of event that are wanted, by their times; a column that a part lacks is null.

    Raises AnalysisError where a part cannot be read.
    """
    rows = [row for table in event_tables(folder, kind, which) for row in _with_nulls(kind, table)]
    times = [name for name in EVENTS[kind].names if name in _TIMES]
    return sorted(rows, key=lambda row: tuple(row[time] or 0 for time in times))


def _with_nulls(kind: str, table: pa.Table) -> list[Row]:
    nulls = dict.fromkeys(EVENTS[kind].names)
    return [{**nulls, **row} for row in table.to_pylist()]


def event_tables(folder: RunFolder, kind: str, which: Any, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """What is wanted of each part of a kind of event: its rows, and of these the columns, as far as it has them.

    Raises AnalysisError where a part cannot be read.
    """
    for path in _parts(folder, kind):
        try:
            table = _table_of(path, EVENTS[kind], which, columns)
        except (OSError, pa.ArrowException) as error:
            raise AnalysisError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
        if table is not None:
            yield table


def _table_of(path: Path, schema: Schema, which: Any, columns: Sequence[str] | None) -> pa.Table | None:
    """What is wanted of one part; None where its statistics, or its columns, tell that this is nothing."""
    part = _PARQUET.make_fragment(str(path), _FILES)
    names = part.physical_schema.names
    today = schema.renamed(names)
    if not set(_columns(which)) <= set(today):
        # Of an older version, which did not record what is asked for.
        return None
    shown = today if columns is None else [name for name in columns if name in today]
    if names != today:
        # Of an older version: its columns have other names.
        table = part.to_table().rename_columns(today)
        return (table if which is None else table.filter(which)).select(shown)
    part = part if which is None else part.subset(which)
    return part.to_table(filter=which, columns=shown) if part.num_row_groups else None


_PARQUET: Final = ParquetFileFormat()
_FILES: Final = LocalFileSystem()
_TIMES: Final = frozenset({"at_ns", "received_ns", "sent_ns", "began_ns", "offset"})


def _columns(which: Any) -> Iterable[str]:
    """Names of the columns that a filter asks for."""
    return () if which is None else (name for name in re.findall(r"\w+", str(which)) if name in _KNOWN)


_KNOWN: Final = frozenset(name for schema in EVENTS.values() for name in schema.names)


def _parts(folder: RunFolder, kind: str) -> list[Path]:
    """The closed parts of a kind of event; also in its name of format 1."""
    names = (kind, EVENTS[kind].formerly)
    places = [folder.events / name for name in names if name]
    found = sorted(path for place in places for path in place.glob("worker=*/part-*.parquet"))
    return [path for path in found if is_of_kind(kind, path.parts[-3], [path.parts[-2]])]
