"""What the follower sampler records: what each broker lacks of the longest logs, and looks that failed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.test_replicas import Rows

from streamgauge.domain.blocks import LogEnds
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.board import Order
from streamgauge.engine.observe.followers import Behind, FollowerSampler, behind

Look = tuple[int | None, LogEnds]


@dataclass
class Quorum:
    """Answers one after the other."""

    answers: list[Look | BrokerError]

    def look(self) -> Look:
        answer = self.answers.pop(0)
        if isinstance(answer, BrokerError):
            raise answer
        return answer

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(
    ("ends", "lacks"),
    [
        ({}, {}),
        ({1: {(0, 0): 9}}, {1: Behind(0, 0, None)}),
        ({1: {(0, 0): 9}, 2: {(0, 0): 9}}, {1: Behind(0, 0, None), 2: Behind(0, 0, None)}),
        # Each leads one partition, and is behind of the other.
        (
            {1: {(0, 0): 9, (0, 1): 3}, 2: {(0, 0): 5, (0, 1): 10}},
            {1: Behind(7, 7, (0, 1)), 2: Behind(4, 4, (0, 0))},
        ),
        # One that did not answer lacks nothing that is known.
        ({1: {(0, 0): 9}, 2: "timed out", 3: {(0, 0): 2}}, {1: Behind(0, 0, None), 3: Behind(7, 7, (0, 0))}),
        # Not every broker keeps every partition.
        ({1: {(0, 0): 9}, 2: {(1, 0): 4}}, {1: Behind(0, 0, None), 2: Behind(0, 0, None)}),
        ({1: {(0, 0): 9, (0, 1): 9}, 2: {(0, 0): 8, (0, 1): 2}}, {1: Behind(0, 0, None), 2: Behind(8, 7, (0, 1))}),
    ],
)
def test_a_broker_lacks_what_the_longest_log_has_more(ends: LogEnds, lacks: dict[int, Behind]) -> None:
    assert behind(ends) == lacks


@given(
    st.dictionaries(
        st.integers(1, 4), st.dictionaries(st.tuples(st.integers(0, 1), st.integers(0, 2)), st.integers(0, 50))
    )
)
def test_somebody_has_the_longest_log_of_each_partition(ends: dict[int, dict[tuple[int, int], int]]) -> None:
    found = behind(ends)

    assert found.keys() == ends.keys()
    for node, lacks in found.items():
        assert 0 <= lacks.worst <= lacks.behind
        assert (lacks.place is None) == (lacks.behind == 0)
        others = [told for other, told in ends.items() if other != node]
        if lacks.place is not None:
            assert max(told.get(lacks.place, 0) for told in others) - ends[node][lacks.place] == lacks.worst


def sampled(*answers: Look | BrokerError) -> Sequence[dict[str, Any]]:
    rows, clock = Rows(), iter(range(1_000))
    sampler = FollowerSampler(Quorum(list(answers)), rows, lambda: Order.GO, now_ns=lambda: next(clock))
    for _ in answers:
        sampler.look()
    return rows.rows


def test_each_broker_has_a_row_of_each_look() -> None:
    rows = sampled((2, {1: {(0, 0): 9, (1, 3): 5}, 2: {(0, 0): 9, (1, 3): 1}, 3: "no answer"}))

    names = ("at_ns", "answered_ns", "controller", "node", "behind", "worst", "topic", "partition", "error")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (0, 1, 2, 1, 0, 0, None, None, None), (0, 1, 2, 2, 4, 4, 1, 3, None),
        (0, 1, 2, 3, None, None, None, None, "no answer"),
    ]  # fmt: skip


def test_a_look_without_an_answer_is_a_row_with_the_reason() -> None:
    (row,) = sampled(BrokerError("followers were not read"))

    assert (row["at_ns"], row["answered_ns"], row["node"], row["error"]) == (0, None, None, "followers were not read")
