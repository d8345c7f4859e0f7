"""The size of batches: single decisions, and where they lead with batches that take a + b x messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.control.batching import BAND, SETTLING, BatchSize

MS = 1_000_000
PLAIN = BatchSize(1000 * MS, least=100, most=10_000, limit=1000)


@pytest.mark.parametrize(
    ("messages", "took_ms", "lag", "limit"),
    [
        (1000, 1000, 5000, 1000),
        (1000, 1250, 5000, 1000),
        (1000, 2000, 5000, 500),
        (1000, 2000, 0, 500),
        (1000, 9000, 5000, 250),
        (300, 9000, 5000, 100),
        (300, 2000, 5000, 150),
        (1000, 800, 5000, 1000),
        (1000, 500, 5000, 2000),
        (1000, 500, None, 2000),
        (1000, 500, 1000, 1000),
        (899, 500, 5000, 1000),
        (1000, 10, 5000, 4000),
        (0, 9000, 5000, 1000),
        (1000, 0, 5000, 1000),
    ],
)
def test_a_batch_that_took_too_long_shrinks_and_one_that_was_held_back_grows(
    messages: int, took_ms: int, lag: int | None, limit: int
) -> None:
    """At most four times at once; and only where more than the next batch is waiting."""
    assert PLAIN.decide(7, messages, took_ms * MS, lag).limit == limit


def test_batches_under_way_decide_nothing() -> None:
    """They have the former size."""
    after = PLAIN.decide(7, 1000, 2000 * MS, 5000)

    assert after.decide(7 + SETTLING, 1000, 2000 * MS, 5000) is after
    assert after.decide(8 + SETTLING, 500, 2000 * MS, 5000).limit == 250


def test_a_size_stays_within_its_bounds() -> None:
    assert BatchSize(1000 * MS, 400, 3000, 1000).decide(0, 1000, 9000 * MS, 0).limit == 400
    assert BatchSize(1000 * MS, 400, 3000, 1000).decide(0, 1000, 10 * MS, 9999).limit == 3000


@given(
    fixed_ms=st.floats(0, 600),
    message_us=st.floats(1, 3000),
    begin=st.integers(100, 100_000),
)
def test_under_a_backlog_batches_come_to_take_what_is_wanted(fixed_ms: float, message_us: float, begin: int) -> None:
    """Within the band, unless a bound is in the way; and they stay so."""
    size = BatchSize(1000 * MS, least=100, most=100_000, limit=begin)
    used = size.limit
    took = 0.0
    for batch in range(60):
        took = (fixed_ms + used * message_us / 1000) * MS
        before, size = size, size.decide(batch, used, round(took), 10_000_000)
        # What is set takes effect one batch later.
        used = before.limit if size is not before else size.limit
    assert size.decide(60, used, round(took), 10_000_000) is size
    assert 100 <= size.limit <= 100_000
    if 100 < size.limit < 100_000:
        assert 999 / BAND < took / MS < 1001 * BAND
