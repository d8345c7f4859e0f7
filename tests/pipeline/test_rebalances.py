"""The table `rebalances`: partitions that another consumer reads than before, against plain Python."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.delivery.rows import MeasureSpan
from streamgauge.pipeline.pressure.rebalances import COLUMNS, rebalance_rows
from streamgauge.pipeline.read.silver import Span

SECOND = 1_000_000_000
SPAN = Span(0, 100 * SECOND, MeasureSpan(10 * SECOND, 90 * SECOND))
Row = dict[str, Any]


def delivery(second: float, consumer: int, partition: int = 0, group: int = 0) -> Row:
    values = (group, 0, partition, consumer, round((10 + second) * SECOND))
    return dict(zip(COLUMNS, values, strict=True))


def part(*rows: Row) -> pa.Table:
    types = [pa.int32(), pa.int32(), pa.int32(), pa.int32(), pa.int64()]
    return pa.Table.from_pylist(list(rows), pa.schema(list(zip(COLUMNS, types, strict=True))))


@pytest.mark.parametrize(
    ("parts", "rows"),
    [
        ([part()], []),
        ([part(delivery(0.5, 0), delivery(7.5, 0))], []),
        ([part(delivery(0.5, 0)), part(delivery(7.5, 1), delivery(8.5, 1))], [(7, 0, 1)]),
        # From one to the other and back, whatever the order of the parts.
        ([part(delivery(2.5, 1)), part(delivery(-0.5, 0), delivery(4.5, 0))], [(2, 0, 1), (4, 0, 1)]),
        ([part(delivery(-3.5, 0)), part(delivery(-2.5, 1))], [(-3, 0, 1)]),
        # Two partitions at once; another group is another reader.
        (
            [part(*(delivery(1, 0, each) for each in (0, 1))), part(*(delivery(5, 1, each) for each in (0, 1)))],
            [(5, 0, 2)],
        ),
        ([part(delivery(1, 0)), part(delivery(5, 1, group=1))], []),
    ],
)
def test_a_partition_changes_hands_where_another_consumer_reads_it(parts: list[pa.Table], rows: Any) -> None:
    """In the second of the first delivery to that one."""
    found = [(row["second"], row["group"], row["partitions"]) for row in rebalance_rows(parts, SPAN)]
    assert found == rows


def test_many_deliveries_are_counted_as_one_by_one() -> None:
    """Against a walk over all of them in the order of their times."""
    rng = np.random.default_rng(3)
    rows = [
        delivery(second + 0.001 * at, int(owners[partition]), partition)
        for second in range(60)
        for owners in [rng.integers(0, 3, 4)]
        for at in range(20)
        for partition in range(4)
    ]
    wanted: Counter[int] = Counter()
    reader: dict[int, int] = {}
    for row in rows:
        if reader.setdefault(row["partition"], row["consumer"]) != row["consumer"]:
            wanted[row["received_ns"] // SECOND - 10] += 1
        reader[row["partition"]] = row["consumer"]
    parts = [part(*(row for row in rows if row["consumer"] == consumer)) for consumer in range(3)]
    assert {row["second"]: row["partitions"] for row in rebalance_rows(parts, SPAN)} == wanted
