"""What became of every message, on any scale: the Spark form of `delivery.audit`, which is the definition.

A healthy run is proved healthy without comparing rows. Messages and deliveries are folded into words: one row per
group, lane (partition and producer) and 64 sequences, a bit for each. A word is clean when the same bits were
acknowledged (and not aborted) and received, each once, and in order: within the word the offset minus the sequence is
constant, and its offsets lie above those of all earlier words of the lane. Only the rows of other words are looked at
one by one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.ends import Dead, End, Lag, Lane, LostBlock, members, starts
from streamgauge.domain.events import FATE_UNKNOWN, UNSENT
from streamgauge.pipeline.read.silver import ABORTED, UNDECIDED, UNSETTLED

Keep = Callable[[DataFrame], DataFrame]
"""Works a frame out once and holds the rows; what it returns tells Spark how large it is."""

MESSAGE = ("group", "topic", "producer", "seq")
DELIVERY = ("group", "topic", "partition", "`offset`", "consumer", "poll")
FINDING = (
    "class", "group", "topic", "producer", "seq", "partition", "`offset`", "due_ns", "sent_ns", "error", "measured",
)  # fmt: skip
"""Columns of a finding: one message or delivery and the class it is in. A message may be in several."""

UNREPORTED, UNREPORTED_RECEIVED = "unreported", "fate_unknown_received"
"""Classes of messages of unknown fate: of those that did not come, which are unknown and not censored, and of those
that came."""
EARLIER = "rows between unbounded preceding and 1 preceding"
FIRST = "received_ns, consumer, poll, partition, `offset`"
MEASURED = "(selected & 1) = 1 as measured"
OF_DELIVERY = (*MESSAGE, "partition", "`offset`", "due_ns", "sent_ns", "cast(null as string) as error")


@dataclass(frozen=True, slots=True)
class Findings:
    """What the audit found: `classes` of messages and deliveries that are in doubt, and what must not be timed.

    Messages in no finding were acknowledged and delivered once, in order; or they were aborted and did not come; or
    they failed or were never sent, and did not come.
    """

    classes: DataFrame
    untimed: DataFrame | None
    """Deliveries with a stamp whose latency does not count, as columns DELIVERY; None where all are timed."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How partitions ended, as two small frames: by lane, and by group and topic."""

    ends: DataFrame
    read_out: DataFrame


def findings(
    messages: DataFrame,
    deliveries: DataFrame,
    groups: Sequence[int],
    judgement: Judgement,
    keep: Keep,
    *,
    all_sound: bool,
    transactional: bool = False,
    unsettled: bool = False,
    reads: frozenset[int] | None = None,
) -> Findings | None:
    """The findings of a run that both sends and receives; None when there is nothing to find.

    `all_sound` promises that every delivery has a sound stamp, which spares the search for others; without
    `transactional` no message was aborted, without `unsettled` none is of unknown fate. `reads` are the partitions that
    consumers are told to read, if they are.
    """
    odd = None if all_sound else some(keep(owned(messages, deliveries, keep)))
    words = suspects(messages, deliveries, groups, reads)
    words = _with_more(words, unsettled_words(messages, groups)) if unsettled else words
    words = keep(words if odd is None else _with_more(words, _owned_words(odd)))
    in_doubt = {row.delivery for row in words.select("delivery").distinct().collect()}
    if odd is None and True not in in_doubt:
        # The usual case: all was delivered once, and in some words only the order is not proved yet.
        falling = some(keep(reordered(sound_of_words(deliveries, words)))) if in_doubt else None
        return None if falling is None else Findings(falling, None)
    sent = keep(of_words(messages, words))
    sound = keep(sound_of_words(deliveries, words))
    every = sound.selectExpr("*", "producer as owner", "seq as owned_seq")
    every = every if odd is None else every.unionByName(odd)
    classes = [
        classified(sent, every, judgement, _is_wanted(reads)),
        unrecorded(sent, sound),
        reordered(lowest(sound)),
        *([] if odd is None else [strange(odd)]),
    ]
    return Findings(keep(reduce(DataFrame.union, classes)), keep(untimed(every, sent if transactional else None)))


