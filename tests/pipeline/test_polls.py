"""Durations of polls, once for each poll and once for each message that one delivered."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.delivery.rows import MeasureSpan
from streamgauge.pipeline.metrics.polls import read
from streamgauge.pipeline.metrics.spans import Spans

ROWS = st.lists(st.tuples(st.integers(0, 5_000_000), st.integers(0, 7)), min_size=1, max_size=30)


def polls(rows: list[tuple[int, int]]) -> tuple[Spans, Spans]:
    """Of polls that took so long, in ns, and delivered so many messages."""
    columns = {
        "consumer": [0] * len(rows), "poll": list(range(len(rows))), "started_ns": [10] * len(rows),
        "returned_ns": [10 + took for took, _ in rows], "count": [count for _, count in rows],
    }  # fmt: skip
    return read(pa.table(columns), MeasureSpan(0, 3_000_000)).spans()


@given(ROWS)
def test_a_poll_counts_for_each_message(rows: list[tuple[int, int]]) -> None:
    """As if each message had a poll of its own; empty polls weigh nothing."""
    _, each = polls(rows)
    plain = polls([(took, 1) for took, count in rows for _ in range(count)])[0] if any(c for _, c in rows) else None

    found = each.sums().table.to_pydict()
    assert sum(found["poll_per_record_count"]) == sum(count for _, count in rows)
    if plain is not None:
        other = plain.sums().table.to_pydict()
        for name in ("count", "sum", "squares"):
            assert np.isclose(sum(found[f"poll_per_record_{name}"]), sum(other[f"poll_{name}"]))
        assert max(found["poll_per_record_max"]) == max(other["poll_max"])
        assert sorted(each.histogram()["count"].to_pylist()) == sorted(plain.histogram()["count"].to_pylist())
