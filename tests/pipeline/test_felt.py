"""What a cause did to latency, with what the instrument may have added: from histograms, without Spark."""

import numpy as np
import pytest

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.pipeline.metrics.aggregates.bounds import Widths, width_class
from streamgauge.pipeline.metrics.aggregates.histogram import By, Counts
from streamgauge.pipeline.pressure.recovery import WindowLatencies, recovery_rows
from streamgauge.pipeline.pressure.scorecard import Series
from streamgauge.pipeline.read.rows import Row
from streamgauge.pipeline.read.silver import SHIFT_SECONDS

MS_BY_SECOND = {0: 10, 1: 10, 2: 10, 3: 100, 4: 100, 5: 20, 6: 10, 7: 10}
"""The latency of the 100 messages of each second; between the seconds 3 and 5 something was paused."""


def counts(by_second: dict[int, int]) -> Counts:
    ticks = np.array([second + SHIFT_SECONDS << 1 | 1 for second in by_second], np.int64)
    buckets = bucket_of(np.array([ms * NS_PER_MS for ms in by_second.values()], np.int64))
    metric = np.zeros(len(ticks), np.int64)
    return Counts(metric, metric + By.TICK, ticks, buckets, metric + 100)


def row(width_ms: float | None) -> Row:
    """The row of `recovery` if the instrument may have added so much to each message."""
    delivered = counts(MS_BY_SECOND)
    widths = None
    if width_ms is not None:
        width = width_class(np.full(len(delivered.bucket), int(width_ms * NS_PER_MS)))
        widths = Widths(delivered.bucket, width, delivered.count)
    medians = {second: float(ms) for second, ms in MS_BY_SECOND.items()}
    latencies = WindowLatencies(delivered, counts({}), widths, medians, frozenset({0}), 8.0)
    paused = {"kind": "pause", "target": "c", "detail": None, "error": None}
    faults = [paused | {"second": 3.0, "action": "begin"}, paused | {"second": 5.0, "action": "end"}]
    series = Series(np.arange(0.0, 8.0), np.array([1.0, 1, 1, 1, 99, 99, 1, 1]))
    (found,) = recovery_rows(faults, {"outstanding": {0: series}}, latencies, 100.0)
    return found


@pytest.mark.parametrize(
    ("name", "value", "low"),
    [("p99_before_ms", 10, 5), ("p99_during_ms", 100, 95), ("p99_after_ms", 20, 15)],
)
def test_the_p99_of_some_seconds_has_a_low_end(name: str, value: float, low: float) -> None:
    found = row(5.0)

    assert found[name] == pytest.approx(value, rel=0.01)
    assert found[name.replace("_ms", "_low_ms")] == pytest.approx(low, rel=0.03)


def test_a_debt_has_two_ends() -> None:
    """Each second may have been 5 ms shorter; so may have been what is usual, of all five seconds."""
    found = row(5.0)

    assert found["latency_debt_ms_s"] == pytest.approx(2 * 90 + 10, rel=0.01)
    assert found["latency_debt_low_ms_s"] == pytest.approx(2 * 85 + 5, rel=0.02)
    assert found["latency_debt_high_ms_s"] == pytest.approx(2 * 95 + 15 + 2 * 5, rel=0.02)


def test_nobody_knows_an_end_without_widths() -> None:
    found = row(None)

    assert found["p99_during_ms"] is not None
    assert {found[name] for name in found if "_low_" in name or "_high_" in name} == {None}
