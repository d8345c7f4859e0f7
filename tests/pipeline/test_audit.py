"""The Spark audit says of random histories exactly what the definition in plain Python says.

Every history is a topic of its own, so that hundreds of them are audited in one frame.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline.troubled import (
    DEAD,
    GROUPS,
    MEASURE,
    History,
    Reads,
    defined,
    frame,
    held,
    histories,
    lag_of,
    silver_of,
)  # fmt: skip

from streamgauge.delivery.audit import MESSAGE_CLASSES, Audit, either, shown_by_stamps
from streamgauge.delivery.claims import unaccounted
from streamgauge.delivery.ends import reached, remains
from streamgauge.delivery.rows import Received, Sent
from streamgauge.domain.events import ABORTED, COMMITTED, FATE_UNKNOWN, UNDECIDED
from streamgauge.pipeline.audit import accounts, unsettled
from streamgauge.pipeline.audit.audit import UNREPORTED, UNREPORTED_RECEIVED, Findings, findings
from streamgauge.pipeline.audit.ends import judgement
from streamgauge.pipeline.audit.ends import remains as spark_remains
from streamgauge.pipeline.audit.judging import in_doubt
from streamgauge.pipeline.audit.repeats import repeats
from streamgauge.pipeline.read import silver
from streamgauge.pipeline.run import analyse

pytestmark = pytest.mark.spark

SILENT = ("fate_unknown", "fate_unknown_received")
FOUND = (
    *MESSAGE_CLASSES, "reordered", "corrupt", "foreign", "unrecorded", "unacked_received", "aborted_received", *SILENT,
)  # fmt: skip


def found_by_spark(
    spark: SparkSession, all_of_them: Sequence[History], dead: frozenset[int], *, all_sound: bool, reads: Reads = None
) -> Findings | None:
    messages, deliveries = silver_of(spark, all_of_them)
    lag = [row for history in all_of_them for row in lag_of(history, reads)]
    left = spark_remains(spark, deliveries, lag, dead) if dead else None
    judged = judgement(spark, reached(lag, GROUPS, left))
    rows = in_doubt(held(messages), deliveries, GROUPS, held, all_sound=all_sound, unsettled=True, reads=reads)
    return findings(rows, judged, transactional=True)


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


def in_order_of_offsets(topic: int, seqs: Sequence[int], lost: frozenset[int] = frozenset()) -> History:
    """A history in which all but the lost are delivered once to each group."""
    history = History(topic, Random(topic), troubled=False)
    for offset, seq in enumerate(seqs):
        at = seq * 1_000
        history.sent.append(Sent(topic, 0, seq, 0, offset, at, at, None))
        for group in GROUPS if seq not in lost else ():
            history.received.append(Received(topic, group, group, seq, 0, seq, 0, offset, at, at, at, True))
    return history


@pytest.fixture(params=[0, 20_000], ids=["many words", "few words"])
def few_words(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words in which only the order is in doubt: too many for their rows to be held, and not."""
    monkeypatch.setattr("streamgauge.pipeline.audit.words.FEW_WORDS", request.param)


@pytest.mark.usefixtures("few_words")
def test_order_is_found_wanting_beside_a_loss(spark: SparkSession) -> None:
    several = [in_order_of_offsets(topic, order) for topic, (order, _) in ORDERS.items()]
    several.append(in_order_of_offsets(len(ORDERS), range(200), lost=frozenset([70])))
    found = found_by_spark(spark, several, frozenset(), all_sound=True)
    assert found is not None
    rows = by_topic(found.classes)
    for history in several:
        for group in GROUPS:
            expected = expected_counts(defined(history, group, frozenset()), measured=False)
            assert spark_counts(history, rows.get(history.topic, []), group, measured=False) == expected
    assert Counter(row["class"] for row in found.classes.collect())["reordered"] == len(GROUPS) * sum(
        len(falling) for _, falling in ORDERS.values()
    )


@pytest.mark.usefixtures("few_words")
def test_order_alone_is_found_wanting_although_everything_was_delivered_once(spark: SparkSession) -> None:
    several = [in_order_of_offsets(topic, order) for topic, (order, _) in ORDERS.items()]
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
    deliveries = held(silver.deliveries(frame(spark, "received", rows), MEASURE, processing=False))
    again = Counter((row.group, row.topic, row.partition, row.offset) for row in rows)
    expected = {key for key, count in again.items() if count > 1}
    repeated = repeats(deliveries, held)
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
