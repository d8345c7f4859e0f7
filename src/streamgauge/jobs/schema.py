"""What a job is given, and the parts of it that SQL reads out of a stamp. Said once, for our jobs and for users'.

A job is a function `(DataFrame, options) -> DataFrame`; a user's function takes the DataFrame alone. It is given:

| column | type | what it is |
|---|---|---|
| `key` | binary | key of the message; null without one |
| `value` | binary | value of the message, the stamp at its head where stamps travel in values |
| `headers` | array of struct(key string, value binary) | only where stamps travel in headers |
| `topic`, `partition`, `offset` | string, int, bigint | where the message stands |
| `timestamp` | timestamp | event time: the time of the message in Kafka |
| `stamp` | binary | the 40 bytes that say which message it is; null for a message that has none |

`stamp` costs nothing where a job does not use it. What a job may give back stands in `sink`.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamgauge.domain import stamp
from streamgauge.domain.clock import NS_PER_MS

STAMP: Final = "stamp"
HEADERS: Final = "headers"
_NS_PER_US: Final = NS_PER_MS // 1000

_MAGIC: Final = stamp.MAGIC.to_bytes(2, "little") + bytes([stamp.VERSION])
"""How every stamp begins."""


def given(source: DataFrame, *, in_headers: bool) -> DataFrame:
    """What a job is given, from a frame of Spark's Kafka source."""
    headers = [HEADERS] if in_headers else []
    named = source.select("key", "value", *headers, "topic", "partition", "offset", "timestamp")
    return named.withColumn(STAMP, stamp_of(in_headers=in_headers))


def stamp_of(*, in_headers: bool) -> Column:
    """The stamp of a message, from its `headers` or from its `value`; null where there is none."""
    head = _from_headers() if in_headers else F.substring("value", 1, stamp.SIZE)
    is_stamp = (F.length(head) == stamp.SIZE) & (F.substring(head, 1, len(_MAGIC)) == F.lit(_MAGIC))
    return F.when(is_stamp, head)


def _from_headers() -> Column:
    ours = F.filter(HEADERS, lambda header: header["key"] == stamp.HEADER_KEY)
    return F.get(ours, F.lit(0))["value"]


def body(frame: DataFrame) -> Column:
    """The value of a message without the stamp that may stand at its head; empty where it is null."""
    value = F.coalesce("value", F.lit(b""))
    if HEADERS in frame.columns:
        return value
    return F.when(F.col(STAMP).isNull(), value).otherwise(F.substring(value, stamp.SIZE + 1, 2**31 - 1))


def newness() -> Column:
    """What orders stamps by their due times, or by their sent times where the load has no schedule: 8 bytes.

    Big endian, so that they compare as bytes as they do as numbers; no time of ours is below zero.
    """
    scheduled = F.substring(STAMP, _place("flags"), 1) != F.lit(bytes([stamp.NO_SCHEDULE]))
    return F.when(scheduled, _reversed("due_ns")).otherwise(_reversed("sent_ns"))


def newest_stamp() -> Column:
    """The stamp of the newest message of a group; null where none has a stamp."""
    # Ordered by its bytes where times are equal, so that the answer is always the same.
    each = F.when(F.col(STAMP).isNotNull(), F.struct(newness().alias("newness"), STAMP))
    return F.max(each)[STAMP]


def origin() -> Column:
    """Which message it is, whatever carries it: run, producer and sequence of its stamp, or its place in the topic."""
    who = F.substring(STAMP, _place("tag"), 8)
    which = F.substring(STAMP, _place("seq"), 8)
    place = F.concat_ws(":", "topic", "partition", "offset").cast("binary")
    return F.coalesce(F.concat(who, which), place)


def interval(ns: int) -> str:
    """A duration as Spark reads it."""
    return f"{ns // _NS_PER_US} microseconds"


def _place(field: str) -> int:
    """Where a field of the stamp begins, as SQL counts."""
    return int(stamp.STAMP.fields[field][1]) + 1 if stamp.STAMP.fields else 0


def _reversed(field: str) -> Column:
    """The eight bytes of a field from the last to the first."""
    first = _place(field)
    return F.concat(*[F.substring(STAMP, at, 1) for at in range(first + 7, first - 1, -1)])
