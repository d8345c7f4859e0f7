"""What became of every message on its way through a pipeline, on any scale: the Spark form of `delivery.through`.

As in `pipeline.audit.audit`, messages and deliveries are folded into words, and only the rows of words in doubt are
looked at one by one. A message may stand in any partition of the sink, so words have no partition, and say nothing of
the order: for that every delivery is put beside its message.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.audit import MESSAGE_CLASSES
from streamgauge.delivery.ends import NOBODY_DIED, Dead, End, Lag, Lane, all_read_out, ends, query_ends
from streamgauge.delivery.through import AT_SOURCE, BY_PIPELINE, DUPLICATED, UNEXPECTED, Passage
from streamgauge.domain.events import FATE_UNKNOWN, UNSENT
from streamgauge.pipeline.audit import audit
from streamgauge.pipeline.audit.audit import (
    DELIVERY,
    EARLIER,
    FINDING,
    MEASURED,
    MESSAGE,
    OF_DELIVERY,
    UNREPORTED,
    UNREPORTED_RECEIVED,
    Keep,
)
from streamgauge.pipeline.read.silver import ABORTED, UNDECIDED
from streamgauge.scenario.model.pipeline import AGGREGATE, SUBSET

Row = dict[str, Any]
Found = Mapping[tuple[int, str], Mapping[str, int]]
"""How many findings there are, by group and class, as `all` and `measured`."""

UNTOLD: Final = "untold"
"""Class of messages that did not come, of which nobody says whether they should have: unknown, and not censored."""
_SPLIT: Final = (AT_SOURCE, BY_PIPELINE)
_STAMP: Final = ["topic", "producer", "seq"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """How far a query and the groups had come, as frames that `classified` can join."""

    ends: DataFrame
    """By partition of the source: log start, what the query committed, log end."""
    read_out: DataFrame
    """By group: whether it read all of the sink."""
    passed: bool
    """Whether the query read all of the source."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What the audit found; the same as without a pipeline, and how many messages were not to come out."""

    classes: DataFrame
    untimed: DataFrame | None
    dropped: Mapping[str, int] | None
    """By scope; None where nobody says which messages were to come out."""


def findings(
    messages: DataFrame,
    deliveries: DataFrame,
    appended: DataFrame | None,
    passage: Passage,
    groups: Sequence[int],
    judgement: Judgement,
    keep: Keep,
    *,
    all_sound: bool,
    transactional: bool = False,
    unsettled: bool = False,
) -> Findings:
    """The findings of a run that sends, passes on and receives; `appended` is None where the source was not read.

    `all_sound` promises that every delivery has a stamp, and no wrong checksum; without `unsettled` no message is of
    unknown fate.
    """
    sink, deliveries = passage.sink, deliveries.withColumn("topic", F.lit(passage.source))
    if passage.does == AGGREGATE:
        return _of_outputs(messages, deliveries, groups, keep, sink)
    stood = None if appended is None else standing(appended)
    if passage.does == SUBSET:
        messages = keep(_asked(messages, stood))
    odd = None if all_sound else audit.some(keep(owned(messages, deliveries, keep)))
    words = suspects(messages, deliveries, groups, passage)
    words = words.union(audit.unsettled_words(messages, groups).drop("delivery")) if unsettled else words
    words = words if odd is None else words.union(_words_of(odd))
    words = keep(words.distinct() if unsettled or odd is not None else words)
    asked = ["expected"] if passage.does == SUBSET else []
    sent = keep(audit.of_words(messages, words, *asked))
    sound = keep(audit.sound_of_words(deliveries, words))
    every = sound.selectExpr("*", "producer as owner", "seq as owned_seq")
    every = every if odd is None else every.unionByName(odd)
    classes = keep(classified(sent, every, judgement, passage))
    untimed = audit.untimed(every, sent if transactional else None)
    found = [
        classes,
        *([] if stood is None else [split(classes, stood)]),
        at_sink(audit.unrecorded(sent, sound), sink),
        at_sink(reordered(_once(deliveries, sound), messages), sink),
        *([] if odd is None else [at_sink(audit.strange(odd), sink)]),
    ]
    dropped = _dropped(messages) if passage.does == SUBSET and stood is not None else None
    return Findings(keep(reduce(DataFrame.union, found)), keep(untimed.withColumn("topic", F.lit(sink))), dropped)


