"""What the supervisor decides, as tables."""

import pytest

from streamgauge.engine.live import Live, Order, PollGap, Slot, gap_of_last_second
from streamgauge.engine.supervise import is_group_complete, phases

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("assigned", "partitions", "complete"),
    [
        ([], 12, True),
        ([12], 12, True),
        ([6, 6], 12, True),
        ([12, 0], 12, False),
        ([6, 5], 12, False),
        ([12, 6], 12, False),
        ([1, 1, 0], 2, True),
        ([0, 0], 2, False),
    ],
)
def test_a_group_is_complete_when_no_member_waits(assigned: list[int], partitions: int, complete: bool) -> None:
    """Every partition once, and a share for everybody who can have one."""
    assert complete is is_group_complete(assigned, partitions)


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        (40, [(0, 5), (5, 40)]),
        (35, [(0, 5), (5, 35)]),
        (5, [(0, 5), (5, 5)]),
        (3, [(0, 3), (3, 3)]),
    ],
)
def test_phases_end_when_the_load_is_over(over: int, expected: list[tuple[int, int]]) -> None:
    """Also when that is before the measure phase began."""
    assert expected == [(phase.from_ns, phase.to_ns) for phase in phases(0, 5, over)]


def test_orders_only_rise() -> None:
    """An abort is not taken back by a late order to finish."""
    live = Live.create(1, 1)
    live.give(Order.ABORT)
    live.give(Order.FINISH)

    assert live.order == Order.ABORT
    live.close()


def test_a_worker_leaves_its_reason() -> None:
    """Cut to what fits; nobody else's is touched."""
    live = Live.create(2, 3)
    live.say(1, "disk full: " + "x" * 1000)

    assert live.said(0) is None
    assert (live.said(1) or "").startswith("disk full: xxx")
    live.close()


def test_the_longest_gap_between_polls_is_kept_by_second() -> None:
    """A reader takes the second that is over, while the worker writes the one that runs."""
    live = Live.create(1, 1)
    slot = live.slots[0]
    gap = PollGap(slot, 10 * SECOND)
    for begin, end in ((10.1, 10.2), (10.7, 10.8), (11.0, 11.1), (11.15, 11.2)):
        gap.begin(round(begin * SECOND))
        gap.end(round(end * SECOND))

    assert gap_of_last_second(slot, round(11.5 * SECOND)) == pytest.approx(0.5 * SECOND)
    assert gap_of_last_second(slot, round(12.5 * SECOND)) == pytest.approx(0.2 * SECOND)
    gap.begin(round(12.6 * SECOND))
    assert gap_of_last_second(slot, round(13.5 * SECOND)) == pytest.approx(1.4 * SECOND)
    assert slot[Slot.MESSAGES] == 0
    live.close()
