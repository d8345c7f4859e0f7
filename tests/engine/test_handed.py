"""What lies between a due time and the client."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.engine.produce import handed
from streamgauge.engine.produce.handed import Handed


def test_messages_of_a_block_share_the_return_of_its_calls() -> None:
    blocks = Handed()
    blocks.block(100, 130)
    blocks.block(200, 290)

    assert blocks.returned_ns(np.array([200, 100, 100])).tolist() == [290, 130, 130]


def test_of_blocks_that_are_forgotten_the_latest_return_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handed, "MOST", 4)
    blocks = Handed()
    for sent_ns, took_ns in ((100, 7), (200, 30), (300, 1), (400, 2), (500, 3)):
        blocks.block(sent_ns, sent_ns + took_ns)

    assert blocks.returned_ns(np.array([100, 200, 300, 500])).tolist() == [130, 230, 301, 503]


def test_without_a_block_nothing_took_time() -> None:
    assert Handed().returned_ns(np.array([5])).tolist() == [5]


def test_a_producer_that_never_waited_has_nothing_to_tell() -> None:
    assert Handed().waited_ns(np.array([1]), np.array([2])) is None


def test_a_wait_within_another_counts_once() -> None:
    """A message is sent again while a batch is waited for, and finds the queue full."""
    waits = Handed()
    waits.wait(40, 50)
    waits.wait(20, 70)

    assert waits.waited_ns(np.array([0, 45, 60]), np.array([100, 100, 100])) is not None
    assert waits.waited_ns(np.array([0, 45, 60]), np.array([100, 100, 100])).tolist() == [30, 25, 10]  # type: ignore[union-attr]


def test_of_waits_that_are_forgotten_nothing_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handed, "MOST", 2)
    waits = Handed()
    for began_ns in (10, 20, 30):
        waits.wait(began_ns, began_ns + 5)

    waited = waits.waited_ns(np.array([0, 22]), np.array([40, 40]))

    assert waited is not None
    assert waited.tolist() == [10, 8]


@given(
    st.lists(st.tuples(st.integers(1, 100), st.integers(1, 100)), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 500)), min_size=1, max_size=10),
    st.sampled_from([0, 10**15]),
)
def test_waited_is_what_lies_between_due_and_sent(
    gaps: list[tuple[int, int]], messages: list[tuple[int, int]], base_ns: int
) -> None:
    """Exact on a clock that has run for days; summed ns by ns as the oracle."""
    waits, at = Handed(), base_ns
    waiting: set[int] = set()
    for gap, took in gaps:
        at += gap
        waits.wait(at, at + took)
        waiting |= set(range(at, at + took))
        at += took
    due_ns = base_ns + np.array([due for due, _ in messages])
    sent_ns = due_ns + np.array([late for _, late in messages])

    waited = waits.waited_ns(due_ns, sent_ns)

    assert waited is not None
    assert waited.tolist() == [
        sum(moment in waiting for moment in range(due, sent))
        for due, sent in zip(due_ns.tolist(), sent_ns.tolist(), strict=True)
    ]
