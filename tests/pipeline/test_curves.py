"""Curves and heat maps, held against sorting and counting the values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.latency.buckets import bucket_of, upper_edge_ns
from streamgauge.domain.latency.percentiles import EMPTY, Buckets
from streamgauge.pipeline.metrics.aggregates.curves import HEAT_COLUMNS, curve, heat, missing_shares

some = st.lists(st.integers(0, 10**11), min_size=1, max_size=300)


def buckets_of(values: list[int]) -> Buckets:
    index = bucket_of(np.array(values, np.int64))
    return Buckets.merged(index, np.ones_like(index))


def edge(value: int) -> int:
    return int(upper_edge_ns(bucket_of(np.array([value])))[0])


def test_the_points_come_ever_closer_to_the_last_message() -> None:
    """Ten while the share beyond halves; none between the last two messages but the end."""
    percents = [100 * (1 - part / whole) for part, whole in missing_shares(1000)]
    assert percents[:3] == pytest.approx([0, 5, 10])
    assert percents[10:12] == pytest.approx([50, 52.5])
    assert percents[-1] == 100.0
    assert 99.8 < percents[-2] <= 99.9
    assert percents == sorted(percents)
    assert missing_shares(0) == []
    assert missing_shares(1) == [(20, 20), (0, 1)]


@given(some)
def test_every_point_is_the_nearest_rank(values: list[int]) -> None:
    """At most a bucket's width above it, and never above the maximum."""
    ordered = sorted(values)
    points = curve(buckets_of(values), EMPTY, max(values))
    for point, (part, whole) in zip(points, missing_shares(len(values)), strict=True):
        exact = ordered[max(1, len(values) - part * len(values) // whole) - 1]
        assert point.low_ns == min(edge(exact), max(values))
        assert not point.is_interval
    assert points[-1].low_ns == max(values)


@given(some, some)
def test_messages_that_never_came_open_an_interval(delivered: list[int], ages: list[int]) -> None:
    """They have taken at least their age, and maybe for ever."""
    points = curve(buckets_of(delivered), buckets_of(ages), max(delivered))
    ordered = sorted([*delivered, *ages])
    for point, (part, whole) in zip(points, missing_shares(len(ordered)), strict=True):
        rank = max(1, len(ordered) - part * len(ordered) // whole)
        assert point.low_ns == edge(ordered[rank - 1])
        beyond = rank > len(delivered)
        assert (point.high_ns is None) == beyond
    assert points[-1].high_ns is None


def test_nothing_has_no_curve() -> None:
    assert curve(EMPTY, EMPTY, None) == []


@given(st.lists(st.tuples(st.integers(-5, 2000), st.integers(1, 10**11), st.integers(1, 9)), min_size=1))
def test_a_heat_map_counts_every_message_once(rows: list[tuple[int, int, int]]) -> None:
    """In a cell that holds its second and its value."""
    seconds, values, counts = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    cells = heat(seconds, bucket_of(values), counts)
    assert sum(cell.count for cell in cells) == counts.sum()
    assert len({cell.from_second for cell in cells}) <= HEAT_COLUMNS
    for cell in cells:
        inside = (seconds >= cell.from_second) & (seconds < cell.to_second)
        edges_ms = upper_edge_ns(bucket_of(values)) / 1e6
        inside &= (edges_ms > cell.above_ms * (1 - 1e-6)) & (edges_ms <= cell.le_ms * (1 + 1e-6))
        assert counts[inside].sum() >= cell.count


def test_a_heat_map_of_nothing_is_empty() -> None:
    nothing = np.zeros(0, np.int64)
    assert heat(nothing, nothing, nothing) == []
