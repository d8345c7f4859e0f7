"""How a partition ended decides what a message is that nobody received."""

import pytest

from streamgauge.delivery.ends import Dead, End, LostBlock, ends, members, missing
from streamgauge.delivery.rows import Lag

ENDED = End(start=10, position=50, end=60)


@pytest.mark.parametrize(
    ("offset", "end", "name"),
    [
        (9, ENDED, "expired"),
        (10, ENDED, "lost"),
        (49, ENDED, "lost"),
        (50, ENDED, "undelivered"),
        (59, ENDED, "undelivered"),
        (60, ENDED, "lost"),
        (30, None, "unknown"),
        (30, ENDED._replace(start=None), "unknown"),
        (30, ENDED._replace(position=None), "unknown"),
        (30, ENDED._replace(end=None), "unknown"),
    ],
)
def test_the_offset_of_a_missing_message_says_its_class(offset: int, end: End | None, name: str) -> None:
    assert missing(offset, end, (), all_read_out=True) == name


@pytest.mark.parametrize(("all_read_out", "name"), [(True, "lost"), (False, "unknown")])
def test_without_an_offset_a_message_is_lost_only_when_all_was_read(all_read_out: bool, name: str) -> None:
    assert missing(None, ENDED, (), all_read_out=all_read_out) == name


@pytest.mark.parametrize(
    ("offset", "name"),
    [(20, "lost"), (21, "unknown"), (29, "unknown"), (30, "lost"), (55, "undelivered"), (5, "expired")],
)
def test_what_a_dead_consumer_may_have_had_is_unknown(offset: int, name: str) -> None:
    assert missing(offset, ENDED, [LostBlock(20, 30)], all_read_out=True) == name


def test_a_block_without_limit_reaches_to_the_final_position() -> None:
    block = LostBlock(20, None)
    assert [missing(offset, ENDED, [block], all_read_out=True) for offset in (49, 50)] == ["unknown", "undelivered"]


def lag(moment: str, consumer: int | None = None, partition: int = 0, **known: int) -> Lag:
    values = {"start": None, "committed": None, "position": None, "end": None} | known
    return Lag(moment=moment, topic=0, group=0, consumer=consumer, partition=partition, **values)


ROWS = [
    lag("start", committed=3, end=3),
    lag("final", start=0, committed=7, end=9),
    lag("final", consumer=0, position=5),
    lag("final", consumer=1, position=8),
    lag("sample", consumer=1, position=9, end=99),
]


def test_the_position_is_the_highest_that_any_consumer_reported() -> None:
    assert ends(ROWS) == {(0, 0, 0): End(start=0, position=8, end=9)}


def test_without_a_report_the_position_is_unknown_unless_a_consumer_died() -> None:
    rows = [row for row in ROWS if row.position is None]
    assert ends(rows)[0, 0, 0].position is None
    assert ends(rows, Dead({(0, 0, 0): 6}, {}))[0, 0, 0].position == 7
    assert ends(rows, Dead({}, {}))[0, 0, 0].position == 3
    assert ends(ROWS, Dead({(0, 0, 0): 6}, {}))[0, 0, 0].position == 8


@pytest.mark.parametrize(
    ("end", "read_out"),
    [(End(0, 9, 9), True), (End(0, 8, 9), False), (End(0, None, 9), False), (End(0, 9, None), False)],
)
def test_a_partition_is_read_out_when_the_position_reached_the_end(end: End, read_out: bool) -> None:
    assert end.read_out is read_out


def test_the_dead_are_members_of_the_group_that_they_recorded_for_or_of_any() -> None:
    """Consumer 9 read for group 1; nobody knows for whom 8 was to read."""
    found = members(frozenset([8, 9]), (0, 1), [(0, 3), (1, 9), (1, 4)])
    assert found == {0: frozenset([8]), 1: frozenset([8, 9])}
