"""`dedup`: drops messages that came before."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from streamgauge.jobs.schema import interval, origin
from streamgauge.jobs.shipped.pass_through import carried


def dedup(messages: DataFrame, options: Mapping[str, Any]) -> DataFrame:
    """Each message once, as it came first, by its stamp; messages without a stamp all come out."""
    watched = messages.withWatermark("timestamp", interval(options["watermark"])).withColumn("origin", origin())
    return watched.dropDuplicatesWithinWatermark(["origin"]).select(carried(messages))
