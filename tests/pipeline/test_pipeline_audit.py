"""The Spark audit of a pipeline says of random histories exactly what the definition in plain Python says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know
from tests.pipeline.pipelines import DEAD, GROUPS, MEASURE, SINK, Passed
from tests.pipeline.troubled import held

from streamgauge.arrow import arrow_schema
from streamgauge.delivery import audit as definition
from streamgauge.delivery.audit import AT_SOURCE, BY_PIPELINE, DROPPED, MESSAGE_CLASSES, UNEXPECTED, Audit
from streamgauge.delivery.ends import reached
from streamgauge.domain.events import ABORTED, EVENTS
from streamgauge.pipeline.audit import audit, source, unsettled
from streamgauge.pipeline.audit.audit import Findings
from streamgauge.pipeline.audit.ends import judgement, remains
from streamgauge.pipeline.audit.judging import in_doubt
from streamgauge.pipeline.read import silver
from streamgauge.scenario.model.jobs import AGGREGATE, CHANGED, SUBSET
from streamgauge.scenario.profile.model import PipelineProfile

pytestmark = pytest.mark.spark

Row = dict[str, Any]

OF_DELIVERIES = ("reordered", "corrupt", "foreign", "unrecorded", "unacked_received", "aborted_received")
SILENT = ("fate_unknown", "fate_unknown_received")
FOUND = (*MESSAGE_CLASSES, *OF_DELIVERIES, *SILENT, AT_SOURCE, BY_PIPELINE, UNEXPECTED)


def frame(spark: SparkSession, kind: str, rows: Sequence[Any]) -> DataFrame:
    schema = arrow_schema(EVENTS[kind])
    filled = {"size_bytes": 100, "acked_ns": None, "append_ms": None}
    return spark.createDataFrame(pa.Table.from_pylist([filled | row._asdict() for row in rows], schema=schema))


def found_by_spark(
    spark: SparkSession, run: Passed, dead: frozenset[int], *, all_sound: bool = False, read: bool = True
) -> Findings:
    """What Spark finds; `read` says whether the source was read after the drain."""
    outcomes = [
        {"producer": producer, "transaction": number, "outcome": how}
        for (producer, number), how in run.outcomes.items()
    ]
    kinds = pa.schema([("producer", pa.int32()), ("transaction", pa.int32()), ("outcome", pa.string())])
    ended = spark.createDataFrame(pa.Table.from_pylist(outcomes, schema=kinds))
    piped = PipelineProfile(job="job", does=run.does, engine="micro-batch", every_ns=None, table=False)
    deliveries = silver.deliveries(frame(spark, "received", run.received), MEASURE, processing=False, piped=piped)
    sent = frame(spark, "sent", run.sent)
    at_source = deliveries.withColumn("topic", F.lit(run.pipeline.source))
    sent = unsettled.with_shown(sent, unsettled.shown(sent, at_source, held, sized=True))
    messages = held(silver.messages(sent, MEASURE, ended))
    of_groups = [row for row in run.lag if row.topic == SINK]
    left = remains(spark, deliveries, of_groups, dead) if dead else None
    rows = in_doubt(
        messages,
        held(deliveries),
        GROUPS,
        held,
        all_sound=all_sound,
        unsettled=run.troubled,
        pipeline=run.pipeline,
        appended=frame(spark, "appended", run.appended) if read else None,
    )
    judged = judgement(spark, reached(run.lag, GROUPS, left, run.pipeline))
    found = audit.findings(rows, judged, transactional=True)
    assert found is not None
    return found


def defined(run: Passed, group: int, dead: frozenset[int], *, read: bool = True) -> Audit:
    appended = run.appended if read else []
    return definition.audit(
        run.sent, run.received, run.lag, group, MEASURE, dead, run.outcomes, pipeline=run.pipeline, appended=appended
    )


def counts_of(
    run: Passed, classes: list[Row], dropped: Mapping[str, int] | None, group: int, *, measured: bool
) -> Counter[str]:
    """Counts by Spark: delivered once is whatever was to come and not found."""
    rows = [row for row in classes if row["group"] == group]
    tally = {(group, name): {"all": 0, "measured": 0} for name in {row["class"] for row in rows}}
    for row in rows:
        tally[group, row["class"]]["all"] += 1
        tally[group, row["class"]]["measured"] += bool(row["measured"])
    told = source.told(tally)
    counts = Counter({name: each["measured" if measured else "all"] for (_, name), each in told.items()})
    counts[DROPPED] = (dropped or {}).get("measure" if measured else "run", 0)
    if run.does != AGGREGATE:
        acked = [row for row in run.sent if row.error is None and row.outcome(run.outcomes) != ABORTED]
        if measured:
            acked = [row for row in acked if MEASURE.covers(row.sent_ns if row.due_ns is None else row.due_ns)]
        in_doubt = sum(counts[name] for name in MESSAGE_CLASSES)
        counts["delivered_once"] += len(acked) - counts[DROPPED] - in_doubt
        missed, came = counts.pop(audit.UNREPORTED, 0), counts[audit.UNREPORTED_RECEIVED]
        counts += Counter(unknown=missed, unacked_received=came, fate_unknown=missed + came)
    return +counts


CASES = {
    "read-out": Passed(1),
    "a-consumer-died": Passed(3, dies=True),
    "acks-0-not-read-out": Passed(4, acks=False, reads_out=False),
    "changed": Passed(5, CHANGED),
    "subset": Passed(6, SUBSET),
    "subset-without-an-oracle": Passed(7, SUBSET, oracle=False),
    "aggregate": Passed(8, AGGREGATE),
}
PLANTED: Counter[str] = Counter()


@pytest.mark.parametrize("case", CASES)
def test_the_spark_audit_agrees_with_the_definition(spark: SparkSession, case: str) -> None:
    run = CASES[case]
    dead = frozenset([DEAD]) if run.dies else frozenset[int]()
    read = case != "changed"
    found = found_by_spark(spark, run, dead, read=read)
    classes = [row.asDict() for row in found.classes.collect()]
    untimed = set() if found.untimed is None else {tuple(row) for row in found.untimed.collect()}
    for group in GROUPS:
        said = defined(run, group, dead, read=read)
        for measured in (False, True):
            wanted = said.measure if measured else said.run
            known = +Counter({name: wanted[name] for name in (*FOUND, DROPPED) if name in wanted})
            assert counts_of(run, classes, found.dropped, group, measured=measured) == known, (group, measured)
        named = {
            (row["producer"], row["seq"]): row["class"].replace(source.UNTOLD, "unknown")
            for row in classes
            if row["group"] == group and row["class"].replace(source.UNTOLD, "unknown") in MESSAGE_CLASSES
        }
        assert all(named.get(stamp[1:], "delivered_once") == name for stamp, name in said.classes.items())
        mine = [row for row in run.received if row.group == group and row.stamp]
        key = attrgetter("group", "topic", "partition", "offset", "consumer", "poll")
        assert {key(row) for row in mine if key(row) not in untimed} == {key(row) for row in said.timed}
        PLANTED.update(said.run)


def test_every_class_was_planted() -> None:
    """By the histories before: or they would prove nothing of a class."""
    for run in CASES.values():
        PLANTED.update(defined(run, 0, frozenset([DEAD]) if run.dies else frozenset()).run)
    assert all(PLANTED[name] > 20 for name in (*FOUND, DROPPED)), PLANTED


def test_a_healthy_run_has_no_findings(spark: SparkSession) -> None:
    run = Passed(9, troubled=False)
    found = found_by_spark(spark, run, frozenset(), all_sound=True)
    assert found.classes.isEmpty()
    assert found.untimed is not None
    assert found.untimed.isEmpty()
    said = defined(run, 0, frozenset())
    assert {name: count for name, count in said.run.items() if count} == {
        "delivered_once": len(run.sent),
        "received": len(run.sent),
    }
