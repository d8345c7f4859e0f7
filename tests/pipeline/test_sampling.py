"""How far a percentile may be off by chance."""

from typing import Any

import numpy as np
import pytest

from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.domain.latency.percentiles import Buckets
from streamgauge.pipeline.metrics.aggregates.sampling import Sampled, intervals

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
