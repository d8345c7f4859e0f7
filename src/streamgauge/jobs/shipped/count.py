"""`count`: counts by key in windows of event time."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamgauge.jobs.schema import STAMP, interval, newest_stamp


def count(messages: DataFrame, options: Mapping[str, Any]) -> DataFrame:
    """One message for each key and window that a batch changed: JSON with begin and end of the window, and the count.

    Counts are those so far (output mode update), so that what is counted last is told, too.
    """
    grouped = messages.withWatermark("timestamp", interval(options["watermark"])).groupBy(
        F.window("timestamp", interval(options["window"])), "key"
    )
    counted = grouped.agg(F.count("*").alias("count"), newest_stamp().alias(STAMP))
    return counted.select("key", F.to_json(F.struct(*edges(), "count")).alias("value"), STAMP)


def edges() -> list[Column]:
    """Begin and end of a window in ms since 1970."""
    return [
        F.unix_millis(F.col("window.start")).alias("from_ms"),
        F.unix_millis(F.col("window.end")).alias("to_ms"),
    ]
