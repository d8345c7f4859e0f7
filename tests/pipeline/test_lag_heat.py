"""The table `lag_heat`: the largest lag of each partition in each span of time, against plain Python."""

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.arrow import arrow_schema
from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.events import LAG
from streamgauge.pipeline.metrics.aggregates.curves import HEAT_COLUMNS
from streamgauge.pipeline.pressure import lag
from streamgauge.pipeline.read.silver import Span

SECOND = 1_000_000_000
SPAN = Span(0, 1_000 * SECOND, MeasureSpan(5 * SECOND, 900 * SECOND))
Row = dict[str, Any]


def sample(second: float, partition: int, end: int, committed: int | None, group: int | None = 0) -> Row:
    row: Row = dict.fromkeys(LAG.names)
    row |= {"at_ns": round(second * SECOND), "moment": "sample", "topic": 0, "group": group, "partition": partition}
    return row | {"end": end, "committed": committed, "position": end}


def heat(rows: list[Row]) -> list[Row]:
    table = pa.Table.from_pylist(rows, arrow_schema(LAG))
    return list(lag.heat(lag.samples(table), SPAN).to_pylist())


def test_a_cell_is_the_largest_lag_of_its_samples() -> None:
    """By second in a short run; a second in which nothing is known has none."""
    rows = [
        sample(4.2, 0, 10, 3), sample(4.7, 0, 10, 1), sample(4.7, 1, 10, None), sample(6.0, 0, 20, 20),
        sample(6.9, 1, 20, 5, group=1),
    ]  # fmt: skip
    cells = [(row["group"], row["partition"], row["from_second"], row["to_second"]) for row in heat(rows)]
    assert cells == [(0, 0, -1, 0), (0, 0, 1, 2), (0, 1, -1, 0), (1, 1, 1, 2)]
    assert [row["committed_lag"] for row in heat(rows)] == [9, 0, None, 15]
    assert {row["position_lag"] for row in heat(rows)} == {0}
    assert heat([]) == []


@pytest.mark.parametrize("seconds", [HEAT_COLUMNS, HEAT_COLUMNS + 1, 700])
def test_a_long_run_has_wide_columns(seconds: int) -> None:
    """At most as many as a heat map has, each of the same number of seconds."""
    rng = np.random.default_rng(7)
    rows = [
        sample(5 + second + 0.5, partition, 10_000, int(rng.integers(0, 10_000)))
        for second in range(seconds)
        for partition in range(3)
    ]
    width = -(-seconds // HEAT_COLUMNS)
    wanted: defaultdict[tuple[int, int], int] = defaultdict(int)
    for row in rows:
        cell = row["partition"], (row["at_ns"] // SECOND - 5) // width * width
        wanted[cell] = max(wanted[cell], row["end"] - row["committed"])
    found = heat(rows)
    assert {(row["partition"], row["from_second"]): row["committed_lag"] for row in found} == wanted
    assert {row["to_second"] - row["from_second"] for row in found} == {width}
    assert len({row["from_second"] for row in found}) <= HEAT_COLUMNS
