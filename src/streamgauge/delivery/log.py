"""What a log that was read once more after the drain says, and what groups did that no class of a message tells.

The definition of what `pipeline.audit.log` and `pipeline.audit.reads` compute. These counts stand beside the classes of
`delivery.audit`: a message that was delivered once may be truncated, and a lost one is, or is not.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from streamgauge.delivery.audit import Audit, either, selected_ns, shown_by_stamps
from streamgauge.delivery.deliveries import Position, Stamp
from streamgauge.delivery.rows import MeasureSpan, Outcomes, Received, Sent, Stood
from streamgauge.domain.events import ABORTED, COMMITTED

REREAD = "reread"
"""Moment of the rows of `lag` that say what was read again."""

TRUNCATED, VANISHED, CONFLICTS, SKIPPED = "truncated", "vanished", "offset_conflicts", "skipped_polls"
"""What is known only where the log was read again: messages that were acknowledged and are gone, those that the group
received from where they no longer stand, offsets of two messages, and polls that passed over what still stands."""

SEEN_ELSEWHERE, WENT_BACK, UNSEEN, EARLY = "seen_elsewhere", "went_back", "committed_unseen", "received_early"
"""Lost messages that another group received, polls that began at an offset that the consumer had passed, messages of
committed transactions that did not come, and messages that came before their producer asked for the commit."""

BY_LOG = (TRUNCATED, VANISHED, CONFLICTS, SKIPPED)
LEDGER_CLASSES = (*BY_LOG, SEEN_ELSEWHERE, WENT_BACK, UNSEEN, EARLY)


class Reread(NamedTuple):
    """From which offset on a partition was read again."""

    topic: int
    partition: int
    start: int


class LedgerEntry(NamedTuple):
    """One thing that was found: a message, an offset, or a poll, and the time by which it belongs to a phase."""

    name: str
    stamp: Stamp | None
    place: tuple[int, int | None, int | None]
    """Topic, partition and offset."""
    time_ns: int | None


class TransactionEnd(NamedTuple):
    """When the end of a transaction was asked for, and how it ended."""

    ending_ns: int
    outcome: str


@dataclass(frozen=True, slots=True)
class Log:
    """The topics that were sent to, as they stood when they were read again: from an offset on, to their ends."""

    starts: Mapping[tuple[int, int], int]
    """The first offset that was read, by topic and partition."""
    holds: Mapping[Position, Stamp | None]
    """The stamp that stands at each offset; None for one of another run."""

    @classmethod
    def of(cls, reread: Iterable[Reread], appended: Iterable[Stood]) -> "Log | None":
        """The log of a run; None where it was not read again."""
        starts = {(row.topic, row.partition): row.start for row in reread}
        holds = {(row.topic, row.partition, row.offset): row.stamp for row in appended}
        return cls(starts, holds) if starts else None

    def is_gone(self, stamp: Stamp, place: Position) -> bool:
        """Whether an offset that was read again, or lies behind the end, does not hold this message."""
        start = self.starts.get(place[:2])
        return start is not None and place[2] >= start and self.holds.get(place) != stamp


def ledger(
    sent: Sequence[Sent],
    received: Sequence[Received],
    group: int | None,
    said: Audit,
    outcomes: Outcomes,
    endings: Mapping[tuple[int, int], TransactionEnd],
    log: Log | None,
) -> list[LedgerEntry]:
    """What stands beside the classes of a group that `said` tells; without consumers, `group` is None.

    Through a pipeline, deliveries are of another log: of such a run, only `truncated` can be told.
    """
    deliveries = sorted((row for row in received if row.group == group), key=lambda row: row.order)
    sent = shown_by_stamps(sent, received)
    lost = [each for each in sent if said.classes.get(each.stamp) == "lost"]
    return [
        *(truncated(sent, outcomes, log) if log else ()),
        *(vanished(deliveries, log) if log else ()),
        *(offset_conflicts(sent, deliveries, log) if log else ()),
        *(skipped_polls([each for each in lost if _stands(each, log)], deliveries) if log else ()),
        *seen_elsewhere(lost, received),
        *went_back(deliveries),
        *committed_unseen(sent, said.classes),
        *received_early(sent, deliveries, endings),
    ]


def counted(entries: Iterable[LedgerEntry], measure: MeasureSpan) -> tuple[dict[str, int], dict[str, int]]:
    """Counts by name: of everything, and of the measure phase."""
    run, measured = (dict.fromkeys(LEDGER_CLASSES, 0) for _ in range(2))
    for each in entries:
        run[each.name] += 1
        measured[each.name] += measure.covers(each.time_ns)
    return run, measured


def _of(name: str, message: Sent) -> LedgerEntry:
    place = (message.topic, message.partition, message.offset)
    return LedgerEntry(name, message.stamp, place, either(message.due_ns, message.sent_ns))


def truncated(sent: Iterable[Sent], outcomes: Outcomes, log: Log) -> Iterator[LedgerEntry]:
    """Messages that were acknowledged, not of a transaction that did not commit, and are not in the log any more.

    One whose offset nobody knows is gone if it stands nowhere.
    """
    standing = {stamp for stamp in log.holds.values() if stamp}
    for each in sent:
        if each.error is None and each.outcome(outcomes) == COMMITTED:
            place = each.place
            if log.is_gone(each.stamp, place) if place else each.stamp not in standing:
                yield _of(TRUNCATED, each)


def vanished(deliveries: Iterable[Received], log: Log) -> Iterator[LedgerEntry]:
    """Messages, acknowledged or not, that the group received from an offset that does not hold them any more."""
    seen: set[Stamp] = set()
    for row in deliveries:
        if row.sound and row.stamp and row.stamp not in seen and log.is_gone(row.stamp, row.place):
            seen.add(row.stamp)
            yield LedgerEntry(VANISHED, row.stamp, row.place, selected_ns(row))


def offset_conflicts(sent: Iterable[Sent], deliveries: Iterable[Received], log: Log) -> Iterator[LedgerEntry]:
    """Offsets at which several messages were acknowledged, or received by the group; each shown by the first of them.

    A log holds one message at an offset, so that one of them at least is gone.
    """
    at: dict[Position, dict[Stamp, int | None]] = defaultdict(dict)
    for each in sent:
        if each.error is None and (place := each.place):
            at[place][each.stamp] = either(each.due_ns, each.sent_ns)
    for row in deliveries:
        if row.sound and row.stamp:
            at[row.place].setdefault(row.stamp, selected_ns(row))
    for place, stamps in at.items():
        if len(stamps) > 1 and any(log.is_gone(stamp, place) for stamp in stamps):
            first = min(stamps)
            yield LedgerEntry(CONFLICTS, first, place, stamps[first])


def _stands(message: Sent, log: Log | None) -> bool:
    return log is not None and (place := message.place) is not None and log.holds.get(place) == message.stamp


def skipped_polls(standing: Iterable[Sent], deliveries: Iterable[Received]) -> Iterator[LedgerEntry]:
    """Polls that went on behind messages that the group never received, although they stand in the log.

    The poll is that of the first delivery from the lowest offset behind such a message.
    """
    by_lane: dict[tuple[int, int], list[Received]] = defaultdict(list)
    for row in deliveries:
        by_lane[row.place[:2]].append(row)
    polls: dict[tuple[int, ...], Received] = {}
    for each in standing:
        if (place := each.place) is None:
            continue
        behind = [row for row in by_lane[place[:2]] if row.offset > place[2]]
        if behind:
            row = min(behind, key=lambda row: (row.offset, *row.order))
            known = polls.setdefault((row.consumer, *row.place[:2], row.poll), row)
            if row.offset < known.offset:
                polls[row.consumer, *row.place[:2], row.poll] = row
    for row in polls.values():
        yield LedgerEntry(SKIPPED, None, row.place, row.received_ns)


def seen_elsewhere(lost: Iterable[Sent], received: Iterable[Received]) -> Iterator[LedgerEntry]:
    """Messages that are lost to a group, and were received all the same: by another one."""
    seen = {row.stamp for row in received if row.sound}
    return (_of(SEEN_ELSEWHERE, each) for each in lost if each.stamp in seen)


def went_back(deliveries: Iterable[Received]) -> Iterator[LedgerEntry]:
    """Polls that brought a partition from an offset that the same consumer had passed before."""
    lows: dict[tuple[int, int, int], dict[int, list[Received]]] = defaultdict(lambda: defaultdict(list))
    for row in deliveries:
        lows[row.consumer, row.topic, row.partition][row.poll].append(row)
    for polls in lows.values():
        highest: int | None = None
        for _, rows in sorted(polls.items()):
            first = min(rows, key=lambda row: row.offset)
            if highest is not None and first.offset <= highest:
                yield LedgerEntry(WENT_BACK, None, first.place, min(row.received_ns for row in rows))
            top = max(row.offset for row in rows)
            highest = top if highest is None else max(highest, top)


def committed_unseen(sent: Iterable[Sent], classes: Mapping[Stamp, str]) -> Iterator[LedgerEntry]:
    """Messages of committed transactions that are lost to the group, or that it did not come to."""
    for each in sent:
        if each.transaction is not None and classes.get(each.stamp) in {"lost", "undelivered"}:
            yield _of(UNSEEN, each)


def received_early(
    sent: Iterable[Sent], deliveries: Sequence[Received], endings: Mapping[tuple[int, int], TransactionEnd]
) -> Iterator[LedgerEntry]:
    """Messages of transactions that were not aborted, received before their producer asked for the end."""
    first: dict[Stamp, int] = {}
    for row in deliveries:
        if row.sound and row.stamp:
            first[row.stamp] = min(row.received_ns, first.get(row.stamp, row.received_ns))
    for each in sent:
        ending = endings.get((each.producer, each.transaction)) if each.transaction is not None else None
        if ending is None or ending.outcome == ABORTED or each.stamp not in first:
            continue
        if first[each.stamp] < ending.ending_ns:
            yield _of(EARLY, each)
