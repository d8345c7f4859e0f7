"""`log-alert`: access log lines to the share of errors in a window, where it is too large."""

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamgauge.jobs.schema import STAMP, body, interval, newest_stamp
from streamgauge.jobs.shipped.count import edges

STATUS: Final = r'" ([1-5][0-9]{2}) '
"""What stands around the status in a line of an access log; a line that is cut before it does not count."""


def log_alert(messages: DataFrame, options: Mapping[str, Any]) -> DataFrame:
    """One message for each window that is over and had a larger share of errors (5xx) than `share`.

    JSON: begin and end of the window, lines, errors, their share. A value may hold several lines.
    """
    statuses = F.regexp_extract_all(F.decode(body(messages), "ISO-8859-1"), F.lit(STATUS), F.lit(1))
    read = messages.withWatermark("timestamp", interval(options["watermark"])).select(
        "timestamp", STAMP, statuses.alias("statuses")
    )
    lines = F.sum(F.size("statuses")).alias("lines")
    errors = F.sum(F.size(F.filter("statuses", lambda status: status.startswith("5")))).alias("errors")
    summed = read.groupBy(F.window("timestamp", interval(options["window"]))).agg(
        lines, errors, newest_stamp().alias(STAMP)
    )
    share = (F.col("errors") / F.nullif("lines", F.lit(0))).alias("share")
    alerts = summed.withColumn("share", share).where(F.col("share") > options["share"])
    return alerts.select(F.to_json(F.struct(*edges(), "lines", "errors", "share")).alias("value"), STAMP)