def suspects(
    messages: DataFrame, deliveries: DataFrame, groups: Sequence[int], reads: frozenset[int] | None = None
) -> DataFrame:
    """Group, topic, producer and word wherever not all is proved: to be received, received once, in order.

    `delivery` says whether it is more than the order that is not proved.
    """
    lane = "partition by group, topic, partition, producer order by word"
    return (
        _words(messages.where(_is_wanted(reads)), deliveries, groups)
        .selectExpr(
            "*",
            f"max(high) over ({lane} {EARLIER}) as earlier",
            f"min(low) over ({lane} desc {EARLIER}) as later",
        )
        .withColumn("delivery", F.expr("acked != got or copies != bit_count(got)"))
        .where("delivery or least_shift != most_shift or earlier > low or later < high")
        .groupBy("group", "topic", "producer", "word")
        .agg(F.expr("bool_or(delivery) as delivery"))
    )


def _words(messages: DataFrame, deliveries: DataFrame, groups: Sequence[int]) -> DataFrame:
    """One row per lane and word: bits to be received and received, deliveries, and how offsets follow sequences."""
    key = ("group", "topic", "partition", "producer", "shiftright(seq, 6) as word")
    bit = "shiftleft(1L, cast(seq & 63 as int))"
    nothing = "cast(null as bigint)"
    acked = for_each(messages, groups).selectExpr(
        *key, f"{bit} as acked", "0L as got", "0L as copy", f"{nothing} as at", f"{nothing} as shift"
    )
    got = deliveries.where("sound").selectExpr(
        *key, "0L as acked", f"{bit} as got", "1L as copy", "`offset` as at", "`offset` - seq as shift"
    )
    return acked.union(got).groupBy("group", "topic", "partition", "producer", "word").agg(
        F.expr("bit_or(acked) as acked"),
        F.expr("bit_or(got) as got"),
        F.expr("sum(copy) as copies"),
        F.expr("min(shift) as least_shift"),
        F.expr("max(shift) as most_shift"),
        F.expr("min(at) as low"),
        F.expr("max(at) as high"),
    )  # fmt: skip


def _is_wanted(reads: frozenset[int] | None) -> str:
    """SQL for whether a message is to be received."""
    read = "true" if reads is None else f"(partition is null or partition in ({', '.join(map(str, sorted(reads)))}))"
    return f"error is null and fate != {ABORTED} and {read}"


def for_each(messages: DataFrame, groups: Sequence[int]) -> DataFrame:
    """The messages once for each group; a column is cheaper than a join for the usual single one."""
    if len(groups) == 1:
        return messages.withColumn("group", F.lit(groups[0]))
    return messages.withColumn("group", F.explode(F.array(*map(F.lit, groups))))


def owned(messages: DataFrame, deliveries: DataFrame, keep: Keep) -> DataFrame:
    """Deliveries without a sound stamp, with `owner` and `owned_seq` of the message that they belong to, or null."""
    odd = keep(deliveries.where("not sound"))
    by_place = messages.where("error is null").join(
        odd.select("topic", "partition", "offset").distinct(), ["topic", "partition", "offset"], "leftsemi"
    )
    by_stamp = messages.where("partition is null or `offset` is null").join(
        odd.where("producer is not null").select("topic", "producer", "seq").distinct(),
        ["topic", "producer", "seq"],
        "leftsemi",
    )
    at = by_place.selectExpr("topic", "partition", "`offset`", "producer as place_producer", "seq as place_seq")
    named = by_stamp.selectExpr("topic", "producer", "seq", "true as named")
    return (
        odd.join(keep(at), ["topic", "partition", "offset"], "left")
        .join(keep(named), ["topic", "producer", "seq"], "left")
        .selectExpr(
            *(f"`{column}`" for column in odd.columns),
            "coalesce(place_producer, if(named, producer, null)) as owner",
            "coalesce(place_seq, if(named, seq, null)) as owned_seq",
        )
    )


def _owned_words(odd: DataFrame) -> DataFrame:
    """The words of the messages that deliveries without a sound stamp belong to."""
    return odd.where("owner is not null").selectExpr(
        "group", "topic", "owner as producer", "shiftright(owned_seq, 6) as word", "true as delivery"
    )


def unsettled_words(messages: DataFrame, groups: Sequence[int]) -> DataFrame:
    """The words of the messages of unknown fate: every one of them is looked at."""
    words = for_each(messages.where(f"fate = {UNSETTLED}"), groups).selectExpr(
        "group", "topic", "producer", "shiftright(seq, 6) as word"
    )
    return words.distinct().withColumn("delivery", F.lit(True))


def _with_more(words: DataFrame, more: DataFrame) -> DataFrame:
    return words.union(more).groupBy("group", "topic", "producer", "word").agg(F.expr("bool_or(delivery) as delivery"))


