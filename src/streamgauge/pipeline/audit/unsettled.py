"""Messages of unknown fate, and whether every message that was claimed has its row.

A producer that dies leaves messages that it claimed and could not report. Their rows say no more than that; what is
known besides, their deliveries show: the stamp of each says when it was sent.
"""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.domain.events import FATE_UNKNOWN, UNSENT
from streamgauge.pipeline.audit.words import Keep, bit, word
from streamgauge.pipeline.columns import PRODUCER, SENT_NS, SEQ, STAMP, WORD
from streamgauge.pipeline.read.traits import RunTraits
from streamgauge.scenario.model.jobs import AGGREGATE

_IS_UNSETTLED: Final = f"error is not null and error = '{FATE_UNKNOWN}'"
_NEXT: Final = pa.schema([("producer", pa.int32()), ("next_seq", pa.int64())])


def is_shown(traits: RunTraits) -> bool:
    """Whether deliveries may show something: not where one stands for several messages."""
    return traits.unsettled and traits.consumes and (traits.piped is None or traits.piped.does != AGGREGATE)


def shown(sent: DataFrame, deliveries: DataFrame, keep: Keep, *, sized: bool) -> DataFrame:
    """The rows of `sent` of unknown fate with what their deliveries show: when they were sent and, if `sized`, their
    size, which is another where a pipeline changes the content. The Spark form of `delivery.audit.shown_by_stamps`.
    """
    rows = keep(sent.where(_IS_UNSETTLED))
    stamps = (
        deliveries.where("sound")
        .join(rows.select(*STAMP), [*STAMP], "leftsemi")
        .groupBy(*STAMP)
        .agg(F.expr("min(sent_ns) as shown_ns"), F.expr("min(size_bytes) as shown_bytes"))
    )
    known = {SENT_NS: "coalesce(sent_ns, shown_ns)"}
    if sized:
        known["size_bytes"] = "coalesce(size_bytes, shown_bytes)"
    columns = (f"{known.get(name, f'`{name}`')} as `{name}`" for name in sent.columns)
    return keep(rows.join(stamps, [*STAMP], "left").selectExpr(*columns))


def with_shown(sent: DataFrame, unsettled: DataFrame | None) -> DataFrame:
    """The rows of `sent`, with those that `shown` gave in place of their own; None changes nothing."""
    return sent if unsettled is None else sent.where(f"not ({_IS_UNSETTLED})").unionByName(unsettled)


def unaccounted(spark: SparkSession, sent: DataFrame, next_seqs: Mapping[int, int]) -> int:
    """How far the rows of `sent` are from one for each sequence that was claimed: `delivery.audit.unaccounted`.

    Sequences are folded into words of 64, as in the audit.
    """
    words = sent.groupBy(PRODUCER, F.expr(f"{word(SEQ)} as {WORD}")).agg(
        F.expr("count(*) as rows"),
        F.expr(f"bit_or({bit(SEQ)}) as seen"),
        F.expr(f"bit_or(if(error is not null and error = '{UNSENT}', 0L, {bit(SEQ)})) as taken"),
    )
    producers, limits = list(next_seqs), list(next_seqs.values())
    known = spark.createDataFrame(pa.table({"producer": producers, "next_seq": limits}, _NEXT))
    limit = "coalesce(next_seq, 0L)"
    # The bits of the word whose sequences lie below the limit.
    below = f"""case when {WORD} < {word(limit)} then -1L
        when {WORD} > {word(limit)} or {limit} & 63 = 0 then 0L
        else shiftrightunsigned(-1L, cast(64 - ({limit} & 63) as int)) end"""
    (found,) = (
        words.join(F.broadcast(known), PRODUCER, "left")
        .selectExpr("rows", "seen", "taken", f"{below} as below")
        .agg(
            F.expr("coalesce(sum(bit_count(seen & below)), 0) as below"),
            F.expr("coalesce(sum(rows - bit_count(seen)), 0) as again"),
            F.expr("coalesce(sum(bit_count(taken & ~below)), 0) as beyond"),
        )
        .collect()
    )
    return sum(limits) - int(found["below"]) + int(found["again"]) + int(found["beyond"])
