"""Which audit a run gets, and by what it is judged: by how far its groups, and a query between, had come."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from streamgauge.delivery.ends import NOBODY_DIED, Lag, ends
from streamgauge.delivery.through import Passage
from streamgauge.pipeline.audit import audit, through
from streamgauge.pipeline.audit.audit import Keep
from streamgauge.pipeline.audit.through import Findings
from streamgauge.pipeline.pressure import lag
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.knowledge import Knowledge


def marks(bronze: Bronze, names: Sequence[str]) -> pa.Table:
    """The rows of `lag` by which delivery is judged: without the samples, which may be millions."""
    rows = bronze.only("lag", "moment", lag.MARKS).columns("lag", names)
    return rows.filter(pc.is_in(rows.column("moment"), pa.array(sorted(lag.MARKS))))


def marks_of(bronze: Bronze, knows: Knowledge) -> list[Lag]:
    """These rows as the audit wants them: of groups, in the partitions that they are to read."""
    return [
        Lag(**row)
        for row in marks(bronze, Lag._fields).to_pylist()
        if row["group"] is not None and (knows.reads is None or row["partition"] in knows.reads)
    ]


def judged(
    spark: SparkSession, bronze: Bronze, knows: Knowledge, messages: DataFrame, deliveries: DataFrame, keep: Keep
) -> Findings | None:
    """What the audit finds in a run that is both sent to and read from; None when there is nothing to find."""
    rows = marks_of(bronze, knows)
    if knows.passage is not None:
        return _through(spark, bronze, knows, knows.passage, rows, messages, deliveries, keep)
    dead = audit.remains(spark, deliveries, rows, knows.dead) if knows.dead else None
    found = audit.findings(
        messages,
        deliveries,
        knows.groups,
        audit.judgement(spark, ends(rows, dead), dead or NOBODY_DIED),
        keep,
        all_sound=knows.all_sound,
        transactional=knows.transactional,
        unsettled=knows.unsettled,
        reads=knows.reads,
    )
    return None if found is None else Findings(found.classes, found.untimed, None)


def _through(
    spark: SparkSession,
    bronze: Bronze,
    knows: Knowledge,
    passage: Passage,
    rows: Sequence[Lag],
    messages: DataFrame,
    deliveries: DataFrame,
    keep: Keep,
) -> Findings:
    of_groups = [row for row in rows if row.group != passage.query and row.topic == passage.sink]
    dead = audit.remains(spark, deliveries, of_groups, knows.dead) if knows.dead else None
    return through.findings(
        messages,
        deliveries,
        bronze.frame(spark, "appended") if bronze.rows("appended") else None,
        passage,
        knows.groups,
        through.judgement(spark, rows, passage, knows.groups, dead),
        keep,
        all_sound=knows.all_sound,
        transactional=knows.transactional,
        unsettled=knows.unsettled,
    )
