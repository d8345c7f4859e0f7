"""Which audit a run gets, and by what it is judged: by how far its groups, and a query between, had come."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from streamgauge.delivery.ends import reached
from streamgauge.delivery.rows import Lag
from streamgauge.pipeline.audit.audit import Findings, Keep, findings
from streamgauge.pipeline.audit.ends import judgement, remains
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
    rows, passage = marks_of(bronze, knows), knows.passage
    read = rows if passage is None else passage.at_sink(rows)
    dead = remains(spark, deliveries, read, knows.dead) if knows.dead else None
    return findings(
        messages,
        deliveries,
        knows.groups,
        judgement(spark, reached(rows, knows.groups, dead, passage)),
        keep,
        all_sound=knows.all_sound,
        transactional=knows.transactional,
        unsettled=knows.unsettled,
        reads=knows.reads if passage is None else None,
        passage=passage,
        appended=bronze.frame(spark, "appended") if passage is not None and bronze.rows("appended") else None,
    )
