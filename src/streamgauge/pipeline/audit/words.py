"""Messages and deliveries folded into words: which 64 sequences of a producer have to be looked at one by one."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.pipeline.columns import (
    DOUBTED,
    DUE_NS,
    GROUP,
    IS_MEASURED,
    LANE,
    MESSAGE,
    PRODUCER,
    SENT_NS,
    TOPIC,
    WORD,
)
from streamgauge.pipeline.read.silver import UNSETTLED

EARLIER = "rows between unbounded preceding and 1 preceding"
MEASURED = f"{IS_MEASURED} as measured"
_NO_NUMBER = "cast(null as bigint)"


def word(number: str) -> str:
    """SQL for the word that holds a number."""
    return f"shiftright({number}, 6)"


def bit(number: str) -> str:
    """SQL for the bit of a number in its word."""
    return f"shiftleft(1L, cast({number} & 63 as int))"


_WORD, _BIT = f"{word('seq')} as {WORD}", bit("seq")


def suspects(messages: DataFrame, deliveries: DataFrame, groups: Sequence[int], *, ordered: bool) -> DataFrame:
    """Columns DOUBTED wherever not all is proved: that what was to be received was, each once, nothing else, in order.

    `messages` are those to be received. `delivery` says whether it is more than the order that is not proved; of that
    nothing is proved unless words are `ordered`.
    """
    lane = "partition by group, topic, partition, producer order by word"
    words = _words(messages, deliveries, groups, by_partition=ordered).withColumn(
        "delivery", F.expr("acked != got or copies != bit_count(got)")
    )
    if not ordered:
        return words.where("delivery").select(*DOUBTED, "delivery")
    return (
        words.selectExpr(
            "*",
            f"max(high) over ({lane} {EARLIER}) as earlier",
            f"min(low) over ({lane} desc {EARLIER}) as later",
        )
        .where("delivery or least_shift != most_shift or earlier > low or later < high")
        .groupBy(*DOUBTED)
        .agg(F.expr("bool_or(delivery) as delivery"))
    )


def _words(messages: DataFrame, deliveries: DataFrame, groups: Sequence[int], *, by_partition: bool) -> DataFrame:
    """One row per lane and word: bits to be received and received, deliveries, and how offsets follow sequences."""
    key = (*(LANE if by_partition else (GROUP, TOPIC)), PRODUCER)
    acked = for_each(messages, groups).selectExpr(
        *key, _WORD, f"{_BIT} as acked", "0L as got", "0L as copy", f"{_NO_NUMBER} as at", f"{_NO_NUMBER} as shift"
    )
    got = deliveries.where("sound").selectExpr(
        *key, _WORD, "0L as acked", f"{_BIT} as got", "1L as copy", "offset as at", "offset - seq as shift"
    )
    return acked.union(got).groupBy(*key, WORD).agg(
        F.expr("bit_or(acked) as acked"),
        F.expr("bit_or(got) as got"),
        F.expr("sum(copy) as copies"),
        F.expr("min(shift) as least_shift"),
        F.expr("max(shift) as most_shift"),
        F.expr("min(at) as low"),
        F.expr("max(at) as high"),
    )  # fmt: skip


def for_each(messages: DataFrame, groups: Sequence[int]) -> DataFrame:
    """The messages once for each group; a column is cheaper than a join for the usual single one."""
    if len(groups) == 1:
        return messages.withColumn(GROUP, F.lit(groups[0]))
    return messages.withColumn(GROUP, F.explode(F.array(*map(F.lit, groups))))


def owned_words(odd: DataFrame) -> DataFrame:
    """The words of the messages that deliveries without a sound stamp belong to."""
    return odd.where("owner is not null").selectExpr(
        GROUP, TOPIC, "owner as producer", f"{word('owned_seq')} as {WORD}", "true as delivery"
    )


def unsettled_words(messages: DataFrame, groups: Sequence[int]) -> DataFrame:
    """The words of the messages of unknown fate: every one of them is looked at."""
    words = for_each(messages.where(f"fate = {UNSETTLED}"), groups).selectExpr(GROUP, TOPIC, PRODUCER, _WORD)
    return words.distinct().withColumn("delivery", F.lit(True))


def with_more(words: DataFrame, more: DataFrame) -> DataFrame:
    """Words in doubt for one reason or the other."""
    return words.union(more).groupBy(*DOUBTED).agg(F.expr("bool_or(delivery) as delivery"))


def of_words(messages: DataFrame, words: DataFrame, expected: str) -> DataFrame:
    """The messages in doubt, once for each group that doubts them."""
    return (
        messages.withColumn(WORD, F.expr(word("seq")))
        .join(words.select(*DOUBTED), [TOPIC, PRODUCER, WORD])
        .selectExpr(*MESSAGE, "partition", "offset", DUE_NS, SENT_NS, "error", "fate", MEASURED, expected)
    )


def sound_of_words(deliveries: DataFrame, words: DataFrame) -> DataFrame:
    """The deliveries in doubt that have a sound stamp."""
    return (
        deliveries.where("sound")
        .withColumn(WORD, F.expr(word("seq")))
        .join(words, [*DOUBTED], "leftsemi")
        .select(*deliveries.columns)
    )
