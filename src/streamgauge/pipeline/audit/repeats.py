"""What is found in a run that only receives: without messages to compare with, offsets alone tell."""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.pipeline.audit import audit
from streamgauge.pipeline.audit.audit import DELIVERY, FIRST, MEASURED, OF_DELIVERY, Keep
from streamgauge.pipeline.audit.through import Findings


def repeated(deliveries: DataFrame, keep: Keep, *, all_sound: bool) -> Findings:
    """What is found in a run that only receives."""
    again = repeats(deliveries, keep)
    found = [again.classes, *([] if all_sound else [corrupt(deliveries)])]
    return Findings(keep(reduce(DataFrame.union, found)), again.untimed, None)


def repeats(deliveries: DataFrame, keep: Keep) -> audit.Findings:
    """What is found in a run that only receives: each offset that a group received again, measured by its first
    delivery; the others are not timed.

    Without messages to compare with, the offset alone identifies what was received.
    """
    key = ["group", "topic", "partition"]
    words = deliveries.selectExpr(*key, "`offset`", "shiftright(`offset`, 6) as word").groupBy(*key, "word")
    doubtful = words.agg(
        F.expr("count(*) as copies"), F.expr("bit_or(shiftleft(1L, cast(`offset` & 63 as int))) as got")
    ).where("copies != bit_count(got)")
    rows = deliveries.withColumn("word", F.expr("shiftright(`offset`, 6)"))
    rows = rows.join(keep(doubtful.select(*key, "word")), [*key, "word"], "leftsemi")
    turns = rows.selectExpr(
        "*",
        f"row_number() over (partition by group, topic, partition, `offset` order by {FIRST}) as turn",
        "count(*) over (partition by group, topic, partition, `offset`) as copies",
    )
    again = turns.where("turn = 1 and copies > 1")
    return audit.Findings(
        again.selectExpr("'duplicate_consumer' as class", *OF_DELIVERY, MEASURED),
        turns.where("turn > 1").selectExpr(*DELIVERY),
    )


def corrupt(deliveries: DataFrame) -> DataFrame:
    """Findings of a run that only receives: deliveries whose checksum differs."""
    return deliveries.where("intact = false").selectExpr("'corrupt' as class", *OF_DELIVERY, MEASURED)