def some(frame: DataFrame) -> DataFrame | None:
    """The frame; None where it has no row."""
    return None if frame.isEmpty() else frame


def of_words(messages: DataFrame, words: DataFrame, *more: str) -> DataFrame:
    """The messages in doubt, once for each group that doubts them."""
    return (
        messages.withColumn("word", F.expr("shiftright(seq, 6)"))
        .join(words.drop("delivery"), ["topic", "producer", "word"])
        .selectExpr(*MESSAGE, "partition", "`offset`", "due_ns", "sent_ns", "error", "fate", MEASURED, *more)
    )


def sound_of_words(deliveries: DataFrame, words: DataFrame) -> DataFrame:
    """The deliveries in doubt that have a sound stamp."""
    return (
        deliveries.where("sound")
        .withColumn("word", F.expr("shiftright(seq, 6)"))
        .join(words, ["group", "topic", "producer", "word"], "leftsemi")
        .select(*deliveries.columns)
    )


def classified(sent: DataFrame, deliveries: DataFrame, judgement: Judgement, wanted: str) -> DataFrame:
    """Findings: the class of each message in doubt, from its deliveries and from how its partition ended.

    `wanted` is SQL for whether a message is to be received.
    """
    received = deliveries.groupBy("group", "topic", F.col("owner").alias("producer"), F.col("owned_seq").alias("seq"))
    copies = received.agg(
        F.expr("count(*) as copies"),
        F.expr("min(struct(partition, `offset`)) != max(struct(partition, `offset`)) as apart"),
    )
    return (
        sent.join(copies, list(MESSAGE), "left")
        .join(F.broadcast(judgement.ends), ["group", "topic", "partition"], "left")
        .join(F.broadcast(judgement.read_out), ["group", "topic"], "left")
        .withColumn("class", F.expr(_class(wanted)))
        .where("class is not null")
        .selectExpr(*FINDING)
    )


def _class(wanted: str) -> str:
    """SQL for the class of a message; the branches are those of `delivery.audit.Judge` and `delivery.ends.missing`."""
    return f"""
        case
            when error = '{UNSENT}' then null
            when error = '{FATE_UNKNOWN}' then if(copies > 0, '{UNREPORTED_RECEIVED}', '{UNREPORTED}')
            when error is not null then if(copies > 0, 'unacked_received', null)
            when fate = {ABORTED} then if(copies > 0, 'aborted_received', null)
            when not ({wanted}) then null
            when apart then 'duplicate_producer'
            when copies > 1 then 'duplicate_consumer'
            when copies = 1 then 'delivered_once'
            when fate = {UNDECIDED} then 'unknown'
            when `offset` is null then if(all_read_out, 'lost', 'unknown')
            when start is null or position is null or `end` is null then 'unknown'
            when `offset` < start then 'expired'
            when `offset` >= position and `offset` < `end` then 'undelivered'
            when exists(blocks, each -> `offset` > each.above and (each.below is null or `offset` < each.below))
                then 'unknown'
            else 'lost'
        end"""


def unrecorded(sent: DataFrame, sound: DataFrame) -> DataFrame:
    """Findings: the first delivery of each sound stamp that no message has; measured by when it was received."""
    return (
        first(sound, MESSAGE, FIRST)
        .join(sent.select(*MESSAGE), list(MESSAGE), "leftanti")
        .selectExpr("'unrecorded' as class", *OF_DELIVERY, "(received_tick & 1) = 1 as measured")
    )


def reordered(once: DataFrame) -> DataFrame:
    """Findings: deliveries whose sequence is below one at a smaller offset of the same producer and partition.

    `once` holds one sound delivery of each message.
    """
    lane = "partition by group, topic, partition, producer order by `offset`, seq"
    return (
        once.selectExpr("*", f"max(seq) over ({lane} {EARLIER}) as highest")
        .where("seq < highest")
        .selectExpr("'reordered' as class", *OF_DELIVERY, MEASURED)
    )


def lowest(sound: DataFrame) -> DataFrame:
    """Of each message the delivery that counts for its order: the first from the lowest (partition, offset)."""
    return first(sound, MESSAGE, f"partition, `offset`, {FIRST}")


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
    stamped = deliveries.where("producer is not null and seq is not null").withColumn("mine", F.expr(mine))
    turn = f"row_number() over (partition by group, topic, producer, seq, mine order by {FIRST}) as turn"
    turns, out = stamped.selectExpr("*", turn), "not mine or turn > 1"
    if sent is not None:
        aborted = sent.where(f"fate = {ABORTED}").selectExpr(*MESSAGE, "true as aborted")
        turns, out = turns.join(aborted, list(MESSAGE), "left"), f"{out} or aborted"
    return turns.where(out).selectExpr(*DELIVERY)


