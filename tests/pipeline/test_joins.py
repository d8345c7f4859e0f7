"""Joins with a few rows by a hash give what joins by the columns themselves give."""

from collections import Counter
from random import Random

import pytest
from pyspark.sql import SparkSession

from streamgauge.pipeline.spark import joins
from streamgauge.pipeline.spark.joins import few

pytestmark = pytest.mark.spark

KEY = ("one", "two")


@pytest.mark.parametrize("collide", [False, True], ids=["hashes differ", "all hashes are the same"])
@pytest.mark.parametrize("how", ["inner", "left", "leftsemi"])
def test_rows_are_joined_by_their_key(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, how: str, *, collide: bool
) -> None:
    """Keys are integers of both sizes, and some are null, which is no key."""
    if collide:
        monkeypatch.setattr(joins, "hash_of", lambda _: "7L")
    random = Random(5)
    numbers = (None, 0, 1, 2, -1, -(1 << 31), (1 << 31) - 1)
    rows = [(random.choice(numbers), random.choice(numbers), at) for at in range(500)]
    wanted = [(one, two, f"{one} {two}") for one in numbers[:5] for two in numbers[2:]]
    left = spark.createDataFrame(rows, "one int, two long, at int")
    right = spark.createDataFrame(wanted, "one long, two int, said string")

    joined = few(left, right, KEY, how)

    expected = left.join(right, [*KEY], how)
    assert joined.columns == ["one", "two", "at"] + (["said"] if how != "leftsemi" else [])
    assert Counter(map(tuple, joined.collect())) == Counter(map(tuple, expected.select(*joined.columns).collect()))
