"""Reading Parquet files with Spark by their very names, where Spark would take some characters for a pattern."""

import re
from collections.abc import Sequence
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

_MEANS_MORE: Final = re.compile(r"[][{}?*\\]")
"""What makes a path a pattern for Spark."""
_NO_PATTERNS: Final = "__globPaths__"


def escaped(path: str) -> str:
    """The pattern that matches this path alone."""
    return _MEANS_MORE.sub(r"\\\g<0>", path)


def read_parquet(spark: SparkSession, schema: StructType, paths: Sequence[str]) -> DataFrame:
    """The rows of these files, of which there is at least one, each once."""
    if not any(_MEANS_MORE.search(path) and ":" in path for path in paths):
        return spark.read.schema(schema).parquet(*map(escaped, paths))
    # Hadoop takes a colon in a pattern for the end of a URI's scheme. With patterns switched off, Spark reads all files
    # again for each whose path looks like one, so they are read one by one.
    one_by_one = spark.read.option(_NO_PATTERNS, "false").schema(schema)
    return reduce(DataFrame.union, (one_by_one.parquet(path) for path in paths))
