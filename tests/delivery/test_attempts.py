"""What became of deliveries, by examples of every class."""

import pytest

from streamgauge.delivery.attempts import (
    ACCEPTED,
    DEAD_LETTER,
    REDELIVERED,
    REJECTED,
    RELEASED,
    TIMED_OUT,
    Attempt,
    Carried,
    Delivery,
    Redeliveries,
    overtaken,
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
    found = redeliveries([delivery(FIRST, 1, 5, 7)], [Attempt(FIRST, 9, ACCEPTED, 1)])

    assert counted(found) == {"messages": 1, "succeeded": 1, "deliveries": 1, "accepted": 1}
    assert found.by_number == {1: {"deliveries": 1, "accepted": 1, "dead_letter": 0}}
    assert (found.delays_ns, found.answers_ns) == ([], {ONE: 9})


def test_one_that_fails_is_delivered_again_after_its_deadline() -> None:
    rows = [delivery(FIRST, 1, 5), delivery(SECOND, 2, 130, 140)]
    told = [Attempt(FIRST, 6, RELEASED, 1), Attempt(FIRST, 120, REDELIVERED, 1), Attempt(SECOND, 150, ACCEPTED, 2)]
    found = redeliveries(rows, told)

    assert counted(found) == {"messages": 1, "succeeded": 1, "deliveries": 2, "accepted": 1, "released": 1}
    assert (found.delays_ns, found.answers_ns) == ([25], {ONE: 150})


def test_one_that_comes_before_its_deadline_is_early() -> None:
    found = redeliveries([delivery(FIRST, 1, 5), delivery(SECOND, 2, 104)], [])
    assert counted(found) == {"messages": 1, "open": 1, "deliveries": 2, "unanswered": 2, "early": 1}
    assert found.delays_ns == [-1]


def test_a_message_of_a_retry_topic_tells_itself_when_it_was_due() -> None:
    """Whatever is known of the deliveries before it, of which a kill leaves some that nobody recorded."""
    again = delivery(SECOND, 2, 104)._replace(due_ns=103)
    assert redeliveries([delivery(FIRST, 1, 5), again], []).delays_ns == [1]
    assert redeliveries([again], []).delays_ns == [1]
    assert redeliveries([delivery(FIRST, 1, 5)._replace(due_ns=3)], []).delays_ns == []
    assert redeliveries([again._replace(due_ns=105)], []).counts["early"] == 1


def test_of_several_deliveries_before_it_the_earliest_deadline_counts() -> None:
    """As after a crash between the writing of a message and its commit: nothing tells which of them it follows."""
    rows = [delivery(FIRST, 1, 5), delivery(SECOND, 1, 60), delivery(THIRD, 2, 110)]
    found = redeliveries(rows, [])
    assert (found.counts["early"], found.delays_ns) == (0, [5])


@pytest.mark.parametrize(("written_ns", "early", "delays"), [(59, 0, []), (60, 1, [-50])])
def test_what_was_sent_again_before_it_was_read_follows_a_read_that_nobody_recorded(
    written_ns: int, early: int, delays: list[int]
) -> None:
    """Its consumer died. The successor has read it again since, and so its deadline is another."""
    rows = [delivery(FIRST, 1, 60), delivery(SECOND, 2, 110)]
    found = redeliveries(rows, [Attempt(FIRST, written_ns, REDELIVERED, 1)])
    assert (found.counts["early"], found.delays_ns) == (early, delays)


def test_one_that_was_the_last_is_rejected_and_dead() -> None:
    """With retry topics its consumer knows."""
    rows = [delivery(FIRST, 1, 5), delivery(SECOND, 2, 130)]
    told = [
        Attempt(FIRST, 6, RELEASED, 1), Attempt(SECOND, 140, REJECTED, 2), Attempt(SECOND, 150, DEAD_LETTER, 2),
    ]  # fmt: skip
    found = redeliveries(rows, told)
    assert counted(found) == {"messages": 1, "dead": 1, "deliveries": 2, "released": 1, "rejected": 1}
    assert found.by_number[2] == {"deliveries": 1, "rejected": 1, "dead_letter": 1}


def test_one_that_comes_after_success_is_a_duplicate() -> None:
    """The acknowledgement came too late for the tracker."""
    rows = [delivery(FIRST, 1, 5, 104), delivery(SECOND, 2, 106, 107)]
    found = redeliveries(rows, [Attempt(FIRST, 108, ACCEPTED, 1), Attempt(SECOND, 109, ACCEPTED, 2)])

    assert counted(found) == {"messages": 1, "succeeded": 1, "deliveries": 2, "accepted": 2, "duplicates": 1}
    assert found.answers_ns == {ONE: 108}


@pytest.mark.parametrize("is_late", [False, True])
def test_one_that_fails_every_time_is_dead(is_late: bool) -> None:
    """One may be dead and done: accepted when the tracker had given it up."""
    rows = [delivery(FIRST, 1, 5), delivery(SECOND, 2, 130)]
    last = Attempt(SECOND, 260, ACCEPTED if is_late else RELEASED, 2)
    found = redeliveries(rows, [Attempt(FIRST, 6, RELEASED, 1), last, Attempt(SECOND, 250, DEAD_LETTER, 2)])

    assert found.counts["dead"] == 1
    assert found.counts["dead_after_success"] == found.counts["succeeded"] == int(is_late)
    assert found.counts["open"] == 0
    assert found.by_number[2]["dead_letter"] == 1


def test_an_offset_that_is_read_twice_is_one_delivery() -> None:
    """As after a rebalance; it began when it was read first."""
    rows = [delivery(FIRST, 1, 50), delivery(FIRST, 1, 5), Delivery(TWO, THIRD, 1, 1, None, None)]
    found = redeliveries(rows, [Attempt(FIRST, 60, ACCEPTED, 1)])

    assert counted(found) == {
        "messages": 2, "succeeded": 1, "open": 1, "deliveries": 2, "accepted": 1, "unanswered": 1, "reread": 1,
    }  # fmt: skip


def test_a_deadline_that_is_not_known_tells_no_delay() -> None:
    found = redeliveries([Delivery(ONE, FIRST, 1, 5, None, None), delivery(SECOND, 2, 9)], [])
    assert found.delays_ns == []
    assert found.counts["early"] == 0


IN_PLACE = Carried(in_place=True, limit=1)
"""A share group that delivers a message twice at most."""


@pytest.mark.parametrize(
    ("refused_ns", "in_place", "delays"),
    [(104, True, []), (105, True, [-96]), (None, True, [-96]), (104, False, [-96])],
)
def test_a_lock_that_was_over_before_its_consumer_read_the_message_tells_no_delay(
    refused_ns: int | None, in_place: bool, delays: list[int]
) -> None:
    """A consumer that hung takes it for a lock that began when it went on; the broker refuses its answer."""
    told = [] if refused_ns is None else [Attempt(FIRST, refused_ns, TIMED_OUT, 1)]
    found = redeliveries([delivery(FIRST, 1, 5), delivery(FIRST, 2, 9)], told, Carried(in_place=in_place))
    assert (found.delays_ns, found.counts["early"]) == (delays, len(delays))


def again(number: int, at_ns: int, ended_ns: int | None = None) -> Delivery:
    """A delivery of the first message by a share group: always from the same offset."""
    return delivery(FIRST, number, at_ns, ended_ns)


def test_a_share_group_delivers_what_is_released_from_the_same_offset_at_once() -> None:
    """Its deadline is the release, not the end of its lock."""
    rows = [again(1, 5), again(2, 20, 22)]
    told = [Attempt(FIRST, 8, RELEASED, 1), Attempt(FIRST, 25, ACCEPTED, 2)]
    found = redeliveries(rows, told, IN_PLACE)

    assert counted(found) == {"messages": 1, "succeeded": 1, "deliveries": 2, "accepted": 1, "released": 1}
    assert (found.delays_ns, found.answers_ns) == ([12], {ONE: 25})
    assert {number: (each["released"], each["accepted"]) for number, each in found.by_number.items()} == {
        1: (1, 0), 2: (0, 1),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ((Attempt(FIRST, 30, REJECTED, 2), Attempt(FIRST, 29, DEAD_LETTER, 2)), {"rejected": 1, "dead": 1}),
        ((Attempt(FIRST, 30, RELEASED, 2),), {"released": 1, "archived": 1}),
        ((Attempt(FIRST, 140, TIMED_OUT, 2),), {"timed_out": 1, "archived": 1}),
        ((), {"unanswered": 1, "archived": 1}),
        ((Attempt(FIRST, 140, TIMED_OUT, 2), Attempt(FIRST, 30, ACCEPTED, 2)), {"accepted": 1, "succeeded": 1}),
    ],
)
def test_what_a_share_group_gives_up_is_dead_or_archived(last: tuple[Attempt, ...], expected: dict[str, int]) -> None:
    """After its last delivery it has no dead letter where its consumer wrote none, because it died, or was too late."""
    found = redeliveries([again(1, 5), again(2, 120)], [Attempt(FIRST, 119, TIMED_OUT, 1), *last], IN_PLACE)
    first = {"messages": 1, "deliveries": 2}
    assert counted(found) == {**first, "timed_out": 1 + expected.get("timed_out", 0), **{
        name: count for name, count in expected.items() if name != "timed_out"
    }}  # fmt: skip
    assert found.delays_ns == [15]


