"""Exact sums over messages and deliveries: counts, bytes, and the moments of every latency.

Each row is added up twice: in its windows (`place` is `NOWHERE`, ticks are whole), and in its partition (`place` says
which; of each tick only the bit that says whether it is measured is left). The sums are few; they are merged in numpy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.latency.percentiles import Moments

NOWHERE = -1
NO_MOMENTS = Moments(0, None, None, 0.0, 0.0)


def sums(
    rows: DataFrame,
    ticks: tuple[str, ...],
    labels: tuple[str, ...],
    totals: Mapping[str, str],
    values: Mapping[str, str],
) -> DataFrame:
    """One row for each combination of ticks, labels, and window or partition.

    `ticks` and `labels` are columns of `rows`, `totals` SQL aggregates by name, each a sum, a count, a minimum or a
    maximum; `values` are SQL for the values whose count, extremes, sum and sum of squares are wanted, as columns like
    `ack_service_count`.

    Rows are added up once, by window and partition together. Only what that leaves is added up in both ways.
    """
    aggregates = dict(totals)
    for name, value in values.items():
        aggregates |= _moments(name, value)
    once = rows.groupBy("place", *ticks, *labels).agg(*(F.expr(f"{sql} as {name}") for name, sql in aggregates.items()))
    names = [f"at_{name}" for name in ticks]
    whole = ", ".join([f"{NOWHERE}L", *ticks])
    measured = ", ".join(["place", *(f"{name} & 1" for name in ticks)])
    stacked = f"stack(2, {whole}, {measured}) as (place, {', '.join(names)})"
    twice = once.selectExpr(*labels, *aggregates, stacked).where("place is not null")
    merged = (f"{_merging(sql)}({name}) as {name}" for name, sql in aggregates.items())
    return twice.groupBy("place", *names, *labels).agg(*map(F.expr, merged))


def _merging(aggregate: str) -> str:
    """What puts the parts of an aggregate together: its own function, and a sum of counts."""
    function = aggregate.partition("(")[0]
    return "sum" if function == "count" else function


def _moments(name: str, value: str) -> dict[str, str]:
    real = f"cast({value} as double)"
    return {
        f"{name}_count": f"count({value})",
        f"{name}_min": f"min({value})",
        f"{name}_max": f"max({value})",
        f"{name}_sum": f"sum({real})",
        f"{name}_squares": f"sum({real} * {real})",
    }


@dataclass(frozen=True, slots=True)
class Sums:
    """What `sums` gave, in memory: columns of equal length."""

    table: pa.Table

    def column(self, name: str, null: int = -1) -> Int64s:
        """An integer column; `null` stands for null."""
        values: Int64s = self.table.column(name).fill_null(null).to_numpy().astype(np.int64)
        return values

    @property
    def windows(self) -> "Sums":
        """The rows by window."""
        return Sums(self.table.filter(pc.equal(self.table.column("place"), NOWHERE)))

    @property
    def places(self) -> "Sums":
        """The rows by partition."""
        return Sums(self.table.filter(pc.not_equal(self.table.column("place"), NOWHERE)))

    def where(self, mask: Any) -> "Sums":
        """The rows that a mask chooses."""
        return Sums(self.table.filter(pa.array(mask)))

    def total(self, name: str) -> int:
        """Sum of a column."""
        return int(self.column(name, 0).sum())

    def total_by(self, key: Int64s, name: str, how: np.ufunc = np.add) -> dict[int, int]:
        """Sum of a column for each value of `key`, or what else `how` makes of its values.

        Nulls, and rows with a negative key, belong to nothing.
        """
        used = (key >= 0) & self.table.column(name).is_valid().to_numpy()
        if not used.any():
            return {}
        order, begins, keys = _sorted(key[used])
        return dict(zip(keys, how.reduceat(self.column(name, 0)[used][order], begins).tolist(), strict=True))

    def moments(self, metric: str) -> Moments:
        """The moments of a metric over all rows."""
        return self.moments_by(np.zeros(self.table.num_rows, np.int64), metric).get(0, NO_MOMENTS)

    def moments_by(self, key: Int64s, metric: str) -> dict[int, Moments]:
        """The moments of a metric for each value of `key`; rows with a negative key belong to nothing."""
        used = (self.column(f"{metric}_count", 0) > 0) & (key >= 0)
        if not used.any():
            return {}
        # Without the others: a null would make floats of all.
        rows, (order, begins, keys) = self.where(used), _sorted(key[used])

        def merged(how: Any, column: str) -> list[Any]:
            values = rows.table.column(f"{metric}_{column}").to_numpy()[order]
            merged_values: list[Any] = how.reduceat(values, begins).tolist()
            return merged_values

        found = zip(
            merged(np.add, "count"), merged(np.minimum, "min"), merged(np.maximum, "max"), merged(np.add, "sum"),
            merged(np.add, "squares"), strict=True,
        )  # fmt: skip
        return {at: Moments(*each) for at, each in zip(keys, found, strict=True)}


def _sorted(key: Int64s) -> tuple[Int64s, Int64s, list[int]]:
    """Places in the order of their keys, where each key begins among them, and the keys."""
    order = np.argsort(key, kind="stable")
    keys, begins = np.unique(key[order], return_index=True)
    return order, begins, keys.tolist()
