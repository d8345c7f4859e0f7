"""`pass`: bytes through."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from streamgauge.jobs.schema import HEADERS


def pass_through(messages: DataFrame, _options: Mapping[str, Any]) -> DataFrame:
    """Every message as it came, into the partition of the number that it came from."""
    return messages.select(carried(messages))


def carried(messages: DataFrame) -> list[str]:
    """The columns of a message that is passed on as it is."""
    return ["key", "value", *([HEADERS] if HEADERS in messages.columns else []), "partition"]