def _of_outputs(messages: DataFrame, deliveries: DataFrame, groups: Sequence[int], keep: Keep, sink: int) -> Findings:
    """Outputs that stand for several messages: only what is not of this run can be found. All are timed."""
    odd = deliveries.where("not sound").withColumn("owner", F.expr("cast(null as int)"))
    unrecorded = audit.unrecorded(audit.for_each(messages, groups), deliveries.where("sound"))
    return Findings(keep(at_sink(unrecorded.union(audit.strange(odd)), sink)), None, None)


def at_sink(found: DataFrame, sink: int) -> DataFrame:
    """Findings of deliveries, whose place is one in the sink."""
    return found.withColumn("topic", F.lit(sink)).selectExpr(*FINDING)


def standing(appended: DataFrame) -> DataFrame:
    """Columns topic, producer, seq, stands and expected: at how many offsets of the source each stamp stands."""
    return (
        appended.where("producer is not null and seq is not null")
        .groupBy(*_STAMP)
        .agg(
            F.expr("count(*) as stands"),
            # Of several copies, one is enough; where one of the others is not known, neither is the message.
            F.expr("if(max(expected), true, if(count(expected) = count(*), false, null)) as expected"),
        )
    )


def _asked(messages: DataFrame, stood: DataFrame | None) -> DataFrame:
    """The messages with `expected`: whether they are to come out; null where nobody says."""
    if stood is None:
        return messages.withColumn("expected", F.expr("cast(null as boolean)"))
    return messages.join(stood.drop("stands"), _STAMP, "left")


def _dropped(messages: DataFrame) -> Mapping[str, int]:
    (row,) = (
        messages.where(f"error is null and fate != {ABORTED} and expected = false")
        .agg(F.expr("count(*) as run"), F.expr("count(if((selected & 1) = 1, true, null)) as measure"))
        .collect()
    )
    return {"run": row["run"], "measure": row["measure"]}


def owned(messages: DataFrame, deliveries: DataFrame, keep: Keep) -> DataFrame:
    """Deliveries without a sound stamp, with `owner` and `owned_seq` of the message that the stamp names, or null."""
    odd = keep(deliveries.where("not sound"))
    theirs = odd.where("producer is not null and seq is not null").select(*_STAMP).distinct()
    named = keep(messages.join(theirs, _STAMP, "leftsemi").selectExpr(*_STAMP, "true as named"))
    return odd.join(named, _STAMP, "left").selectExpr(
        *(f"`{column}`" for column in odd.columns),
        "if(named, producer, null) as owner",
        "if(named, seq, null) as owned_seq",
    )


def suspects(messages: DataFrame, deliveries: DataFrame, groups: Sequence[int], passage: Passage) -> DataFrame:
    """Group, topic, producer and word wherever it is not proved that all came once, and nothing else."""
    key = ("group", "topic", "producer", "shiftright(seq, 6) as word")
    bit = "shiftleft(1L, cast(seq & 63 as int))"
    wanted = messages.where(f"error is null and fate != {ABORTED} and {_is_asked(passage)}")
    acked = audit.for_each(wanted, groups).selectExpr(*key, f"{bit} as acked", "0L as got", "0L as copy")
    got = deliveries.where("sound").selectExpr(*key, "0L as acked", f"{bit} as got", "1L as copy")
    return (
        acked.union(got)
        .groupBy("group", "topic", "producer", "word")
        .agg(F.expr("bit_or(acked) as acked"), F.expr("bit_or(got) as got"), F.expr("sum(copy) as copies"))
        .where("acked != got or copies != bit_count(got)")
        .select("group", "topic", "producer", "word")
    )


