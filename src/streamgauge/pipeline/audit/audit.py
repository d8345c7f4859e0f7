"""What became of every message, on any scale: the Spark form of `delivery.audit`, which is the definition.

A healthy run is proved healthy without comparing rows. Messages and deliveries are folded into words: one row per
group, lane (partition and producer) and 64 sequences, a bit for each. A word is clean when the same bits were to be
received and were received, each once, and in order: within the word the offset minus the sequence is constant, and its
offsets lie above those of all earlier words of the lane. Only the rows of other words are looked at one by one.

Through a pipeline a message may stand in any partition of the sink, so words have no partition, and say nothing of the
order: for that every delivery is put beside its message.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.audit import DUPLICATED, UNEXPECTED
from streamgauge.delivery.rows import PipelineUnderTest
from streamgauge.domain.events import FATE_UNKNOWN, UNSENT
from streamgauge.pipeline.audit import source
from streamgauge.pipeline.audit.ends import Judgement
from streamgauge.pipeline.audit.words import EARLIER, MEASURED, ORDER_ALONE, InDoubt, Keep, for_each, sound_of_words
from streamgauge.pipeline.columns import (
    DELIVERY,
    DUE_NS,
    FINDING,
    GROUP,
    IS_STAMPED,
    LANE,
    MESSAGE,
    OFFSET,
    PARTITION,
    PRODUCER,
    SENT_NS,
    SEQ,
    STAMP,
    TOPIC,
)
from streamgauge.pipeline.read.silver import ABORTED, UNDECIDED

UNREPORTED, UNREPORTED_RECEIVED = "unreported", "fate_unknown_received"
"""Classes of messages of unknown fate: of those that did not come, which are unknown and not censored, and of those
that came."""
FIRST = "received_ns, consumer, poll, partition, offset"
OF_DELIVERY = (*MESSAGE, PARTITION, OFFSET, DUE_NS, SENT_NS, "cast(null as string) as error")


@dataclass(frozen=True, slots=True)
class Findings:
    """What the audit found: `classes` of messages and deliveries that are in doubt, and what must not be timed.

    Messages in no finding were acknowledged and delivered once, in order; or they were aborted and did not come; or
    they failed or were never sent, and did not come.
    """

    classes: DataFrame
    untimed: DataFrame | None
    """Deliveries with a stamp whose latency does not count, as columns DELIVERY; None where all are timed."""
    dropped: Mapping[str, int] | None = None
    """Messages that were not to come out of a pipeline, by scope; None where nobody says which."""


def findings(rows: InDoubt, judgement: Judgement, *, transactional: bool = False) -> Findings | None:
    """The findings of a run that both sends and receives; None when there is nothing to find.

    Without `transactional` no message was aborted.
    """
    messages, deliveries, keep, odd, pipeline = rows.messages, rows.deliveries, rows.keep, rows.odd, rows.pipeline
    assert deliveries is not None
    if pipeline is not None and pipeline.joins:
        return _of_outputs(messages, deliveries, rows.groups, keep, pipeline)
    words, doubts = rows.doubted
    if pipeline is None and odd is None and (True, True) not in doubts:
        # The usual case: all was delivered once, and in some words only the order is not proved yet.
        falling = some(keep(reordered(sound_of_words(deliveries, words)))) if doubts else None
        return None if falling is None else Findings(falling, None)
    sent, sound = rows.sent, rows.sound
    every = sound.selectExpr("*", "producer as owner", "seq as owned_seq")
    every = every if odd is None else every.unionByName(odd.select(*every.columns))
    classes = classified(sent, every, judgement, rows.wanted)
    if pipeline is not None:
        falling = reordered(_once(deliveries, sound), messages)
    else:
        once = _once_in_doubt(sound, keep)
        if ORDER_ALONE in doubts:
            # Of these words every message came once.
            once = once.unionByName(sound_of_words(deliveries, words.where("not held")))
        falling = reordered(once)
    of_deliveries = [
        unrecorded(sent, sound),
        falling,
        *([] if odd is None else [strange(odd)]),
    ]
    out = untimed(every, sent if transactional else None)
    if pipeline is None:
        return Findings(keep(together([classes, *of_deliveries])), keep(out))
    of_pipeline = _through_pipeline(keep(classes), of_deliveries, pipeline, rows.at_source)
    dropped = source.dropped(messages) if pipeline.drops and rows.at_source is not None else None
    return Findings(keep(of_pipeline), keep(out.withColumn(TOPIC, F.lit(pipeline.sink))), dropped)


def _through_pipeline(
    classes: DataFrame, of_deliveries: Sequence[DataFrame], pipeline: PipelineUnderTest, stood: DataFrame | None
) -> DataFrame:
    """All findings behind a pipeline: by the source where it was read, and deliveries where they were read."""
    by_source = [] if stood is None else [source.split(classes, stood)]
    return together([classes, *by_source, *(source.at_sink(each, pipeline) for each in of_deliveries)])


def _of_outputs(
    messages: DataFrame, deliveries: DataFrame, groups: Sequence[int], keep: Keep, pipeline: PipelineUnderTest
) -> Findings:
    """Outputs that stand for several messages: only what is not of this run can be found. All are timed."""
    odd = deliveries.where("not sound").withColumn("owner", F.expr("cast(null as int)"))
    found = unrecorded(for_each(messages, groups), deliveries.where("sound")).union(strange(odd))
    return Findings(keep(source.at_sink(found, pipeline)), None)


def together(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of all frames. They are few, and get few partitions: each takes a task, whatever is asked."""
    rows = reduce(DataFrame.union, frames)
    return rows.coalesce(int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1))


