"""Since when what a client hands over may have been ready."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.clock import NS_PER_MS, NS_PER_US
from streamgauge.kafka.clients.arrivals import WAITED_NS, WAKE_NS, Arrivals

EMPTY_NS = 10 * NS_PER_MS


@pytest.mark.parametrize(
    ("took_ns", "delay_ns", "ready_ns"),
    [
        pytest.param(20 * NS_PER_US, 0, EMPTY_NS, id="it was there when asked for"),
        pytest.param(5 * NS_PER_MS, None, EMPTY_NS, id="nobody says whether the call waited"),
        pytest.param(5 * NS_PER_MS, 0, 35 * NS_PER_MS - WAKE_NS, id="the call waited for it"),
        pytest.param(5 * NS_PER_MS, NS_PER_MS, 34 * NS_PER_MS - WAKE_NS, id="it waited, and then for a core"),
        pytest.param(5 * NS_PER_MS, 5 * NS_PER_MS - WAITED_NS, EMPTY_NS, id="it waited for nothing but a core"),
    ],
)
def test_a_call_that_waits_brings_what_was_ready_when_it_woke_up(
    took_ns: int, delay_ns: int | None, ready_ns: int
) -> None:
    began_ns = 30 * NS_PER_MS

    assert Arrivals(EMPTY_NS).ready_ns(began_ns, began_ns + took_ns, delay_ns) == ready_ns


@given(st.integers(0, 10**10), st.integers(0, 10**10), st.integers(0, 10**10), st.none() | st.integers(0, 10**10))
def test_it_was_ready_after_the_queue_was_empty_and_before_it_was_there(
    empty_ns: int, after_ns: int, took_ns: int, delay_ns: int | None
) -> None:
    began_ns = empty_ns + after_ns
    first_ns = began_ns + took_ns

    ready_ns = Arrivals(empty_ns).ready_ns(began_ns, first_ns, None if delay_ns is None else min(delay_ns, took_ns))

    assert empty_ns <= ready_ns <= first_ns