def _is_asked(passage: Passage) -> str:
    return "coalesce(expected, true)" if passage.does == SUBSET else "true"


def _words_of(odd: DataFrame) -> DataFrame:
    """Those of the messages that deliveries without a sound stamp belong to."""
    return odd.where("owner is not null").selectExpr(
        "group", "topic", "owner as producer", "shiftright(owned_seq, 6) as word"
    )


def classified(sent: DataFrame, deliveries: DataFrame, judgement: Judgement, passage: Passage) -> DataFrame:
    """Findings: the class of each message in doubt, from its deliveries and from how far query and group had come."""
    received = deliveries.groupBy("group", "topic", F.col("owner").alias("producer"), F.col("owned_seq").alias("seq"))
    copies = received.agg(
        F.expr("count(*) as copies"),
        F.expr("min(struct(partition, `offset`)) != max(struct(partition, `offset`)) as apart"),
    )
    return (
        sent.join(copies, list(MESSAGE), "left")
        .join(F.broadcast(judgement.ends), ["topic", "partition"], "left")
        .join(F.broadcast(judgement.read_out), ["group"], "left")
        .withColumn("class", F.expr(_class(passage, passed=judgement.passed)))
        .where("class is not null")
        .selectExpr(*FINDING)
    )


def _class(passage: Passage, *, passed: bool) -> str:
    """SQL for the class of a message; the branches are those of `delivery.through.through` and its Judge."""
    is_subset = passage.does == SUBSET
    return f"""
        case
            when error = '{UNSENT}' then null
            when error = '{FATE_UNKNOWN}' then if(copies > 0, '{UNREPORTED_RECEIVED}', '{UNREPORTED}')
            when error is not null then if(copies > 0, 'unacked_received', null)
            when fate = {ABORTED} then if(copies > 0, 'aborted_received', null)
            when {"expected = false" if is_subset else "false"} then if(copies > 0, '{UNEXPECTED}', null)
            when apart then '{DUPLICATED}'
            when copies > 1 then 'duplicate_consumer'
            when copies = 1 then 'delivered_once'
            when fate = {UNDECIDED} then 'unknown'
            when {"expected is null" if is_subset else "false"} then '{UNTOLD}'
            when partition is null or `offset` is null
                then if(read_out and {"true" if passed else "false"}, 'lost', 'unknown')
            when start is null or position is null or `end` is null then 'unknown'
            when `offset` < start then 'expired'
            when `offset` >= position and `offset` < `end` then 'undelivered'
            else if(read_out, 'lost', 'unknown')
        end"""


def split(classes: DataFrame, stood: DataFrame) -> DataFrame:
    """Findings: messages at several places of the sink once more, by whether they stood twice in the source."""
    names = [name.strip("`") for name in FINDING[1:]]
    return (
        classes.where(f"class = '{DUPLICATED}'")
        .join(stood, _STAMP)
        .select(F.expr(f"if(stands > 1, '{AT_SOURCE}', '{BY_PIPELINE}') as class"), *names)
    )


def _once(deliveries: DataFrame, doubted: DataFrame) -> DataFrame:
    """One sound delivery of each message: without the others, which are all among the `doubted`."""
    turn = f"row_number() over (partition by {', '.join(MESSAGE)} order by partition, `offset`, {audit.FIRST}) as turn"
    others = doubted.selectExpr("*", turn).where("turn > 1").selectExpr(*DELIVERY)
    return deliveries.where("sound").join(others, [name.strip("`") for name in DELIVERY], "leftanti")


