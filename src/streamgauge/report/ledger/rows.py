"""The recorded rows of one message, without Spark: of each part only row groups that may hold them are read."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.domain.errors import AnalysisError, BadInput
from streamgauge.domain.events import EVENTS, is_of_kind
from streamgauge.domain.folder.facts import RunFacts, RunFolder

Row = Mapping[str, Any]

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
        found = [_of_stamp(folder, wanted.stamp)]
    else:
        topic, partition, offset = wanted.place or (0, 0, 0)
        here = (pc.field("topic") == topic) & (pc.field("partition") == partition) & (pc.field("offset") == offset)
        at = {kind: event_rows(folder, kind, here) for kind in ("sent", "received", "appended")}
        rows = [row for each in at.values() for row in each]
        stamps = {(row["producer"], row["seq"]) for row in rows if None not in (row["producer"], row["seq"])}
        found = [_of_stamp(folder, stamp) for stamp in sorted(stamps)]
        if rows and not stamps:
            found = [MessageRows(received=at["received"], appended=at["appended"])]
    found = [each for each in found if each.sent or each.received or each.appended]
    for each in found:
        _add_around(folder, each)
    return found


_OF_STAMP: Final = ("sent", "resends", "received", "appended", "attempts")


def _of_stamp(folder: RunFolder, stamp: tuple[int, int]) -> MessageRows:
    mine = (pc.field("producer") == stamp[0]) & (pc.field("seq") == stamp[1])
    sent, resends, received, appended, attempts = (event_rows(folder, kind, mine) for kind in _OF_STAMP)
    return MessageRows(sent, resends, received, appended, attempts)


def _add_around(folder: RunFolder, rows: MessageRows) -> None:
    """What tells of its transaction, leader, commits and faults."""
    numbers = {(row["producer"], row["transaction"]) for row in rows.sent if row["transaction"] is not None}
    for producer, number in numbers:
        which = (pc.field("producer") == producer) & (pc.field("transaction") == number)
        rows.transactions += event_rows(folder, "transactions", which)
    lanes = {(row["topic"], row["partition"]) for row in (*rows.sent, *rows.received) if row["partition"] is not None}
    for topic, partition in sorted(lanes):
        lane = (pc.field("topic") == topic) & (pc.field("partition") == partition)
        rows.replicas += event_rows(folder, "replicas", lane)
    for row in rows.received:
        passed = (pc.field("topic") == row["topic"]) & (pc.field("partition") == row["partition"])
        passed &= (pc.field("group") == row["group"]) & (pc.field("committed") > row["offset"])
        rows.lag += event_rows(folder, "lag", passed)[:1]
        since = row["processed_ns"] or row["received_ns"]
        after = (pc.field("consumer") == row["consumer"]) & (pc.field("at_ns") >= since)
        rows.commits += [each for each in event_rows(folder, "commits", after) if each["error"] is None][:1]
    rows.log_read = bool(event_rows(folder, "lag", pc.field("moment") == "reread"))
    rows.faults = event_rows(folder, "faults", None)


def event_rows(folder: RunFolder, kind: str, which: Any) -> list[Row]:
    """The rows of a kind of event that are wanted, by their times; a column that a part lacks is null.

    Raises AnalysisError where a part cannot be read.
    """
    schema, rows = EVENTS[kind], list[Row]()
    for path in _parts(folder, kind):
        try:
            file = pq.ParquetFile(path)
            names = file.schema_arrow.names
            if names != schema.renamed(names) or not set(_columns(which)) <= set(names):
                # Of an older version: its columns have other names, or were added since.
                table = file.read()
                table = table.rename_columns(schema.renamed(table.column_names))
                if which is not None and not set(_columns(which)) <= set(table.column_names):
                    continue
                table = table if which is None else table.filter(which)
            else:
                table = pq.read_table(path, filters=which, partitioning=None)
        except (OSError, pa.ArrowException) as error:
            raise AnalysisError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
        rows += table.to_pylist()
    nulls = dict.fromkeys(schema.names)
    times = [column.name for column in schema.columns if column.name in _TIMES]
    return sorted(({**nulls, **row} for row in rows), key=lambda row: tuple(row[time] or 0 for time in times))


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