def first(rows: DataFrame, key: Iterable[str], order: str) -> DataFrame:
    """The first row of each key."""
    turn = f"row_number() over (partition by {', '.join(key)} order by {order}) as turn"
    return rows.selectExpr("*", turn).where("turn = 1")


def judgement(spark: SparkSession, ends: Mapping[Lane, End], dead: Dead) -> Judgement:
    """How partitions ended, as frames that `classified` can join."""
    lanes = list(ends)
    by_lane = {
        **{name: [lane[place] for lane in lanes] for place, name in enumerate(("group", "topic", "partition"))},
        **{name: [getattr(ends[lane], name) for lane in lanes] for name in ("start", "position", "end")},
        "blocks": [[block._asdict() for block in dead.blocks.get(lane, ())] for lane in lanes],
    }
    read_out: dict[tuple[int, int], bool] = {}
    for (group, topic, _), end in ends.items():
        read_out[group, topic] = read_out.get((group, topic), True) and end.read_out
    by_topic = {
        "group": [group for group, _ in read_out],
        "topic": [topic for _, topic in read_out],
        "all_read_out": list(read_out.values()),
    }
    return Judgement(
        spark.createDataFrame(pa.table(by_lane, _ENDS)),
        spark.createDataFrame(pa.table(by_topic, _READ_OUT)),
    )


def remains(spark: SparkSession, deliveries: DataFrame, lag: Sequence[Lag], dead: frozenset[int]) -> Dead:
    """What the consumers in `dead` leave behind: `delivery.audit.remains` for every group at once."""
    lane = ["group", "topic", "partition"]
    reached = deliveries.groupBy(*lane, "consumer").agg(F.expr("max(`offset`) as highest")).collect()
    highest: dict[Lane, int] = {}
    by_consumer: dict[Lane, dict[int, int]] = {(row.group, row.topic, row.partition): {} for row in lag}
    for group, topic, partition, consumer, offset in reached:
        highest[group, topic, partition] = max(offset, highest.get((group, topic, partition), offset))
        by_consumer.setdefault((group, topic, partition), {})[consumer] = offset
    begun = starts(lag)
    of_group = members(dead, {lane_[0] for lane_ in by_consumer}, {(row.group, row.consumer) for row in reached})
    above = [
        (*lane_, consumer, by.get(consumer, begun.get(lane_, 0) - 1))
        for lane_, by in by_consumer.items()
        for consumer in sorted(of_group[lane_[0]])
    ]
    columns = dict(zip(_ABOVE.names, map(list, zip(*above, strict=True)), strict=True)) if above else {}
    edges = spark.createDataFrame(pa.table(columns or {name: [] for name in _ABOVE.names}, _ABOVE))
    below = (
        deliveries.join(F.broadcast(edges), lane)
        .where("`offset` > above")
        .groupBy(*lane, "dead")
        .agg(F.expr("min(`offset`) as below"))
    )
    ended = {tuple(row[:4]): row.below for row in below.collect()}
    blocks: dict[Lane, tuple[LostBlock, ...]] = {}
    for group, topic, partition, consumer, offset in above:
        block = LostBlock(offset, ended.get((group, topic, partition, consumer)))
        blocks[group, topic, partition] = (*blocks.get((group, topic, partition), ()), block)
    return Dead(highest, blocks)


_ABOVE = pa.schema(
    [
        ("group", pa.int32()), ("topic", pa.int32()), ("partition", pa.int32()), ("dead", pa.int32()),
        ("above", pa.int64()),
    ]
)  # fmt: skip
_ENDS = pa.schema(
    [
        ("group", pa.int32()), ("topic", pa.int32()), ("partition", pa.int32()),
        ("start", pa.int64()), ("position", pa.int64()), ("end", pa.int64()),
        ("blocks", pa.list_(pa.struct([("above", pa.int64()), ("below", pa.int64())]))),
    ]
)  # fmt: skip
_READ_OUT = pa.schema([("group", pa.int32()), ("topic", pa.int32()), ("all_read_out", pa.bool_())])
