"""What a log that was read again says, on any scale: the Spark form of `delivery.log`, of the counts that need it.

That all stands where it was acknowledged, and where it was received, is proved word by word, as in the audit, by the
same words. Only the rows of others are looked at one by one.
"""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.log import CONFLICTS, SKIPPED, TRUNCATED, VANISHED, Reread
from streamgauge.pipeline.audit.audit import FIRST, first, some
from streamgauge.pipeline.audit.words import EARLIER, MEASURED, PLACED, InDoubt, ReadLog, ends, for_each
from streamgauge.pipeline.columns import (
    CONSUMER,
    DUE_NS,
    FINDING,
    GROUP,
    IS_STAMPED,
    LANE,
    MESSAGE,
    OFFSET,
    PARTITION,
    PLACE,
    PRODUCER,
    RECEIVED_NS,
    SENT_NS,
    SEQ,
    STAMP,
    TOPIC,
)
from streamgauge.pipeline.read.silver import ACKED
from streamgauge.pipeline.spark.joins import few

_STARTS = pa.schema([("topic", pa.int32()), ("partition", pa.int32()), ("start", pa.int64())])
_STANDING = (*PLACE, PRODUCER, SEQ)
BLOCK_BITS = 7
"""Offsets are looked at by the block first: to sort all deliveries would take minutes where there are millions."""
_NO_NUMBER, _NO_INT = "cast(null as bigint)", "cast(null as int)"


def read_log(spark: SparkSession, reread: Sequence[Reread], appended: DataFrame) -> ReadLog | None:
    """The log of a run from its rows; None where it was not read again to its end."""
    if not reread:
        return None
    columns = {name: [getattr(row, name) for row in reread] for name in _STARTS.names}
    starts = spark.createDataFrame(pa.table(columns, _STARTS))
    return ReadLog(appended.where(IS_STAMPED).select(*_STANDING), starts)


def told_by_log(rows: InDoubt, log: ReadLog, classes: DataFrame | None) -> list[DataFrame]:
    """Findings of TRUNCATED, VANISHED, CONFLICTS and SKIPPED.

    `classes` are the findings of the audit, None where there are none. Without deliveries from this log, as behind a
    pipeline, and in a run that only sends, it is about the messages alone.
    """
    messages, deliveries, groups = rows.messages, rows.from_log, rows.groups
    gone = None if rows.by_log.isEmpty() else some(rows.keep(_gone(rows, log)))
    found = []
    # The log is large, and seldom is there anything to look for: files say how many places of theirs are null.
    if (nowhere := some(messages.where(f"report = {ACKED} and not ({PLACED})"))) is not None:
        missing = nowhere.join(log.stood, [*STAMP], "leftanti")
        found += [_truncated(missing.selectExpr(*_columns_of_messages()), groups)]
    if gone is not None:
        found += [_truncated(gone.where(f"group is null and report = {ACKED}"), groups)]
    if gone is not None and deliveries is not None:
        found += [_vanished(gone.where("group is not null"))]
    if gone is not None:
        found += [_conflicts(rows, rows.keep(gone.select(*PLACE).distinct()))]
    if classes is not None and deliveries is not None:
        lost = classes.where(f"class = 'lost' and {PLACED}")
        standing = some(rows.keep(lost.join(rows.standing, [*_STANDING], "leftsemi")))
        found += [] if standing is None else [_skipped(standing, deliveries, rows)]
    return found


def _columns_of_messages(measured: str = MEASURED) -> tuple[str, ...]:
    return (
        f"{_NO_INT} as group", *PLACE, PRODUCER, SEQ, DUE_NS, SENT_NS, "report", measured,
        f"{_NO_NUMBER} as received_ns", f"{_NO_INT} as consumer", f"{_NO_NUMBER} as poll",
    )  # fmt: skip


def _columns_of_deliveries() -> tuple[str, ...]:
    return (
        GROUP, *PLACE, PRODUCER, SEQ, DUE_NS, SENT_NS, f"{_NO_INT} as report", MEASURED, RECEIVED_NS, CONSUMER, "poll",
    )  # fmt: skip


def _gone(rows: InDoubt, log: ReadLog) -> DataFrame:
    """What was acknowledged (group null) or received where it does not stand, at offsets that were read again."""
    once = f"{GROUP} <=> {rows.groups[0] if rows.groups else 'null'}"
    claims = rows.sent.where(f"error is null and {PLACED} and {once}").selectExpr(*_columns_of_messages("measured"))
    if rows.from_log is not None:
        claims = claims.union(rows.sound.selectExpr(*_columns_of_deliveries()))
    return (
        claims.join(rows.standing, [*_STANDING], "leftanti")
        .join(F.broadcast(log.starts), [TOPIC, PARTITION])
        .where("offset >= start")
        .select(*claims.columns)
    )


