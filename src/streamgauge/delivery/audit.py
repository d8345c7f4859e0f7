"""What became of every message: the definition, in plain Python, of what `pipeline.audit.audit` computes on any scale.

A group is audited by its own deliveries alone. A message of an aborted transaction is acknowledged like any other, and
not meant to be delivered. A message of unknown fate was claimed by a producer that died before it could report it: it
may have been sent, and it may be in the log. Through a pipeline under test, a message is looked for in the sink; how
far the query had come is told in offsets of the source, how far a group had read in those of the sink.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from streamgauge.delivery.deliveries import Position, Stamp
from streamgauge.delivery.ends import Reached, reached, remains
from streamgauge.delivery.order import reordered
from streamgauge.delivery.rows import (
    Lag,
    MeasureSpan,
    Outcomes,
    PipelineUnderTest,
    Received,
    Sent,
    Stood,
)
from streamgauge.domain.events import ABORTED, COMMITTED, FATE_UNKNOWN, UNSENT

DUPLICATED = "duplicate_producer"
"""The class of messages that were received from several offsets, whoever wrote them twice."""

NEVER_DELIVERED = ("undelivered", "lost", "expired", "unknown")

MESSAGE_CLASSES = ("delivered_once", DUPLICATED, "duplicate_consumer", *NEVER_DELIVERED)
"""Every acknowledged message that was to be received is in exactly one of these: it was not aborted, and is in a
partition that the group reads."""

AT_SOURCE, BY_PIPELINE = "duplicated_at_source", "duplicated_by_pipeline"
"""Of the messages that came from several places in the sink: those that stood twice in the source, and the others."""

DROPPED, UNEXPECTED = "dropped", "unexpected"
"""Acknowledged messages that were not to come out of a pipeline, and those of them that came."""

TOLD_BY_OUTPUTS = ("received", "foreign", "unrecorded")
"""What can be counted where an output stands for several messages."""


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
class AuditCounts:
    """Counts by name, of everything and of the measure phase, as they are added up."""

    measure: MeasureSpan
    all: Counter[str] = field(default_factory=Counter)
    measured: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, time_ns: int | None) -> None:
        """Count one more, at a time."""
        self.all[name] += 1
        self.measured[name] += self.measure.covers(time_ns)


@dataclass(frozen=True, slots=True)
class Oracle:
    """What the source of a pipeline says of a stamp."""

    stands: int
    """At how many offsets of the source it stands."""
    expected: bool | None
    """Whether the message is to come out; of several copies, whether one of them is. None where nobody says."""


def audit(
    sent: Sequence[Sent],
    received: Sequence[Received],
    lag: Sequence[Lag],
    group: int,
    measure: MeasureSpan,
    dead: frozenset[int] = frozenset(),
    outcomes: Outcomes = MappingProxyType({}),
    reads: frozenset[int] | None = None,
    pipeline: PipelineUnderTest | None = None,
    appended: Sequence[Stood] = (),
) -> Audit:
    """What became of every message for `group`; `dead` are the numbers of the consumers that died in it.

    `received` are the deliveries to all groups: any of them shows that a message of unknown fate was sent.
    `reads` are the partitions that consumers are told to read, where they are told; the others have no rows in `lag`.
    A message belongs to the measure phase by its due time, or by its sent time where it has no due time; a delivery
    likewise by its stamp, or by the time it was received; foreign and unrecorded ones always by that.
    With a `pipeline`, `appended` are the rows of its source as it was read after the drain, and there are the counts
    AT_SOURCE, BY_PIPELINE, DROPPED and UNEXPECTED besides.
    """
    came = [row if pipeline is None else pipeline.as_sent(row) for row in received]
    deliveries = sorted((row for row in came if row.group == group), key=lambda row: row.order)
    sent = shown_by_stamps(sent, came)
    by_stamp = {message.stamp: message for message in sent}
    counts = AuditCounts(measure)
    for row in unrecorded(deliveries, by_stamp):
        counts.add("unrecorded", row.received_ns)
    if pipeline is not None and pipeline.joins:
        return of_outputs(deliveries, counts, pipeline)
    acked = sorted((each for each in sent if each.error is None), key=lambda each: each.stamp, reverse=True)
    by_place = {place: message for message in acked if (place := message.place)}
    owners = {row: owner(row, by_stamp, by_place if pipeline is None else None) for row in deliveries}
    of_message = _by_message(owners)
    says = oracles(sent, appended, pipeline)
    unwanted = {each.stamp: why for each in sent if (why := why_unwanted(each, outcomes, reads, says[each.stamp]))}
    judge = Judge.of_run(lag, received, group, dead, pipeline)
    classes = {
        each.stamp: judge.of(each, of_message[each.stamp], decided=is_decided(each, outcomes, says[each.stamp]))
        for each in sent
        if each.error is None and each.stamp not in unwanted
    }
    for each in sent:
        name = classes.get(each.stamp) or unwanted.get(each.stamp)
        for counted in names_of(each, name, says[each.stamp], was_received=bool(of_message[each.stamp])):
            counts.add(counted, either(each.due_ns, each.sent_ns))
    count_deliveries(deliveries, owners, counts)
    for row in reordered(deliveries, None if pipeline is None else by_stamp):
        counts.add("reordered", selected_ns(row))
    timed = (row for row in first_timed(owners) if row.stamp is None or unwanted.get(row.stamp) != ABORTED)
    return Audit(classes, counts.all, counts.measured, as_received(timed, pipeline))


def _by_message(owners: Mapping[Received, Sent | None]) -> defaultdict[Stamp, list[Received]]:
    """The deliveries of each message, in their order."""
    found: defaultdict[Stamp, list[Received]] = defaultdict(list)
    for row, message in owners.items():
        if message:
            found[message.stamp].append(row)
    return found


def of_outputs(deliveries: Sequence[Received], counts: AuditCounts, pipeline: PipelineUnderTest) -> Audit:
    """Where an output stands for several messages, nobody can tell which of them came; every output is timed."""
    count_deliveries(deliveries, dict.fromkeys(deliveries), counts)
    run, measured = ({name: each[name] for name in TOLD_BY_OUTPUTS} for each in (counts.all, counts.measured))
    return Audit({}, run, measured, as_received((row for row in deliveries if row.stamp), pipeline))


def as_received(rows: Iterable[Received], pipeline: PipelineUnderTest | None) -> frozenset[Received]:
    """Deliveries with the topic that they were read from."""
    return frozenset(row if pipeline is None else row._replace(topic=pipeline.sink) for row in rows)


def oracles(sent: Iterable[Sent], appended: Iterable[Stood], pipeline: PipelineUnderTest | None) -> dict[Stamp, Oracle]:
    """What the source says of each message; where a pipeline drops none, all of them are to come out."""
    drops = pipeline is not None and pipeline.drops
    rows: dict[Stamp | None, list[bool | None]] = defaultdict(list)
    for row in appended:
        rows[row.stamp].append(row.expected)
    said = {message.stamp: rows.get(message.stamp, []) for message in sent}
    return {stamp: Oracle(len(each), _any(each) if drops else True) for stamp, each in said.items()}


def _any(said: Sequence[bool | None]) -> bool | None:
    if True in said:
        return True
    return None if None in said or not said else False


def shown_by_stamps(sent: Iterable[Sent], received: Iterable[Received]) -> list[Sent]:
    """The messages, those of unknown fate with what the stamps of their deliveries show: when they were sent."""
    sent = list(sent)
    silent = {message.stamp for message in sent if message.error == FATE_UNKNOWN and message.sent_ns is None}
    shown: dict[Stamp, int] = {}
    for row in received if silent else ():
        if row.sound and row.stamp in silent and row.sent_ns is not None:
            shown[row.stamp] = min(row.sent_ns, shown.get(row.stamp, row.sent_ns))
    return [message._replace(sent_ns=shown[message.stamp]) if message.stamp in shown else message for message in sent]


def why_unwanted(message: Sent, outcomes: Outcomes, reads: frozenset[int] | None, oracle: Oracle) -> str | None:
    """Why an acknowledged message is not to be received: `aborted`, `unread` or DROPPED; None where it is."""
    if message.error is not None:
        return None
    if message.outcome(outcomes) == ABORTED:
        return ABORTED
    if reads is not None and message.partition not in {None, *reads}:
        return "unread"
    return DROPPED if oracle.expected is False else None


def is_decided(message: Sent, outcomes: Outcomes, oracle: Oracle) -> bool:
    """Whether it is known that an acknowledged message, if it is not unwanted, is to be received."""
    return message.outcome(outcomes) == COMMITTED and oracle.expected is not None


def names_of(message: Sent, name: str | None, oracle: Oracle, *, was_received: bool) -> Iterator[str]:
    """What a message is counted as: what it is, and whether it came although it should not have."""
    if name is not None:
        yield name
    if was_received and name == ABORTED:
        yield "aborted_received"
    if was_received and name == DROPPED:
        yield UNEXPECTED
    if name == DUPLICATED and oracle.stands:
        yield AT_SOURCE if oracle.stands > 1 else BY_PIPELINE
    if was_received and message.error not in {None, UNSENT}:
        yield "unacked_received"
    if message.error == FATE_UNKNOWN:
        yield "fate_unknown"
        yield "fate_unknown_received" if was_received else "unknown"


def owner(row: Received, by_stamp: Mapping[Stamp, Sent], by_place: Mapping[Position, Sent] | None) -> Sent | None:
    """The message that a row is a delivery of; None when it is nobody's.

    A sound stamp says it. Without one (checksum wrong, stamp unreadable) the message acknowledged at that offset does,
    the first by its stamp where an offset was given out twice;
    with a wrong checksum and no such message, the stamp, provided that nobody knows its message's offset. Through a
    pipeline an offset says nothing of a message (`by_place` is None), and the stamp is all that there is.
    """
    named = by_stamp.get(row.stamp) if row.stamp else None
    if row.sound or by_place is None:
        return named
    if row.place in by_place:
        return by_place[row.place]
    return named if named and named.offset is None else None


@dataclass(frozen=True, slots=True)
class Judge:
    """Tells the class of an acknowledged message from its deliveries."""

    reached: Reached
    group: int

    @classmethod
    def of_run(
        cls,
        lag: Sequence[Lag],
        received: Iterable[Received],
        group: int,
        dead: frozenset[int],
        pipeline: PipelineUnderTest | None,
    ) -> "Judge":
        """From the rows of a run."""
        mine = (row for row in received if row.group == group)
        left = remains(mine, lag if pipeline is None else pipeline.at_sink(lag), group, dead) if dead else None
        return cls(reached(lag, [group], left, pipeline), group)

    def of(self, message: Sent, deliveries: Sequence[Received], *, decided: bool = True) -> str:
        """One of MESSAGE_CLASSES; several offsets outweigh several deliveries of one.

        Where it is not `decided` that a message was to come, that it did not says nothing.
        """
        if len({row.place for row in deliveries}) > 1:
            return DUPLICATED
        if len(deliveries) > 1:
            return "duplicate_consumer"
        if deliveries:
            return "delivered_once"
        lane = (self.group, message.topic, -1 if message.partition is None else message.partition)
        return self.reached.missing(lane, message.offset) if decided else "unknown"


def count_deliveries(
    deliveries: Iterable[Received], owners: Mapping[Received, Sent | None], counts: AuditCounts
) -> None:
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
