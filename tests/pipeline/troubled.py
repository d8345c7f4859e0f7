"""Random histories of a topic, with whatever may go wrong, and the rows of them as Spark would read them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from streamgauge.arrow import arrow_schema
from streamgauge.delivery.audit import Audit, audit
from streamgauge.delivery.rows import Lag, MeasureSpan, Received, Sent
from streamgauge.domain.events import ABORTED, COMMITTED, EVENTS, FATE_UNKNOWN, UNDECIDED
from streamgauge.pipeline.audit import unsettled
from streamgauge.pipeline.read import silver

MEASURE = MeasureSpan(5_000, 60_000)
GROUPS = (0, 1)
Reads = frozenset[int] | None
DEAD = 9
MARKER = Sent(-1, -1, -1, None, None, None, None, None)
"""What a transaction leaves in the log: an offset without a message."""


@dataclass(slots=True)
class History:
    """Rows of one topic, with whatever may go wrong planted at random."""

    topic: int
    random: Random
    troubled: bool
    sent: list[Sent] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    lag: list[Lag] = field(default_factory=list)
    outcomes: dict[tuple[int, int], str] = field(default_factory=dict)
    aborts: set[tuple[int, int]] = field(default_factory=set)
    """Producer and sequence of messages that a reader of what is committed does not see."""
    lengths: Sequence[int] = (0, 1, 40, 64, 65, 130)
    """Of which one is the number of messages of a producer."""
    logs: list[list[Sent | None]] = field(default_factory=list)
    """What was written to each partition: None for a message of another run."""
    bases: list[int] = field(default_factory=list)
    """The first offset of each partition."""

    def chance(self, share: float) -> bool:
        """True in so many cases, in a troubled history; else never."""
        return self.troubled and self.random.random() < share

    def build(self) -> "History":
        """Send, then let each group read what is in the log."""
        random = self.random
        scheduled, acks = random.random() < 0.8, not self.chance(0.1)
        logs: list[list[Sent | None]] = [[] for _ in range(random.randint(1, 3))]
        bases = [random.choice([0, 1_000, 63]) for _ in logs]
        self.logs, self.bases = logs, bases
        for producer in range(random.randint(1, 2)):
            self._send(producer, logs, bases, scheduled=scheduled, acks=acks)
        for group in GROUPS:
            self._read(group, logs, bases)
        random.shuffle(self.sent)
        random.shuffle(self.received)
        return self

    def _send(
        self, producer: int, logs: list[list[Sent | None]], bases: list[int], *, scheduled: bool, acks: bool
    ) -> None:
        """Append messages to the logs, with failures, doubles, swaps, foreign messages, gaps and transactions."""
        partition, held = 0, list[Sent]()
        size = self.random.choice([None, None, 5, 20])
        for seq in range(self.random.choice(self.lengths)):
            if self.random.random() < 0.1:
                partition = self.random.randrange(len(logs))
            due = seq * 1_000 + producer if scheduled else None
            transaction = None if size is None else self._transaction(producer, seq, seq // size, logs[partition])
            message = Sent(self.topic, producer, seq, partition, None, due, seq * 1_000 + 50, None, transaction)
            log = logs[partition]
            if self._goes_wrong(message, log):
                continue
            if self.chance(0.03) and not held:
                held.append(message)
                continue
            log.append(message)
            known = acks and not self.chance(0.01)
            offset = bases[partition] + len(log) - 1
            if not self.chance(0.02):
                self.sent.append(message._replace(offset=offset if known else None))
            for late in held:
                logs[late.partition or 0].append(late)
                place = bases[late.partition or 0] + len(logs[late.partition or 0]) - 1
                self.sent.append(late._replace(offset=place))
            held.clear()
            if self.chance(0.03):
                logs[self.random.randrange(len(logs))].append(message)
            if self.chance(0.03):
                log.append(None)

    def _goes_wrong(self, message: Sent, log: list[Sent | None]) -> bool:
        """Whether a message is never sent, fails or is of unknown fate; the last two may be in the log all the same."""
        if self.chance(0.03):
            self.sent.append(message._replace(partition=None, sent_ns=None, error="unsent"))
            return True
        if self.chance(0.03):
            self.sent.append(message._replace(error="_MSG_TIMED_OUT"))
            log += [message] * (self.random.random() < 0.5)
            return True
        if self.chance(0.04):
            self.sent.append(message._replace(partition=None, sent_ns=None, error=FATE_UNKNOWN))
            log += [message] * self.random.randrange(3)
            return True
        return False

    def _transaction(self, producer: int, seq: int, number: int, log: list[Sent | None]) -> int:
        """The number of a transaction, no other of any history the same; its first message decides how it ends."""
        transaction = self.topic * 1_000 + number
        known = self.outcomes.get((producer, transaction))
        if known is None:
            log += [MARKER] * (number > 0)
            known = self.random.choices([COMMITTED, ABORTED, UNDECIDED], [8, 2, self.troubled])[0]
            self.outcomes[producer, transaction] = known
        if known == ABORTED or (known == UNDECIDED and self.random.random() < 0.5):
            self.aborts.add((producer, seq))
        return transaction

    def _read(self, group: int, logs: list[list[Sent | None]], bases: list[int]) -> None:
        """Deliver the logs to one group, with loss, redelivery, garbling, dead consumers and missing facts."""
        poll = 0
        dies = self.chance(0.3)
        for partition, (log, base) in enumerate(zip(logs, bases, strict=True)):
            position = base + len(log)
            if self.chance(0.3):
                position -= self.random.randint(0, len(log))
            killed = self.random.randint(0, len(log)) if dies else 0
            for place, message in enumerate(log):
                offset = base + place
                if offset >= position or self.chance(0.05) or (dies and killed <= place < killed + 5):
                    continue
                if message is MARKER or (message and self._is_hidden(message, group)):
                    continue
                consumer = group * 2 if place >= killed else DEAD
                for _ in range(1 + self.chance(0.05) + self.chance(0.02)):
                    poll += 1
                    self.received.append(self._delivery(group, consumer, poll, partition, offset, message))
            self._stand(group, partition, base, len(log), position, silent=dies and self.chance(0.5))

    def _is_hidden(self, message: Sent, group: int) -> bool:
        """Whether the group does not see a message; in a troubled history the second one sees most of them."""
        aborted = (message.producer, message.seq) in self.aborts
        return aborted and not (self.troubled and group == 1 and self.random.random() < 0.8)

    def _delivery(
        self, group: int, consumer: int, poll: int, partition: int, offset: int, message: Sent | None
    ) -> Received:
        random = self.random
        received_ns = (0 if message is None else message.seq * 1_000) + random.choice([10, 60, 500, 500, 4_000])
        blank = Received(
            self.topic, group, consumer, poll, None, None, partition, offset, None, None, received_ns, None
        )
        if message is None or self.chance(0.02):
            return blank
        row = blank._replace(producer=message.producer, seq=message.seq, due_ns=message.due_ns, sent_ns=message.sent_ns)
        if self.chance(0.03):
            garbled = random.choice([message.seq, message.seq + 1, -7, 1 << 62])
            return row._replace(seq=garbled, due_ns=random.choice([row.due_ns, 1 << 61]), intact=False)
        if self.chance(0.01):
            return row._replace(seq=message.seq + random.choice([1, 64]))
        return row._replace(intact=random.choice([True, None]))

    def _stand(self, group: int, partition: int, base: int, size: int, position: int, *, silent: bool) -> None:
        """The rows of `lag` of one partition."""
        log_start = base + (self.random.randint(0, size) if self.chance(0.2) else 0)
        common = {"topic": self.topic, "group": group, "partition": partition}
        committed = None if self.chance(0.1) else base
        end = None if self.chance(0.05) else base + size
        start = None if self.chance(0.03) else log_start
        none: dict[str, Any] = dict.fromkeys(("consumer", "start", "committed", "position", "end"))
        self.lag.append(Lag(**(none | common | {"moment": "start", "committed": committed, "end": base})))
        if not self.chance(0.03):
            self.lag.append(Lag(**(none | common | {"moment": "final", "start": start, "end": end})))
        if not silent:
            for consumer, reached in ((group * 2, position), (group * 2 + 1, position - 1)):
                row = {"moment": "final", "consumer": consumer, "position": reached}
                self.lag.append(Lag(**(none | common | row)))


def histories(count: int, *, troubled: bool) -> list[History]:
    return [History(number, Random(number), troubled).build() for number in range(count)]


def held(frame: DataFrame) -> DataFrame:
    """The rows of a frame, as an analysis of few of them holds them: what follows is planned without what led to it."""
    return frame.localCheckpoint()


def frame(spark: SparkSession, kind: str, rows: Iterable[Any], folder: Path | None = None) -> DataFrame:
    """Rows of an event as Spark would read them; columns that the audit does not need are filled in.

    Many rows are written to a `folder`: those of a frame made here stand in every plan that is made of it.
    """
    schema = arrow_schema(EVENTS[kind])
    filled = {"size_bytes": 100, "acked_ns": None, "transaction": None}
    table = pa.Table.from_pylist([filled | row._asdict() for row in rows], schema=schema)
    if folder is None:
        return spark.createDataFrame(table)
    path = folder / f"{kind}.parquet"
    pq.write_table(table, path)
    return spark.read.parquet(str(path))


def silver_of(
    spark: SparkSession, all_of_them: Sequence[History], folder: Path | None = None
) -> tuple[DataFrame, DataFrame]:
    sent = frame(spark, "sent", (row for history in all_of_them for row in history.sent), folder)
    received = frame(spark, "received", (row for history in all_of_them for row in history.received), folder)
    deliveries = held(silver.deliveries(received, MEASURE, processing=False))
    sent = unsettled.with_shown(sent, unsettled.shown(sent, deliveries, held, sized=True))
    return silver.messages(sent, MEASURE, held(outcomes_of(spark, all_of_them))), deliveries


def outcomes_of(spark: SparkSession, all_of_them: Sequence[History]) -> DataFrame:
    """Each third transaction that is undecided is not recorded at all."""
    ended = [
        {"producer": producer, "transaction": number, "outcome": outcome}
        for history in all_of_them
        for (producer, number), outcome in history.outcomes.items()
        if outcome != UNDECIDED or number % 3
    ]
    schema = pa.schema([("producer", pa.int32()), ("transaction", pa.int32()), ("outcome", pa.string())])
    return spark.createDataFrame(pa.Table.from_pylist(ended, schema=schema))


def lag_of(history: History, reads: Reads) -> list[Lag]:
    """Nobody says anything of partitions that nobody is to read."""
    return [row for row in history.lag if reads is None or row.partition in reads]


def defined(history: History, group: int, dead: frozenset[int], reads: Reads = None) -> Audit:
    lag = lag_of(history, reads)
    return audit(history.sent, history.received, lag, group, MEASURE, dead, history.outcomes, reads)
