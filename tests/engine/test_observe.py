"""Looks at the shared cells of a run that holds its producers back."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from tests.waiting import until

from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.look import Held
from streamgauge.engine.board import Cell, Cells, Slot, broker_cell
from streamgauge.engine.observe.looks import Observed, Observer
from streamgauge.engine.observe.sample import Watched
from streamgauge.engine.produce.loop import Sending
from streamgauge.engine.produce.throttle import OPEN, SHUT
from streamgauge.engine.supervise.plan import Plan
from streamgauge.engine.worker.roles import ConsumerJob, ProducerJob
from streamgauge.scenario.model.backpressure import Backpressure
from streamgauge.workload.pacing import constant


def _never(*_: object) -> Any:
    raise AssertionError


PLAN = Plan(Path("run"), [], [], [], (), 1, [0], 0, 0, 0, _never)
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


def test_a_broker_is_looked_at_in_each_of_its_lives() -> None:
    """By a name for each; one that was killed is down, also while nobody has waited for it."""
    board, cell = Cells.new(1, 1), broker_cell(0)
    one, other = (subprocess.Popen(["sleep", "60"]) for _ in range(2))
    watched = [Watched("broker-1", "broker", one.pid, cell=cell), Watched("links", "proxy", os.getpid())]
    observer = Observer(board, 0)

    def seen() -> list[tuple[str, bool, bool]]:
        look = observer.look("measure", observer.others(watched), 1)
        return [(each.name, each.alive, each.cpu_ns is not None) for each in look.workers]

    try:
        assert seen() == [("broker-1", True, True), ("links", True, True)]
        one.kill()
        until(lambda: psutil.Process(one.pid).status() == psutil.STATUS_ZOMBIE)
        assert seen()[0][:2] == ("broker-1", False)
        one.wait()
        assert seen() == [("broker-1", False, False), ("links", True, True)]
        board.control[cell] = other.pid
        assert seen() == [("broker-1.2", True, True), ("links", True, True)]
    finally:
        for process in (one, other):
            process.kill()
            process.wait()


def consumers(*groups: int, redelivers: bool = False) -> list[ConsumerJob]:
    members: Any = tuple(SimpleNamespace(group=group) for group in groups)
    return [ConsumerJob(_never, members, hold=False, redelivers=redelivers)]


@pytest.mark.parametrize(
    ("changes", "reads_once"),
    [
        ({"consumers": consumers(0, 0)}, True),
        ({"consumers": []}, True),
        ({"consumers": consumers(0, 1)}, False),
        ({"consumers": consumers(0, redelivers=True)}, False),
        ({"consumers": consumers(0), "trackers": ["tracker"]}, False),
        ({"consumers": consumers(0), "query": "query"}, False),
    ],
)
def test_only_what_is_received_once_can_be_outstanding(changes: dict[str, Any], reads_once: bool) -> None:
    """Two groups receive everything twice, a pipeline writes what it likes, and what failed comes again."""
    looks = replace(PLAN, **changes).observer(Cells.new(1, 1)).look("measure", [], 1)
    assert looks.reads_once is reads_once


@pytest.mark.parametrize(("pacer", "is_constant"), [(constant(10.0, 0, 1), True), (object(), False), (None, False)])
def test_a_look_tells_whether_the_rate_is_constant(pacer: Any, is_constant: bool) -> None:
    member: Any = SimpleNamespace(sending=Sending(pacer=pacer))
    plan = replace(PLAN, producers=[ProducerJob(_never, (member,))])
    assert plan.observer(Cells.new(1, 1)).look("measure", [], 1).is_constant is is_constant


def test_a_run_without_producers_holds_none_back() -> None:
    """Its policy has nobody to act on."""
    assert Observer(Cells.new(1, 1), 0, CREDIT).look("measure", [], 1).held is None
