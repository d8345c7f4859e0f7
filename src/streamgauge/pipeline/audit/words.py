"""Messages, deliveries and the log folded into words: which 64 sequences of a producer have to be looked at one by one.

All is folded once: a row for each lane (partition and producer) and word. These rows tell which words are in doubt, for
whatever reason; what was sent, was received and stands of all such words is held once, for every question about it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.rows import PipelineUnderTest
from streamgauge.pipeline.columns import (
    CONSUMER,
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
    RECEIVED_NS,
    SELECTED,
    SENT_NS,
    SEQ,
    TOPIC,
    WORD,
)
from streamgauge.pipeline.read.silver import UNSETTLED
from streamgauge.pipeline.spark.joins import few

Keep = Callable[[DataFrame], DataFrame]
"""Works a frame out once and holds the rows; what it returns tells Spark how large it is."""

FEW_WORDS = 20_000
"""Up to so many words, of 64 sequences each, are held although nothing but their order is in doubt."""
HELD = (*MESSAGE, PARTITION, OFFSET, CONSUMER, "poll", DUE_NS, SENT_NS, RECEIVED_NS, "received_tick", SELECTED, "sound")
"""What is held of a delivery."""
ORDER_ALONE = (False, False)
"""The `delivery` and `held` of words whose rows are not held."""
EARLIER = "rows between unbounded preceding and 1 preceding"
MEASURED = f"{IS_MEASURED} as measured"
PLACED = "partition is not null and offset is not null"
_NO_INT = "cast(null as int)"
_SENT, _STOOD = -2, -1
"""Whose row it is: the producer's, the log's, or else that of the group with this number."""
_LANE_WORD = (TOPIC, PARTITION, PRODUCER, WORD)


def word(number: str) -> str:
    """SQL for the word that holds a number."""
    return f"shiftright({number}, 6)"


def bit(number: str) -> str:
    """SQL for the bit of a number in its word."""
    return f"shiftleft(1L, cast({number} & 63 as int))"


class _Fold(NamedTuple):
    """How a value of the rows of a lane and word is folded, in SQL."""

    of_row: str
    of_rows: str
    again: str
    """The function that folds what was folded."""
    nothing: str = "null"
    """What it is without rows."""


_FOLDS = {
    "bits": _Fold("bits", "bit_or(bits)", "bit_or", "0L"),
    "count": _Fold("if(mark is null, 0L, 1L)", "count(mark)", "sum", "0L"),
    "low": _Fold(OFFSET, "min(offset)", "min"),
    "high": _Fold(OFFSET, "max(offset)", "max"),
    "least": _Fold("shift", "min(shift)", "min"),
    "most": _Fold("shift", "max(shift)", "max"),
    "mark": _Fold("mark", "bit_xor(mark)", "bit_xor", "0L"),
}
_OF_GROUP = ("count", "low", "high", "least", "most")
_WORD, _BIT, _MARK = f"{word('seq')} as {WORD}", bit("seq"), "xxhash64(seq, offset)"


@dataclass(frozen=True, slots=True)
class ReadLog:
    """The topics that were sent to, as they were read again."""

    stood: DataFrame
    """What stands in them with a stamp of this run."""
    starts: DataFrame
    """By topic and partition, the first offset that was read."""


class DoubtedWords(NamedTuple):
    """Words in doubt."""

    words: DataFrame
    """Columns DOUBTED, `delivery` and `held`: whether deliveries are in doubt, and whether these or the log are.

    Of the others only the order is not proved. They may be most of a run, so that their rows are not held."""
    kinds: frozenset[tuple[bool, bool]]
    """Which `delivery` and `held` there are."""


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
    many: bool = False
    """Whether there are so many rows that each side is folded by itself first: then it costs less to fold twice than to
    ask each row of which side it is."""
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
            by_side=self.many,
        )
        return folded if self.log is None else self.keep(folded)

    @cached_property
    def by_log(self) -> DataFrame:
        """The words (topic, partition, producer) whose messages and deliveries are not what stands in the log."""
        return self.keep(_differing(self.folded, self.groups if self.from_log is not None else ()))

    @cached_property
    def doubted(self) -> DoubtedWords:
        """The words that have to be looked at."""
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
        both = (F.expr(f"bool_or({name}) as {name}") for name in ("delivery", "held"))
        found = words[0] if len(words) == 1 else reduce(DataFrame.union, words).groupBy(*DOUBTED).agg(*both)
        found = self.keep(found)
        counts = {(row.delivery, row.held): row["count"] for row in found.groupBy("delivery", "held").count().collect()}
        # To hold a few more rows is cheaper than to look for them once more among all.
        if counts.get(ORDER_ALONE, 0) <= FEW_WORDS:
            return DoubtedWords(
                found.withColumn("held", F.lit(True)), frozenset((delivery, True) for delivery, _ in counts)
            )
        return DoubtedWords(found, frozenset(counts))

    @cached_property
    def sent(self) -> DataFrame:
        """The messages in doubt, once for each group that doubts them."""
        drops = self.pipeline is not None and self.pipeline.drops
        expected = "expected" if drops else "true as expected"
        return self.keep(_of_words(self.messages, self.doubted.words.where("held"), expected))

    @cached_property
    def sound(self) -> DataFrame:
        """The deliveries in doubt that have a sound stamp."""
        assert self.compared is not None
        return self.keep(sound_of_words(self.compared, self.doubted.words.where("held")))

    @cached_property
    def standing(self) -> DataFrame:
        """What the log holds of the messages in doubt: topic, partition, offset, producer, seq."""
        assert self.log is not None
        words = self.doubted.words.where("held").select(TOPIC, PRODUCER, WORD).distinct()
        rows = few(self.log.stood.withColumn(WORD, F.expr(word(SEQ))), words, (TOPIC, PRODUCER, WORD), "leftsemi")
        return self.keep(rows.select(*PLACE, PRODUCER, SEQ))


def _folded(
    messages: DataFrame,
    deliveries: DataFrame | None,
    stood: DataFrame | None,
    groups: Sequence[int],
    wanted: str,
    *,
    by_partition: bool,
    by_side: bool,
) -> DataFrame:
    """Of each lane and word what was acknowledged, what each group received and, with a log, what stands.

    Of messages, bits are those to be received, and the count is of those whose place is known. With a log, a hash of
    sequence and offset of each message is put together by exclusive or: what came twice takes itself out of it, and is
    counted twice. Two words that differ agree by chance in one of 2^64 cases.
    """
    nowhere = f"{_NO_INT} as {PARTITION}"
    lane = (TOPIC, PARTITION if by_partition or stood is not None else nowhere, PRODUCER, _WORD)
    from_lane = (TOPIC, PARTITION if by_partition else nowhere, PRODUCER, _WORD)
    mark, marks = ("0L", ()) if stood is None else (_MARK, ("count", "mark"))
    acked = messages.where("error is null").selectExpr(
        *lane, f"if({wanted}, {_BIT}, 0L) as bits", f"if({PLACED}, {mark}, null) as mark"
    )
    sides = [_side(acked, _SENT, ("bits", *marks), by_side=by_side)]
    if deliveries is not None:
        got = deliveries.where("sound").selectExpr(
            *from_lane, GROUP, f"{_BIT} as bits", OFFSET, "offset - seq as shift", f"{mark} as mark"
        )
        whose = GROUP if len(groups) > 1 else groups[0]
        sides += [_side(got, whose, ("bits", *_OF_GROUP, *marks[1:]), by_side=by_side)]
    if stood is not None:
        stands = stood.selectExpr(*lane, f"{mark} as mark")
        sides += [_side(stands, _STOOD, marks, by_side=by_side)]
    received = {f"got_{group}": group for group in groups} if deliveries is not None else {}
    folds = {"acked": _of(_SENT, "bits")}
    for name, group in received.items():
        folds |= {name: _of(group, "bits")} | {f"{name}_{each}": _of(group, each) for each in _OF_GROUP}
    for name, who in {"acked": _SENT, "stood": _STOOD, **received}.items() if stood is not None else ():
        folds |= {f"{name}_{each}": _of(who, each) for each in marks}
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), sides)
    return rows.groupBy(*_LANE_WORD).agg(*(F.expr(f"{how} as {name}") for name, how in folds.items()))


def _side(rows: DataFrame, who: int | str, names: Sequence[str], *, by_side: bool) -> DataFrame:
    """What is folded of messages, deliveries or the log: each row, or with `by_side` what they are folded into."""
    whose = f"{who} as who"
    if not by_side:
        return rows.selectExpr(*_LANE_WORD, whose, *(f"{_FOLDS[name].of_row} as {name}" for name in names))
    # Spark leaves a number out of the key, and shuffles all sides alike.
    folded = rows.groupBy(*_LANE_WORD, F.expr(whose))
    return folded.agg(*(F.expr(f"{_FOLDS[name].of_rows} as {name}") for name in names))


def _of(who: int, name: str) -> str:
    """SQL that folds a value of the rows of one side; what is added up is 0 where there are none."""
    fold = _FOLDS[name]
    return f"coalesce({fold.again}(if(who = {who}, {name}, null)), {fold.nothing})"


def _suspects(folded: DataFrame, groups: Sequence[int], *, ordered: bool) -> DataFrame:
    """Columns DOUBTED wherever not all is proved: that what was to be received was, each once, nothing else, in order.

    `delivery` says whether it is more than the order that is not proved; of that nothing is proved unless words are
    `ordered`.
    """
    of_groups = (
        f"struct({', '.join((f'{group} as group', f'got_{group} as got', *_named(group)))})" for group in groups
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


def _named(group: int) -> list[str]:
    return [f"got_{group}_{name} as {name}" for name in _OF_GROUP]


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
    words = for_each(messages.where(f"report = {UNSETTLED}"), groups).selectExpr(GROUP, TOPIC, PRODUCER, _WORD)
    return words.distinct().withColumn("delivery", F.lit(True))


def _of_words(messages: DataFrame, words: DataFrame, expected: str) -> DataFrame:
    """The messages in doubt, once for each group that doubts them."""
    rows = few(messages.withColumn(WORD, F.expr(word(SEQ))), words.select(*DOUBTED), (TOPIC, PRODUCER, WORD))
    return rows.selectExpr(*MESSAGE, "partition", "offset", DUE_NS, SENT_NS, "error", "report", MEASURED, expected)


def sound_of_words(deliveries: DataFrame, words: DataFrame) -> DataFrame:
    """The deliveries in doubt that have a sound stamp, with the columns HELD."""
    rows = deliveries.where("sound").withColumn(WORD, F.expr(word(SEQ)))
    return few(rows, words, DOUBTED, "leftsemi").select(*HELD)
