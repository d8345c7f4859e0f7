"""How messages stand in retry topics: what is written is read again, and nothing else is touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.delivery.markers.wire import Header, count_in
from streamgauge.delivery.retries.wire import (
    AT_ONCE_MS,
    COUNT_HEADER,
    DUE_HEADER,
    Origin,
    dead_headers,
    due_in,
    origin_in,
    retry_headers,
)

ELSEWHERE = Origin("elsewhere", 0, 0)
ORIGIN = Origin("orders", 3, 1 << 40)
OTHERS = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=4).map(tuple)


@given(OTHERS, st.integers(1, 1000), st.integers(0, 1 << 45))
def test_what_is_written_is_read_again_and_other_headers_stay(
    others: tuple[Header, ...], redeliveries: int, due_ms: int
) -> None:
    once = retry_headers(others, ORIGIN, redeliveries, due_ms)
    assert once[: len(others)] == others
    assert (origin_in(once, ELSEWHERE), count_in(once, COUNT_HEADER), due_in(once)) == (ORIGIN, redeliveries, due_ms)
    twice = retry_headers(once, origin_in(once, ELSEWHERE), redeliveries + 1, due_ms + 5)
    assert len(twice) == len(once)
    assert (origin_in(twice, ELSEWHERE), count_in(twice, COUNT_HEADER), due_in(twice)) == (
        ORIGIN, redeliveries + 1, due_ms + 5,
    )  # fmt: skip


def test_a_dead_letter_tells_where_it_is_from_and_why_and_is_no_retry() -> None:
    headers: tuple[Header, ...] = (("mine", b"1"), *retry_headers((), ORIGIN, 2, 10))
    assert dead_headers(headers, ORIGIN, 2, 17) == (
        ("mine", b"1"),
        ("streamgauge-dead-letter-topic", b"orders"),
        ("streamgauge-dead-letter-partition", b"3"),
        ("streamgauge-dead-letter-offset", str(1 << 40).encode()),
        ("streamgauge-dead-letter-redeliveries", b"2"),
        ("streamgauge-dead-letter-at-ms", b"17"),
        ("streamgauge-dead-letter-reason", b"processing failed after 2 redeliveries"),
    )


@pytest.mark.parametrize("value", [None, b"", b"soon", b"\xff"])
def test_what_does_not_say_when_it_is_due_is_due_at_once(value: bytes | None) -> None:
    assert due_in([(DUE_HEADER, value)]) == AT_ONCE_MS
    assert due_in([]) == AT_ONCE_MS


@pytest.mark.parametrize("headers", [(), [("streamgauge-retry-topic", b"a")], [("streamgauge-retry-offset", b"x")]])
def test_what_does_not_say_where_it_is_from_is_from_where_it_stands(headers: list[Header]) -> None:
    assert origin_in(headers, ELSEWHERE) == ELSEWHERE
