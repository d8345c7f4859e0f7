"""What became of every message: the definition, in plain Python, of what `pipeline.audit.audit` computes on any scale.

A *message* is a row of `sent`; its stamp is (topic, producer, seq), and no two messages have the same stamp or were
acknowledged at the same offset. A *delivery* is a row of `received`; a group is audited by its own deliveries alone.
A message of an aborted transaction is acknowledged like any other, and not meant to be delivered. A message of unknown
fate was taken up by a producer that died before it could report it: it may have been sent, and it may be in the log.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, cast

from streamgauge.delivery.ends import NOBODY_DIED, Dead, End, Lag, Lane, LostBlock, ends, missing, starts
from streamgauge.domain.events import ABORTED, COMMITTED, FATE_UNKNOWN, UNDECIDED, UNSENT

NEVER_DELIVERED = ("undelivered", "lost", "expired", "unknown")
MESSAGE_CLASSES = ("delivered_once", "duplicate_producer", "duplicate_consumer", *NEVER_DELIVERED)
"""Every acknowledged message that was to be received is in exactly one of these: it was not aborted, and is in a
partition that the group reads."""

Stamp = tuple[int, int, int]
"""Topic, producer, sequence."""
Place = tuple[int, int, int]
"""Topic, partition, offset."""
Outcomes = Mapping[tuple[int, int], str]
"""How the transactions of each producer ended; one that is not there is undecided."""


class Sent(NamedTuple):
    """What the audit needs of a row of `sent`."""

    topic: int
    producer: int
    seq: int
    partition: int | None
    offset: int | None
    due_ns: int | None
    sent_ns: int | None
    error: str | None
    transaction: int | None = None

    @property
    def stamp(self) -> Stamp:
        """What identifies the message."""
        return (self.topic, self.producer, self.seq)

    @property
    def place(self) -> Place | None:
        """Where it was acknowledged, if that is known."""
        return None if self.partition is None or self.offset is None else (self.topic, self.partition, self.offset)

    def outcome(self, outcomes: Outcomes) -> str:
        """How its transaction ended; without a transaction it needs no commit."""
        if self.transaction is None:
            return COMMITTED
        return outcomes.get((self.producer, self.transaction), UNDECIDED)


class Received(NamedTuple):
    """What the audit needs of a row of `received`."""

    topic: int
    group: int
    consumer: int
    poll: int
    producer: int | None
    seq: int | None
    partition: int
    offset: int
    due_ns: int | None
    sent_ns: int | None
    received_ns: int
    intact: bool | None

    @property
    def stamp(self) -> Stamp | None:
        """The stamp that it carries; None when it is not one of this run."""
        return None if self.producer is None or self.seq is None else (self.topic, self.producer, self.seq)

    @property
    def sound(self) -> bool:
        """Whether its stamp may be trusted: there is one, and no checksum contradicts it."""
        return self.stamp is not None and self.intact is not False

    @property
    def place(self) -> Place:
        """Where it was read."""
        return (self.topic, self.partition, self.offset)

    @property
    def order(self) -> tuple[int, int, int, int, int]:
        """What comes first when deliveries are put in order."""
        return (self.received_ns, self.consumer, self.poll, self.partition, self.offset)


@dataclass(frozen=True, slots=True)
class Measure:
    """The measure phase, [from_ns, to_ns)."""

    from_ns: int
    to_ns: int

    def covers(self, time_ns: int | None) -> bool:
        """Whether a time lies in it."""
        return time_ns is not None and self.from_ns <= time_ns < self.to_ns


@dataclass(frozen=True, slots=True)
class Audit:
    """What became of the messages for one group."""

    classes: Mapping[Stamp, str]
    """Class of each acknowledged message that was to be received."""
    run: Mapping[str, int]
    measure: Mapping[str, int]
    """Counts by name, of everything and of what belongs to the measure phase; a missing name is 0."""
    timed: frozenset[Received]
    """The deliveries whose latency counts: the first of each message that was not aborted."""


@dataclass(slots=True)
class Counts:
    """Counts by name, of everything and of the measure phase, as they are added up."""

    measure: Measure
    all: Counter[str] = field(default_factory=Counter)
    measured: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, time_ns: int | None) -> None:
        """Count one more, at a time."""
        self.all[name] += 1
        self.measured[name] += self.measure.covers(time_ns)


def audit(
    sent: Sequence[Sent],
    received: Sequence[Received],
    lag: Sequence[Lag],
    group: int,
    measure: Measure,
    dead: frozenset[int] = frozenset(),
    outcomes: Outcomes = MappingProxyType({}),
    reads: frozenset[int] | None = None,
) -> Audit:
    """What became of every message for `group`; `dead` are the numbers of the consumers that died in it.

    `received` are the deliveries to all groups: any of them shows that a message of unknown fate was sent.
    `reads` are the partitions that consumers are told to read, where they are told; the others have no rows in `lag`.
    A message belongs to the measure phase by its due time, or by its sent time where it has no due time; a delivery
    likewise by its stamp, or by the time it was received; foreign and unrecorded ones always by that.
    """
    sent = shown_by_stamps(sent, received)
    deliveries = sorted((row for row in received if row.group == group), key=lambda row: row.order)
    by_stamp = {message.stamp: message for message in sent}
    by_place = {place: message for message in sent if message.error is None and (place := message.place)}
    owners = {row: owner(row, by_stamp, by_place) for row in deliveries}
    of_message: dict[Stamp, list[Received]] = defaultdict(list)
    for row, message in owners.items():
        if message:
            of_message[message.stamp].append(row)
    left = remains(deliveries, lag, group, dead) if dead else None
    judge = Judge(ends(lag, left), left or NOBODY_DIED, group)
    counts = Counts(measure)
    unwanted = {message.stamp: why for message in sent if (why := why_unwanted(message, outcomes, reads))}
    classes = {
        message.stamp: judge.of(message, of_message[message.stamp], decided=message.outcome(outcomes) == COMMITTED)
        for message in sent
        if message.error is None and message.stamp not in unwanted
    }
    for message in sent:
        name = classes.get(message.stamp) or unwanted.get(message.stamp)
        for counted in names_of(message, name, was_received=bool(of_message[message.stamp])):
            counts.add(counted, either(message.due_ns, message.sent_ns))
    count_deliveries(deliveries, owners, counts)
    for row in unrecorded(deliveries, by_stamp):
        counts.add("unrecorded", row.received_ns)
    for row in reordered(deliveries):
        counts.add("reordered", selected_ns(row))
    timed = frozenset(row for row in first_timed(owners) if row.stamp is None or unwanted.get(row.stamp) != ABORTED)
    return Audit(classes, counts.all, counts.measured, timed)


def shown_by_stamps(sent: Iterable[Sent], received: Iterable[Received]) -> list[Sent]:
    """The messages, those of unknown fate with what the stamps of their deliveries show: when they were sent."""
    sent = list(sent)
    silent = {message.stamp for message in sent if message.error == FATE_UNKNOWN and message.sent_ns is None}
    shown: dict[Stamp, int] = {}
    for row in received if silent else ():
        if row.sound and row.stamp in silent and row.sent_ns is not None:
            shown[row.stamp] = min(row.sent_ns, shown.get(row.stamp, row.sent_ns))
    return [message._replace(sent_ns=shown[message.stamp]) if message.stamp in shown else message for message in sent]


def why_unwanted(message: Sent, outcomes: Outcomes, reads: frozenset[int] | None) -> str | None:
    """Why an acknowledged message is not to be received: `aborted` or `unread`; None where it is."""
    if message.error is not None:
        return None
    if message.outcome(outcomes) == ABORTED:
        return ABORTED
    return "unread" if reads is not None and message.partition not in {None, *reads} else None


def names_of(message: Sent, name: str | None, *, was_received: bool) -> Iterator[str]:
    """What a message is counted as: what it is, and whether it came although it should not have."""
    if name is not None:
        yield name
    if was_received and name == ABORTED:
        yield "aborted_received"
    if was_received and message.error not in {None, UNSENT}:
        yield "unacked_received"
    if message.error == FATE_UNKNOWN:
        yield "fate_unknown"
        yield "fate_unknown_received" if was_received else "unknown"


def owner(row: Received, by_stamp: Mapping[Stamp, Sent], by_place: Mapping[Place, Sent]) -> Sent | None:
    """The message that a row is a delivery of; None when it is nobody's.

    A sound stamp says it. Without one (checksum wrong, stamp unreadable) the message acknowledged at that offset does;
    with a wrong checksum and no such message, the stamp, provided that nobody knows its message's offset.
    """
    if row.sound:
        return by_stamp.get(cast("Stamp", row.stamp))
    if row.place in by_place:
        return by_place[row.place]
    named = by_stamp.get(row.stamp) if row.stamp else None
    return named if named and named.offset is None else None


@dataclass(frozen=True, slots=True)
class Judge:
    """Tells the class of an acknowledged message from its deliveries."""

    ends: Mapping[Lane, End]
    dead: Dead
    group: int

    def of(self, message: Sent, deliveries: Sequence[Received], *, decided: bool = True) -> str:
        """One of MESSAGE_CLASSES; several offsets outweigh several deliveries of one.

        Where its transaction is not `decided`, nobody can tell whether a message should have come.
        """
        if len({row.place for row in deliveries}) > 1:
            return "duplicate_producer"
        if len(deliveries) > 1:
            return "duplicate_consumer"
        if deliveries:
            return "delivered_once"
        if not decided:
            return "unknown"
        mine = [end for lane, end in self.ends.items() if lane[:2] == (self.group, message.topic)]
        lane = (self.group, message.topic, -1 if message.partition is None else message.partition)
        all_read_out = bool(mine) and all(end.read_out for end in mine)
        return missing(message.offset, self.ends.get(lane), self.dead.blocks.get(lane, ()), all_read_out=all_read_out)


def remains(deliveries: Iterable[Received], lag: Iterable[Lag], group: int, dead: frozenset[int]) -> Dead:
    """What the consumers in `dead` leave behind in every partition that `lag` knows.

    The lost block of a dead consumer begins above the highest offset that it recorded, or where the group began to
    read if it recorded none, and ends below the next offset that another consumer recorded.
    """
    read: dict[Lane, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in deliveries:
        read[row.group, row.topic, row.partition][row.consumer].append(row.offset)
    rows = list(lag)
    lanes = {(row.group, row.topic, row.partition) for row in rows if row.group == group} | set(read)
    begun = starts(rows)
    highest = {lane: max(max(offsets) for offsets in by.values()) for lane, by in read.items()}
    blocks = {
        lane: tuple(_lost_block(read[lane], consumer, begun.get(lane, 0) - 1) for consumer in sorted(dead))
        for lane in lanes
    }
    return Dead(highest, blocks)


def _lost_block(read: Mapping[int, Sequence[int]], consumer: int, before: int) -> LostBlock:
    above = max(read.get(consumer, ()), default=before)
    later = [offset for offsets in read.values() for offset in offsets if offset > above]
    return LostBlock(above, min(later, default=None))


def reordered(deliveries: Iterable[Received]) -> list[Received]:
    """Deliveries whose sequence is below one at a smaller offset of the same producer and partition.

    Sound stamps only; an offset that was received again counts once (its first delivery), and a message that stands at
    several offsets counts only at the lowest (partition, offset).
    """
    at: dict[Stamp, Received] = {}
    for row in deliveries:
        if row.sound and row.stamp and (row.stamp not in at or row.place < at[row.stamp].place):
            at[row.stamp] = row
    lanes: dict[tuple[int, int, int | None], list[Received]] = defaultdict(list)
    for row in sorted(at.values(), key=lambda row: (row.place, row.seq)):
        lanes[row.topic, row.partition, row.producer].append(row)
    return [row for lane in lanes.values() for row in falling(lane)]


def falling(lane: Iterable[Received]) -> list[Received]:
    """Of deliveries in the order of their offsets, those whose sequence is below an earlier one."""
    found: list[Received] = []
    highest: int | None = None
    for row in lane:
        if row.seq is None:
            continue
        if highest is not None and row.seq < highest:
            found.append(row)
        highest = row.seq if highest is None else max(highest, row.seq)
    return found


def count_deliveries(deliveries: Iterable[Received], owners: Mapping[Received, Sent | None], counts: Counts) -> None:
    """Count every delivery, and those that are corrupt or foreign."""
    for row in deliveries:
        counts.add("received", selected_ns(row))
        if row.intact is False or (row.stamp is None and owners[row]):
            counts.add("corrupt", selected_ns(row))
        elif row.stamp is None:
            counts.add("foreign", row.received_ns)


def unrecorded(deliveries: Iterable[Received], by_stamp: Mapping[Stamp, Sent]) -> list[Received]:
    """The first delivery of each sound stamp that no row of `sent` knows."""
    first: dict[Stamp, Received] = {}
    for row in deliveries:
        if row.sound and row.stamp and row.stamp not in by_stamp:
            first.setdefault(row.stamp, row)
    return list(first.values())


def first_timed(owners: Mapping[Received, Sent | None]) -> list[Received]:
    """The first delivery of each stamp: sound ones, and corrupt ones that belong to the message of their stamp."""
    first: dict[Stamp, Received] = {}
    for row, message in owners.items():
        if row.stamp and (row.sound or (message and message.stamp == row.stamp)):
            first.setdefault(row.stamp, row)
    return list(first.values())


def selected_ns(row: Received) -> int:
    """The time by which a delivery belongs to a phase."""
    stamped_ns = either(row.due_ns, row.sent_ns)
    return row.received_ns if stamped_ns is None else stamped_ns


def either(first: int | None, second: int | None) -> int | None:
    """The first that is known."""
    return second if first is None else first


def unaccounted(sent: Sequence[Sent], next_seqs: Mapping[int, int]) -> int:
    """How far the rows of `sent` are from one row for each sequence that a producer took up; 0 where all are there.

    `next_seqs` has, for every producer, the first sequence that it did not take up. Counted are sequences below it
    without a row, rows too many of one sequence, and rows at or above it that are not those of a message never sent.
    """
    rows = Counter((message.producer, message.seq) for message in sent)
    below = sum(seq < next_seqs.get(producer, 0) for producer, seq in rows)
    beyond = {
        (message.producer, message.seq)
        for message in sent
        if message.error != UNSENT and message.seq >= next_seqs.get(message.producer, 0)
    }
    return sum(next_seqs.values()) - below + rows.total() - len(rows) + len(beyond)
