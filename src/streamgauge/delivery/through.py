"""What became of every message on its way through a pipeline: the definition of what `pipeline.audit.through` computes.

Messages are sent to the source; a query reads it and writes the sink; groups read the sink. A delivery carries the
stamp of its message, and is matched with it as if it had been read from the source; where it was read is a place in the
sink. How far the query had come is told in offsets of the source, how far a group had read in those of the sink.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from streamgauge.delivery.audit import (
    Audit,
    Counts,
    Measure,
    Outcomes,
    Received,
    Sent,
    Stamp,
    count_deliveries,
    either,
    falling,
    first_timed,
    names_of,
    remains,
    selected_ns,
    shown_by_stamps,
    unrecorded,
    why_unwanted,
)
from streamgauge.delivery.ends import NOBODY_DIED, End, Lag, Lane, all_read_out, ends, query_ends
from streamgauge.domain.events import ABORTED, COMMITTED
from streamgauge.scenario.model.pipeline import AGGREGATE, SAME, SUBSET, Does

AT_SOURCE, BY_PIPELINE = "duplicated_at_source", "duplicated_by_pipeline"
"""Of the messages that came from several places in the sink: those that stood twice in the source, and the others."""
DROPPED, UNEXPECTED = "dropped", "unexpected"
"""Acknowledged messages that were not to come out, and those of them that came."""
DUPLICATED = "duplicate_producer"
"""The class of messages that stand at several offsets of the sink, whoever wrote them twice."""
TOLD_BY_OUTPUTS = ("received", "foreign", "unrecorded")
"""What can be counted where an output stands for several messages."""


class Stood(NamedTuple):
    """What the audit needs of a row of `appended`."""

    topic: int
    partition: int
    offset: int
    producer: int | None
    seq: int | None
    expected: bool | None


@dataclass(frozen=True, slots=True)
class Passage:
    """A pipeline: numbers of its source, of its sink and of the query as a group, and what becomes of messages."""

    source: int
    sink: int
    query: int
    does: Does = SAME


@dataclass(frozen=True, slots=True)
class Oracle:
    """What the source says of a stamp."""

    stands: int
    """At how many offsets of the source it stands."""
    expected: bool | None
    """Whether the message is to come out; of several copies, whether one of them is. None where nobody says."""


NOWHERE = Oracle(0, None)


def oracles(appended: Iterable[Stood]) -> dict[Stamp, Oracle]:
    """What the source says of each stamp in it."""
    rows: dict[Stamp, list[bool | None]] = defaultdict(list)
    for row in appended:
        if row.producer is not None and row.seq is not None:
            rows[row.topic, row.producer, row.seq].append(row.expected)
    return {stamp: Oracle(len(said), _any(said)) for stamp, said in rows.items()}


def _any(said: Sequence[bool | None]) -> bool | None:
    if True in said:
        return True
    return None if None in said else False


def through(
    sent: Sequence[Sent],
    received: Sequence[Received],
    lag: Sequence[Lag],
    appended: Sequence[Stood],
    passage: Passage,
    group: int,
    measure: Measure,
    dead: frozenset[int] = frozenset(),
    outcomes: Outcomes = MappingProxyType({}),
) -> Audit:
    """What became of every message for `group`; `dead` are the numbers of the consumers that died in it.

    Besides the counts of a run without a pipeline there are AT_SOURCE, BY_PIPELINE, DROPPED and UNEXPECTED.
    """
    as_sent = [_as_sent(row, passage) for row in received]
    deliveries = sorted((row for row in as_sent if row.group == group), key=lambda row: row.order)
    if passage.does == AGGREGATE:
        return _of_outputs(deliveries, {message.stamp: message for message in sent}, measure, passage)
    sent = shown_by_stamps(sent, as_sent)
    by_stamp = {message.stamp: message for message in sent}
    owners = {row: by_stamp.get(row.stamp) if row.stamp else None for row in deliveries}
    of_message: dict[Stamp, list[Received]] = defaultdict(list)
    for row, message in owners.items():
        if message:
            of_message[message.stamp].append(row)
    judge = Judge.of_run(lag, received, passage, group, dead)
    said = oracles(appended)
    counts = Counts(measure)
    classes: dict[Stamp, str] = {}
    for message in sent:
        copies, oracle = of_message[message.stamp], said.get(message.stamp, NOWHERE)
        name = _why_not(message, outcomes, oracle, passage)
        if name is None and message.error is None:
            decided = message.outcome(outcomes) == COMMITTED and not (
                passage.does == SUBSET and oracle.expected is None
            )
            name = classes[message.stamp] = judge.of(message, copies, decided=decided)
        for each in _named(message, name, copies, oracle):
            counts.add(each, either(message.due_ns, message.sent_ns))
    count_deliveries(deliveries, owners, counts)
    for row in unrecorded(deliveries, by_stamp):
        counts.add("unrecorded", row.received_ns)
    for row in reordered(deliveries, by_stamp):
        counts.add("reordered", selected_ns(row))
    aborted = {message.stamp for message in sent if why_unwanted(message, outcomes, None) == ABORTED}
    timed = frozenset(row for row in first_timed(owners) if row.stamp not in aborted)
    return Audit(classes, counts.all, counts.measured, _as_received(timed, passage))


def _as_sent(row: Received, passage: Passage) -> Received:
    """A delivery as if it had come from the source; where the content is another, its checksum says nothing."""
    intact = row.intact if passage.does in {SAME, SUBSET} else None
    return row._replace(topic=passage.source, intact=intact)


def _as_received(rows: Iterable[Received], passage: Passage) -> frozenset[Received]:
    return frozenset(row._replace(topic=passage.sink) for row in rows)


def _of_outputs(
    deliveries: Sequence[Received], by_stamp: Mapping[Stamp, Sent], measure: Measure, passage: Passage
) -> Audit:
    """Where an output stands for several messages, nobody can tell which of them came; every output is timed."""
    counts = Counts(measure)
    count_deliveries(deliveries, dict.fromkeys(deliveries), counts)
    for row in unrecorded(deliveries, by_stamp):
        counts.add("unrecorded", row.received_ns)
    run, measured = ({name: each[name] for name in TOLD_BY_OUTPUTS} for each in (counts.all, counts.measured))
    return Audit({}, run, measured, _as_received((row for row in deliveries if row.stamp), passage))


def _why_not(message: Sent, outcomes: Outcomes, oracle: Oracle, passage: Passage) -> str | None:
    """Why an acknowledged message is not to come out: `aborted` or DROPPED; None where it is, or nobody says."""
    unwanted = why_unwanted(message, outcomes, None)
    if unwanted is None and message.error is None and passage.does == SUBSET and oracle.expected is False:
        return DROPPED
    return unwanted


def _named(message: Sent, name: str | None, copies: Sequence[Received], oracle: Oracle) -> Iterable[str]:
    """What a message is counted as."""
    yield from names_of(message, name, was_received=bool(copies))
    if name == DROPPED and copies:
        yield UNEXPECTED
    if name == DUPLICATED and oracle.stands:
        yield AT_SOURCE if oracle.stands > 1 else BY_PIPELINE


@dataclass(frozen=True, slots=True)
class Judge:
    """Tells the class of an acknowledged message that was to come out from its deliveries."""

    query: Mapping[Lane, End]
    """How far the query had come in each partition of the source."""
    read_out: bool
    """Whether the group is known to have read all of the sink."""
    passage: Passage

    @classmethod
    def of_run(
        cls, lag: Sequence[Lag], received: Iterable[Received], passage: Passage, group: int, dead: frozenset[int]
    ) -> "Judge":
        """From the rows of a run."""
        at_sink = [row for row in lag if row.group == group and row.topic == passage.sink]
        mine = [row for row in received if row.group == group]
        left = remains(mine, at_sink, group, dead) if dead else None
        found = ends(at_sink, left)
        return cls(
            query_ends(lag, passage.query), all_read_out(found, left or NOBODY_DIED, group, passage.sink), passage
        )

    def of(self, message: Sent, deliveries: Sequence[Received], *, decided: bool) -> str:
        """One of MESSAGE_CLASSES. Where it is not `decided` that it was to come, that it did not says nothing."""
        if len({row.place for row in deliveries}) > 1:
            return DUPLICATED
        if len(deliveries) > 1:
            return "duplicate_consumer"
        if deliveries:
            return "delivered_once"
        return self.missing(message) if decided else "unknown"

    def missing(self, message: Sent) -> str:
        """The class of a message that did not come."""
        if message.offset is None or message.partition is None:
            mine = [end for lane, end in self.query.items() if lane[1] == self.passage.source]
            passed = bool(mine) and all(end.read_out for end in mine)
            return "lost" if passed and self.read_out else "unknown"
        end = self.query.get((self.passage.query, self.passage.source, message.partition))
        if end is None or end.start is None or end.position is None or end.end is None:
            return "unknown"
        if message.offset < end.start:
            return "expired"
        if end.position <= message.offset < end.end:
            return "undelivered"
        return "lost" if self.read_out else "unknown"


def reordered(deliveries: Iterable[Received], by_stamp: Mapping[Stamp, Sent]) -> list[Received]:
    """Deliveries whose sequence is below one at a smaller offset of the same producer and partition of source and sink.

    As without a pipeline, the lowest place in the sink counts; where a message stands in the source says its row of
    `sent`, and without that it is in no order.
    """
    at: dict[Stamp, Received] = {}
    for row in deliveries:
        if row.sound and row.stamp and (row.stamp not in at or row.place < at[row.stamp].place):
            at[row.stamp] = row
    lanes: dict[tuple[int, int, int | None], list[Received]] = defaultdict(list)
    for stamp, row in sorted(at.items(), key=lambda each: (each[1].place, each[1].seq)):
        partition = by_stamp[stamp].partition if stamp in by_stamp else None
        if partition is not None:
            lanes[partition, row.partition, row.producer].append(row)
    return [row for lane in lanes.values() for row in falling(lane)]
