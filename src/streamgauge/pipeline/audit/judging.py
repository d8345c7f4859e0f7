"""Which audit a run gets, and by what it is judged: by how far its groups, and a query between, had come."""

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from streamgauge.delivery.ends import reached
from streamgauge.delivery.log import REREAD, Reread
from streamgauge.delivery.rows import Lag
from streamgauge.pipeline.audit.audit import Findings, Keep, findings, some
from streamgauge.pipeline.audit.ends import judgement, remains
from streamgauge.pipeline.audit.log import ReadLog, read_log, told_by_log
from streamgauge.pipeline.audit.reads import committed_unseen, endings, received_early, seen_elsewhere, went_back
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


def log_of(spark: SparkSession, bronze: Bronze) -> ReadLog | None:
    """The topics that were sent to, as they were read again after the drain; None where they were not."""
    rows = bronze.only("lag", "moment", frozenset({REREAD})).columns("lag", ("moment", *Reread._fields))
    rows = rows.filter(pc.equal(rows.column("moment"), REREAD)).select(Reread._fields)
    return read_log(spark, [Reread(**row) for row in rows.to_pylist()], bronze.frame(spark, "appended"))


def endings_of(spark: SparkSession, bronze: Bronze, traits: RunTraits) -> DataFrame | None:
    """When the end of each transaction was asked for; None where there are none, or nobody says when."""
    return endings(spark, bronze.columns("transactions")) if traits.transactional else None


def beside(
    messages: DataFrame,
    deliveries: DataFrame | None,
    groups: Sequence[int],
    classes: DataFrame | None,
    log: ReadLog | None,
    ended: DataFrame | None,
    keep: Keep,
    *,
    transactional: bool,
) -> DataFrame | None:
    """Findings that stand beside the classes of messages; None where there is nothing.

    `deliveries` are those from the topics that are sent to: None without consumers, and where they read a sink.
    `classes` are the findings of the audit, if there are any; `ended` says when transactions were asked to end.
    """
    frames: list[DataFrame] = []
    if log is not None:
        frames += told_by_log(messages, deliveries, groups, log, classes, keep)
    if deliveries is not None:
        frames += [went_back(deliveries)]
    if deliveries is not None and classes is not None and len(groups) > 1:
        frames += [seen_elsewhere(classes, deliveries, keep)]
    if deliveries is not None and classes is not None and transactional:
        frames += [committed_unseen(classes, messages)]
    if deliveries is not None and ended is not None:
        frames += [received_early(messages, deliveries, ended, keep)]
    return some(keep(reduce(DataFrame.union, frames))) if frames else None