def test_a_message_before_its_last_delivery_is_open() -> None:
    assert counted(redeliveries([again(1, 5)], [], IN_PLACE))["open"] == 1


def test_what_comes_back_with_its_number_is_no_redelivery() -> None:
    """A broker that takes over may not know of a delivery that nobody acknowledged."""
    found = redeliveries([again(1, 5), again(1, 18)], [Attempt(FIRST, 20, ACCEPTED, 1)], IN_PLACE)
    assert counted(found) == {"messages": 1, "succeeded": 1, "deliveries": 1, "accepted": 1, "reread": 1}


@pytest.mark.parametrize(
    ("successes", "count"),
    [
        ([], 0),
        ([(1, 10), (2, 20), (3, 30)], 0),
        ([(1, 10), (2, 10)], 0),
        ([(1, 30), (2, 20), (3, 25)], 1),
        ([(1, 30), (2, 29), (3, 5)], 2),
        ([(3, 5), (1, 30), (2, 29)], 2),
    ],
)
def test_a_message_that_succeeds_after_a_later_one_is_overtaken(successes: list[tuple[int, int]], count: int) -> None:
    assert overtaken(successes) == count


def test_order_is_that_of_a_producer_in_a_partition() -> None:
    """The first message succeeds last; the second is another one of its partition, the others are not."""
    others = [((0, 0, 2), (0, 3, 11)), ((0, 0, 3), (0, 4, 1)), ((0, 1, 4), (0, 3, 12)), ((1, 0, 5), (1, 3, 1))]
    rows = [Delivery(ONE, FIRST, 1, 5, 100, None), *(Delivery(*each, 1, 6, 10, None) for each in others)]
    told = [Attempt(row.place, 101, ACCEPTED, 1) for row in rows]

    assert redeliveries(rows, told).counts["overtaken"] == 1
    assert redeliveries([rows[0], *rows[2:]], told).counts["overtaken"] == 0
    assert redeliveries(rows, told[1:]).counts["overtaken"] == 0
