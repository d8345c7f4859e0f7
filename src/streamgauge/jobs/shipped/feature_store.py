"""`feature-store`: windowed aggregates of each key, into a table."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamgauge.jobs.schema import STAMP, interval, newest_stamp


def feature_store(messages: DataFrame, options: Mapping[str, Any]) -> DataFrame:
    """One row for each key and window that is over: count, sum and mean of value sizes, first and last event time."""
    size = F.coalesce(F.length("value"), F.lit(0))
    grouped = messages.withWatermark("timestamp", interval(options["watermark"])).groupBy(
        F.window("timestamp", interval(options["window"])), "key"
    )
    features = grouped.agg(
        F.count("*").alias("messages"),
        F.sum(size).alias("size_sum"),
        F.mean(size).alias("size_mean"),
        F.min("timestamp").alias("first_at"),
        F.max("timestamp").alias("last_at"),
        newest_stamp().alias(STAMP),
    )
    edges = [F.col("window.start").alias("window_from"), F.col("window.end").alias("window_to")]
    return features.select("key", *edges, "messages", "size_sum", "size_mean", "first_at", "last_at", STAMP)
