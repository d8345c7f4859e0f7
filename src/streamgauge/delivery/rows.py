"""The rows that an audit looks at, and which topic they are of where a pipeline stands between.

A *message* is a row of `sent`; its stamp is (topic, producer, seq), and no two messages have the same stamp. Two of
them are acknowledged at the same offset only if the log was cut back in between. A *delivery* is a row of `received`.
Where a pipeline under test reads what is sent and writes what is received, a delivery is matched with its message by
the stamp, as if it had been read from the source; where it was read is a place in the sink.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from streamgauge.delivery.deliveries import Position, Stamp
from streamgauge.domain.events import COMMITTED, UNDECIDED
from streamgauge.scenario.model.jobs import AGGREGATE, SAME, SUBSET, Does

Lane = tuple[int, int, int]
"""Group, topic, partition."""
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
    def place(self) -> Position | None:
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
    def place(self) -> Position:
        """Where it was read."""
        return (self.topic, self.partition, self.offset)

    @property
    def order(self) -> tuple[int, int, int, int, int]:
        """What comes first when deliveries are put in order."""
        return (self.received_ns, self.consumer, self.poll, self.partition, self.offset)


@dataclass(frozen=True, slots=True)
class MeasureSpan:
    """The measure phase, [from_ns, to_ns)."""

    from_ns: int
    to_ns: int

    def covers(self, time_ns: int | None) -> bool:
        """Whether a time lies in it."""
        return time_ns is not None and self.from_ns <= time_ns < self.to_ns


class Lag(NamedTuple):
    """What the audit needs of a row of `lag`."""

    moment: str
    topic: int
    group: int
    consumer: int | None
    partition: int
    start: int | None
    committed: int | None
    position: int | None
    end: int | None


class Stood(NamedTuple):
    """What the audit needs of a row of `appended`."""

    topic: int
    partition: int
    offset: int
    producer: int | None
    seq: int | None
    expected: bool | None

    @property
    def stamp(self) -> Stamp | None:
        """The stamp that stands there; None when it is not one of this run."""
        return None if self.producer is None or self.seq is None else (self.topic, self.producer, self.seq)


@dataclass(frozen=True, slots=True)
class PipelineUnderTest:
    """A pipeline: numbers of its source, of its sink and of the query as a group, and what becomes of messages."""

    source: int
    sink: int
    query: int
    does: Does = SAME

    @property
    def drops(self) -> bool:
        """Whether some messages are not to come out; the source says which."""
        return self.does == SUBSET

    @property
    def joins(self) -> bool:
        """Whether an output stands for several messages: nobody can tell then which of them came."""
        return self.does == AGGREGATE

    def as_sent(self, row: Received) -> Received:
        """A delivery as if it came from the source; where the content is another, its checksum says nothing."""
        intact = row.intact if self.does in {SAME, SUBSET} else None
        return row._replace(topic=self.source, intact=intact)

    def at_sink(self, rows: Iterable[Lag]) -> list[Lag]:
        """Of the rows of `lag` those of the groups that read the sink."""
        return [row for row in rows if row.group != self.query and row.topic == self.sink]
