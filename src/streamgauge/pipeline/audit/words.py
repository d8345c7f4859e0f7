"""Messages, deliveries and the log folded into words: which 64 sequences of a producer have to be looked at one by one.

All is folded once: a row for each lane (partition and producer) and word. These rows tell which words are in doubt, for
whatever reason; what was sent, was received and stands of all such words is held once, for every question about it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.rows import PipelineUnderTest
from streamgauge.pipeline.columns import (
    DOUBTED,
    DUE_NS,
    GROUP,
    IS_MEASURED,
    LANE,
    MESSAGE,
    OFFSET,
    PARTITION,
    PLACE,
    PRODUCER,
    SENT_NS,
    SEQ,
    TOPIC,
    WORD,
)
from streamgauge.pipeline.read.silver import UNSETTLED

Keep = Callable[[DataFrame], DataFrame]
"""Works a frame out once and holds the rows; what it returns tells Spark how large it is."""

EARLIER = "rows between unbounded preceding and 1 preceding"
MEASURED = f"{IS_MEASURED} as measured"
PLACED = "partition is not null and offset is not null"
_NO_NUMBER, _NO_INT = "cast(null as bigint)", "cast(null as int)"
_SENT, _STOOD = -2, -1
"""Whose row it is: the producer's, the log's, or else that of the group with this number."""
_LANE_WORD = (TOPIC, PARTITION, PRODUCER, WORD)


def word(number: str) -> str:
    """SQL for the word that holds a number."""
    return f"shiftright({number}, 6)"


def bit(number: str) -> str:
    """SQL for the bit of a number in its word."""
    return f"shiftleft(1L, cast({number} & 63 as int))"


_WORD, _BIT, _MARK = f"{word('seq')} as {WORD}", bit("seq"), "xxhash64(seq, offset)"


@dataclass(frozen=True, slots=True)
class ReadLog:
    """The topics that were sent to, as they were read again."""

    stood: DataFrame
    """What stands in them with a stamp of this run."""
    starts: DataFrame
    """By topic and partition, the first offset that was read."""


@dataclass(frozen=True)
class InDoubt:
    """What is to be audited, and the rows of it that are in doubt; each frame is worked out when it is asked for."""

    messages: DataFrame
    """With `expected`, whether they are to come out, where the pipeline drops some."""
    deliveries: DataFrame | None
    """With the topic that their messages were sent to; None where nothing is received."""
    groups: Sequence[int]
    keep: Keep
    wanted: str
    """SQL for whether a message is to be received."""
    odd: DataFrame | None = None
    """Deliveries without a sound stamp, with the message that they belong to; None where there are none."""
    unsettled: bool = False
    """Whether there may be messages of unknown fate."""
    log: ReadLog | None = None
    """None where it was not read again."""
    pipeline: PipelineUnderTest | None = None
    """What messages went through: then deliveries come from another log, and no word tells the order."""
    at_source: DataFrame | None = None
    """How often each stamp stands in the source of the pipeline; None where it was not read."""

    @property
    def from_log(self) -> DataFrame | None:
        """Deliveries from the log that messages were sent to; None where there are none."""
        return self.deliveries if self.pipeline is None else None

    @property
    def compared(self) -> DataFrame | None:
        """Deliveries that can be compared with messages; None where each output stands for several."""
        return None if self.pipeline is not None and self.pipeline.joins else self.deliveries

    @cached_property
    def folded(self) -> DataFrame:
        """One row for each lane and word; held where more than one question is asked of it."""
        folded = _folded(
            self.messages,
            self.compared,
            None if self.log is None else self.log.stood,
            self.groups,
            self.wanted,
            by_partition=self.pipeline is None,
        )
        return folded if self.log is None else self.keep(folded)

    @cached_property
    def by_log(self) -> DataFrame:
        """The words (topic, partition, producer) whose messages and deliveries are not what stands in the log."""
        return self.keep(_differing(self.folded, self.groups if self.from_log is not None else ()))

    @cached_property
    def words(self) -> DataFrame:
        """Columns DOUBTED, `delivery` and `held`: whether deliveries are in doubt, and whether these or the log are.

        Of the others only the order is not proved. They may be most of a run, so that their rows are not held.
        """
        parts = []
        if self.compared is not None:
            parts += [_suspects(self.folded, self.groups, ordered=self.pipeline is None)]
        if self.compared is not None and self.unsettled:
            parts += [_unsettled_words(self.messages, self.groups)]
        if self.odd is not None:
            parts += [_owned_words(self.odd)]
        words = [part.selectExpr(*DOUBTED, "delivery", "delivery as held") for part in parts]
        if self.log is not None:
            told = for_each(self.by_log.select(TOPIC, PRODUCER, WORD).distinct(), self.groups)
            words += [told.selectExpr(*DOUBTED, "false as delivery", "true as held")]
        if len(words) == 1:
            return self.keep(words[0])
        both = (F.expr(f"bool_or({name}) as {name}") for name in ("delivery", "held"))
        return self.keep(reduce(DataFrame.union, words).groupBy(*DOUBTED).agg(*both))

    @cached_property
    def sent(self) -> DataFrame:
        """The messages in doubt, once for each group that doubts them."""
        drops = self.pipeline is not None and self.pipeline.drops
        expected = "expected" if drops else "true as expected"
        return self.keep(_of_words(self.messages, self.words.where("held"), expected))

    @cached_property
    def sound(self) -> DataFrame:
        """The deliveries in doubt that have a sound stamp."""
        assert self.compared is not None
        return self.keep(sound_of_words(self.compared, self.words.where("held")))

    @cached_property
    def standing(self) -> DataFrame:
        """What the log holds of the messages in doubt: topic, partition, offset, producer, seq."""
        assert self.log is not None
        words = self.words.where("held").select(TOPIC, PRODUCER, WORD).distinct()
        rows = self.log.stood.withColumn(WORD, F.expr(word(SEQ))).join(words, [TOPIC, PRODUCER, WORD], "leftsemi")
        return self.keep(rows.select(*PLACE, PRODUCER, SEQ))


def _folded(
    messages: DataFrame,
    deliveries: DataFrame | None,
    stood: DataFrame | None,
    groups: Sequence[int],
    wanted: str,
    *,
    by_partition: bool,
) -> DataFrame:
    """Of each lane and word what was acknowledged, what each group received and, with a log, what stands.

    Of messages, bits are those to be received, and the count is of those whose place is known. With a log, a hash of
    sequence and offset of each message is put together by exclusive or: what came twice takes itself out of it, and is
    counted twice. Two words that differ agree by chance in one of 2^64 cases.
    """
    nowhere = f"{_NO_INT} as {PARTITION}"
    lane = (TOPIC, PARTITION if by_partition or stood is not None else nowhere, PRODUCER, _WORD)
    from_lane = (TOPIC, PARTITION if by_partition else nowhere, PRODUCER, _WORD)
    no_order, mark = (f"{_NO_NUMBER} as at", f"{_NO_NUMBER} as shift"), "0L" if stood is None else _MARK
    sides = [
        messages.where("error is null").selectExpr(
            *lane, f"{_SENT} as who", f"if({wanted}, {_BIT}, 0L) as one", f"if({PLACED}, 1L, 0L) as copy", *no_order,
            f"if({PLACED}, {mark}, 0L) as mark",
        )
    ]  # fmt: skip
    if deliveries is not None:
        sides += [
            deliveries.where("sound").selectExpr(
                *from_lane, f"{GROUP} as who", f"{_BIT} as one", "1L as copy", "offset as at",
                "offset - seq as shift", f"{mark} as mark",
            )
        ]  # fmt: skip
    if stood is not None:
        sides += [stood.selectExpr(*lane, f"{_STOOD} as who", "0L as one", "1L as copy", *no_order, f"{mark} as mark")]
    received = {f"got_{group}": group for group in groups} if deliveries is not None else {}
    folds = {"acked": _of(_SENT, "bit_or", "one", "0L")}
    for name, group in received.items():
        folds |= {
            name: _of(group, "bit_or", "one", "0L"),
            f"{name}_count": _of(group, "sum", "copy", "0L"),
            f"{name}_low": _of(group, "min", "at"),
            f"{name}_high": _of(group, "max", "at"),
            f"{name}_least": _of(group, "min", "shift"),
            f"{name}_most": _of(group, "max", "shift"),
        }
    for name, who in {"acked": _SENT, "stood": _STOOD, **received}.items() if stood is not None else ():
        folds |= {f"{name}_count": _of(who, "sum", "copy", "0L"), f"{name}_mark": _of(who, "bit_xor", "mark", "0L")}
    rows = reduce(DataFrame.union, sides)
    return rows.groupBy(*_LANE_WORD).agg(*(F.expr(f"{how} as {name}") for name, how in folds.items()))


def _of(who: int, fold: str, value: str, otherwise: str = "null") -> str:
    """SQL that folds a value of the rows of one side."""
    return f"{fold}(if(who = {who}, {value}, {otherwise}))"


def _suspects(folded: DataFrame, groups: Sequence[int], *, ordered: bool) -> DataFrame:
    """Columns DOUBTED wherever not all is proved: that what was to be received was, each once, nothing else, in order.

    `delivery` says whether it is more than the order that is not proved; of that nothing is proved unless words are
    `ordered`.
    """
    names = ("count", "low", "high", "least", "most")
    of_groups = (
        f"struct({group} as group, got_{group} as got, {', '.join(f'got_{group}_{name} as {name}' for name in names)})"
        for group in groups
    )
    words = folded.selectExpr(*_LANE_WORD, "acked", f"inline(array({', '.join(of_groups)}))")
    in_doubt = "acked != got or count != bit_count(got)"
    if not ordered:
        # With a log, messages are folded by partition, and what was received of them is not.
        folds = ("bit_or(acked) as acked", "bit_or(got) as got", "sum(count) as count")
        return words.groupBy(*DOUBTED).agg(*map(F.expr, folds)).where(in_doubt).selectExpr(*DOUBTED, "true as delivery")
    lane = "partition by group, topic, partition, producer order by word"
    return (
        words.selectExpr(
            "*",
            f"{in_doubt} as delivery",
            f"max(high) over ({lane} {EARLIER}) as earlier",
            f"min(low) over ({lane} desc {EARLIER}) as later",
        )
        .where("delivery or least != most or earlier > low or later < high")
        .groupBy(*DOUBTED)
        .agg(F.expr("bool_or(delivery) as delivery"))
    )


def _differing(folded: DataFrame, groups: Sequence[int]) -> DataFrame:
    """The words in which not the same is acknowledged, received by each group, and standing in the log."""
    differs = " or ".join(
        f"{name}_{what} != stood_{what}"
        for name in ("acked", *(f"got_{group}" for group in groups))
        for what in ("mark", "count")
    )
    return folded.where(differs).select(*_LANE_WORD)


def ends(folded: DataFrame, groups: Sequence[int]) -> DataFrame:
    """Columns LANE and offset: of what each group received, the last offset of each word."""
    of_groups = (f"struct({group} as group, got_{group}_high as {OFFSET})" for group in groups)
    rows = folded.selectExpr(TOPIC, PARTITION, f"inline(array({', '.join(of_groups)}))")
    return rows.where(f"{OFFSET} is not null").select(*LANE, OFFSET)


def for_each(messages: DataFrame, groups: Sequence[int]) -> DataFrame:
    """The messages once for each group; a column is cheaper than a join for the usual single one, or for none."""
    if len(groups) < 2:
        return messages.withColumn(GROUP, F.lit(groups[0] if groups else None).cast("int"))
    return messages.withColumn(GROUP, F.explode(F.array(*map(F.lit, groups))))


def _owned_words(odd: DataFrame) -> DataFrame:
    """The words of the messages that deliveries without a sound stamp belong to."""
    return odd.where("owner is not null").selectExpr(
        GROUP, TOPIC, "owner as producer", f"{word('owned_seq')} as {WORD}", "true as delivery"
    )


def _unsettled_words(messages: DataFrame, groups: Sequence[int]) -> DataFrame:
    """The words of the messages of unknown fate: every one of them is looked at."""
    words = for_each(messages.where(f"fate = {UNSETTLED}"), groups).selectExpr(GROUP, TOPIC, PRODUCER, _WORD)
    return words.distinct().withColumn("delivery", F.lit(True))


def _of_words(messages: DataFrame, words: DataFrame, expected: str) -> DataFrame:
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
