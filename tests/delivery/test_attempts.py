"""What became of deliveries, by examples of every class."""

import pytest

from streamgauge.delivery.attempts import (
    ACCEPTED,
    DEAD_LETTER,
    REDELIVERED,
    REJECTED,
    RELEASED,
    Attempt,
    Delivery,
    Redeliveries,
    redeliveries,
)

ONE, TWO = (0, 0, 1), (0, 0, 2)
FIRST, SECOND, THIRD = (0, 3, 10), (0, 3, 11), (0, 3, 12)


def delivery(place: tuple[int, int, int], number: int, at_ns: int, ended_ns: int | None = None) -> Delivery:
    """A delivery of the first message, which is due again 100 ns later."""
    return Delivery(ONE, place, number, at_ns, ended_ns, at_ns + 100)


def counted(found: Redeliveries) -> dict[str, int]:
    """The counts that are not 0."""
    return {name: count for name, count in found.counts.items() if count}


def test_a_message_that_is_accepted_at_once_is_delivered_once() -> None:
    found = redeliveries([delivery(FIRST, 1, 5, 7)], [Attempt(FIRST, 9, ACCEPTED)])

    assert counted(found) == {"messages": 1, "succeeded": 1, "deliveries": 1, "accepted": 1}
    assert found.by_number == {1: {"deliveries": 1, "accepted": 1, "dead_letter": 0}}
    assert (found.delays_ns, found.answers_ns) == ([], {ONE: 9})


def test_one_that_fails_is_delivered_again_after_its_deadline() -> None:
    rows = [delivery(FIRST, 1, 5), delivery(SECOND, 2, 130, 140)]
    told = [Attempt(FIRST, 6, RELEASED), Attempt(FIRST, 120, REDELIVERED), Attempt(SECOND, 150, ACCEPTED)]
    found = redeliveries(rows, told)

    assert counted(found) == {"messages": 1, "succeeded": 1, "deliveries": 2, "accepted": 1, "released": 1}
    assert (found.delays_ns, found.answers_ns) == ([25], {ONE: 150})


def test_one_that_comes_before_its_deadline_is_early() -> None:
    found = redeliveries([delivery(FIRST, 1, 5), delivery(SECOND, 2, 104)], [])
    assert counted(found) == {"messages": 1, "open": 1, "deliveries": 2, "unanswered": 2, "early": 1}
    assert found.delays_ns == [-1]


def test_of_several_deliveries_before_it_the_earliest_deadline_counts() -> None:
    """As after a crash between the writing of a message and its commit: nothing tells which of them it follows."""
    rows = [delivery(FIRST, 1, 5), delivery(SECOND, 1, 60), delivery(THIRD, 2, 110)]
    found = redeliveries(rows, [])
    assert (found.counts["early"], found.delays_ns) == (0, [5])


def test_one_that_was_the_last_is_rejected_and_dead() -> None:
    """With retry topics its consumer knows."""
    rows = [delivery(FIRST, 1, 5), delivery(SECOND, 2, 130)]
    told = [Attempt(FIRST, 6, RELEASED), Attempt(SECOND, 140, REJECTED), Attempt(SECOND, 150, DEAD_LETTER)]
    found = redeliveries(rows, told)
    assert counted(found) == {"messages": 1, "dead": 1, "deliveries": 2, "released": 1, "rejected": 1}
    assert found.by_number[2] == {"deliveries": 1, "rejected": 1, "dead_letter": 1}


def test_one_that_comes_after_success_is_a_duplicate() -> None:
    """The acknowledgement came too late for the tracker."""
    rows = [delivery(FIRST, 1, 5, 104), delivery(SECOND, 2, 106, 107)]
    found = redeliveries(rows, [Attempt(FIRST, 108, ACCEPTED), Attempt(SECOND, 109, ACCEPTED)])

    assert counted(found) == {"messages": 1, "succeeded": 1, "deliveries": 2, "accepted": 2, "duplicates": 1}
    assert found.answers_ns == {ONE: 108}


@pytest.mark.parametrize("is_late", [False, True])
def test_one_that_fails_every_time_is_dead(is_late: bool) -> None:
    """One may be dead and done: accepted when the tracker had given it up."""
    rows = [delivery(FIRST, 1, 5), delivery(SECOND, 2, 130)]
    last = Attempt(SECOND, 260, ACCEPTED if is_late else RELEASED)
    found = redeliveries(rows, [Attempt(FIRST, 6, RELEASED), last, Attempt(SECOND, 250, DEAD_LETTER)])

    assert found.counts["dead"] == 1
    assert found.counts["dead_after_success"] == found.counts["succeeded"] == int(is_late)
    assert found.counts["open"] == 0
    assert found.by_number[2]["dead_letter"] == 1


def test_an_offset_that_is_read_twice_is_one_delivery() -> None:
    """As after a rebalance; it began when it was read first."""
    rows = [delivery(FIRST, 1, 50), delivery(FIRST, 1, 5), Delivery(TWO, THIRD, 1, 1, None, None)]
    found = redeliveries(rows, [Attempt(FIRST, 60, ACCEPTED)])

    assert counted(found) == {
        "messages": 2, "succeeded": 1, "open": 1, "deliveries": 2, "accepted": 1, "unanswered": 1, "reread": 1,
    }  # fmt: skip


def test_a_deadline_that_is_not_known_tells_no_delay() -> None:
    found = redeliveries([Delivery(ONE, FIRST, 1, 5, None, None), delivery(SECOND, 2, 9)], [])
    assert found.delays_ns == []
    assert found.counts["early"] == 0
