"""The Spark audit says of random histories exactly what the definition in plain Python says.

Every history is a topic of its own, so that hundreds of them are audited in one frame.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamgauge.delivery.audit import MESSAGE_CLASSES, Audit, audit, either, shown_by_stamps
from streamgauge.delivery.claims import unaccounted
from streamgauge.delivery.ends import reached, remains
from streamgauge.delivery.rows import Lag, MeasureSpan, Received, Sent
from streamgauge.domain.events import ABORTED, COMMITTED, EVENTS, FATE_UNKNOWN, UNDECIDED
from streamgauge.pipeline.audit import accounts, unsettled
from streamgauge.pipeline.audit.audit import UNREPORTED, UNREPORTED_RECEIVED, Findings, findings
from streamgauge.pipeline.audit.ends import judgement
from streamgauge.pipeline.audit.ends import remains as spark_remains
from streamgauge.pipeline.audit.repeats import repeats
from streamgauge.pipeline.read import silver
from streamgauge.pipeline.read.schemas import arrow_schema
from streamgauge.pipeline.run import analyse

pytestmark = pytest.mark.spark

MEASURE = MeasureSpan(5_000, 60_000)
GROUPS = (0, 1)
Reads = frozenset[int] | None
DEAD = 9
SILENT = ("fate_unknown", "fate_unknown_received")
FOUND = (
    *MESSAGE_CLASSES, "reordered", "corrupt", "foreign", "unrecorded", "unacked_received", "aborted_received", *SILENT,
)  # fmt: skip
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

    def chance(self, share: float) -> bool:
        """True in so many cases, in a troubled history; else never."""
        return self.troubled and self.random.random() < share

    def build(self) -> "History":
        """Send, then let each group read what is in the log."""
        random = self.random
        scheduled, acks = random.random() < 0.8, not self.chance(0.1)
        logs: list[list[Sent | None]] = [[] for _ in range(random.randint(1, 3))]
        bases = [random.choice([0, 1_000, 63]) for _ in logs]
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
        for seq in range(self.random.choice([0, 1, 40, 64, 65, 130])):
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


def frame(spark: SparkSession, kind: str, rows: Iterable[Any]) -> DataFrame:
    """Rows of an event as Spark would read them; columns that the audit does not need are filled in."""
    schema = arrow_schema(EVENTS[kind])
    filled = {"size_bytes": 100, "acked_ns": None, "transaction": None}
    table = pa.Table.from_pylist([filled | row._asdict() for row in rows], schema=schema)
    return spark.createDataFrame(table)


def silver_of(spark: SparkSession, all_of_them: Sequence[History]) -> tuple[DataFrame, DataFrame]:
    sent = frame(spark, "sent", (row for history in all_of_them for row in history.sent))
    received = frame(spark, "received", (row for history in all_of_them for row in history.received))
    deliveries = silver.deliveries(received, MEASURE, processing=False).cache()
    sent = unsettled.with_shown(sent, unsettled.shown(sent, deliveries, DataFrame.cache, sized=True))
    return silver.messages(sent, MEASURE, outcomes_of(spark, all_of_them)), deliveries


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


def found_by_spark(
    spark: SparkSession, all_of_them: Sequence[History], dead: frozenset[int], *, all_sound: bool, reads: Reads = None
) -> Findings | None:
    messages, deliveries = silver_of(spark, all_of_them)
    lag = [row for history in all_of_them for row in lag_of(history, reads)]
    left = spark_remains(spark, deliveries, lag, dead) if dead else None
    judged = judgement(spark, reached(lag, GROUPS, left))
    return findings(
        messages.cache(),
        deliveries,
        GROUPS,
        judged,
        DataFrame.cache,
        all_sound=all_sound,
        transactional=True,
        unsettled=True,
        reads=reads,
    )


def lag_of(history: History, reads: Reads) -> list[Lag]:
    """Nobody says anything of partitions that nobody is to read."""
    return [row for row in history.lag if reads is None or row.partition in reads]


def defined(history: History, group: int, dead: frozenset[int], reads: Reads = None) -> Audit:
    lag = lag_of(history, reads)
    return audit(history.sent, history.received, lag, group, MEASURE, dead, history.outcomes, reads)


def expected_counts(said: Audit, *, measured: bool) -> Counter[str]:
    counts = Counter(said.measure if measured else said.run)
    return +Counter({name: counts[name] for name in FOUND})


def spark_counts(
    history: History, rows: Sequence[Any], group: int, *, measured: bool, reads: Reads = None
) -> Counter[str]:
    """Counts of one history: what was found, and delivered once whatever was not found."""
    counts = Counter(row["class"] for row in rows if row["group"] == group and (row["measured"] or not measured))
    acked = [row for row in history.sent if row.error is None and row.outcome(history.outcomes) != ABORTED]
    if reads is not None:
        acked = [row for row in acked if row.partition is None or row.partition in reads]
    if measured:
        acked = [row for row in acked if MEASURE.covers(row.sent_ns if row.due_ns is None else row.due_ns)]
    in_doubt = sum(counts[name] for name in MESSAGE_CLASSES)
    counts["delivered_once"] += len(acked) - in_doubt
    return +with_silent(counts)


def with_silent(counts: Counter[str]) -> Counter[str]:
    """The counts with messages of unknown fate where the table counts them."""
    missed, came = counts.pop(UNREPORTED, 0), counts[UNREPORTED_RECEIVED]
    return counts + Counter(unknown=missed, unacked_received=came, fate_unknown=missed + came)


def by_topic(frame: DataFrame) -> dict[int, list[Any]]:
    out: dict[int, list[Any]] = {}
    for row in frame.collect():
        out.setdefault(row["topic"], []).append(row)
    return out


def timed(history: History, group: int, untimed: Sequence[Any]) -> Iterator[Received]:
    """Deliveries with a stamp that Spark leaves in the latency."""
    out = {(row["partition"], row["offset"], row["consumer"], row["poll"]) for row in untimed if row["group"] == group}
    for row in history.received:
        if row.group == group and row.stamp and (row.partition, row.offset, row.consumer, row.poll) not in out:
            yield row


@pytest.mark.parametrize(
    ("dead", "reads"),
    [(frozenset[int](), None), (frozenset([DEAD]), None), (frozenset[int](), frozenset([0, 2]))],
    ids=["nobody-died", "a-consumer-died", "told-what-to-read"],
)
def test_the_spark_audit_agrees_with_the_definition_on_troubled_histories(
    spark: SparkSession, dead: frozenset[int], reads: Reads
) -> None:
    troubled = histories(400, troubled=True)
    found = found_by_spark(spark, troubled, dead, all_sound=False, reads=reads)
    assert found is not None
    assert found.untimed is not None
    classes, untimed = by_topic(found.classes), by_topic(found.untimed)
    planted: Counter[str] = Counter()
    for history in troubled:
        for group in GROUPS:
            said = defined(history, group, dead, reads)
            rows = classes.get(history.topic, [])
            for measured in (False, True):
                counted = spark_counts(history, rows, group, measured=measured, reads=reads)
                assert counted == expected_counts(said, measured=measured), (history.topic, group, measured)
            named = {
                (row["producer"], row["seq"]): row["class"]
                for row in rows
                if row["group"] == group and row["class"] in MESSAGE_CLASSES
            }
            assert all(named.get(stamp[1:], "delivered_once") == name for stamp, name in said.classes.items())
            kept = set(timed(history, group, untimed.get(history.topic, [])))
            assert kept == said.timed, (history.topic, group)
            planted += Counter(said.run)
    assert all(planted[name] > 50 for name in FOUND), planted


def test_healthy_histories_leave_nothing_in_doubt(spark: SparkSession) -> None:
    healthy = histories(100, troubled=False)
    assert sum(len(history.received) for history in healthy) > 5_000
    found = found_by_spark(spark, healthy, frozenset(), all_sound=True)
    assert found is None
    for history in healthy:
        said = defined(history, 0, frozenset())
        wanted = len(history.sent) - said.run["aborted"]
        assert expected_counts(said, measured=False) == +Counter(delivered_once=wanted)
    assert sum(defined(history, 0, frozenset()).run["aborted"] for history in healthy) > 500


ORDERS = {
    0: ([*range(200)], []),
    1: ([*range(100), 103, 101, 102, 100, *range(104, 200)], [100, 101, 102]),
    2: ([*range(63), 64, 63, *range(65, 200)], [63]),
    3: ([*range(10), 150, *range(10, 150), *range(151, 200)], [*range(10, 150)]),
    4: ([*range(64, 128), *range(64), *range(128, 200)], [*range(64)]),
}
"""By topic: sequences in the order of their offsets, and those that are out of order."""


def test_order_alone_is_found_wanting_although_everything_was_delivered_once(spark: SparkSession) -> None:
    several = [History(topic, Random(topic), troubled=False) for topic in ORDERS]
    for history in several:
        for offset, seq in enumerate(ORDERS[history.topic][0]):
            at, topic = seq * 1_000, history.topic
            history.sent.append(Sent(topic, 0, seq, 0, offset, at, at, None))
            for group in GROUPS:
                history.received.append(Received(topic, group, group, seq, 0, seq, 0, offset, at, at, at, True))
    found = found_by_spark(spark, several, frozenset(), all_sound=True)
    assert found is not None
    assert found.untimed is None
    findings_ = found.classes.collect()
    assert {row["class"] for row in findings_} == {"reordered"}
    for history in several:
        falling = ORDERS[history.topic][1]
        for group in GROUPS:
            mine = [row["seq"] for row in findings_ if row["topic"] == history.topic and row["group"] == group]
            assert sorted(mine) == falling
            assert defined(history, group, frozenset()).run.get("reordered", 0) == len(falling)


def test_what_the_dead_leave_behind_is_what_the_definition_says(spark: SparkSession) -> None:
    troubled = histories(100, troubled=True)
    _, deliveries = silver_of(spark, troubled)
    lag = [row for history in troubled for row in history.lag]
    left = spark_remains(spark, deliveries, lag, frozenset([DEAD]))
    assert any(len(blocks) for blocks in left.blocks.values())
    for history in troubled:
        for group in GROUPS:
            mine = [row for row in history.received if row.group == group]
            said = remains(mine, history.lag, group, frozenset([DEAD]))
            lanes = {lane for lane in left.blocks if lane[:2] == (group, history.topic)}
            assert {lane: left.blocks[lane] for lane in lanes} == said.blocks
            assert {
                lane: high for lane, high in left.highest.items() if lane[:2] == (group, history.topic)
            } == said.highest


def test_without_a_load_an_offset_received_again_is_a_duplicate(spark: SparkSession) -> None:
    troubled = histories(100, troubled=True)
    rows = [
        row._replace(producer=None, seq=None, due_ns=None, sent_ns=None) for each in troubled for row in each.received
    ]
    deliveries = silver.deliveries(frame(spark, "received", rows), MEASURE, processing=False).cache()
    again = Counter((row.group, row.topic, row.partition, row.offset) for row in rows)
    expected = {key for key, count in again.items() if count > 1}
    repeated = repeats(deliveries, DataFrame.cache)
    found = repeated.classes.collect()
    assert {(row["group"], row["topic"], row["partition"], row["offset"]) for row in found} == expected
    assert len(found) == len(expected) > 100
    first = {
        key: min(row.received_ns for row in rows if row.place[0:3] == key[1:] and row.group == key[0])
        for key in sorted(expected)[:50]
    }
    measured = {(row["group"], row["topic"], row["partition"], row["offset"]): row["measured"] for row in found}
    assert {key: measured[key] for key in first} == {key: MEASURE.covers(at) for key, at in first.items()}


def test_problems_show_some_of_every_class_and_never_too_many(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "PROBLEMS_PER_CLASS", 5)
    found = found_by_spark(spark, histories(60, troubled=True), frozenset(), all_sound=False)
    assert found is not None
    shown = Counter(row["class"] for row in accounts.problems(found.classes).collect())
    # Those of unknown fate are shown by the count that they are in for the group.
    assert set(shown) == set(FOUND) - {"delivered_once", *SILENT}
    assert max(shown.values()) == 5


def test_the_table_says_what_the_definition_says(
    spark: SparkSession, writer: Callable[[Path], Any], tmp_path: Path
) -> None:
    """Three topics and two groups, with transactions that end in every way, and a dead consumer in both groups."""
    topics = [History(topic, Random(seed), troubled=True).build() for topic, seed in enumerate((252, 98, 61))]
    history = History(0, Random(0), troubled=True)
    for each in topics:
        history.sent += each.sent
        history.received += each.received
        history.lag += each.lag
        history.outcomes |= each.outcomes
    run = writer(tmp_path)
    run.events("sent", _columns(history.sent) | {"size_bytes": 100})
    run.events("received", _columns(history.received) | {"size_bytes": 100})
    run.events("lag", _columns(history.lag) | {"at_ns": 1})
    ended = [{"producer": each[0], "transaction": each[1], "outcome": how} for each, how in history.outcomes.items()]
    assert {each["outcome"] for each in ended} == {COMMITTED, ABORTED, UNDECIDED}
    times = {"began_ns": 1, "ended_ns": 2, "messages": 3}
    run.events("transactions", times | {name: [each[name] for each in ended] for name in ended[0]})
    worker = {"name": "consumer-0..9", "role": "consumer", "number": 0, "members": [DEAD], "exit_code": -9}
    phases = [{"name": "measure", "from_ns": MEASURE.from_ns, "to_ns": MEASURE.to_ns}]
    groups = [{"id": group, "name": str(group)} for group in GROUPS]
    next_seqs = {0: 100, 1: 64}
    producer = {"name": "producer-0..1", "role": "producer", "number": 0, "members": [0, 1], "next_seqs": [100, 64]}
    folder = run.facts(groups=groups, workers=[worker, producer], phases=phases, drain_ended_ns=1_000_000)
    analyse(folder)
    known = shown_by_stamps(history.sent, history.received)
    rows = pq.read_table(folder.table("delivery")).to_pylist()
    assert len(rows) == 4
    for row in rows:
        said = defined(history, row["group"], frozenset([DEAD]))
        counts = said.run if row["scope"] == "run" else said.measure
        wanted = {name: counts.get(name, 0) for name in (*FOUND, "received", "aborted")}
        assert {name: row[name] for name in wanted} == wanted
        missed = row["fate_unknown"] - row["fate_unknown_received"]
        assert row["acked"] == sum(row[name] for name in (*MESSAGE_CLASSES, "aborted")) - missed
        assert min(missed, row["fate_unknown_received"]) > 0
        whole = row["scope"] == "run"
        mine = [each for each in known if whole or MEASURE.covers(either(each.due_ns, each.sent_ns))]
        assert row["sent"] == sum(each.sent_ns is not None for each in mine)
        assert row["unaccounted"] == (unaccounted(history.sent, next_seqs) if whole else None)
    problems = pq.read_table(folder.table("problems")).to_pylist()
    silent = [row["group"] for row in problems if row["class"] == "fate_unknown"]
    assert silent == [None] * rows[0]["fate_unknown"]
    shown = Counter((row["class"], row["group"]) for row in problems if row["error"] == FATE_UNKNOWN)
    for row in rows[:2]:
        assert shown["unacked_received", row["group"]] == row["fate_unknown_received"]
        assert shown["unknown", row["group"]] == row["fate_unknown"] - row["fate_unknown_received"]


@pytest.mark.parametrize("seed", range(4))
def test_what_is_unaccounted_for_is_what_the_definition_says(spark: SparkSession, seed: int) -> None:
    """Of producers that stop at every edge of a word; rows that are missing, too many, or of what nobody took up."""
    random = Random(seed)
    limits = [0, 1, 63, 64, 65, 127, 128, 129, 200]
    next_seqs = {producer: random.choice(limits) for producer in range(random.randint(1, 12))}
    sent = [
        Sent(seq % 2, producer, seq, None, None, None, 1, random.choice([None, None, FATE_UNKNOWN, "unsent"]))
        for producer, limit in [*next_seqs.items(), (99, seed % 2)]
        for seq in range(limit + random.choice([0, 0, 1, 70]))
        for _ in range(random.choices([0, 1, 2, 3], [1, 90, 1, 1])[0])
    ]
    wanted = unaccounted(sent, next_seqs)
    assert unsettled.unaccounted(spark, frame(spark, "sent", sent), next_seqs) == wanted > 0
    whole = [Sent(0, producer, seq, 0, 0, 0, 0, None) for producer, end in next_seqs.items() for seq in range(end)]
    assert unsettled.unaccounted(spark, frame(spark, "sent", whole), next_seqs) == 0


def _columns(rows: Sequence[Any]) -> dict[str, list[Any]]:
    return {name: [getattr(row, name) for row in rows] for name in rows[0]._fields}
