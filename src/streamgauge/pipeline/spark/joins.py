"""Joins of many rows with a few."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

_HASH = "join_hash"


def few(rows: DataFrame, wanted: DataFrame, key: Sequence[str], how: str = "inner") -> DataFrame:
    """The join of `rows` with `wanted`, of which there are few, by the columns `key`, which hold integers.

    Spark finds a single number several times faster than a row of numbers. So a hash of the key is looked up, and only
    what is found is compared. The columns are those of `rows`, then, unless it is a semi-join, the others of `wanted`.
    """
    of_key = f"{hash_of(key)} as {_HASH}"
    theirs = {name: f"wanted_{name}" for name in key}
    hashed = wanted.selectExpr(*(f"{name} as {theirs.get(name, name)}" for name in wanted.columns), of_key)
    # By exclusive or: Spark would look up what it recognises as an equality.
    same = " and ".join(f"({name} ^ {their}) = 0" for name, their in theirs.items())
    mine = rows.selectExpr("*", of_key).alias("mine")
    joined = mine.join(hashed.alias("few"), F.expr(f"mine.{_HASH} = few.{_HASH} and {same}"), how)
    others = () if how == "leftsemi" else (name for name in wanted.columns if name not in theirs)
    return joined.select(*rows.columns, *others)


def hash_of(key: Sequence[str]) -> str:
    """SQL for the hash of some integers, of whichever size; different ones may have the same."""
    return f"xxhash64({', '.join(f'cast({name} as bigint)' for name in key)})"