def _of_each(rows: DataFrame, groups: Sequence[int]) -> DataFrame:
    """What concerns no group once for each of them; of a run without consumers, once for none."""
    return for_each(rows.drop(GROUP), groups)


def _finding(rows: DataFrame, name: str) -> DataFrame:
    return rows.selectExpr(
        f"'{name}' as class", *MESSAGE, PARTITION, OFFSET, DUE_NS, SENT_NS, "cast(null as string) as error", "measured"
    ).select(*FINDING)


def _truncated(rows: DataFrame, groups: Sequence[int]) -> DataFrame:
    return _finding(_of_each(rows, groups), TRUNCATED)


def _vanished(rows: DataFrame) -> DataFrame:
    """Of each message that a group received where it no longer stands, the first such delivery."""
    return _finding(first(rows, MESSAGE, FIRST), VANISHED)


def _conflicts(rows: InDoubt, places: DataFrame) -> DataFrame:
    """Of each offset at which something is gone, the first message, where several were there.

    What a group received there, and nobody acknowledged there, is in doubt itself.
    """
    columns = (GROUP, *PLACE, PRODUCER, SEQ, DUE_NS, SENT_NS, "measured")
    acked = few(rows.messages.where(f"error is null and {PLACED}"), places, PLACE, "leftsemi")
    holders = _of_each(acked.selectExpr(*_columns_of_messages()), rows.groups).select(*columns)
    if rows.from_log is not None:
        got = rows.sound.join(places, [*PLACE], "leftsemi")
        holders = holders.union(got.selectExpr(*_columns_of_deliveries()).select(*columns))
    message = "struct(producer, seq, due_ns, sent_ns, measured)"
    several = (
        holders.groupBy(GROUP, *PLACE)
        .agg(F.expr("count(distinct producer, seq) as stamps"), F.expr(f"min({message}) as least"))
        .where("stamps > 1")
        .selectExpr(GROUP, *PLACE, "least.*")
    )
    return _finding(several, CONFLICTS)


def _skipped(lost: DataFrame, deliveries: DataFrame, rows: InDoubt) -> DataFrame:
    """Polls that went on behind messages that stand and never came: that of the next delivery behind each of them."""
    nothing = (
        f"cast(null as struct<offset: bigint, {RECEIVED_NS}: bigint, consumer: int, poll: bigint, measured: boolean>)"
    )
    delivery = f"struct(offset, {RECEIVED_NS}, consumer, poll, (received_tick & 1) = 1 as measured)"
    came = _next_behind(lost, deliveries, rows).selectExpr(*LANE, OFFSET, f"{delivery} as came")
    return (
        _behind(came, lost, nothing)
        .groupBy(*LANE, "next.consumer", "next.poll")
        .agg(F.expr("min(next) as next"))
        .selectExpr(
            GROUP, TOPIC, f"{_NO_INT} as producer", f"{_NO_NUMBER} as seq", PARTITION, "next.offset as offset",
            f"{_NO_NUMBER} as due_ns", f"{_NO_NUMBER} as sent_ns", "next.measured as measured",
        )
        .transform(_finding, SKIPPED)
    )  # fmt: skip


def _next_behind(lost: DataFrame, deliveries: DataFrame, rows: InDoubt) -> DataFrame:
    """Deliveries of the blocks of offsets in which the next one behind each lost message is: few of all that came.

    It lies no further than the first end of a word behind the message.
    """
    last = ends(rows.folded, rows.groups)
    last = last if rows.odd is None else last.union(rows.odd.select(*LANE, OFFSET))
    reach = _behind(last.selectExpr(*LANE, OFFSET, f"{OFFSET} as came"), lost, _NO_NUMBER)
    # Of a stretch that is lost as a whole, all have the same next end of a word: without that, blocks would be many.
    reach = reach.groupBy(*LANE, "next").agg(F.expr(f"min({OFFSET}) as {OFFSET}"))
    blocks = reach.selectExpr(*LANE, f"explode(sequence({_block(OFFSET)}, {_block('next')})) as block")
    wanted = rows.keep(blocks.distinct())
    return few(deliveries.withColumn("block", F.expr(_block(OFFSET))), wanted, (*LANE, "block"), "leftsemi")


def _block(offset: str) -> str:
    return f"shiftright({offset}, {BLOCK_BITS})"


def _behind(rows: DataFrame, lost: DataFrame, nothing: str) -> DataFrame:
    """The lost messages with `next`: what `came` at the least offset behind each of them; without those at the end."""
    both = rows.union(lost.selectExpr(*LANE, OFFSET, f"{nothing} as came"))
    # From the end of the log: what came last is what lies next behind. A delivery from the same offset does not.
    order = f"partition by {', '.join(LANE)} order by offset desc, came is null desc, came desc {EARLIER}"
    return both.selectExpr("*", f"last(came, true) over ({order}) as next").where("came is null and next is not null")
