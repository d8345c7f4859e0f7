"""What frames say of partitions around faults is what the definition says: many histories at once."""

import random
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline.histories import ENDED, FROM, MS, History

from streamgauge.delivery.outages import FaultSpan, PartitionRead, PartitionWait, unreadable, unwritable
from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.pipeline.pressure.outages import Around, failures, held_up, partition_rows, slowest
from streamgauge.pipeline.read.silver import Span
from streamgauge.pipeline.run import analyse

pytestmark = pytest.mark.spark

HISTORIES, PARTITIONS, TO = 500, 2, 150
FAULTS = [
    FaultSpan(20, 45), FaultSpan(40, 60), FaultSpan(58, 58), FaultSpan(60, 75, 75), FaultSpan(70, 80, 100),
    FaultSpan(100, 115),
]  # fmt: skip
SPAN = Span(0, TO, MeasureSpan(0, TO))
_SENT = pa.schema(
    [("topic", pa.int32()), ("partition", pa.int32()), ("producer", pa.int32()), ("seq", pa.int64()),
     ("offset", pa.int64()), ("due_ns", pa.int64()), ("sent_ns", pa.int64()), ("acked_ns", pa.int64()),
     ("error", pa.string())]
)  # fmt: skip
_RECEIVED = pa.schema(
    [("topic", pa.int32()), ("group", pa.int32()), ("partition", pa.int32()), ("producer", pa.int32()),
     ("seq", pa.int64()), ("offset", pa.int64()), ("from_ns", pa.int64()), ("received_ns", pa.int64())]
)  # fmt: skip


class Histories:
    """Small runs beside each other, one for each topic: times are few, so that much happens at once."""

    def __init__(self) -> None:
        self.random = random.Random(22)
        self.sent: list[dict[str, Any]] = []
        self.received: list[dict[str, Any]] = []
        self.ends: dict[tuple[int, int], int] = {}
        for topic in range(HISTORIES):
            self._history(topic)

    def _history(self, topic: int) -> None:
        drawn = self.random
        next_offset = [0] * PARTITIONS
        # In some nothing fails, in some little is sent, in some a partition stands still for long.
        errors, longest = drawn.choice((0.0, 0.3)), drawn.choice((3, 40))
        for seq in range(drawn.choice((0, 1, 6, 30))):
            partition, sent = drawn.randrange(PARTITIONS), drawn.randrange(TO - 50)
            offset, error = next_offset[partition], "_MSG_TIMED_OUT" if drawn.random() < errors else None
            row = {"topic": topic, "partition": partition, "producer": 0, "seq": seq, "error": error}
            acked = sent + drawn.randrange(longest)
            at = {"due_ns": sent - drawn.randrange(5), "sent_ns": sent, "acked_ns": acked}
            self.sent.append(row | at | {"offset": None if error else offset})
            if drawn.random() < 0.1:
                # Failed, and nobody knows for which partition; never sent.
                self.sent.append(row | at | {"seq": 100 + seq, "partition": None, "offset": None, "error": "x"})
                self.sent.append(
                    row
                    | dict.fromkeys(("due_ns", "sent_ns", "acked_ns", "offset", "partition"), None)
                    | {"seq": 200 + seq, "error": "unsent"}
                )
            next_offset[partition] += error is None
            for _ in range(drawn.choice((0, 1, 1, 1, 2)) if error is None else 0):
                got = {"topic": topic, "partition": partition, "producer": 0, "seq": seq, "offset": offset}
                self.received.append(
                    got
                    | {
                        "group": drawn.choice((0, 0, 1)),
                        "from_ns": at["due_ns"],
                        "received_ns": sent + drawn.randrange(longest),
                    }
                )
        for partition in range(PARTITIONS):
            if drawn.random() < 0.5:
                self.ends[topic, partition] = max(0, next_offset[partition] - drawn.randrange(3))

    def told(self) -> dict[tuple[int, int, int], tuple[Any, ...]]:
        """What the definition says, by fault, topic and partition, of all in which anything was held up."""
        waits, reads = defaultdict(list), defaultdict(list)
        for row in self.sent:
            if row["partition"] is not None and row["sent_ns"] is not None:
                wait = PartitionWait(row["sent_ns"], row["acked_ns"], row["offset"], row["error"] is None)
                waits[row["topic"], row["partition"]].append(wait)
        for row in self.received:
            if row["group"] == 0:
                reads[row["topic"], row["partition"]].append(PartitionRead(row["received_ns"], row["offset"]))
        found = {}
        for lane in waits.keys() | reads.keys():
            for number, span in enumerate(FAULTS):
                wrote = unwritable(waits[lane], span)
                read = unreadable(waits[lane], reads[lane], span, TO, self.ends.get(lane))
                if wrote.length_ns or read.length_ns:
                    found[(number, *lane)] = (wrote.length_ns, wrote.from_ns, read.length_ns, read.from_ns, wrote.held)
        return found


@pytest.fixture(scope="module")
def histories() -> Histories:
    return Histories()