def some(frame: DataFrame) -> DataFrame | None:
    """The frame; None where it has no row."""
    return None if frame.isEmpty() else frame


def classified(sent: DataFrame, deliveries: DataFrame, judgement: Judgement, wanted: str) -> DataFrame:
    """Findings: the class of each message in doubt, from its deliveries and from how far its partition was read.

    `wanted` is SQL for whether a message is to be received.
    """
    received = deliveries.groupBy(GROUP, TOPIC, F.col("owner").alias(PRODUCER), F.col("owned_seq").alias(SEQ))
    copies = received.agg(
        F.expr("count(*) as copies"),
        F.expr("min(partition) != max(partition) or min(offset) != max(offset) as apart"),
    )
    return (
        sent.join(copies, [*MESSAGE], "left")
        .join(F.broadcast(judgement.ends), [*LANE], "left")
        .join(F.broadcast(judgement.topics), [GROUP, TOPIC], "left")
        .withColumn("class", F.expr(_class(wanted)))
        .where("class is not null")
        .select(*FINDING)
    )


def _class(wanted: str) -> str:
    """SQL for the class of a message; the branches are those of `delivery.audit.Judge` and `delivery.ends.missing`."""
    return f"""
        case
            when error = '{UNSENT}' then null
            when error = '{FATE_UNKNOWN}' then if(copies > 0, '{UNREPORTED_RECEIVED}', '{UNREPORTED}')
            when error is not null then if(copies > 0, 'unacked_received', null)
            when report = {ABORTED} then if(copies > 0, 'aborted_received', null)
            when not expected then if(copies > 0, '{UNEXPECTED}', null)
            when not ({wanted}) then null
            when apart then '{DUPLICATED}'
            when copies > 1 then 'duplicate_consumer'
            when copies = 1 then null
            when report = {UNDECIDED} then 'unknown'
            when expected is null then '{source.UNTOLD}'
            when offset is null then if(all_read_out, 'lost', 'unknown')
            when start is null or position is null or end is null then 'unknown'
            when offset < start then 'expired'
            when offset >= position and offset < end then 'undelivered'
            when not sink_read then 'unknown'
            when exists(blocks, each -> offset > each.above and (each.below is null or offset < each.below))
                then 'unknown'
            else 'lost'
        end"""


