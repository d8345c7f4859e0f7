"""What Spark says of a log that was read again is what the definition says, of thousands of short random histories."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.pipeline.test_audit import FOUND, by_topic, expected_counts, spark_counts
from tests.pipeline.troubled import GROUPS, MARKER, MEASURE, History, defined, frame, held, silver_of

from streamgauge.delivery.audit import Audit
from streamgauge.delivery.ends import reached
from streamgauge.delivery.log import BY_LOG, LEDGER_CLASSES, Log, Reread, TransactionEnd, ledger
from streamgauge.delivery.rows import Sent, Stood
from streamgauge.pipeline.audit.audit import findings
from streamgauge.pipeline.audit.ends import Judgement, judgement
from streamgauge.pipeline.audit.judging import beside, in_doubt
from streamgauge.pipeline.audit.log import read_log
from streamgauge.pipeline.audit.reads import endings
from streamgauge.pipeline.audit.words import ReadLog

pytestmark = pytest.mark.spark

Found = Counter[tuple[Any, ...]]
SEVERAL = 8_400
"""With those of `test_audit` and `test_pipeline_audit` ten thousand histories in all."""


@dataclass(slots=True)
class ReadAgain(History):
    """A history whose log was cut back, written over and read again; and polls of several messages."""

    standing: list[Stood] = field(default_factory=list)
    reread: list[Reread] = field(default_factory=list)
    endings: dict[tuple[int, int], TransactionEnd] = field(default_factory=dict)

    def build(self) -> "ReadAgain":
        History.build(self)
        self.received = self._in_polls()
        for partition, (log, base) in enumerate(zip(self.logs, self.bases, strict=True)):
            self._read_again(partition, log, base)
        for (producer, number), outcome in self.outcomes.items():
            if not self.chance(0.1):
                ending = number % 1_000 * 5_000 + self.random.choice([-1_000, 0, 1_000, 9_000]) * self.troubled
                self.endings[producer, number] = TransactionEnd(ending if self.troubled else 0, outcome)
        return self

    def _in_polls(self) -> list[Any]:
        """Two deliveries that follow each other came by one poll, in half of the cases; none brings an offset twice."""
        together = [row._replace(poll=row.poll // 2) for row in self.received]
        brought = {(row.group, row.consumer, row.poll, row.partition, row.offset) for row in together}
        return together if self.random.random() < 0.5 and len(brought) == len(together) else self.received

    def _read_again(self, partition: int, log: Sequence[Sent | None], base: int) -> None:
        cut = self.random.randint(0, len(log)) if self.chance(0.3) else len(log)
        for place, message in enumerate(log):
            if message is MARKER or (place >= cut and self.chance(0.7)) or self.chance(0.03):
                continue
            stands = self.random.choice(self.sent) if self.sent and (place >= cut or self.chance(0.02)) else message
            producer, seq = (None, None) if stands is None else (stands.producer, stands.seq)
            self.standing.append(Stood(self.topic, partition, base + place, producer, seq, None))
            if stands is not message and stands is not None and self.chance(0.5):
                self._acknowledge(stands, partition, base + place)
        self.reread.append(Reread(self.topic, partition, base + (self.random.randint(0, 5) if self.chance(0.1) else 0)))

    def _acknowledge(self, message: Sent, partition: int, offset: int) -> None:
        """What stands there now was acknowledged there, too."""
        at = self.sent.index(message)
        if message.error is None:
            self.sent[at] = message._replace(partition=partition, offset=offset)


def defined_by_log(history: ReadAgain, group: int, *, with_log: bool, said: Audit | None = None) -> Found:
    said = said or defined(history, group, frozenset())
    log = Log.of(history.reread if with_log else [], history.standing)
    sent, received = history.sent, history.received
    entries = ledger(sent, received, group, said, history.outcomes, history.endings, log)
    return Counter(
        (each.name, *(each.stamp[1:] if each.stamp else (None, None)), *each.place[1:], MEASURE.covers(each.time_ns))
        for each in entries
    )


def found_by_spark(
    spark: SparkSession,
    several: Sequence[ReadAgain],
    folder: Path,
    *,
    with_log: bool,
    all_sound: bool,
    many: bool = False,
) -> tuple[dict[tuple[int, int], Found], dict[int, list[Any]]]:
    """What stands beside the classes, by topic and group; and the findings of the audit by topic."""
    messages, deliveries = silver_of(spark, several, folder)
    # Rows of a frame that is made here stand in every plan that is made of it: tens of thousands slow Spark down.
    judged = judgement(spark, reached([row for each in several for row in each.lag], GROUPS, None))
    judged = Judgement(held(judged.ends), held(judged.topics))
    standing = frame(spark, "appended", (row for each in several for row in each.standing), folder)
    log = read_log(spark, [row for each in several for row in each.reread], standing) if with_log else None
    log = log and ReadLog(log.stood, held(log.starts))
    rows = in_doubt(held(messages), deliveries, GROUPS, held, all_sound=all_sound, unsettled=True, log=log, many=many)
    audited = findings(rows, judged, transactional=True)
    ended = endings(spark, transactions(several))
    classes = None if audited is None else audited.classes
    more = beside(rows, classes, ended and held(ended), MEASURE, transactional=True)
    found: dict[tuple[int, int], Found] = {}
    for row in () if more is None else more.collect():
        key = tuple(row[name] for name in ("class", "producer", "seq", "partition", "offset", "measured"))
        found.setdefault((row["topic"], row["group"]), Counter())[key] += 1
    return found, {} if audited is None else by_topic(audited.classes)


def transactions(several: Sequence[ReadAgain]) -> pa.Table:
    rows = [
        {"producer": producer, "transaction": number, "ending_ns": ending.ending_ns, "outcome": ending.outcome}
        for each in several
        for (producer, number), ending in each.endings.items()
    ]
    names = {"producer": pa.int32(), "transaction": pa.int32(), "ending_ns": pa.int64(), "outcome": pa.string()}
    return pa.Table.from_pylist(rows, schema=pa.schema(names))


@pytest.fixture(scope="module")
def troubled() -> list[ReadAgain]:
    """Short ones: what goes wrong in one of them goes wrong in all ways together."""
    return [
        ReadAgain(number, Random(number), troubled=True, lengths=(0, 1, 3, 8, 20)).build() for number in range(SEVERAL)
    ]


def test_what_spark_says_of_the_log_is_what_the_definition_says(
    spark: SparkSession, troubled: list[ReadAgain], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The classes of messages and deliveries, too: each two of them come together in one history or another."""
    # The logs are short, and have several blocks of offsets all the same.
    monkeypatch.setattr("streamgauge.pipeline.audit.log.BLOCK_BITS", 1)
    found, classes = found_by_spark(spark, troubled, tmp_path, with_log=True, all_sound=False)
    planted: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    for history in troubled:
        for group in GROUPS:
            said = defined(history, group, frozenset())
            expected = defined_by_log(history, group, with_log=True, said=said)
            assert found.get((history.topic, group), Counter()) == expected, (history.topic, group)
            counted = expected_counts(said, measured=False)
            rows = classes.get(history.topic, [])
            assert spark_counts(history, rows, group, measured=False) == counted, (history.topic, group)
            names = sorted({key[0] for key in expected} | counted.keys() - {"delivered_once"})
            planted.update(names)
            together.update((one, other) for at, one in enumerate(names) for other in names[at + 1 :])
    every = {*LEDGER_CLASSES, *FOUND} - {"delivered_once"}
    assert all(planted[name] > 50 for name in every), planted
    assert len(together) == len(every) * (len(every) - 1) // 2
    assert min(together.values()) > 5, together


