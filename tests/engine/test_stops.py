"""What interrupts a stream of messages, as arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.engine.produce.stops import Batches, FlushPolicy, Transacted, TransactionPolicy
from streamgauge.workload.pacing import NEVER


def sizes(flush: FlushPolicy, count: int, seed: int = 42) -> list[int]:
    batches, found, seq = Batches(flush, 0, seed), list[int](), 0
    for _ in range(count):
        found.append(batches.next_seq - seq)
        seq = batches.next_seq
        batches.end(seq, 0, 0)
    return found


def test_batches_of_one_size() -> None:
    """A number without a deviation is that number."""
    assert sizes(FlushPolicy(16), 5) == [16] * 5


def test_batches_of_drawn_sizes() -> None:
    """Around their mean, with their deviation, the same for the same seed."""
    even = sizes(FlushPolicy(5.5, extent=(3, 8)), 6_000)
    assert set(even) == {3, 4, 5, 6, 7, 8}
    assert sum(even) / len(even) == pytest.approx(5.5, abs=0.1)
    drawn = sizes(FlushPolicy(100, 10), 4_000)

    assert np.mean(drawn) == pytest.approx(100, abs=1)
    assert np.std(drawn) == pytest.approx(10, rel=0.05)
    assert drawn == sizes(FlushPolicy(100, 10), 4_000) != sizes(FlushPolicy(100, 10), 4_000, seed=43)


@given(st.floats(1, 50), st.floats(0, 100))
def test_a_batch_holds_at_least_one_message_and_never_far_too_many(mean: float, deviation: float) -> None:
    """However wide the draws are."""
    assert all(1 <= size <= mean + 8 * deviation + 1 for size in sizes(FlushPolicy(mean, deviation), 50))


def test_a_transaction_ends_by_its_messages_or_by_its_time() -> None:
    """Whichever it was given."""
    by_count, by_time = (
        Transacted(each, 0, 42) for each in (TransactionPolicy(messages=10), TransactionPolicy(interval_ns=50))
    )
    for each in (by_count, by_time):
        each.begin(5, 100)

    assert (by_count.next_seq, by_count.end_ns) == (15, NEVER)
    assert (by_time.next_seq, by_time.end_ns) == (NEVER, 150)
    assert [by_count.is_over(seq, 10**9) for seq in (14, 15)] == [False, True]
    assert [by_time.is_over(10**9, now) for now in (149, 150)] == [False, True]


def test_each_message_finds_its_transaction() -> None:
    """Also when its report comes after the next one began; one without messages goes on as the next."""
    transacted = Transacted(TransactionPolicy(messages=10), 0, 42)
    for first in (0, 10, 10, 25):
        transacted.begin(first, 0)

    assert transacted.of(np.array([0, 9, 10, 24, 25, 99])).tolist() == [0, 0, 1, 1, 2, 2]
