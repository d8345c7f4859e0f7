"""Which audit a run gets, and by what it is judged: by how far its groups, and a query between, had come."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.ends import reached
from streamgauge.delivery.log import REREAD, Reread
from streamgauge.delivery.rows import Lag, MeasureSpan, PipelineUnderTest
from streamgauge.pipeline.audit import source
from streamgauge.pipeline.audit.audit import Findings, findings, some, together
from streamgauge.pipeline.audit.ends import judgement, remains
from streamgauge.pipeline.audit.log import read_log, told_by_log
from streamgauge.pipeline.audit.reads import committed_unseen, endings, received_early, seen_elsewhere, went_back
from streamgauge.pipeline.audit.words import PLACED, InDoubt, Keep, ReadLog
from streamgauge.pipeline.columns import IS_STAMPED, PLACE, STAMP, TOPIC
from streamgauge.pipeline.pressure import lag
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.silver import ABORTED
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


def rows_in_doubt(
    spark: SparkSession,
    bronze: Bronze,
    traits: RunTraits,
    messages: DataFrame,
    deliveries: DataFrame,
    log: ReadLog | None,
    keep: Keep,
    *,
    many: bool,
) -> InDoubt:
    """What a run that sends has to be audited for; `many` says that there are millions of rows."""
    if not traits.consumes:
        return InDoubt(messages, None, (), keep, "error is null", log=log)
    is_read = traits.pipeline is not None and bronze.rows("appended")
    return in_doubt(
        messages,
        deliveries,
        traits.groups,
        keep,
        all_sound=traits.all_sound,
        unsettled=traits.unsettled,
        reads=traits.reads if traits.pipeline is None else None,
        log=log,
        pipeline=traits.pipeline,
        appended=bronze.frame(spark, "appended") if is_read else None,
        many=many,
    )


def in_doubt(
    messages: DataFrame,
    deliveries: DataFrame,
    groups: Sequence[int],
    keep: Keep,
    *,
    all_sound: bool,
    unsettled: bool = False,
    reads: frozenset[int] | None = None,
    log: ReadLog | None = None,
    pipeline: PipelineUnderTest | None = None,
    appended: DataFrame | None = None,
    many: bool = False,
) -> InDoubt:
    """What a run that both sends and receives has to be audited for.

    `all_sound` promises that every delivery has a sound stamp, which spares the search for others; without `unsettled`
    no message is of unknown fate. `reads` are the partitions that consumers are told to read, if they are. With a
    `pipeline`, `appended` is its source, None where it was not read. `many` says that there are millions of rows.
    """
    at_source = None if appended is None else source.standing(appended)
    drops, joins = pipeline is not None and pipeline.drops, pipeline is not None and pipeline.joins
    if pipeline is not None:
        deliveries = deliveries.withColumn(TOPIC, F.lit(pipeline.source))
    if drops:
        messages = keep(source.with_expected(messages, at_source))
    is_odd = not all_sound and not joins
    return InDoubt(
        messages,
        deliveries,
        groups,
        keep,
        _is_wanted(reads, drops=drops),
        odd=some(keep(_owned(messages, deliveries, keep, by_place=pipeline is None))) if is_odd else None,
        unsettled=unsettled,
        log=log,
        pipeline=pipeline,
        many=many,
        at_source=at_source,
    )


def _is_wanted(reads: frozenset[int] | None, *, drops: bool) -> str:
    """SQL for whether a message is to be received."""
    read = "true" if reads is None else f"(partition is null or partition in ({', '.join(map(str, sorted(reads)))}))"
    return f"error is null and report != {ABORTED} and {read} and {'coalesce(expected, true)' if drops else 'true'}"


def _owned(messages: DataFrame, deliveries: DataFrame, keep: Keep, *, by_place: bool) -> DataFrame:
    """Deliveries without a sound stamp, with `owner` and `owned_seq` of the message that they belong to, or null.

    Where their place says it (`by_place`), the stamp only does of messages whose own offset nobody knows.
    """
    odd = keep(deliveries.where("not sound"))
    stamps = odd.where(IS_STAMPED).select(*STAMP).distinct()
    by_stamp = messages.where(f"not ({PLACED})") if by_place else messages
    named = by_stamp.join(stamps, [*STAMP], "leftsemi").selectExpr(*STAMP, "true as named")
    rows = odd.join(keep(named), [*STAMP], "left")
    owner, seq = "if(named, producer, null)", "if(named, seq, null)"
    if by_place:
        at = messages.where("error is null").join(odd.select(*PLACE).distinct(), [*PLACE], "leftsemi")
        # An offset that was given out twice has the first of its messages.
        at = at.groupBy(*PLACE).agg(F.expr("min(struct(producer as place_producer, seq as place_seq)) as least"))
        at = at.selectExpr(*PLACE, "least.*")
        rows = rows.join(keep(at), [*PLACE], "left")
        owner, seq = f"coalesce(place_producer, {owner})", f"coalesce(place_seq, {seq})"
    return rows.selectExpr(*odd.columns, f"{owner} as owner", f"{seq} as owned_seq")


def judged(
    spark: SparkSession, bronze: Bronze, traits: RunTraits, deliveries: DataFrame, rows: InDoubt
) -> Findings | None:
    """What the audit finds in a run that is both sent to and read from; None when there is nothing to find."""
    ends, pipeline = ends_of(bronze, traits), traits.pipeline
    read = ends if pipeline is None else pipeline.at_sink(ends)
    dead = remains(spark, deliveries, read, traits.dead) if traits.dead else None
    found = judgement(spark, reached(ends, traits.groups, dead, pipeline))
    return findings(rows, found, transactional=traits.transactional)


def log_of(spark: SparkSession, bronze: Bronze) -> ReadLog | None:
    """The topics that were sent to, as they were read again after the drain; None where they were not."""
    rows = bronze.only("lag", "moment", frozenset({REREAD})).columns("lag", ("moment", *Reread._fields))
    rows = rows.filter(pc.equal(rows.column("moment"), REREAD)).select(Reread._fields)
    return read_log(spark, [Reread(**row) for row in rows.to_pylist()], bronze.frame(spark, "appended"))


def endings_of(spark: SparkSession, bronze: Bronze, traits: RunTraits) -> DataFrame | None:
    """When the end of each transaction was asked for; None where there are none, or nobody says when."""
    return endings(spark, bronze.columns("transactions")) if traits.transactional else None


def beside(
    rows: InDoubt, classes: DataFrame | None, ended: DataFrame | None, measure: MeasureSpan, *, transactional: bool
) -> DataFrame | None:
    """Findings that stand beside the classes of messages; None where there is nothing.

    `classes` are the findings of the audit, if there are any; `ended` says when transactions were asked to end.
    """
    messages, deliveries, keep = rows.messages, rows.from_log, rows.keep
    frames: list[DataFrame] = []
    if rows.log is not None:
        frames += told_by_log(rows, rows.log, classes)
    if deliveries is not None:
        frames += [went_back(deliveries, measure)]
    if deliveries is not None and classes is not None and len(rows.groups) > 1:
        frames += [seen_elsewhere(classes, deliveries, keep)]
    if deliveries is not None and classes is not None and transactional:
        frames += [committed_unseen(classes, messages)]
    if deliveries is not None and ended is not None:
        frames += [received_early(messages, deliveries, ended, keep)]
    return some(keep(together(frames))) if frames else None
