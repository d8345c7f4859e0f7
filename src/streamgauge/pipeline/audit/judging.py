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
from streamgauge.pipeline.read.traits import RunTraits


def end_rows(bronze: Bronze, names: Sequence[str]) -> pa.Table:
    """The rows of `lag` by which delivery is judged: without the samples, which may be millions."""
    rows = bronze.only("lag", "moment", lag.ENDS).columns("lag", names)
    return rows.filter(pc.is_in(rows.column("moment"), pa.array(sorted(lag.ENDS))))


def ends_of(bronze: Bronze, traits: RunTraits) -> list[Lag]:
    """These rows as the audit wants them: of groups, in the partitions that they are to read."""
    return [
        Lag(**row)
        for row in end_rows(bronze, Lag._fields).to_pylist()
        if row["group"] is not None and (traits.reads is None or row["partition"] in traits.reads)
    ]


def judged(
    spark: SparkSession, bronze: Bronze, traits: RunTraits, messages: DataFrame, deliveries: DataFrame, keep: Keep
) -> Findings | None:
    """What the audit finds in a run that is both sent to and read from; None when there is nothing to find."""
    rows, pipeline = ends_of(bronze, traits), traits.pipeline
    read = rows if pipeline is None else pipeline.at_sink(rows)
    dead = remains(spark, deliveries, read, traits.dead) if traits.dead else None
    return findings(
        messages,
        deliveries,
        traits.groups,
        judgement(spark, reached(rows, traits.groups, dead, pipeline)),
        keep,
        all_sound=traits.all_sound,
        transactional=traits.transactional,
        unsettled=traits.unsettled,
        reads=traits.reads if pipeline is None else None,
        pipeline=pipeline,
        appended=bronze.frame(spark, "appended") if pipeline is not None and bronze.rows("appended") else None,
    )
