"""What becomes of a message that failed, when it may come again, and what may be committed meanwhile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.delivery.retries.decisions import (
    HeldBack,
    NextRetry,
    Retries,
    after_failure,
    due_ms,
    level_of,
    number_at,
    ripe,
)
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND

ONE, FIVE = NS_PER_SECOND, 5 * NS_PER_SECOND


@pytest.mark.parametrize(
    ("delays", "limit", "goes"),
    [
        ((ONE, FIVE), 2, [NextRetry(1, ONE), NextRetry(2, FIVE), None, None]),
        ((ONE, FIVE), 4, [NextRetry(1, ONE), NextRetry(2, FIVE), NextRetry(2, FIVE), NextRetry(2, FIVE), None]),
        ((ONE,), None, [NextRetry(1, ONE)] * 100),
        ((FIVE, ONE), 2, [NextRetry(1, FIVE), NextRetry(2, ONE), None]),
    ],
)
def test_a_message_goes_from_topic_to_topic_and_is_dead_in_the_end(
    delays: tuple[int, ...], limit: int | None, goes: list[NextRetry | None]
) -> None:
    """The last delay counts for all further redeliveries."""
    retries = Retries(delays, limit)
    assert [after_failure(delivery, retries) for delivery in range(1, len(goes) + 1)] == goes


@given(st.integers(0, 1 << 60), st.integers(0, 1 << 45))
def test_a_message_is_due_in_the_first_whole_millisecond_after_its_delay(failed_ns: int, delay_ns: int) -> None:
    due_ns = due_ms(failed_ns, delay_ns) * NS_PER_MS
    assert 0 <= due_ns - (failed_ns + delay_ns) < NS_PER_MS


@pytest.mark.parametrize(
    ("dues", "count"), [([], 0), ([11], 0), ([10], 1), ([3, 10, 11, 4], 2), ([11, 1, 1], 0), ([1, 2, 3], 3)]
)
def test_what_is_due_goes_on_up_to_the_first_that_is_not(dues: list[int], count: int) -> None:
    assert ripe(dues, 10) == count


def test_retry_topics_stand_behind_the_topics_level_by_level() -> None:
    """Of three topics: 0 to 2, their first retry topics 3 to 5, their second ones 6 to 8."""
    assert [number_at(topic, 1, 3) for topic in range(6)] == [3, 4, 5, 3, 4, 5]
    assert [number_at(topic, 2, 3) for topic in range(9)] == [6, 7, 8] * 3
    assert [level_of(number, 3) for number in range(9)] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@given(st.lists(st.tuples(st.sampled_from(("add", "written", "forget")), st.integers(0, 1), st.integers(0, 9))))
def test_nothing_is_committed_at_or_behind_what_is_not_written(steps: list[tuple[str, int, int]]) -> None:
    """As a plain list says it, in which an offset may stand twice."""
    held, plain = HeldBack(), list[tuple[int, int]]()
    for what, partition, offset in steps:
        place = (0, partition)
        if what == "add":
            held.add(place, offset)
            plain.append((partition, offset))
        elif what == "written":
            held.written(place, offset)
            if (partition, offset) in plain:
                plain.remove((partition, offset))
        else:
            held.forget(place)
            plain = [each for each in plain if each[0] != partition]
        assert len(held) == len(plain)
        for each in (0, 1):
            mine = [offset for at, offset in plain if at == each]
            for wanted in (0, 5, 10):
                assert held.allowed((0, each), wanted) == min([wanted, *mine])
