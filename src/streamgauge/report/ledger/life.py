"""The life of one message: all that was recorded of it, in the order of its times."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from streamgauge.delivery.attempts import ACCEPTED, DEAD_LETTER, REDELIVERED, REJECTED, RELEASED, TIMED_OUT
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.events import FATE_UNKNOWN, UNSENT
from streamgauge.domain.folder.facts import RunFacts
from streamgauge.report.ledger.rows import MessageRows
from streamgauge.verdict.evidence import Row

AROUND_NS: Final = 5 * NS_PER_SECOND
"""Faults so long before the first and after the last time of a message are told with it."""
_ORDER: Final = (
    "due", "admitted", "claimed", "transaction", "sent", "leader", "handed", "resend", "acknowledged", "failed",
    "appended", "commit requested", "received", "started", "processed", "accepted", "released", "rejected", "timed out",
    "due again", "redelivered", "dead letter", "committed", "covered",
)  # fmt: skip
"""What comes first of what has the same time."""


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """One moment of a message, or of what was around it."""

    at_ns: int | None
    """Time on the run's monotonic clock; None where only the order is known."""
    second: float | None
    """The same from the start of the measure phase."""
    event: str
    detail: str
    not_before_ns: int | None = None
    not_after_ns: int | None = None
    """Bounds of a time that is not recorded."""

    @property
    def place_ns(self) -> int | None:
        """Where it stands among the others: by its time, or by what is known of that; None for last."""
        known = (self.at_ns, self.not_before_ns, self.not_after_ns)
        return next((each for each in known if each is not None), None)


@dataclass(frozen=True, slots=True)
class MessageLife:
    """One message: what identifies it, what became of it, and everything that happened to it."""

    topic: str | None
    producer: int | None
    seq: int | None
    partition: int | None
    offset: int | None
    size_bytes: int | None
    classes: tuple[str, ...]
    """The classes of problems that show it; empty if there are none, or if it is not among the examples."""
    state: str
    """What the recorded rows say of it, in words."""
    events: tuple[LifeEvent, ...]

    @property
    def name(self) -> str:
        """By what it is found again."""
        if self.producer is not None:
            return f"{self.producer}:{self.seq}"
        return f"{self.topic}/{self.partition}@{self.offset}"

    def document(self) -> dict[str, Any]:
        """The life as plain data."""
        return asdict(self)


