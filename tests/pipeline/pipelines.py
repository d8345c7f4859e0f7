"""Random histories of runs with a pipeline in the measured path, with whatever may go wrong planted at random."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from streamgauge.delivery.rows import Lag, MeasureSpan, PipelineUnderTest, Received, Sent, Stood
from streamgauge.domain.events import ABORTED, COMMITTED, FATE_UNKNOWN, UNDECIDED
from streamgauge.scenario.model.jobs import SAME, SUBSET, Does

MEASURE = MeasureSpan(5_000, 60_000)
GROUPS, QUERY = (0, 1), 2
DEAD = 9
SOURCE, SINK, PARTITIONS, PRODUCERS = 0, 1, 3, 4
Log = list[Sent | None]
"""What stands in a partition; None for a message that is not of this run."""


@dataclass
class Passed:
    """Rows of one run through one pipeline."""

    seed: int
    does: Does = SAME
    troubled: bool = True
    reads_out: bool = True
    """Whether the groups read the sink to its end."""
    dies: bool = False
    """Whether a consumer dies in each group."""
    oracle: bool = True
    acks: bool = True
    sent: list[Sent] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    lag: list[Lag] = field(default_factory=list)
    appended: list[Stood] = field(default_factory=list)
    outcomes: dict[tuple[int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        source: list[Log] = [[] for _ in range(PARTITIONS)]
        sink: list[Log] = [[] for _ in range(PARTITIONS)]
        for producer in range(PRODUCERS):
            self._send(producer, source)
        for partition, log in enumerate(source):
            self._stand(partition, log)
            self._pass(partition, log, sink)
        for group in GROUPS:
            self._read(group, sink)
        for rows in (self.sent, self.received, self.appended):
            self.random.shuffle(rows)

    @property
    def pipeline(self) -> PipelineUnderTest:
        """The numbers of the run."""
        return PipelineUnderTest(SOURCE, SINK, QUERY, self.does)

    def chance(self, share: float) -> bool:
        """True in so many cases, in a troubled history; else never."""
        return self.troubled and self.random.random() < share

    def _send(self, producer: int, source: list[Log]) -> None:
        partition = 0
        for seq in range(self.random.choice([200, 256, 257])):
            if self.random.random() < 0.2:
                partition = self.random.randrange(len(source))
            due = seq * 400 if producer else None
            transaction = self._transaction(producer, seq // 20)
            message = Sent(SOURCE, producer, seq, partition, None, due, seq * 400 + 9, None, transaction)
            if self.chance(0.03):
                self.sent.append(message._replace(partition=None, sent_ns=None, error="unsent"))
                continue
            log = source[partition]
            if self.chance(0.03):
                self.sent.append(message._replace(error="_MSG_TIMED_OUT"))
                log += [message] * (self.random.random() < 0.5)
                continue
            if self.chance(0.04):
                self.sent.append(message._replace(partition=None, sent_ns=None, error=FATE_UNKNOWN))
                log += [message] * (self.random.random() < 0.7)
                continue
            if self.chance(0.03):
                log.append(None)
            log.append(message)
            known = self.acks and not self.chance(0.02)
            if not self.chance(0.02):
                self.sent.append(message._replace(offset=len(log) - 1 if known else None))
            if self.chance(0.04):
                source[self.random.randrange(len(source))].append(message)

    def _transaction(self, producer: int, number: int) -> int | None:
        if not self.troubled or producer % 2:
            return None
        ways = [COMMITTED, ABORTED, UNDECIDED]
        self.outcomes.setdefault((producer, number), self.random.choices(ways, [8, 2, 1])[0])
        return number

    def is_expected(self, message: Sent) -> bool:
        """What the job keeps: of a subset two of three."""
        return self.does != SUBSET or message.seq % 3 > 0

    def _stand(self, partition: int, log: Log) -> None:
        """The source as it is read after the drain: some of it, in a troubled run."""
        for offset, message in enumerate(log):
            if self.chance(0.03):
                continue
            expected = None if message is None or not self.oracle or self.chance(0.03) else self.is_expected(message)
            stamp = (None, None) if message is None else (message.producer, message.seq)
            self.appended.append(Stood(SOURCE, partition, offset, stamp[0], stamp[1], expected))

    def _pass(self, partition: int, log: Log, sink: list[Log]) -> None:
        """The query: batch after batch, some again, some messages lost, the last ones not reached."""
        committed = len(log) - (self.random.randint(0, 40) if self.chance(0.8) else 0)
        for offset, message in enumerate(log):
            if message and not self._comes_out(message) and not self.chance(0.05):
                continue
            if self.chance(0.06) or (offset >= committed and self.random.random() < 0.7):
                continue
            # In order, as a task writes: each message goes to the partition that its number says.
            to = sink[0 if message is None else message.seq % len(sink)]
            for _ in range(1 + self.chance(0.06)):
                place = len(to) - (2 if self.chance(0.03) and len(to) > 1 else 0)
                to.insert(place, message)
        none: dict[str, Any] = dict.fromkeys(("consumer", "start", "committed", "position", "end"))
        common = none | {"topic": SOURCE, "group": QUERY, "partition": partition}
        self.lag.append(Lag(**(common | {"moment": "start", "committed": 0, "end": 0})))
        start = self.random.randint(0, 40) if self.chance(0.8) else 0
        # The last partition is told worse of than the others.
        end = None if partition == PARTITIONS - 1 and self.chance(0.5) else len(log)
        told = {"start": start, "end": end, "committed": committed}
        told["position"] = told["committed"] if self.random.random() < 0.5 else None
        self.lag.append(Lag(**(common | {"moment": "final"} | told)))

    def _comes_out(self, message: Sent) -> bool:
        """Whether the query writes a message: it sees what is committed, and little of what was aborted."""
        transaction = message.transaction
        is_aborted = transaction is not None and self.outcomes[message.producer, transaction] == ABORTED
        return self.is_expected(message) and (not is_aborted or self.chance(0.1))

    def _read(self, group: int, sink: list[Log]) -> None:
        poll = 0
        for partition, log in enumerate(sink):
            position = len(log) - (0 if self.reads_out else self.random.randint(1, 40))
            killed = self.random.randint(20, len(log) - 20) if self.dies else 0
            for offset, message in enumerate(log):
                if offset >= position or self.chance(0.02) or (self.dies and killed <= offset < killed + 3):
                    continue
                consumer = group * 2 if offset >= killed else DEAD
                for _ in range(1 + self.chance(0.05)):
                    poll += 1
                    self.received.append(self._delivery(group, consumer, poll, partition, offset, message))
            self._reached(group, partition, len(log), position, silent=self.dies and self.chance(0.5))

    def _delivery(
        self, group: int, consumer: int, poll: int, partition: int, offset: int, message: Sent | None
    ) -> Received:
        received_ns = (0 if message is None else message.seq * 400) + self.random.choice([10, 60, 500, 500, 4_000])
        blank = Received(SINK, group, consumer, poll, None, None, partition, offset, None, None, received_ns, None)
        if message is None or self.chance(0.02):
            return blank
        row = blank._replace(producer=message.producer, seq=message.seq, due_ns=message.due_ns, sent_ns=message.sent_ns)
        if self.chance(0.03):
            return row._replace(seq=self.random.choice([message.seq, message.seq + 1, -7, 1 << 62]), intact=False)
        if self.chance(0.01):
            return row._replace(seq=message.seq + self.random.choice([1, 64]))
        return row._replace(intact=self.random.choice([True, None]))

    def _reached(self, group: int, partition: int, size: int, position: int, *, silent: bool) -> None:
        none: dict[str, Any] = dict.fromkeys(("consumer", "start", "committed", "position", "end"))
        common = none | {"topic": SINK, "group": group, "partition": partition}
        self.lag.append(Lag(**(common | {"moment": "start", "committed": 0, "end": 0})))
        self.lag.append(Lag(**(common | {"moment": "final", "start": 0, "end": size})))
        if not silent:
            self.lag.append(Lag(**(common | {"moment": "final", "consumer": group * 2, "position": position})))
