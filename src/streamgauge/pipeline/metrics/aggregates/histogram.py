"""Histograms of latencies: values of many metrics, counted by bucket in every window and in every partition.

All that identifies a count is packed into one integer, which Spark groups by faster than by five columns. The counts
are few; they are unpacked and merged in numpy. Messages of the measure phase are counted once more by how wide they
are: how much the instrument may have added (`pipeline.metrics.aggregates.bounds`). That is not told by partition:
buckets, widths and partitions together make so many different keys that few messages share one. Nor is it told of
values to which the instrument adds nothing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.latency.percentiles import Buckets
from streamgauge.domain.tables.latency import METRICS
from streamgauge.pipeline.columns import SELECTED
from streamgauge.pipeline.metrics.aggregates.bounds import Widths
from streamgauge.pipeline.metrics.aggregates.buckets import (
    bucket,
    exponent,
    microseconds,
    width_class,
    width_exponent,
)
from streamgauge.pipeline.read.rows import numbers

BUCKET_BITS = 14
AT_BITS = 36
WIDTH_BITS = 7
NOT_KNOWN = "cast(null as bigint)"
NOTHING_ADDED = "0L"
_OF_WIDTHS = (1 << AT_BITS) - 1
"""The part of all messages of the measure phase that are in some part, counted by their widths. A third `By` would take
a bit, and the key has none to spare."""
METRIC_NUMBERS: Mapping[str, int] = {name: number for number, name in enumerate(METRICS)}


class By(IntEnum):
    """What a count belongs to: a window (`at` is its tick), or a part of the measure phase (`at` says which)."""

    TICK = 0
    PART = 1


@dataclass(frozen=True, slots=True)
class Value:
    """One value to be counted: SQL for it, and for the integer that says which part of the measure phase it is in."""

    sql: str
    part: str
    tick: str = SELECTED
    """The column whose tick says in which window it is counted."""
    width: str = NOT_KNOWN
    """SQL for how much of it the instrument may have added, in ns."""

    @property
    def is_widened(self) -> bool:
        """Whether its messages differ in width."""
        return self.width not in {NOT_KNOWN, NOTHING_ADDED}


def histogram(rows: DataFrame, values: Mapping[str, Value]) -> DataFrame:
    """Columns `key` and `count`: how many values of each metric fall into each bucket.

    Each value is counted in the window of its tick, and once more in its part if it belongs to the measure phase; where
    widths are told, a third time by its width. Null values are not counted. All keys of a row are made side by side, in
    one array of integers: taking rows apart first by metric and then by key makes an object for each number.
    """
    widths = {f"{name}_width": value.width for name, value in values.items() if value.is_widened}
    given = [f"{value.sql} as {name}" for name, value in values.items()]
    given += [f"{value.part} as {name}_part" for name, value in values.items()]
    given += [f"{value.tick} as {name}_at" for name, value in values.items()]
    given += [f"{microseconds(width)} as {name}" for name, width in widths.items()]
    exponents = [f"{exponent(name)} as {name}_exponent" for name in values]
    exponents += [f"{width_exponent(name)} as {name}_exponent" for name in widths]
    indices = [f"{bucket(name, f'{name}_exponent')} + 1 as {name}_bucket" for name in values]
    indices += [f"{width_class(name, f'{name}_exponent')} as {name}_class" for name in widths]
    keys = [key for name, value in values.items() for key in _keys(name, value)]
    return (
        rows.selectExpr(*given)
        .selectExpr("*", *exponents)
        .selectExpr("*", *indices)
        .selectExpr(f"explode(array({', '.join(keys)})) as key")
        .where("key is not null")
        .groupBy("key")
        .count()
    )


def _keys(metric: str, value: Value) -> Iterator[str]:
    """SQL for each key of one value, null where it is not counted so."""
    is_measured = f"({metric}_at & 1L) = 1L"
    yield _key(metric, By.TICK, f"{metric}_at")
    yield f"if({is_measured}, {_key(metric, By.PART, f'{metric}_part')}, null)"
    if value.is_widened:
        key = _key(metric, By.PART, f"{_OF_WIDTHS}L", f"{metric}_width_class")
        yield f"if({is_measured} and {metric}_part is not null, {key}, null)"


def _key(metric: str, by: By, at: str, width: str = "0L") -> str:
    head = f"({_head(metric, by)}L << {AT_BITS} | {at})"
    return f"{head} << {BUCKET_BITS + WIDTH_BITS} | {metric}_bucket << {WIDTH_BITS} | {width}"


def _head(metric: str, by: By) -> int:
    """What keys of a metric begin with."""
    return METRIC_NUMBERS[metric] << 1 | by


def packed(metric: str, by: By, at: Int64s, buckets: Int64s) -> Int64s:
    """The keys that `histogram` would give to values of one metric, in numpy."""
    return ((_head(metric, by) << AT_BITS) + at << BUCKET_BITS) + buckets + 1 << WIDTH_BITS


@dataclass(frozen=True, slots=True)
class Counts:
    """A histogram unpacked: equally long columns, sorted by all but the count."""

    metric: Int64s
    by: Int64s
    at: Int64s
    bucket: Int64s
    count: Int64s

    @classmethod
    def of(cls, *given: pa.Table | None) -> "Counts":
        """Counts of what `histogram` gave, in any number of pieces, which are added up; None is nothing."""
        keys, counts = _columns(given)
        plain = keys >> (BUCKET_BITS + WIDTH_BITS) & (1 << AT_BITS) - 1 != _OF_WIDTHS
        pieces = Buckets.merged(keys[plain] >> WIDTH_BITS, counts[plain])
        key, count = pieces.index, pieces.count
        head = key >> (BUCKET_BITS + AT_BITS)
        return cls(
            metric=head >> 1,
            by=head & 1,
            at=key >> BUCKET_BITS & (1 << AT_BITS) - 1,
            bucket=(key & (1 << BUCKET_BITS) - 1) - 1,
            count=count,
        )

    def where(self, chosen: Any) -> "Counts":
        """The counts that a slice or a mask chooses."""
        return Counts(self.metric[chosen], self.by[chosen], self.at[chosen], self.bucket[chosen], self.count[chosen])

    def metric_by(self, metric: str, by: By) -> "Counts":
        """The counts of one metric, by window or by part."""
        wanted = _head(metric, by)
        packed = self.metric << 1 | self.by
        return self.where(slice(*np.searchsorted(packed, [wanted, wanted + 1])))

    def buckets(self) -> Buckets:
        """All counts merged."""
        return Buckets.merged(self.bucket, self.count)

    def split(self, shift: int = 0) -> Iterator[tuple[int, Buckets]]:
        """The merged buckets of each value of `at >> shift`."""
        at = self.at >> shift
        edges = np.concatenate([[0], np.flatnonzero(np.diff(at)) + 1, [len(at)]])
        for begin, end in pairwise(edges.tolist()):
            if end > begin:
                yield int(at[begin]), Buckets.merged(self.bucket[begin:end], self.count[begin:end])


@dataclass(frozen=True, slots=True)
class Histograms:
    """Counts of what was delivered, and of the ages of what never was."""

    delivered: Counts
    censored: Counts

    @property
    def both(self) -> tuple[Counts, Counts]:
        """One after the other."""
        return self.delivered, self.censored


def widths_of(given: Sequence[pa.Table | None], exact: Collection[str]) -> dict[str, Widths]:
    """Of each metric the messages of the measure phase, by how long they took and how wide they are.

    To the `exact` ones the instrument adds nothing.
    """
    keys, counts = _columns(given)
    heads = keys >> (BUCKET_BITS + WIDTH_BITS)
    found = {}
    for name in METRIC_NUMBERS:
        part = _head(name, By.PART)
        chosen = heads >> AT_BITS == part if name in exact else heads == (part << AT_BITS) + _OF_WIDTHS
        pieces = Buckets.merged(keys[chosen] & (1 << BUCKET_BITS + WIDTH_BITS) - 1, counts[chosen])
        bucket_and_width = pieces.index
        found[name] = Widths(
            bucket=(bucket_and_width >> WIDTH_BITS) - 1,
            width=bucket_and_width & (1 << WIDTH_BITS) - 1,
            count=pieces.count,
        )
    return found


def _columns(given: Sequence[pa.Table | None]) -> tuple[Int64s, Int64s]:
    tables = [table for table in given if table is not None]
    return _column(tables, "key"), _column(tables, "count")


def _column(tables: Sequence[pa.Table], name: str) -> NDArray[np.int64]:
    columns = [numbers(table, name) for table in tables]
    return np.concatenate(columns) if columns else np.zeros(0, np.int64)