def unrecorded(sent: DataFrame, sound: DataFrame) -> DataFrame:
    """Findings: the first delivery of each sound stamp that no message has; measured by when it was received."""
    unknown = sound.join(sent.select(*MESSAGE), [*MESSAGE], "leftanti")
    return first(unknown, MESSAGE, FIRST).selectExpr(
        "'unrecorded' as class", *OF_DELIVERY, "(received_tick & 1) = 1 as measured"
    )


def reordered(once: DataFrame, messages: DataFrame | None = None) -> DataFrame:
    """Findings: deliveries whose sequence is below one at a smaller offset of the same producer and partition.

    `once` holds one sound delivery of each message. Through a pipeline, order is that of messages of one partition of
    the source: `messages` say which.
    """
    lane: tuple[str, ...] = (*LANE, PRODUCER)
    if messages is not None:
        placed = messages.where("partition is not null").selectExpr(*STAMP, "partition as source_partition")
        once, lane = once.join(placed, [*STAMP]), (*lane, "source_partition")
    order = f"partition by {', '.join(lane)} order by offset, seq"
    return (
        once.selectExpr("*", f"max(seq) over ({order} {EARLIER}) as highest")
        .where("seq < highest")
        .selectExpr("'reordered' as class", *OF_DELIVERY, MEASURED)
    )


def lowest(sound: DataFrame) -> DataFrame:
    """Of each message the delivery that counts for its order: the first from the lowest (partition, offset)."""
    return first(sound, MESSAGE, f"partition, offset, {FIRST}")


def _once_in_doubt(sound: DataFrame, keep: Keep) -> DataFrame:
    """The lowest deliveries of the messages in doubt. Only of those that came again are deliveries put in order."""
    copies = sound.groupBy(*MESSAGE).agg(F.expr("count(*) as copies"))
    again = keep(copies.where("copies > 1").select(*MESSAGE))
    others = sound.join(again, [*MESSAGE], "leftanti")
    return others.unionByName(lowest(sound.join(again, [*MESSAGE], "leftsemi")).select(*sound.columns))


def _once(deliveries: DataFrame, doubted: DataFrame) -> DataFrame:
    """The lowest of all messages: the deliveries without those that are not the lowest, all of them `doubted`."""
    others = numbered(doubted, MESSAGE, f"partition, offset, {FIRST}").where("turn > 1").select(*DELIVERY)
    return deliveries.where("sound").join(others, [*DELIVERY], "leftanti")


def strange(odd: DataFrame) -> DataFrame:
    """Findings: deliveries without a sound stamp; foreign where there is none and the offset is nobody's."""
    return odd.selectExpr(
        "if(intact = false or owner is not null, 'corrupt', 'foreign') as class", *OF_DELIVERY, MEASURED,
    )  # fmt: skip


def untimed(deliveries: DataFrame, sent: DataFrame | None) -> DataFrame:
    """Deliveries that are not the first of their message, and corrupt ones whose stamp is not their message's.

    Also those of messages that were aborted; `sent` is None where there are none.
    """
    mine = "sound or (producer <=> owner and seq <=> owned_seq)"
    stamped = deliveries.where(IS_STAMPED).withColumn("mine", F.expr(mine))
    turns, out = numbered(stamped, (*MESSAGE, "mine"), FIRST), "not mine or turn > 1"
    if sent is not None:
        aborted = sent.where(f"report = {ABORTED}").selectExpr(*MESSAGE, "true as aborted")
        turns, out = turns.join(aborted, [*MESSAGE], "left"), f"{out} or aborted"
    return turns.where(out).select(*DELIVERY)


def first(rows: DataFrame, key: Iterable[str], order: str) -> DataFrame:
    """The first row of each key."""
    return numbered(rows, key, order).where("turn = 1")


def numbered(rows: DataFrame, key: Iterable[str], order: str) -> DataFrame:
    """The rows with `turn`: 1 for the first of each key, and so on."""
    return rows.selectExpr("*", f"row_number() over (partition by {', '.join(key)} order by {order}) as turn")
