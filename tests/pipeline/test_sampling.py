"""How far a percentile may be off by chance."""

from typing import Any

import numpy as np
import pytest

from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.domain.latency.percentiles import PERCENTILES, Buckets
from streamgauge.domain.tables.latency import DELIVERED_PERCENTILES
from streamgauge.pipeline.metrics.aggregates.histogram import Counts, Histograms
from streamgauge.pipeline.metrics.aggregates.sampling import Sampled, intervals
from streamgauge.pipeline.metrics.latency import Metric, latency_rows, sampling_rows
from streamgauge.pipeline.metrics.spans import Spans
from streamgauge.pipeline.read.silver import SHIFT_SECONDS

MS = 1_000_000
P50, P99 = 50_00, 99_00


def second(values: Any) -> Buckets:
    return Buckets.merged(bucket_of(values), np.ones(len(values), np.int64))


def run(rng: np.random.Generator, seconds: int, *, sticky: bool = False) -> list[Buckets]:
    """Seconds of exponential latencies around a mean that differs from second to second, or for three of them."""
    means = rng.gamma(20, MS / 20, seconds)
    means = np.repeat(means[:: 3 if sticky else 1], 3 if sticky else 1)[:seconds]
    return [second(rng.exponential(mean, 500).astype(np.int64)) for mean in means]


@pytest.mark.parametrize("sticky", [False, True])
@pytest.mark.slow
def test_an_interval_contains_what_other_runs_show(sticky: bool) -> None:
    """Of 100 runs, the intervals of the median contain the true one in about 95 %; of few blocks, in somewhat fewer."""
    rng = np.random.default_rng(7)
    truth = np.median(np.concatenate([rng.exponential(mean, 500) for mean in rng.gamma(20, MS / 20, 5_000)]))

    found = [intervals(run(rng, 60, sticky=sticky), [P50])[0] for _ in range(100)]

    hits = sum((each.low_ns or 0) <= truth * 1.004 and truth <= (each.high_ns or 0) for each in found)
    assert 87 <= hits <= 100
    assert np.median([(each.high_ns or 0) - (each.low_ns or 0) for each in found]) < 0.3 * truth


def test_the_same_seconds_give_the_same_interval() -> None:
    windows = run(np.random.default_rng(1), 30)

    assert intervals(windows, [P50, P99]) == intervals(windows, [P50, P99])


def test_a_tail_of_few_seconds_says_nothing() -> None:
    """Nine seconds are slow: how often that happens is not known."""
    fast, slow = second(np.full(1_000, MS)), second(np.full(1_000, 50 * MS))

    (found,) = intervals([*[fast] * 51, *[slow] * 9], [P50])

    assert found == Sampled(None, None, "10 seconds with messages above it are needed, there are 9")


def test_without_messages_there_is_no_interval() -> None:
    assert intervals([], [P50]) == [Sampled(None, None, "no message was measured")]


def test_the_interval_of_a_percentile_holds_what_never_came_as_its_value_does() -> None:
    """In each of 30 seconds 2 % never come: p99 is their age, and so are both ends of its interval."""
    seconds = np.repeat(np.arange(30), 1_000)
    ticks = (seconds + SHIFT_SECONDS) << 1 | 1
    delivered = Spans("ack_service", np.full(30_000, 13 * MS), ticks)
    ages = Spans("ack_service", np.full(600, 20_000 * MS), ticks[::50])
    histograms = Histograms(Counts.of(delivered.histogram()), Counts.of(ages.histogram()))
    metrics = [Metric("ack_service", "sent", delivered.sums())]

    rows = {row["percentile"]: row for row in sampling_rows(metrics, histograms, 0)}
    ((value, *_), _) = latency_rows(metrics, histograms)

    assert set(rows) == {*PERCENTILES, *(f"delivered_{name}" for name in DELIVERED_PERCENTILES)}
    assert value["p90_ms"] == pytest.approx(13, rel=0.01)
    assert value["p99_ms"] == pytest.approx(20_000, rel=0.01)
    assert rows["p99"]["reason"] == "10 seconds with messages above it are needed, there are 0"
    assert rows["p90"]["low_ms"] == rows["p90"]["high_ms"] == pytest.approx(13, rel=0.01)


def test_a_percentile_among_what_never_came_lies_in_its_interval() -> None:
    """The slowest of what came and the ages of what never did are counted together, second by second."""
    rng = np.random.default_rng(3)
    seconds = np.repeat(np.arange(60), 1_000)
    ticks = (seconds + SHIFT_SECONDS) << 1 | 1
    delivered = Spans("ack_service", rng.integers(5 * MS, 14 * MS, 60_000), ticks)
    ages = Spans("ack_service", rng.integers(10_000 * MS, 30_000 * MS, 1_200), ticks[::50])
    histograms = Histograms(Counts.of(delivered.histogram()), Counts.of(ages.histogram()))
    metrics = [Metric("ack_service", "sent", delivered.sums())]

    rows = {row["percentile"]: row for row in sampling_rows(metrics, histograms, 0)}
    ((value, *_), _) = latency_rows(metrics, histograms)

    for name in ("p50", "p90", "p99", "p99_5"):
        assert rows[name]["low_ms"] <= value[f"{name}_ms"] * 1.01
        assert rows[name]["high_ms"] >= value[f"{name}_ms"] * 0.99
    assert rows["p99"]["low_ms"] > 10_000 > 14 > rows["delivered_p99"]["high_ms"]


def test_where_all_came_there_are_no_percentiles_of_what_came_alone() -> None:
    came = Spans("ack_service", np.full(30, MS), (np.arange(30) + SHIFT_SECONDS) << 1 | 1)
    metrics = [Metric("ack_service", "sent", came.sums())]

    found = sampling_rows(metrics, Histograms(Counts.of(came.histogram()), Counts.of()), 0)

    assert [row["percentile"] for row in found] == list(PERCENTILES)
