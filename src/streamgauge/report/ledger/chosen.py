"""The messages of a run whose lives its report draws: the slowest, and the first that are gone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow.compute as pc

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.domain.tables.latency import DIFFERENCES
from streamgauge.domain.text.numbers import milliseconds
from streamgauge.report.figures.drawing.timeline import METRICS
from streamgauge.report.files import read_facts, rows_of, table_file
from streamgauge.report.ledger.life import MessageLife, life_of
from streamgauge.report.ledger.rows import event_tables, rows_of_stamps
from streamgauge.verdict.evidence import Row

MessageStamp = tuple[int, int]
"""Producer and sequence of a message."""

MOST: Final = 3
"""So many of the slowest messages, and so many of those that are gone."""
GONE: Final = ("lost", "truncated", "undelivered", "expired")
"""Classes of acknowledged messages that a group did not get, or that the log no longer holds."""
NEARLY: Final = 0.98
"""A row whose latency is so near to the largest one of the table may be its message: the table may be rounded."""


def drawn_lives(folder: RunFolder, latencies: Sequence[Row]) -> list[Row]:
    """A row for each message: `message`, `why` it was chosen, `gone`, its begin in `second`, and its `events`.

    Each event has its time in `ms` since the message was due, or sent where it was not due, its name in `event`, and
    its `detail`; those without a time are left out. `latencies` are rows of that table. None where nothing was recorded
    by message. Raises AnalysisError where a part cannot be read.
    """
    facts = read_facts(folder)
    problems = rows_of(folder, "problems") if table_file(folder, "problems").exists() else []
    slow, lost = slowest(folder, facts, latencies), gone(problems)
    lives = [life_of(rows, facts, problems) for rows in rows_of_stamps(folder, list(dict.fromkeys([*slow, *lost])))]
    rows = (_row(life, slow) for life in lives)
    return [row for row in rows if row is not None]


def gone(problems: Sequence[Row]) -> list[MessageStamp]:
    """The first of each class, and then the first of all, by the times at which they were due."""
    rows = [row for row in problems if row["class"] in GONE and None not in (row["producer"], row["seq"])]
    rows.sort(key=lambda row: (row["due_ns"] is None, row["due_ns"] or 0))
    of_each = [row for name in GONE for row in [row for row in rows if row["class"] == name][:1]]
    return list(dict.fromkeys((row["producer"], row["seq"]) for row in (*of_each, *rows)))[:MOST]


def slowest(folder: RunFolder, facts: RunFacts, latencies: Sequence[Row]) -> dict[MessageStamp, str]:
    """The slowest message of each of the slowest seconds of the measure phase, and its latency in words.

    Of one stall hundreds of messages have nearly the same latency, and the same story. It is the first latency that the
    run has: end-to-end, or until acknowledged.
    """
    measure = facts.phase("measure")
    if measure is None:
        return {}
    last = (measure.to_ns - measure.from_ns) // NS_PER_SECOND
    for metric in METRICS:
        windows = [row for row in latencies if (row["metric"], row["scope"]) == (metric, "window") and row["max_ms"]]
        windows = sorted((row for row in windows if 0 <= row["second"] <= last), key=lambda row: -float(row["max_ms"]))
        if windows:
            found = (
                _slowest_of(folder, row, measure.from_ns + row["second"] * NS_PER_SECOND) for row in windows[:MOST]
            )
            return {stamp: milliseconds(latency_ns / NS_PER_MS) for each in found for stamp, latency_ns in each}
    return {}


def _slowest_of(folder: RunFolder, window: Row, from_ns: int) -> Iterator[tuple[MessageStamp, int]]:
    """The message of the largest latency of a window, and this latency; none where there is no row of it.

    Only parts of the time are read: a message was due in this second, and came so much later.
    """
    ended, began = DIFFERENCES[window["metric"]]
    selected = f"{window['selected_by']}_ns"
    wanted_ns = round(window["max_ms"] * NS_PER_MS)
    least_ns, to_ns = round(NEARLY * wanted_ns), from_ns + NS_PER_SECOND
    which = (pc.field(selected) >= from_ns) & (pc.field(selected) < to_ns)
    if selected == began:
        which &= (pc.field(ended) >= from_ns + least_ns) & (pc.field(ended) < to_ns + round(wanted_ns / NEARLY))
    kind = "received" if ended == "received_ns" else "sent"
    near: list[tuple[int, MessageStamp, int]] = []
    for table in event_tables(folder, kind, which, ("producer", "seq", began, ended)):
        latency = pc.subtract(table[ended], table[began])
        off = pc.abs(pc.subtract(latency, wanted_ns))
        if len(table) and (nearest := pc.min(off).as_py()) is not None:
            at = pc.index(off, nearest).as_py()
            stamp = (table["producer"][at].as_py(), table["seq"][at].as_py())
            near.append((nearest, stamp, latency[at].as_py()))
    near = [each for each in near if None not in each[1] and each[2] >= least_ns]
    if near:
        _, stamp, latency_ns = min(near)
        yield stamp, latency_ns


def _row(life: MessageLife, slow: Mapping[MessageStamp, str]) -> Row | None:
    """None for a message of which nobody knows when it began."""
    begun = next((each for name in ("due", "sent") for each in life.events if each.event == name), None)
    if begun is None or begun.at_ns is None or life.producer is None or life.seq is None:
        return None
    classes = [name for name in GONE if name in life.classes]
    events = [
        {"ms": (each.at_ns - begun.at_ns) / NS_PER_MS, "event": each.event, "detail": each.detail}
        for each in life.events
        if each.at_ns is not None
    ]
    why = ", ".join(filter(None, [slow.get((life.producer, life.seq)), *classes]))
    return {"message": life.name, "why": why, "gone": bool(classes), "second": begun.second, "events": events}
