"""Staircases of rates: which run comes next, and what the runs say, of systems whose capacity is known."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streamgauge.experiments.search.staircase import Staircase, StairTrial, conforming, high_bound, next_run

MOST = 10_000_000.0
Tell = Callable[[str, float | None], StairTrial]


def system(capacity: float, **limits: float) -> Tell:
    """Reaches rates up to a capacity; each objective holds up to a limit of its own."""

    def tell(phase: Any, value: float | None) -> StairTrial:
        if value is None:
            return StairTrial(phase, None, capacity)
        says = {text: value <= limit for text, limit in limits.items()}
        return StairTrial(phase, value, min(value, capacity), value <= capacity, says)

    return tell


def climbed(plan: Staircase, tell: Tell, *objectives: str, most: float = MOST) -> list[StairTrial]:
    trials: list[StairTrial] = []
    while asked := next_run(trials, plan, objectives, most):
        trials.append(tell(*asked))
        assert len(trials) < 2_000
    return trials


def values(trials: list[StairTrial], phase: str) -> list[float | None]:
    return [each.value for each in trials if each.phase == phase]


@pytest.mark.parametrize(
    ("plan", "capacity", "tried", "bound"),
    [
        pytest.param(
            {"bound": "steps"}, 47_500, [20_000, 40_000, 60_000, 50_000, 45_000, 46_000, 47_000, 48_000], 47_000,
            id="no rate at or above one that was missed is tried again",
        ),
        pytest.param(
            {"bound": "steps", "bound_steps": [10, 1]}, 123.5, [*range(10, 140, 10), 121, 122, 123, 124], 123,
            id="more than ten steps of one size",
        ),
        pytest.param(
            {"bound": "steps"}, 7_000, [20_000, 10_000, 5_000, 6_000, 7_000, 8_000], 7_000, id="less than a large step"
        ),
        pytest.param({"bound": "steps"}, 10, [20_000, 10_000, 5_000, 1_000], 1_000, id="less than the smallest step"),
        pytest.param({}, 47_500, [], 48_000, id="unthrottled: rounded up to the smallest step"),
        pytest.param({"bound": "30k/s"}, 47_500, [], 30_000, id="stated"),
    ],
)  # fmt: skip
def test_the_high_bound(plan: Mapping[str, Any], capacity: float, tried: list[float], bound: float) -> None:
    found = Staircase.model_validate(plan)
    trials = climbed(found, system(capacity, p99=1e9), "p99")
    assert values(trials, "bound") == tried
    assert values(trials, "probe") == ([None] if found.bound == "unthrottled" else [])
    assert high_bound(trials, found, MOST) == bound


def test_no_rate_is_above_the_limit() -> None:
    for plan in (Staircase(bound="steps"), Staircase(), Staircase(bound=90_000)):
        trials = climbed(plan, system(1e6, p99=1e9), "p99", most=45_000)
        assert high_bound(trials, plan, 45_000) == 45_000
        assert max(each.value or 0 for each in trials) == 45_000


def test_the_steps_of_the_default_are_those_of_step_rater() -> None:
    rates = Staircase().rates(20_000)
    assert (len(rates), rates[0], rates[1], rates[-1]) == (61, 10_000, 10_200, 22_000)


def test_each_objective_has_its_own_conforming_rate() -> None:
    plan = Staircase(bound=10_000, by=0.1)
    trials = climbed(plan, system(9_500, strict=6_000, loose=8_500), "strict", "loose")
    assert values(trials, "step") == [5_000, 6_000, 7_000, 8_000, 9_000]
    assert (conforming(trials, "strict").held, conforming(trials, "strict").broke) == (6_000, 7_000)
    assert (conforming(trials, "loose").held, conforming(trials, "loose").broke) == (8_000, 9_000)


def test_a_rate_that_is_not_reached_is_retried_and_ends_it() -> None:
    trials = climbed(Staircase(bound=10_000, by=0.1, retries=2), system(7_000, p99=1e9), "p99")
    assert values(trials, "step") == [5_000, 6_000, 7_000, 8_000, 8_000, 8_000]
    assert (conforming(trials, "p99").held, conforming(trials, "p99").broke) == (7_000, 8_000)


def test_a_rate_that_is_reached_at_last_counts_by_the_run_that_reached_it() -> None:
    """What was lost in a run that missed its rate says nothing of the rate."""
    said = iter([False, True])

    def tell(phase: Any, value: float | None) -> StairTrial:
        reached = next(said, True)
        return StairTrial(phase, value, value, reached, {"p99": reached})

    trials = climbed(Staircase.model_validate({"bound": 100, "from": 0.5, "to": 0.6, "by": 0.1}), tell, "p99")
    assert [each.value for each in trials] == [50, 50, 60]
    assert conforming(trials, "p99").broke is None


def test_a_doubtful_objective_is_asked_again_and_most_runs_decide() -> None:
    says = iter([None, True, False, None, None, None])
    plan = Staircase.model_validate({"bound": 100, "from": 0.5, "to": 0.7, "by": 0.1})
    trials = climbed(plan, lambda phase, value: StairTrial(phase, value, value, True, {"p99": next(says)}), "p99")
    assert [each.value for each in trials] == [50, 50, 60]
    assert (conforming(trials, "p99").held, conforming(trials, "p99").broke) == (50, 60)
    unknown = [StairTrial("step", 50.0, 50.0, True, {"p99": None})] * 3
    assert conforming(unknown, "p99").held is None


def says_at(rate: float, *says: bool | None, reached: bool = True) -> list[StairTrial]:
    return [StairTrial("step", rate, rate, reached, {"p99": each}) for each in says]


@pytest.mark.parametrize(
    ("trials", "held", "broke", "unknown"),
    [
        pytest.param([*says_at(50, True), *says_at(51, None, None, None)], 50, None, 51, id="the last step"),
        pytest.param([*says_at(50, None, None, None)], None, None, 50, id="the first step"),
        pytest.param([*says_at(50, True), *says_at(51, None), *says_at(52, False)], 50, 52, 51, id="below what broke"),
        pytest.param([*says_at(50, True), *says_at(51, None), *says_at(52, True)], 50, None, 51, id="below what held"),
        pytest.param(
            [*says_at(50, True), *says_at(51, False), *says_at(52, None)], 50, 51, None, id="above what broke"
        ),
        pytest.param([*says_at(50, True), *says_at(51, None, reached=False)], 50, 51, None, id="never reached"),
        pytest.param([*says_at(50, True), *says_at(51, None, True)], 51, None, None, id="told at last"),
    ],
)
def test_what_cannot_be_told_neither_held_nor_broke(
    trials: list[StairTrial], held: float | None, broke: float | None, unknown: float | None
) -> None:
    found = conforming(trials, "p99")
    assert (found.held, found.broke, found.unknown) == (held, broke, unknown)


def test_a_step_of_which_no_objective_can_be_told_ends_the_climb() -> None:
    """Each further one would be repeated as often in vain."""
    plan = Staircase.model_validate({"bound": 100, "from": 0.5, "to": 1, "by": 0.1})

    def tell(phase: Any, value: float | None) -> StairTrial:
        return StairTrial(phase, value, value, True, {"p99": True if value and value < 65 else None})

    trials = climbed(plan, tell, "p99")
    assert [each.value for each in trials] == [50, 60, 70, 70, 70]
    found = conforming(trials, "p99")
    assert (found.held, found.broke, found.unknown) == (60, None, 70)


def test_finer_steps_lie_between_the_last_that_held_and_the_first_that_did_not() -> None:
    plan = Staircase(bound=10_000, by=0.1, finer=4)
    trials = climbed(plan, system(20_000, strict=6_450, loose=8_700), "strict", "loose")
    assert values(trials, "finer") == [6_200, 6_400, 6_600, 8_200, 8_400, 8_600, 8_800]
    assert (conforming(trials, "strict").held, conforming(trials, "strict").broke) == (6_400, 6_600)
    assert (conforming(trials, "loose").held, conforming(trials, "loose").broke) == (8_600, 8_800)


@given(
    capacity=st.floats(500, 200_000), share=st.floats(0.1, 1.3), by=st.sampled_from([0.01, 0.05, 0.1]),
    finer=st.integers(0, 5), retries=st.integers(0, 3), bound=st.sampled_from(["unthrottled", "steps", 50_000]),
)  # fmt: skip
def test_the_answer_encloses_the_limit_and_nothing_is_tried_too_often(
    capacity: float, share: float, by: float, finer: int, retries: int, bound: Any
) -> None:
    plan = Staircase(bound=bound, by=by, finer=finer, retries=retries)
    limit = min(capacity * share, capacity)
    trials = climbed(plan, system(capacity, p99=capacity * share), "p99")
    found = conforming(trials, "p99")
    assert found.held is None or found.held <= limit
    assert found.broke is None or found.broke > limit
    top = high_bound(trials, plan, MOST)
    assert top is not None
    if found.held is not None and found.broke is not None:
        assert found.broke - found.held <= top * by / (finer + 1) * 1.001
    if found.broke is None:
        assert found.held == plan.rates(top)[-1]
    often = Counter((each.phase, each.value) for each in trials)
    assert max(often.values()) <= 1 + retries
    rates = list(dict.fromkeys(value for value in values(trials, "step") if value is not None))
    assert all(one < other for one, other in pairwise(rates))


@given(st.integers(0, 80), st.floats(1_000, 50_000), st.floats(1_000, 50_000))
def test_what_comes_next_follows_from_the_trials_alone(cut: int, capacity: float, limit: float) -> None:
    """One that was interrupted anywhere goes on as if it had not been."""
    plan, tell = Staircase(by=0.05, finer=2, bound="steps"), system(capacity, p99=limit)
    whole = climbed(plan, tell, "p99")
    if cut < len(whole):
        assert next_run(whole[:cut], plan, ["p99"], MOST) == (whole[cut].phase, whole[cut].value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"from": "x"}, {"from": 0}, {"from": "120%"}, {"by": "0.01%"}, {"by": 0.0001}, {"retries": -1}, {"finer": 1.5},
        {"bound": "highest"}, {"bound": 0}, {"bound_steps": []}, {"bound_steps": [1, 2]}, {"other": 1},
        {"bound": [1]}, {"bound": {"a": 1}}, {"bound": 10**400}, {"from": 10**400}, {"bound_steps": [[1]]},
    ],
)  # fmt: skip
def test_what_is_no_staircase_is_refused(wrong: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Staircase.model_validate(wrong)
