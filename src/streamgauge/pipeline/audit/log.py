"""What a log that was read again says, on any scale: the Spark form of `delivery.log`, of the counts that need it.

That all stands where it was acknowledged, and where it was received, is proved word by word, as in the audit: a hash of
sequence and offset of each message, put together by exclusive or, is the same for what was acknowledged, for what each
group received and for what stands, and so is their number. Two words that differ agree by chance in one of 2^64 cases.
Only the rows of other words are looked at one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.log import CONFLICTS, SKIPPED, TRUNCATED, VANISHED, Reread
from streamgauge.pipeline.audit.audit import FIRST, Keep, first, some
from streamgauge.pipeline.audit.words import EARLIER, MEASURED, for_each, word
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
    WORD,
)
from streamgauge.pipeline.read.silver import ACKED

_STARTS = pa.schema([("topic", pa.int32()), ("partition", pa.int32()), ("start", pa.int64())])
_WORD = (TOPIC, PARTITION, PRODUCER, WORD)
_STANDING = (*PLACE, PRODUCER, SEQ)
_PLACED = "partition is not null and offset is not null"
_MARK = "xxhash64(seq, offset)"
_SIDES = {"acked": 0, "stood": 1, "got": 2}
BLOCK_BITS = 12
"""Offsets are looked at by the block first: to sort all deliveries would take minutes where there are millions."""
_NO_NUMBER, _NO_INT = "cast(null as bigint)", "cast(null as int)"


@dataclass(frozen=True, slots=True)
class ReadLog:
    """The topics that were sent to, as they were read again."""

    stood: DataFrame
    """What stands in them with a stamp of this run."""
    starts: DataFrame
    """By topic and partition, the first offset that was read."""


def read_log(spark: SparkSession, reread: Sequence[Reread], appended: DataFrame) -> ReadLog | None:
    """The log of a run from its rows; None where it was not read again to its end."""
    if not reread:
        return None
    columns = {name: [getattr(row, name) for row in reread] for name in _STARTS.names}
    starts = spark.createDataFrame(pa.table(columns, _STARTS))
    return ReadLog(appended.where(IS_STAMPED).select(*_STANDING), starts)


def told_by_log(
    messages: DataFrame,
    deliveries: DataFrame | None,
    groups: Sequence[int],
    log: ReadLog,
    classes: DataFrame | None,
    keep: Keep,
) -> list[DataFrame]:
    """Findings of TRUNCATED, VANISHED, CONFLICTS and SKIPPED.

    `classes` are the findings of the audit, None where there are none. Without `deliveries` from this log, as behind a
    pipeline, and in a run that only sends, it is about the messages alone.
    """
    acked = messages.where(f"error is null and {_PLACED}")
    got = None if deliveries is None else deliveries.where("sound")
    gone = some(keep(_gone(acked, got, groups if got is not None else (), log, keep)))
    found = []
    # The log is large, and seldom is there anything to look for: files say how many places of theirs are null.
    if (nowhere := some(messages.where(f"fate = {ACKED} and not ({_PLACED})"))) is not None:
        missing = nowhere.join(log.stood, [*STAMP], "leftanti")
        found += [_truncated(missing.selectExpr(*_columns_of_messages()), groups)]
    if gone is not None:
        found += [_truncated(gone.where(f"group is null and fate = {ACKED}"), groups)]
    if gone is not None and got is not None:
        found += [_vanished(gone.where("group is not null"))]
    if gone is not None:
        found += [_conflicts(acked, got, groups, keep(gone.select(*PLACE).distinct()))]
    if classes is not None and deliveries is not None:
        lost = classes.where(f"class = 'lost' and {_PLACED}")
        # What is lost is little beside the log, and can be held in memory to be looked for in it.
        there = log.stood.join(lost.select(*_STANDING), [*_STANDING], "leftsemi")
        standing = some(keep(lost.join(there, [*_STANDING], "leftsemi")))
        found += [] if standing is None else [_skipped(standing, deliveries, keep)]
    return found


def _columns_of_messages() -> tuple[str, ...]:
    return (
        f"{_NO_INT} as group", *PLACE, PRODUCER, SEQ, DUE_NS, SENT_NS, "fate", MEASURED,
        f"{_NO_NUMBER} as received_ns", f"{_NO_INT} as consumer", f"{_NO_NUMBER} as poll",
    )  # fmt: skip


def _columns_of_deliveries() -> tuple[str, ...]:
    return (
        GROUP, *PLACE, PRODUCER, SEQ, DUE_NS, SENT_NS, f"{_NO_INT} as fate", MEASURED, RECEIVED_NS, CONSUMER, "poll",
    )  # fmt: skip


def _gone(acked: DataFrame, got: DataFrame | None, groups: Sequence[int], log: ReadLog, keep: Keep) -> DataFrame:
    """What was acknowledged (group null) or received where it does not stand, at offsets that were read again."""
    words = keep(_doubtful(acked, got, groups, log.stood))
    claims = acked.selectExpr(*_columns_of_messages())
    if got is not None:
        claims = claims.union(got.selectExpr(*_columns_of_deliveries()))
    standing = _of_words(log.stood, words)
    return (
        _of_words(claims, words)
        .join(standing, [*_STANDING], "leftanti")
        .join(F.broadcast(log.starts), [TOPIC, PARTITION])
        .where("offset >= start")
        .select(*claims.columns)
    )


def _of_words(rows: DataFrame, words: DataFrame) -> DataFrame:
    columns = rows.columns
    return rows.withColumn(WORD, F.expr(word(SEQ))).join(words, [*_WORD], "leftsemi").select(*columns)


def _doubtful(acked: DataFrame, got: DataFrame | None, groups: Sequence[int], stood: DataFrame) -> DataFrame:
    """The words in which not the same is acknowledged, received by each group, and standing in the log."""
    key = (TOPIC, PARTITION, PRODUCER, f"{word(SEQ)} as {WORD}", f"{_MARK} as mark")
    sides = {"acked": acked, "stood": stood} | ({} if got is None else {"got": got})
    of_group = {name: GROUP if name == "got" else _NO_INT for name in sides}
    rows = reduce(
        DataFrame.union,
        (
            rows.selectExpr(*key, f"{_SIDES[name]} as side", f"{of_group[name]} as group")
            for name, rows in sides.items()
        ),
    )
    which = {name: f"side = {_SIDES[name]}" for name in ("acked", "stood")}
    which |= {f"got_{group}": f"side = {_SIDES['got']} and group = {group}" for group in groups}
    # What came twice takes itself out of an exclusive or, and is counted twice.
    folds = ("bit_xor(if({0}, mark, 0L)) as {1}", "count(if({0}, 1, null)) as {1}_count")
    folded = rows.groupBy(*_WORD).agg(
        *(F.expr(fold.format(is_it, name)) for name, is_it in which.items() for fold in folds)
    )
    differs = " or ".join(f"{name} != stood or {name}_count != stood_count" for name in which if name != "stood")
    return folded.where(differs).select(*_WORD)


def _of_each(rows: DataFrame, groups: Sequence[int]) -> DataFrame:
    """What concerns no group once for each of them; of a run without consumers, once for none."""
    return for_each(rows.drop(GROUP), groups) if groups else rows


def _finding(rows: DataFrame, name: str) -> DataFrame:
    return rows.selectExpr(
        f"'{name}' as class", *MESSAGE, PARTITION, OFFSET, DUE_NS, SENT_NS, "cast(null as string) as error", "measured"
    ).select(*FINDING)


def _truncated(rows: DataFrame, groups: Sequence[int]) -> DataFrame:
    return _finding(_of_each(rows, groups), TRUNCATED)


def _vanished(rows: DataFrame) -> DataFrame:
    """Of each message that a group received where it no longer stands, the first such delivery."""
    return _finding(first(rows, MESSAGE, FIRST), VANISHED)


def _conflicts(acked: DataFrame, got: DataFrame | None, groups: Sequence[int], places: DataFrame) -> DataFrame:
    """Of each offset at which something is gone, the first message, where several were there."""
    columns = (GROUP, *PLACE, PRODUCER, SEQ, DUE_NS, SENT_NS, "measured")
    at = acked.join(places, [*PLACE], "leftsemi").selectExpr(*_columns_of_messages())
    holders = _of_each(at, groups).select(*columns)
    if got is not None:
        holders = holders.union(
            got.join(places, [*PLACE], "leftsemi").selectExpr(*_columns_of_deliveries()).select(*columns)
        )
    message = "struct(producer, seq, due_ns, sent_ns, measured)"
    several = (
        holders.groupBy(GROUP, *PLACE)
        .agg(F.expr("count(distinct producer, seq) as stamps"), F.expr(f"min({message}) as least"))
        .where("stamps > 1")
        .selectExpr(GROUP, *PLACE, "least.*")
    )
    return _finding(several, CONFLICTS)


def _skipped(lost: DataFrame, deliveries: DataFrame, keep: Keep) -> DataFrame:
    """Polls that went on behind messages that stand and never came: that of the next delivery behind each of them."""
    nothing = (
        f"cast(null as struct<offset: bigint, {RECEIVED_NS}: bigint, consumer: int, poll: bigint, measured: boolean>)"
    )
    delivery = f"struct(offset, {RECEIVED_NS}, consumer, poll, (received_tick & 1) = 1 as measured)"
    rows = _next_behind(lost, deliveries, keep).selectExpr(*LANE, OFFSET, f"{delivery} as came")
    return (
        _behind(rows, lost, nothing)
        .groupBy(*LANE, "next.consumer", "next.poll")
        .agg(F.expr("min(next) as next"))
        .selectExpr(
            GROUP, TOPIC, f"{_NO_INT} as producer", f"{_NO_NUMBER} as seq", PARTITION, "next.offset as offset",
            f"{_NO_NUMBER} as due_ns", f"{_NO_NUMBER} as sent_ns", "next.measured as measured",
        )
        .transform(_finding, SKIPPED)
    )  # fmt: skip


def _next_behind(lost: DataFrame, deliveries: DataFrame, keep: Keep) -> DataFrame:
    """Deliveries of the blocks of offsets in which the next one behind each lost message is: few of all that came."""
    lanes = F.broadcast(lost.select(*LANE).distinct())
    rows = deliveries.join(lanes, [*LANE], "leftsemi").withColumn("block", F.expr(f"shiftright(offset, {BLOCK_BITS})"))
    ends = rows.groupBy(*LANE, "block").agg(F.expr("max(offset) as offset"))
    found = _behind(ends.selectExpr(*LANE, OFFSET, "block as came"), lost, _NO_NUMBER)
    wanted = keep(found.selectExpr(*LANE, "next as block").distinct())
    return rows.join(wanted, [*LANE, "block"], "leftsemi")


def _behind(rows: DataFrame, lost: DataFrame, nothing: str) -> DataFrame:
    """The lost messages with `next`: what `came` at the least offset behind each of them; without those at the end."""
    both = rows.union(lost.selectExpr(*LANE, OFFSET, f"{nothing} as came"))
    # From the end of the log: what came last is what lies next behind. A delivery from the same offset does not.
    order = f"partition by {', '.join(LANE)} order by offset desc, came is null desc, came desc {EARLIER}"
    return both.selectExpr("*", f"last(came, true) over ({order}) as next").where("came is null and next is not null")
