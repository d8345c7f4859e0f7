"""Runs that are ended in every way there is, at any moment: nothing is lost, nothing is left, nothing is claimed.

A case is a plan that a seed draws. To carry one out again:
`STREAMGAUGE_TORTURE_SEED=<seed> pytest -m soak tests/torture -k "drawn and <seed>"`, where one on three brokers is
`kept-<seed>`, say.
"""

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, get_args

import pytest
from pyspark.sql import SparkSession
from tests.torture.case import Case, remove
from tests.torture.machine import cannot
from tests.torture.plans import (
    FIXED,
    FIXED_OF_THREE,
    HARMS,
    LANDED,
    NEEDS_ROOT,
    Ending,
    Ground,
    Heir,
    Moment,
    OfThree,
    Plan,
    draw,
    draw_of_three,
    endings,
    endings_of_three,
)

from streamgauge.cluster.nodes.broker import EmbeddedBroker

Drawn = Literal["own"] | OfThree
CASES: Final[dict[Drawn, int]] = {
    "own": 200,
    "linked": 100,
    "kept": 30,
    "standing": 30,
    "mounted": 30,
}
"""How many are drawn; of those of one broker, some are on one that is given."""
ATTEMPTS = 6
Told = Callable[[str, object], None]
FIRST = int(os.environ.get("STREAMGAUGE_TORTURE_SEED", "1"))
DRAWN = [
    pytest.param(seed, on, id=f"{seed}" if on == "own" else f"{on}-{seed}")
    for on, cases in CASES.items()
    for seed in range(FIRST, FIRST + cases)
]


def test_a_seed_draws_the_same_again_and_all_are_drawn() -> None:
    """Also without what a machine cannot do."""
    assert [draw(seed) for seed in range(50)] == [draw(seed) for seed in range(50)]
    assert {draw(seed).ending for seed in range(2_000)} == set(endings())
    assert not {draw(seed, NEEDS_ROOT).ending.action for seed in range(500)} & NEEDS_ROOT
    assert {each.ending for each in FIXED} <= set(endings())
    assert not {each.ending.action for each in FIXED} & NEEDS_ROOT
    assert (len(FIXED), len(FIXED_OF_THREE)) == (12, 5)


@pytest.mark.parametrize("on", get_args(OfThree))
def test_a_seed_draws_every_ending_fault_and_heir_of_three_brokers(on: OfThree) -> None:
    """Each has an ending in every build, too."""
    drawn = [draw_of_three(seed, on) for seed in range(2_000)]
    assert drawn[:50] == [draw_of_three(seed, on) for seed in range(50)]
    assert {each.ending for each in drawn} == set(endings_of_three(on))
    assert {each.harm for each in drawn} == set(HARMS.get(on, [None]))
    assert {each.heir for each in drawn} == (set(get_args(Heir)) if on == "standing" else {None})
    fixed = [each for each in FIXED_OF_THREE if each.on == on]
    assert fixed
    assert {each.ending for each in fixed} <= set(endings_of_three(on))
    assert {each.harm for each in fixed} <= set(HARMS.get(on, [None]))


@pytest.mark.parametrize(
    ("moment", "is_over", "delay_seconds"),
    [
        ("start", False, 3.0),
        ("start", True, 0.5),
        ("drain", False, 0.5),
        ("load", False, 0.5),
        ("analysis", False, 3.0),
    ],
)
def test_an_ending_that_found_nobody_is_moved_to_where_somebody_is(
    moment: Moment, is_over: bool, delay_seconds: float
) -> None:
    """Later where they have not begun, earlier where they have ended."""
    plan = Plan(Ending(moment, "kill", "supervisor"), 1.0)
    assert plan.moved(plan.missed(is_over=is_over)).delay_seconds == delay_seconds


def test_an_ending_that_is_moved_comes_closer_each_time() -> None:
    """Between what was too early and what was too late."""
    plan, tried = Plan(Ending("start", "kill", "broker"), 3.5), list[float]()
    for missed in ("late", "early", "early", "late"):
        plan = plan.moved("early" if missed == "early" else "late")
        tried.append(plan.delay_seconds)
    assert tried == [1.75, 2.625, 3.0625, 2.84375]


@pytest.mark.parametrize(
    "plan",
    [*FIXED, *FIXED_OF_THREE],
    ids=lambda plan: plan.title,
)
@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.e2e
@pytest.mark.timeout(600)
def test_a_fixed_ending(
    plan: Plan, broker: EmbeddedBroker, warm_spark: SparkSession, tmp_path: Path, record_property: Told
) -> None:
    """Seventeen of every build."""
    _need(plan.on)
    record_property(LANDED, plan.title)
    assert _faults(plan, tmp_path, broker.bootstrap) == []


@pytest.mark.parametrize(("seed", "on"), DRAWN)
@pytest.mark.soak
@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.e2e
@pytest.mark.timeout(600)
def test_a_drawn_ending(
    seed: int,
    on: Drawn,
    broker: EmbeddedBroker,
    warm_spark: SparkSession,
    tmp_path: Path,
    record_property: Told,
) -> None:
    """Two hundred at random; on three brokers, a hundred while links are delayed or cut and one of them dies.

    And thirty each where they are kept, where they are somebody else's, and where a log directory fails.
    """
    _need(on)
    plan = draw(seed, [each for each in NEEDS_ROOT if each in cannot()]) if on == "own" else draw_of_three(seed, on)
    print(f"seed {seed}: {plan}")
    record_property(LANDED, plan.title)
    assert _faults(plan, tmp_path, broker.bootstrap) == []


def _need(on: Ground) -> None:
    if on in cannot():
        pytest.skip(cannot()[on])


def _faults(plan: Plan, root: Path, bootstrap: str) -> list[str]:
    """What did not hold. An ending that was done to nobody is none: it is done again at another moment."""
    for attempt in range(ATTEMPTS):
        folder = root / f"{root.name}-{attempt}"
        folder.mkdir()
        case = Case(plan, folder, bootstrap if plan.on == "given" else None)
        faults = _told(case, root / "faults.txt")
        if faults:
            return faults
        remove(folder)
        if case.missed is None:
            return []
        plan = plan.moved(case.missed)
    return [f"in {ATTEMPTS} attempts nobody was there: {plan}"]


def _told(case: Case, told: Path) -> list[str]:
    """What did not hold in a case, also in a file, for people who do not want to wait until all have ended."""
    try:
        faults = case.carry_out()
    except BaseException:
        told.write_text(f"{case.plan}\n{traceback.format_exc()}")
        raise
    if faults:
        told.write_text("\n".join([str(case.plan), *faults]))
    return faults
