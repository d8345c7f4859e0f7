"""Looks at the shared cells of a run that holds its producers back."""

import os

import pytest

from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.look import Held
from streamgauge.engine.board import Cell, Cells, Slot
from streamgauge.engine.observe.looks import Observed, Observer
from streamgauge.engine.produce.throttle import OPEN, SHUT
from streamgauge.scenario.model.backpressure import Backpressure

HYSTERESIS = Backpressure.model_validate({"hysteresis": {"max_lag": 20_000}})
CREDIT = Backpressure.model_validate({"credit": {"limit": 5_000}})


def held(policy: Backpressure | None, granted: list[int], claimed: list[int]) -> Held | None:
    board = Cells.new(2, 1)
    board.slots[:, Slot.GRANTED], board.slots[:, Slot.CLAIMED] = granted, claimed
    observed = [Observed("producer-0", "producer", os.getpid(), (0,)), Observed("p-1", "producer", os.getpid(), (1,))]
    return Observer(board, 0, policy).look("measure", observed, 1).held


@pytest.mark.parametrize(
    ("policy", "granted", "claimed", "expected"),
    [
        (None, [0, 0], [9, 9], None),
        (HYSTERESIS, [OPEN, OPEN], [9, 9], Held(20_000, paused=False)),
        (HYSTERESIS, [SHUT, SHUT], [9, 9], Held(20_000, paused=True)),
        # The controller writes one after the other.
        (HYSTERESIS, [SHUT, OPEN], [9, 9], Held(20_000, paused=False)),
        (CREDIT, [2_500, 2_500], [0, 0], Held(5_000, in_use=0)),
        (CREDIT, [10_000, 9_000], [9_990, 9_000], Held(5_000, in_use=4_990)),
        # Both move while they are read.
        (CREDIT, [10, 10], [11, 11], Held(5_000, in_use=5_000)),
        (CREDIT, [9_000, 9_000], [0, 0], Held(5_000, in_use=0)),
    ],
)
def test_what_holds_producers_back_is_seen(
    policy: Backpressure | None, granted: list[int], claimed: list[int], expected: Held | None
) -> None:
    """Credit in use is what producers cannot take at once."""
    assert held(policy, granted, claimed) == expected


def test_lag_is_not_known_until_it_was_sampled() -> None:
    """No lag is a lag of 0."""
    board = Cells.new(1, 1)
    observer = Observer(board, 0)
    board.control[Cell.LAG] = NULL_INT64
    assert observer.look("measure", [], 1).lag is None
    board.control[Cell.LAG] = 0
    assert observer.look("measure", [], 1).lag == 0


def test_a_run_without_producers_holds_none_back() -> None:
    """Its policy has nobody to act on."""
    assert Observer(Cells.new(1, 1), 0, CREDIT).look("measure", [], 1).held is None
