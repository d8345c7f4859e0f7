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
BY_BITS = 2
NOT_KNOWN = "cast(null as bigint)"
NOTHING_ADDED = "0L"
METRIC_NUMBERS: Mapping[str, int] = {name: number for number, name in enumerate(METRICS)}


class By(IntEnum):
    """What a count belongs to, which `at` says: the tick of a window, a part or a width of the measure phase."""

    TICK = 0
    PART = 1
    WIDTH = 2


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
        key = _key(metric, By.WIDTH, f"{metric}_width_class")
        yield f"if({is_measured} and {metric}_part is not null, {key}, null)"


def _key(metric: str, by: By, at: str) -> str:
    return f"({_head(metric, by)}L << {AT_BITS} | {at}) << {BUCKET_BITS} | {metric}_bucket"


def _head(metric: str, by: By) -> int:
    """What keys of a metric begin with."""
    return METRIC_NUMBERS[metric] << BY_BITS | by


def packed(metric: str, by: By, at: Int64s, buckets: Int64s) -> Int64s:
    """The keys that `histogram` would give to values of one metric, in numpy."""
    return ((_head(metric, by) << AT_BITS) + at << BUCKET_BITS) + buckets + 1


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
        tables = [table for table in given if table is not None]
        pieces = Buckets.merged(_column(tables, "key"), _column(tables, "count"))
        head = pieces.index >> (BUCKET_BITS + AT_BITS)
        return cls(
            metric=head >> BY_BITS,
            by=head & (1 << BY_BITS) - 1,
            at=pieces.index >> BUCKET_BITS & (1 << AT_BITS) - 1,
            bucket=(pieces.index & (1 << BUCKET_BITS) - 1) - 1,
            count=pieces.count,
        )

    def where(self, chosen: Any) -> "Counts":
        """The counts that a slice or a mask chooses."""
        return Counts(self.metric[chosen], self.by[chosen], self.at[chosen], self.bucket[chosen], self.count[chosen])

    def metric_by(self, metric: str, by: By) -> "Counts":
        """The counts of one metric, by window or by part."""
        wanted = _head(metric, by)
        packed = self.metric << BY_BITS | self.by
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


def widths_of(counts: Counts, exact: Collection[str]) -> dict[str, Widths]:
    """Of each metric the messages of the measure phase, by how long they took and how wide they are.

    To the `exact` ones the instrument adds nothing.
    """
    found = {}
    for name in METRIC_NUMBERS:
        if name in exact:
            parts = counts.metric_by(name, By.PART).buckets()
            found[name] = Widths(parts.index, np.zeros_like(parts.index), parts.count)
        else:
            wide = counts.metric_by(name, By.WIDTH)
            found[name] = Widths(wide.bucket, wide.at, wide.count)
    return found


def _column(tables: Sequence[pa.Table], name: str) -> NDArray[np.int64]:
    columns = [numbers(table, name) for table in tables]
    return np.concatenate(columns) if columns else np.zeros(0, np.int64)