@pytest.fixture(scope="module")
def around(histories: Histories) -> Around:
    return Around(FAULTS, TO, histories.ends, 0)


def frames(spark: SparkSession, histories: Histories) -> tuple[DataFrame, DataFrame]:
    sent = spark.createDataFrame(pa.Table.from_pylist(histories.sent, _SENT))
    return sent, spark.createDataFrame(pa.Table.from_pylist(histories.received, _RECEIVED))


def test_frames_say_what_the_definition_says(spark: SparkSession, histories: Histories, around: Around) -> None:
    """Of every fault and partition of 500 histories, to the nanosecond and to the message."""
    sent, received = frames(spark, histories)
    timed = received.where("group = 0").withColumnRenamed("received_ns", "to_ns")
    rows = partition_rows(
        held_up(spark, sent, received, around), slowest(spark, timed, around), SPAN, acks=True, reads=True
    )

    def ns(seconds: float | None) -> int | None:
        return None if seconds is None else round(seconds * NS_PER_SECOND)

    names = ("unwritable_s", "unwritable_second", "unreadable_s", "unreadable_second")
    found = {
        (row["fault"], row["topic"], row["partition"]): (*(ns(row[name]) for name in names), row["held"])
        for row in rows
        if row["unwritable_s"] or row["unreadable_s"]
    }
    told = histories.told()
    assert len(told) > 1_000
    assert min(sum(bool(each[place]) for each in told.values()) for place in (0, 2)) > 100
    assert found == told
    worst = {
        (row["fault"], row["topic"], row["partition"]): (ns(row["worst_ms"] / 1e3), row["worst_seq"])
        for row in rows
        if row["worst_ms"] is not None
    }
    assert worst == _worst(histories)


def _worst(histories: Histories) -> dict[tuple[int, int, int], tuple[int, int]]:
    found: dict[tuple[int, int, int], tuple[int, int]] = {}
    for number, span in enumerate(FAULTS):
        for row in histories.received:
            if row["group"] == 0 and row["from_ns"] <= span.until_ns and row["received_ns"] >= span.begin_ns:
                key = (number, row["topic"], row["partition"])
                took = (min(row["received_ns"], span.last_ns) - row["from_ns"], -row["seq"])
                found[key] = max(found.get(key, took), took)
    return {key: (took, -seq) for key, (took, seq) in found.items()}


def test_messages_that_failed_are_counted_by_fault(spark: SparkSession, histories: Histories, around: Around) -> None:
    """Nobody knows which partition they were for."""
    sent, _ = frames(spark, histories)
    told = {
        number: sum(
            row["error"] is not None
            and row["acked_ns"] is not None
            and span.begin_ns <= row["acked_ns"] <= span.until_ns
            for row in histories.sent
        )
        for number, span in enumerate(FAULTS)
    }

    assert failures(spark, sent, around) == told
    assert min(told.values()) > 0


def test_a_run_has_rows_of_its_faults(spark: SparkSession, run: Any) -> None:
    """Through the whole analysis, as the definition says; a fault that was not carried out has none."""
    history = History(11, healthy=False)
    begin, end = FROM + 200 * MS, FROM + 700 * MS
    folder = history.write(run, None)
    happened = {"at_ns": [begin, end, end + MS], "kind": ["kill", "kill", "pause"], "action": ["begin", "end", "begin"]}
    run.events("faults", happened | {"target": "broker-1", "error": [None, None, "no such process"]}, "supervisor")
    analyse(folder)

    (score,) = pq.read_table(folder.table("fault_scores")).to_pylist()
    times = [round(score[f"{name}_second"] * 1_000) for name in ("began", "ended", "until")]
    assert (score["kind"], score["target"], times) == ("kill", "broker-1", [200, 700, (ENDED - FROM) // MS])
    failed = [row for row in history.sent if row["error"] and row["acked_ns"] and begin <= row["acked_ns"] <= ENDED]
    assert score["failed"] == len(failed) > 0
    rows = {row["partition"]: row for row in pq.read_table(folder.table("fault_partitions")).to_pylist()}
    span, to_ns = FaultSpan(begin, ENDED), max(ENDED, *(row["received_ns"] for row in history.received))
    assert rows.keys() == {0, 1, 2}
    for partition, row in rows.items():
        sent = [each for each in history.sent if each["partition"] == partition and each["sent_ns"] is not None]
        waits = [
            PartitionWait(each["sent_ns"], each["acked_ns"], each["offset"], each["error"] is None) for each in sent
        ]
        read = [each for each in history.received if (each["group"], each["partition"]) == (0, partition)]
        reads = [PartitionRead(each["received_ns"], each["offset"]) for each in read]
        wrote = unwritable(waits, span)
        found = unreadable(waits, reads, span, to_ns, len(history.logs[partition]))
        assert (row["unwritable_s"], row["held"]) == (wrote.length_ns / NS_PER_SECOND, wrote.held)
        assert row["unreadable_s"] == found.length_ns / NS_PER_SECOND
        assert row["worst_ms"] > 0