def test_without_the_log_the_others_are_told(spark: SparkSession, troubled: list[ReadAgain], tmp_path: Path) -> None:
    several = troubled[:200]
    found, _ = found_by_spark(spark, several, tmp_path, with_log=False, all_sound=False)
    for history in several:
        for group in GROUPS:
            assert found.get((history.topic, group), Counter()) == defined_by_log(history, group, with_log=False)
    assert not {key[0] for each in found.values() for key in each} & set(BY_LOG)


def test_of_many_rows_the_same_is_said(
    spark: SparkSession, troubled: list[ReadAgain], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no row more is held than has to be, and each side is folded by itself."""
    several = troubled[:400]
    few, classes = found_by_spark(spark, several, tmp_path, with_log=True, all_sound=False)
    monkeypatch.setattr("streamgauge.pipeline.audit.words.FEW_WORDS", 0)

    many, of_many = found_by_spark(spark, several, tmp_path, with_log=True, all_sound=False, many=True)

    assert many == few
    assert {topic: Counter(rows) for topic, rows in of_many.items()} == {
        topic: Counter(rows) for topic, rows in classes.items()
    }


@pytest.mark.parametrize("groups", [GROUPS, GROUPS[:1]], ids=["several groups", "one group"])
@pytest.mark.parametrize("with_log", [False, True], ids=["no log", "a log"])
def test_each_side_by_itself_is_folded_to_the_same(
    spark: SparkSession, troubled: list[ReadAgain], tmp_path: Path, groups: Sequence[int], *, with_log: bool
) -> None:
    several = troubled[:100]
    messages, deliveries = silver_of(spark, several, tmp_path)
    mine = deliveries.where(f"group in ({', '.join(map(str, groups))})")
    standing = frame(spark, "appended", (row for each in several for row in each.standing), tmp_path)
    log = read_log(spark, [row for each in several for row in each.reread], standing) if with_log else None

    few, many = (
        in_doubt(messages, mine, groups, held, all_sound=True, log=log, many=many).folded.collect()
        for many in (False, True)
    )

    assert len(few) > 100
    assert Counter(many) == Counter(few)


def test_of_healthy_histories_there_is_nothing_to_tell(spark: SparkSession, tmp_path: Path) -> None:
    """Longer ones, which fill several words; no message is looked at by itself."""
    healthy = [ReadAgain(number, Random(number), troubled=False).build() for number in range(100)]
    assert found_by_spark(spark, healthy, tmp_path, with_log=True, all_sound=True) == ({}, {})
    for history in healthy:
        assert defined_by_log(history, 0, with_log=True) == Counter()