def life_of(rows: MessageRows, facts: RunFacts, problems: Sequence[Row]) -> MessageLife:
    """The life that these rows tell; `problems` are the rows of that table."""
    told = _Teller(rows, facts)
    first = next(iter((*rows.sent, *rows.received, *rows.appended)), {})
    producer, seq = first.get("producer"), first.get("seq")
    mine = [row["class"] for row in problems if seq is not None and (row["producer"], row["seq"]) == (producer, seq)]
    return MessageLife(
        told.topic(first.get("topic")), producer, seq, first.get("partition"), first.get("offset"),
        first.get("size_bytes"), tuple(sorted(set(mine))), told.state(), tuple(told.events()),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Teller:
    rows: MessageRows
    facts: RunFacts

    def topic(self, number: int | None) -> str | None:
        """The name of a topic."""
        return next((topic.name for topic in self.facts.topics if topic.id == number), None)

    def _group(self, number: int) -> str:
        return next((group.name for group in self.facts.groups if group.id == number), str(number))

    def _place(self, row: Row) -> str:
        return f"{self.topic(row['topic'])}/{row['partition']}@{row['offset']}"

    def state(self) -> str:
        """What became of it, in words."""
        rows = self.rows
        parts = [_reported(rows.sent[0]) if rows.sent else "not recorded as sent"]
        by_group: dict[int, int] = {}
        for row in rows.received:
            by_group[row["group"]] = by_group.get(row["group"], 0) + 1
        times = [f"received {_times(count)} by {self._group(group)}" for group, count in sorted(by_group.items())]
        parts += times or (["never received"] if self.facts.groups else [])
        if rows.log_read and any(row["error"] is None for row in rows.sent):
            stands = [self._place(row) for row in rows.appended]
            acked = {self._place(row) for row in rows.sent if row["offset"] is not None}
            gone = "; gone from where it was acknowledged" if stands and not acked <= set(stands) else ""
            parts += [
                f"at the end it stands at {', '.join(stands)}{gone}" if stands else "at the end gone from the log"
            ]
        return "; ".join(parts)

    def events(self) -> list[LifeEvent]:
        """Everything, by time; what has no time comes last."""
        own = list(self._own())
        times = [each.at_ns for each in own if each.at_ns is not None]
        around = self._around(min(times), max(times)) if times else ()
        known = sorted((*own, *around), key=lambda each: (each.place_ns is None, each.place_ns or 0, _rank(each.event)))
        return list(dict.fromkeys(known))

    def _event(self, at_ns: int | None, event: str, detail: str = "") -> LifeEvent:
        return LifeEvent(at_ns, self._second(at_ns), event, detail)

    def _second(self, at_ns: int | None) -> float | None:
        measure = self.facts.phase("measure")
        return None if at_ns is None or measure is None else (at_ns - measure.from_ns) / NS_PER_SECOND

    def _own(self) -> Iterator[LifeEvent]:
        for row in self.rows.sent:
            yield from self._sent(row)
        if not self.rows.sent:
            yield from self._stamped(self.rows.received)
        for row in self.rows.resends:
            yield self._event(row["at_ns"], "resend", f"attempt {row['attempt']} failed: {row['error']}")
        for row in self.rows.transactions:
            yield from self._transaction(row)
        yield from self._appended()
        for row in self.rows.received:
            yield from self._received(row)
        for row in self.rows.attempts:
            event, detail = _OUTCOMES.get(row["outcome"], (row["outcome"], ""))
            yield self._event(row["at_ns"], event, f"delivery {row['attempt']}, {self._place(row)}{detail}")
        for row in self.rows.commits:
            yield self._event(row["at_ns"], "committed", f"the next commit of consumer-{row['consumer']}")
        for row in self.rows.lag:
            yield self._event(row["at_ns"], "covered", f"{self._group(row['group'])} had committed {row['committed']}")

    def _appended(self) -> Iterator[LifeEvent]:
        """Where it stands, and where consumers found it: the broker tells when, if the topic keeps that time."""
        stands = {self._place(row) for row in self.rows.appended}
        found = [row for row in self.rows.received if self._place(row) not in stands and row["append_ms"] is not None]
        ahead_ns = self.facts.wall_ns - self.facts.monotonic_ns
        for row in (*self.rows.appended, *found):
            at_ns = None if row["append_ms"] is None else row["append_ms"] * NS_PER_MS - ahead_ns
            where = "it stands at" if self._place(row) in stands else "by the broker's clock, at"
            yield self._event(at_ns, "appended", f"{where} {self._place(row)}")

    def _transaction(self, row: Row) -> Iterator[LifeEvent]:
        number = f"{row['producer']}:{row['transaction']}"
        yield self._event(row["began_ns"], "transaction", f"{number} began")
        if row["ending_ns"] is not None:
            yield self._event(row["ending_ns"], "commit requested", f"the producer asked to end transaction {number}")
        if row["ended_ns"] is not None:
            yield self._event(row["ended_ns"], "transaction", f"{number} ended: {row['outcome']}")

    def _claimed(self, row: Row) -> Iterator[LifeEvent]:
        """When its producer took it from the schedule is not recorded: it was due then, and sent later if at all."""
        if row["error"] == UNSENT:
            return
        workers = (each for each in self.facts.workers if each.role == "producer" and row["producer"] in each.numbers)
        stamps = (each["sent_ns"] for each in self.rows.received)
        later = (row["sent_ns"], *stamps, *(worker.ended_ns for worker in workers))
        since_ns = max((each for each in (row["due_ns"], row["admitted_ns"]) if each is not None), default=None)
        until_ns = min((each for each in later if each is not None), default=None)
        bounds = (("not before", self._second(since_ns)), ("not after", self._second(until_ns)))
        if told := [f"{words} {second:.6f}" for words, second in bounds if second is not None]:
            yield LifeEvent(None, None, "claimed", ", ".join(told), since_ns, until_ns)

    def _sent(self, row: Row) -> Iterator[LifeEvent]:
        who = f"by producer-{row['producer']}, for {self.topic(row['topic'])}"
        if row["due_ns"] is not None:
            yield self._event(row["due_ns"], "due", who)
        if row["admitted_ns"] is not None:
            yield self._event(row["admitted_ns"], "admitted", "by the backpressure policy")
        yield from self._claimed(row)
        if row["sent_ns"] is not None:
            waited = f", after {row['waited_ns'] / NS_PER_MS:.3f} ms of waiting" if row["waited_ns"] else ""
            yield self._event(row["sent_ns"], "sent", f"{who}{waited}")
            if leader := self._leader(row):
                yield self._event(row["sent_ns"], "leader", leader)
        if row["handed_ns"] is not None:
            yield self._event(row["handed_ns"], "handed", "to the client")
        if row["error"] is None:
            place = self._place(row) if row["offset"] is not None else "at an offset that is not known"
            yield self._event(row["acked_ns"], "acknowledged", place)
        else:
            yield self._event(row["acked_ns"], "failed", _reported(row))

    def _stamped(self, received: Sequence[Row]) -> Iterator[LifeEvent]:
        """What its stamp tells of a message that is not recorded as sent."""
        for row in received:
            for name, at_ns in (("due", row["due_ns"]), ("sent", row["sent_ns"])):
                if at_ns is not None:
                    yield self._event(at_ns, name, "as its stamp tells")

    def _leader(self, row: Row) -> str | None:
        """Who led its partition, by the last look before it was sent."""
        before = [
            each
            for each in self.rows.replicas
            if (each["topic"], each["partition"]) == (row["topic"], row["partition"])
            and each["at_ns"] <= row["sent_ns"]
        ]
        if not before:
            return None
        last = before[-1]
        leader = "without a leader" if last["leader"] is None else f"led by broker-{last['leader']}"
        return f"partition {row['partition']} was {leader}; {last['in_sync']} of {last['replicas']} replicas in sync"

    def _received(self, row: Row) -> Iterator[LifeEvent]:
        who = f"by consumer-{row['consumer']} of {self._group(row['group'])}"
        wrong = "; its checksum is wrong" if row["intact"] is False else ""
        number = "" if row["delivery_count"] is None else f", delivery {row['delivery_count']}"
        told = f"{who}, poll {row['poll']}, {self._place(row)}{number}{wrong}"
        yield self._event(row["received_ns"], "received", told)
        if row["deadline_ms"] is not None:
            due_ns = row["deadline_ms"] * NS_PER_MS - self.facts.wall_ns + self.facts.monotonic_ns
            is_past = due_ns <= row["received_ns"]
            what = "from its retry topic" if is_past else "unless it is acknowledged"
            yield self._event(due_ns, "due again", f"delivery {row['delivery_count']}, {what}")
        if row["started_ns"] is not None:
            yield self._event(row["started_ns"], "started", f"processing {who}")
        if row["processed_ns"] is not None:
            yield self._event(row["processed_ns"], "processed", who)

    def _around(self, from_ns: int, to_ns: int) -> Iterator[LifeEvent]:
        """Faults around it, and changes of the leader of its partition."""
        for row in self.rows.faults:
            if from_ns - AROUND_NS <= row["at_ns"] <= to_ns + AROUND_NS:
                detail = " ".join(
                    filter(None, (row["kind"], row["target"], row["action"], row["detail"], row["error"]))
                )
                yield self._event(row["at_ns"], "fault", detail)
        known: dict[tuple[int, int], int | None] = {}
        for row in self.rows.replicas:
            lane = (row["topic"], row["partition"])
            if (
                lane in known
                and known[lane] != row["leader"]
                and from_ns - AROUND_NS <= row["at_ns"] <= to_ns + AROUND_NS
            ):
                leader = "no leader" if row["leader"] is None else f"broker-{row['leader']}"
                yield self._event(row["at_ns"], "new leader", f"of partition {row['partition']}: {leader}")
            known[lane] = row["leader"]


_OUTCOMES: Final = {
    ACCEPTED: ("accepted", ", acknowledged by its consumer"),
    RELEASED: ("released", ", its processing failed"),
    REJECTED: ("rejected", ", its processing failed for the last time"),
    TIMED_OUT: ("timed out", ", acknowledged when its lock was over"),
    REDELIVERED: ("redelivered", ", written again"),
    DEAD_LETTER: ("dead letter", ", written to the topic of dead letters"),
}


def _reported(row: Row) -> str:
    if row["error"] is None:
        return "acknowledged"
    words = {UNSENT: "never sent", FATE_UNKNOWN: "of unknown fate: its producer died before it reported"}
    return words.get(row["error"], f"failed: {row['error']}")


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _rank(event: str) -> int:
    return _ORDER.index(event) if event in _ORDER else -1
