"""What groups did that no class of a message tells: the Spark form of `delivery.log`, without what needs the log."""

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.log import EARLY, SEEN_ELSEWHERE, UNSEEN, WENT_BACK
from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.events import ABORTED
from streamgauge.pipeline.audit.transactions import outcomes
from streamgauge.pipeline.audit.words import EARLIER, MEASURED, Keep, sound_of_words, word
from streamgauge.pipeline.columns import (
    CONSUMER,
    DOUBTED,
    DUE_NS,
    FINDING,
    GROUP,
    LANE,
    MESSAGE,
    OFFSET,
    PARTITION,
    PRODUCER,
    RECEIVED_NS,
    SELECTED,
    SENT_NS,
    SEQ,
    STAMP,
    TOPIC,
    WORD,
)
from streamgauge.pipeline.read.silver import tick
from streamgauge.pipeline.spark.joins import few

_ENDINGS = pa.schema([("producer", pa.int32()), ("transaction", pa.int32()), ("ending_ns", pa.int64())])


def endings(spark: SparkSession, rows: pa.Table) -> DataFrame | None:
    """When the end of each transaction that was not aborted was asked for; None where no row says it."""
    said = rows.filter(pc.is_valid(rows.column("ending_ns")))
    if not said.num_rows:
        return None
    key = ["producer", "transaction"]
    last = said.group_by(key).aggregate([("ending_ns", "max")]).join(outcomes(said), key)
    last = last.filter(pc.not_equal(last.column("outcome"), ABORTED))
    columns = [last.column(name) for name in (*key, "ending_ns_max")]
    return spark.createDataFrame(pa.Table.from_arrays(columns, schema=_ENDINGS))


def seen_elsewhere(classes: DataFrame, deliveries: DataFrame, keep: Keep) -> DataFrame:
    """Findings: messages that are lost to a group, and were received all the same: by another one."""
    lost = keep(classes.where("class = 'lost'"))
    seen = few(deliveries.where("sound"), lost.select(*STAMP).distinct(), STAMP, "leftsemi").select(*STAMP)
    return lost.join(seen, [*STAMP], "leftsemi").withColumn("class", F.lit(SEEN_ELSEWHERE)).select(*FINDING)


def went_back(deliveries: DataFrame, measure: MeasureSpan) -> DataFrame:
    """Findings: polls that brought a partition from an offset that the same consumer had passed before."""
    polls = deliveries.groupBy(*LANE, CONSUMER, "poll").agg(
        F.expr("min(offset) as low"),
        F.expr("max(offset) as high"),
        F.expr(f"min({RECEIVED_NS}) as began_ns"),
    )
    order = f"partition by {', '.join((*LANE, CONSUMER))} order by poll {EARLIER}"
    return (
        polls.selectExpr("*", f"max(high) over ({order}) as passed")
        .where("low <= passed")
        .withColumn(SELECTED, F.expr(tick("began_ns", measure)))
        .selectExpr(
            f"'{WENT_BACK}' as class", GROUP, TOPIC, "cast(null as int) as producer", "cast(null as bigint) as seq",
            PARTITION, "low as offset", "cast(null as bigint) as due_ns", "cast(null as bigint) as sent_ns",
            "cast(null as string) as error", MEASURED,
        )
        .select(*FINDING)
    )  # fmt: skip


def committed_unseen(classes: DataFrame, messages: DataFrame) -> DataFrame:
    """Findings: messages of committed transactions that are lost to a group, or that it did not come to."""
    missing = classes.where("class in ('lost', 'undelivered')")
    found = missing.join(messages.where("transaction is not null").select(*STAMP), [*STAMP], "leftsemi")
    return found.withColumn("class", F.lit(UNSEEN)).select(*FINDING)


def received_early(messages: DataFrame, deliveries: DataFrame, ended: DataFrame, keep: Keep) -> DataFrame:
    """Findings: messages of transactions that were not aborted, received before their producer asked for the end.

    `ended` says when it did. Words of which the first message came after the last end was asked for are not looked at.
    """
    in_word = f"{word(SEQ)} as {WORD}"
    ending = messages.where("transaction is not null").join(F.broadcast(ended), [PRODUCER, "transaction"])
    last = ending.groupBy(TOPIC, PRODUCER, F.expr(in_word)).agg(F.expr("max(ending_ns) as last"))
    sound = deliveries.where("sound")
    came = sound.groupBy(GROUP, TOPIC, PRODUCER, F.expr(in_word)).agg(F.expr("min(received_ns) as came"))
    words = keep(came.join(last, [TOPIC, PRODUCER, WORD]).where("came < last").select(*DOUBTED))
    first = sound_of_words(deliveries, words).groupBy(*MESSAGE).agg(F.expr("min(received_ns) as came"))
    return (
        first.join(ending, [*STAMP])
        .where("came < ending_ns")
        .selectExpr(
            f"'{EARLY}' as class", *MESSAGE, PARTITION, OFFSET, DUE_NS, SENT_NS, "cast(null as string) as error",
            MEASURED,
        )
        .select(*FINDING)
    )  # fmt: skip
