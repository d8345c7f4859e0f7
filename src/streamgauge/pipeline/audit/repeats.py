"""What is found in a run that only receives: without messages to compare with, offsets alone tell."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.pipeline.audit.audit import FIRST, OF_DELIVERY, Findings, numbered, together
from streamgauge.pipeline.audit.words import MEASURED, Keep, bit, word
from streamgauge.pipeline.columns import DELIVERY, LANE, OFFSET, WORD
from streamgauge.pipeline.spark.joins import few


def repeated(deliveries: DataFrame, keep: Keep, *, all_sound: bool) -> Findings:
    """What is found in a run that only receives."""
    again = repeats(deliveries, keep)
    found = [again.classes, *([] if all_sound else [corrupt(deliveries)])]
    return Findings(keep(together(found)), again.untimed)


def repeats(deliveries: DataFrame, keep: Keep) -> Findings:
    """Each offset that a group received again, measured by its first delivery; the others are not timed.

    Without messages to compare with, the offset alone identifies what was received.
    """
    in_word = f"{word(OFFSET)} as {WORD}"
    doubtful = (
        deliveries.selectExpr(*LANE, OFFSET, in_word)
        .groupBy(*LANE, WORD)
        .agg(F.expr("count(*) as copies"), F.expr(f"bit_or({bit(OFFSET)}) as got"))
        .where("copies != bit_count(got)")
    )
    rows = few(deliveries.selectExpr("*", in_word), keep(doubtful.select(*LANE, WORD)), (*LANE, WORD), "leftsemi")
    place = ", ".join((*LANE, OFFSET))
    ranked = numbered(rows, (*LANE, OFFSET), FIRST).selectExpr("*", f"count(*) over (partition by {place}) as copies")
    again = ranked.where("turn = 1 and copies > 1")
    return Findings(
        again.selectExpr("'duplicate_consumer' as class", *OF_DELIVERY, MEASURED),
        ranked.where("turn > 1").select(*DELIVERY),
    )


def corrupt(deliveries: DataFrame) -> DataFrame:
    """Findings of a run that only receives: deliveries whose checksum differs."""
    return deliveries.where("intact = false").selectExpr("'corrupt' as class", *OF_DELIVERY, MEASURED)
