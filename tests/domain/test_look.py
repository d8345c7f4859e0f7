"""Live buckets and looks: what those see who watch a run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.look import (
    BUCKETS,
    Look,
    WorkerLook,
    live_bucket,
    live_buckets,
    live_edges_ns,
    live_percentile_ms,
)

EDGES = live_edges_ns()
LOWEST, HIGHEST = 1 << 14, 1 << 38


@given(st.lists(st.integers(-5, 1 << 40), min_size=1))
def test_a_latency_lies_in_its_bucket(values: list[int]) -> None:
    """At or above the edge of the bucket below, and below its own; an eighth of a power of two wide."""
    for value, bucket in zip(values, live_buckets(np.array(values, np.int64)).tolist(), strict=True):
        if value < LOWEST:
            assert bucket == 0
        elif value >= HIGHEST:
            assert bucket == BUCKETS - 1
        else:
            assert (EDGES[bucket - 1] if bucket else LOWEST) <= value < EDGES[bucket]
            assert EDGES[bucket] <= value * 1.125 + 1


@given(st.integers(-(1 << 40), 1 << 40))
def test_one_latency_lies_where_it_lies_among_others(value: int) -> None:
    """Counted alone or in an array."""
    assert live_bucket(value) == live_buckets(np.array([value], np.int64)).item()


def test_edges_rise_to_the_highest() -> None:
    """Without a gap."""
    assert len(EDGES) == BUCKETS
    assert (np.diff(EDGES) > 0).all()
    assert EDGES[-1] == HIGHEST


@given(st.lists(st.integers(LOWEST, HIGHEST - 1), min_size=1), st.sampled_from([0.5, 0.99]))
def test_a_percentile_is_at_most_an_eighth_too_high(values: list[int], share: float) -> None:
    counts = np.bincount(live_buckets(np.array(values, np.int64)), minlength=BUCKETS)
    exact = sorted(values)[max(1, int(np.ceil(share * len(values)))) - 1]
    said = live_percentile_ms(counts, share)
    assert said is not None
    assert exact <= said * 1e6 <= exact * 1.125 + 1


def test_nothing_has_no_percentile() -> None:
    assert live_percentile_ms(np.zeros(BUCKETS, np.int64), 0.5) is None


def look(*workers: WorkerLook) -> Look:
    nothing = np.zeros(BUCKETS, np.int64)
    return Look(0, "measure", 0, 0, 1, workers, nothing, nothing)


@pytest.mark.parametrize(
    ("workers", "sent", "acked", "received", "outstanding"),
    [
        ((), 0, 0, 0, None),
        ((WorkerLook("p", "producer", True, 10, 8, 1),), 10, 7, 0, None),
        ((WorkerLook("c", "consumer", True, 5),), 0, 0, 5, None),
        ((WorkerLook("p", "producer", True, 10, 8, 1), WorkerLook("c", "consumer", True, 5)), 10, 7, 5, 4),
        ((WorkerLook("p", "producer", True, 10, 8, 1), WorkerLook("c", "consumer", True, 50)), 10, 7, 50, 0),
    ],
)
def test_counts_are_summed_by_role(
    workers: tuple[WorkerLook, ...], sent: int, acked: int, received: int, outstanding: int | None
) -> None:
    """Outstanding is sent, and neither failed nor received; duplicates do not make it negative."""
    seen = look(*workers)
    assert (seen.sent, seen.acked, seen.received, seen.outstanding) == (sent, acked, received, outstanding)
