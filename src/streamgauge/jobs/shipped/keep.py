"""`filter`: keeps the lines that contain a text."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamgauge.jobs.shipped.pass_through import carried


def keep(messages: DataFrame, options: Mapping[str, Any]) -> DataFrame:
    """The messages whose value contains the text `contains`, in UTF-8, each as it came."""
    text = F.lit(str(options["contains"]).encode())
    return messages.where(F.contains(F.col("value"), text)).select(carried(messages))
