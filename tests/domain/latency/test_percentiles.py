"""Percentiles from buckets, held against sorting the values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.latency.buckets import bucket_of, upper_edge_ns
from streamgauge.domain.latency.percentiles import (
    EMPTY,
    PERCENTILES,
    Buckets,
    Latency,
    Moments,
    percentile_ns,
    summarise,
)

latencies = st.integers(0, 45).flatmap(lambda bits: st.integers(-3, 1 << bits))
some = st.lists(latencies, min_size=1, max_size=300)


def buckets_of(values: list[int]) -> Buckets:
    index = bucket_of(np.array(values, np.int64))
    return Buckets.merged(index, np.ones_like(index))


def moments_of(values: list[int]) -> Moments:
    if not values:
        return Moments(0, None, None, 0.0, 0.0)
    return Moments(
        len(values), min(values), max(values), float(sum(values)), float(sum(value * value for value in values))
    )


def summary(delivered: list[int], ages: list[int] | None = None) -> Latency:
    return summarise(buckets_of(delivered), moments_of(delivered), "due", buckets_of(ages) if ages else EMPTY)


def nearest_rank(values: list[int], rank: int) -> int:
    return sorted(values)[max(1, -(-len(values) * rank // 10_000)) - 1]


@given(some)
def test_a_percentile_is_at_most_2_to_the_minus_8_above_the_nearest_rank(values: list[int]) -> None:
    said = summary(values)
    for name, rank in PERCENTILES.items():
        low = said.percentiles_ns[name]
        if low is not None:
            exact = nearest_rank(values, rank)
            assert exact <= low <= max(values)
            assert (low - exact) * 256 <= max(exact, 0) or (exact < 0 and low == min(-1, max(values)))


@given(some, some)
def test_merging_is_counting_together(one: list[int], other: list[int]) -> None:
    merged, together = buckets_of(one).plus(buckets_of(other)), buckets_of(one + other)
    assert merged.index.tolist() == together.index.tolist()
    assert merged.count.tolist() == together.count.tolist()


@given(st.lists(latencies, max_size=200), st.lists(latencies, min_size=1, max_size=200))
def test_an_interval_holds_the_percentile_whatever_the_censored_would_have_taken(
    delivered: list[int], ages: list[int]
) -> None:
    """A message that never came would have taken at least its age."""
    said = summary(delivered, ages)
    infinite = 1 << 60
    for name, rank in PERCENTILES.items():
        low = said.percentiles_ns[name]
        if low is None:
            continue
        high = said.high_ends_ns.get(name, low)
        at_age, at_infinity = (
            nearest_rank(delivered + ages, rank),
            nearest_rank(delivered + [infinite] * len(ages), rank),
        )
        assert low == upper_edge_ns(bucket_of(np.array([at_age])))[0]
        assert (high is None) == (at_infinity == infinite)
        assert (name in said.high_ends_ns) == (high != low)
        if high is not None:
            assert at_infinity <= high <= max(delivered)
            assert high >= min(low, max(delivered))


def test_an_end_is_told_apart_only_where_it_differs() -> None:
    said = summary([400] * 50 + [500] * 40, [90_000] * 10)
    assert said.high_ends_ns == dict.fromkeys(("p95", "p99", "p99_5"))


def test_what_was_delivered_alone_is_no_interval() -> None:
    said = summary([5, 6, 7])
    assert said.high_ends_ns == {}
    assert said.percentiles_ns["p50"] == 6


def test_moments_cover_delivered_messages_only() -> None:
    shown = summary([1_000_000, 3_000_000], [90_000_000]).as_result()
    assert (shown["count"], shown["censored"]) == (2, 1)
    assert (shown["min_ms"], shown["max_ms"], shown["mean_ms"], shown["stddev_ms"]) == (1.0, 3.0, 2.0, 1.0)
    assert (shown["p99_hi_ms"], shown["p99_ms"] > 89) == (None, True)
    assert shown["reasons"]["p99_hi_ms"] == "the percentile lies among messages that were never delivered"


@pytest.mark.parametrize(("count", "known"), [(9_999, False), (10_000, True)])
def test_a_far_percentile_needs_its_samples(count: int, known: bool) -> None:
    said = summarise(Buckets(np.array([7]), np.array([count])), Moments(count, 7, 7, 7.0 * count, 49.0 * count), "due")
    assert (said.percentiles_ns["p99_9"] is not None) is known
    assert ("p99_9_ms" in said.reasons) is not known
    assert said.percentiles_ns["p99_99"] is None


def test_nothing_measured_has_a_reason_for_every_percentile() -> None:
    said = summarise(EMPTY, moments_of([]), "due", absent="acks 0")
    assert set(said.reasons.values()) == {"acks 0"}
    assert set(said.reasons) == {f"{name}_ms" for name in PERCENTILES}
    assert said.as_result()["p50_ms"] is None


@given(some)
def test_the_distribution_rises_to_the_share_that_was_delivered(values: list[int]) -> None:
    said = summary(values, [1 << 40])
    shares = [share for _, share in said.cdf]
    assert shares == sorted(shares)
    below = sum(1 for value in values if upper_edge_ns(bucket_of(np.array([value])))[0] <= 500_000 * 1_000_000)
    assert shares[-1] == pytest.approx(below / (len(values) + 1))


@given(some)
def test_the_median_deviation_is_that_of_the_bucket_edges(values: list[int]) -> None:
    edges = sorted(upper_edge_ns(bucket_of(np.array(values, np.int64))).tolist())
    median = nearest_rank(edges, 5_000)
    assert summary(values).mad_ns == nearest_rank([abs(edge - median) for edge in edges], 5_000)


def test_a_rank_beyond_the_buckets_is_infinite() -> None:
    assert percentile_ns(buckets_of([1, 2]), 5_000, 4, 2) == 2
    assert percentile_ns(buckets_of([1, 2]), 9_000, 4, 2) is None
