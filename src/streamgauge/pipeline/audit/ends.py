"""How far partitions were read, as frames: what `delivery.ends` says, in the form that the audit can join."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.ends import Dead, LostBlock, Reached, members, starts
from streamgauge.delivery.rows import Lag, Lane
from streamgauge.pipeline.columns import CONSUMER, LANE


@dataclass(frozen=True, slots=True)
class Judgement:
    """How far each group had come, as two small frames."""

    ends: DataFrame
    """By group, topic and partition: log start, position, log end, and blocks that may be lost."""
    topics: DataFrame
    """By group and topic: whether all of it was read, and whether all that a query passed on was."""


def judgement(spark: SparkSession, found: Reached) -> Judgement:
    """How far each group had come, as frames that `classified` can join."""
    lanes = list(found.ends)
    by_lane = {
        **{name: [lane[place] for lane in lanes] for place, name in enumerate(LANE)},
        **{name: [getattr(found.ends[lane], name) for lane in lanes] for name in ("start", "position", "end")},
        "blocks": [[block._asdict() for block in found.blocks.get(lane, ())] for lane in lanes],
    }
    topics = sorted({lane[:2] for lane in lanes if lane[0] in found.sink_read})
    by_topic = {
        "group": [group for group, _ in topics],
        "topic": [topic for _, topic in topics],
        "all_read_out": [found.read_out(group, topic) for group, topic in topics],
        "sink_read": [found.sink_read[group] for group, _ in topics],
    }
    return Judgement(
        spark.createDataFrame(pa.table(by_lane, _ENDS)), spark.createDataFrame(pa.table(by_topic, _TOPICS))
    )


def remains(spark: SparkSession, deliveries: DataFrame, lag: Sequence[Lag], dead: frozenset[int]) -> Dead:
    """What the consumers in `dead` leave behind: `delivery.ends.remains` for every group at once."""
    reached = deliveries.groupBy(*LANE, CONSUMER).agg(F.expr("max(offset) as highest")).collect()
    highest: dict[Lane, int] = {}
    by_consumer: dict[Lane, dict[int, int]] = {(row.group, row.topic, row.partition): {} for row in lag}
    for group, topic, partition, consumer, offset in reached:
        highest[group, topic, partition] = max(offset, highest.get((group, topic, partition), offset))
        by_consumer.setdefault((group, topic, partition), {})[consumer] = offset
    begun = starts(lag)
    of_group = members(dead, {lane[0] for lane in by_consumer}, {(row.group, row.consumer) for row in reached})
    above = [
        (*lane, consumer, by.get(consumer, begun.get(lane, 0) - 1))
        for lane, by in by_consumer.items()
        for consumer in sorted(of_group[lane[0]])
    ]
    columns = dict(zip(_ABOVE.names, map(list, zip(*above, strict=True)), strict=True)) if above else {}
    edges = spark.createDataFrame(pa.table(columns or {name: [] for name in _ABOVE.names}, _ABOVE))
    below = (
        deliveries.join(F.broadcast(edges), [*LANE])
        .where("offset > above")
        .groupBy(*LANE, "dead")
        .agg(F.expr("min(offset) as below"))
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
_TOPICS = pa.schema(
    [("group", pa.int32()), ("topic", pa.int32()), ("all_read_out", pa.bool_()), ("sink_read", pa.bool_())]
)