def reordered(once: DataFrame, messages: DataFrame) -> DataFrame:
    """Findings: deliveries whose sequence is below one at a smaller offset of the same partitions and producer."""
    placed = messages.where("partition is not null").selectExpr(*_STAMP, "partition as source_partition")
    lane = "partition by group, topic, source_partition, partition, producer order by `offset`, seq"
    return (
        once.join(placed, _STAMP)
        .selectExpr("*", f"max(seq) over ({lane} {EARLIER}) as highest")
        .where("seq < highest")
        .selectExpr("'reordered' as class", *OF_DELIVERY, MEASURED)
    )


def judgement(
    spark: SparkSession, marks: Sequence[Lag], passage: Passage, groups: Sequence[int], dead: Dead | None
) -> Judgement:
    """How far the query and the groups had come, by the rows of `lag`."""
    at_source = query_ends(marks, passage.query)
    at_sink = ends((row for row in marks if row.group in groups and row.topic == passage.sink), dead)
    read_out = [all_read_out(at_sink, dead or NOBODY_DIED, group, passage.sink) for group in groups]
    mine = {lane: end for lane, end in at_source.items() if lane[1] == passage.source}
    return Judgement(
        spark.createDataFrame(_ends_table(mine)),
        spark.createDataFrame(pa.table({"group": list(groups), "read_out": read_out}, _READ_OUT)),
        bool(mine) and all(end.read_out for end in mine.values()),
    )


def _ends_table(found: Mapping[Lane, End]) -> pa.Table:
    columns: dict[str, list[int | None]] = {
        "topic": [lane[1] for lane in found],
        "partition": [lane[2] for lane in found],
        **{name: [getattr(end, name) for end in found.values()] for name in End._fields},
    }
    return pa.table(columns, _ENDS)


def problems(classes: DataFrame) -> DataFrame:
    """The findings as `problems` shows them: every message once, by the class that it is counted in."""
    return classes.where(~F.col("class").isin(*_SPLIT)).withColumn(
        "class", F.expr(f"if(class = '{UNTOLD}', 'unknown', class)")
    )


def told(found: Found) -> dict[tuple[int, str], dict[str, int]]:
    """The counts with what nobody told among the unknown."""
    folded: dict[tuple[int, str], dict[str, int]] = {}
    for (group, name), counts in found.items():
        key = (group, "unknown" if name == UNTOLD else name)
        known = folded.setdefault(key, {"all": 0, "measured": 0})
        folded[key] = {each: known[each] + counts[each] for each in known}
    return folded


def rows(
    passage: Passage | None, groups: Iterable[int], found: Found, acked: Mapping[str, int], dropped: Any, *, stood: bool
) -> list[Row]:
    """Rows of `through`: for each scope and group; none without a pipeline.

    `acked` are the messages that were acknowledged and not aborted, by scope; `stood` says whether the source was read.
    """
    if passage is None:
        return []
    out = []
    for scope, name in (("run", "all"), ("measure", "measured")):
        for group in groups:
            mine = {each: counts[name] for (at, each), counts in found.items() if at == group}
            is_told = passage.does != AGGREGATE
            out.append(
                {
                    "scope": scope,
                    "group": group,
                    "expected": None if not is_told or dropped is None else acked[scope] - dropped[scope],
                    "dropped": None if dropped is None else dropped[scope],
                    "unexpected": None if dropped is None else mine.get(UNEXPECTED, 0),
                    **{each: mine.get(each, 0) if stood and is_told else None for each in _SPLIT},
                }
            )
    return out


_ENDS: Final = pa.schema(
    [
        ("topic", pa.int32()), ("partition", pa.int32()), ("start", pa.int64()), ("position", pa.int64()),
        ("end", pa.int64()),
    ]
)  # fmt: skip
_READ_OUT: Final = pa.schema([("group", pa.int32()), ("read_out", pa.bool_())])
LOSS: Final = (
    *MESSAGE_CLASSES, "reordered", "corrupt", "unacked_received", "aborted_received", "fate_unknown_received", "unread",
)  # fmt: skip
"""Counts of `delivery` that nobody can tell where an output stands for several messages."""
