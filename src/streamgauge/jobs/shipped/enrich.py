"""`enrich`: joins each message with a table, by its key."""

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamgauge.jobs.schema import HEADERS, STAMP, body

REGIONS: Final = 7
UNKNOWN: Final = " region=none"
"""What is added where the table does not know the key."""


def enrich(messages: DataFrame, options: Mapping[str, Any]) -> DataFrame:
    """Every message with what the table knows of its key after the value: ` region=<key mod 7>`, or ` region=none`.

    The table has the keys `0` up to `rows`. A stamp at the head of the value becomes a header.
    """
    found = F.coalesce(F.col("region"), F.lit(UNKNOWN).cast("binary"))
    changed = F.concat(body(messages), found).alias("value")
    carrier = HEADERS if HEADERS in messages.columns else STAMP
    joined = messages.join(F.broadcast(_table(messages, options["rows"])), F.col("key") == F.col("known"), "left")
    return joined.select("key", changed, carrier, "partition")


def _table(messages: DataFrame, rows: int) -> DataFrame:
    """Keys and their regions, both as bytes."""
    region = F.concat(F.lit(" region="), (F.col("id") % REGIONS).cast("string"))
    return messages.sparkSession.range(rows, numPartitions=1).select(
        F.col("id").cast("string").cast("binary").alias("known"), region.cast("binary").alias("region")
    )
