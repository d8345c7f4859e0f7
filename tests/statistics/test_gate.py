"""Whether something got worse than it may."""

from collections.abc import Sequence
from typing import Any

import pytest

from streamgauge.statistics.comparison import Comparison, Effect, RunFigure, Variant, compared
from streamgauge.statistics.gate import Gate, gate


def comparison(effect: Effect | None, **more: Any) -> Comparison:
    given: dict[str, Any] = {"one": "a", "other": "b", "runs": (5, 5), "pairs": None, "verdict": "higher"}
    return Comparison(**given | {"effect": effect} | more)


def ratio(estimate: float, low: float | None, high: float | None) -> Effect:
    return Effect(estimate, low, high, is_ratio=True)


@pytest.mark.parametrize(
    ("effect", "more_is_better", "outcome", "worse"),
    [
        pytest.param(ratio(1.2, 1.11, 1.3), False, "worse", (0.11, 0.3), id="all of it is beyond"),
        pytest.param(ratio(1.05, 1.01, 1.1), False, "within", (0.01, 0.1), id="it is slower, and may be"),
        pytest.param(ratio(0.7, 0.6, 0.8), False, "within", (-0.4, -0.2), id="it is faster"),
        pytest.param(ratio(1.1, 1.05, 1.2), False, "unknown", (0.05, 0.2), id="the limit lies within"),
        pytest.param(ratio(0.7, 0.5, 0.8), True, "worse", (0.2, 0.5), id="a rate that fell"),
        pytest.param(ratio(1.2, 1.25, 2.0), True, "within", (-1.0, -0.25), id="a rate that rose"),
        pytest.param(
            ratio(0.907, 0.906, 0.908), True, "within", (0.092, 0.094), id="a rate that lost less than it may"
        ),
        pytest.param(ratio(0.92, 0.9, 0.95), True, "within", (0.05, 0.1), id="a rate that lost what it may"),
        pytest.param(ratio(0.92, 0.88, 0.95), True, "unknown", (0.05, 0.12), id="a rate that may have lost more"),
    ],
)
def test_the_interval_decides(effect: Effect, more_is_better: bool, outcome: str, worse: tuple[float, float]) -> None:
    found = gate(comparison(effect), 0.1, more_is_better=more_is_better)
    assert found.outcome == outcome
    assert found.worse == pytest.approx(worse)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            comparison(ratio(2, None, None), runs=(1, 1), verdict="no_verdict", rounds_missing=4, because=("too few",)),
            Gate("unknown", None, 5, ("too few",)),
        ),
        (
            comparison(None, runs=(0, 3), verdict="no_verdict", because=("none",)),
            Gate("unknown", None, None, ("none",)),
        ),
        (
            comparison(Effect(3, 1, 5, is_ratio=False)),
            Gate("unknown", None, None, ("a run has a value of 0, so there is no ratio",)),
        ),
        (comparison(ratio(2, None, None)), Gate("unknown", None, None, ("so few runs have no interval",))),
    ],
    ids=["too few runs", "none", "a value of zero", "no interval"],
)
def test_what_cannot_be_told_says_why_and_what_it_takes(found: Comparison, expected: Gate) -> None:
    assert gate(found, 0.1) == expected


@pytest.mark.parametrize(
    ("effect", "at_ends", "more_is_better", "because"),
    [
        pytest.param(
            ratio(1.3, 1.25, 1.34), (ratio(3, 2.9, 3.1), ratio(0.4, 0.3, 0.5)), False,
            "it is between 70 % better and 210 % worse if figures lie at other points of their intervals",
            id="worse, and at other ends better",
        ),
        pytest.param(
            ratio(1.0, 0.99, 1.01), (ratio(1.2, 1.19, 1.21), ratio(0.8, 0.79, 0.81)), False,
            "it is between 21 % better and 21 % worse if figures lie at other points of their intervals",
            id="within, and at other ends worse",
        ),
        pytest.param(
            ratio(0.7, 0.6, 0.8), (ratio(1.2, 1.1, 1.3), ratio(0.5, 0.4, 0.6)), True,
            "it is between 30 % better and 60 % worse if figures lie at other points of their intervals",
            id="a rate that fell",
        ),
        pytest.param(
            ratio(1.0, 0.99, 1.01), (Effect(3, 1, 5, is_ratio=False),), False,
            "a run may have a value of 0, so there may be no ratio", id="no ratio at an end",
        ),
    ],
)  # fmt: skip
def test_what_the_ends_of_intervals_turn_is_not_told(
    effect: Effect, at_ends: tuple[Effect, ...], more_is_better: bool, because: str
) -> None:
    found = gate(comparison(effect, at_ends=at_ends), 0.1, more_is_better=more_is_better)
    assert (found.outcome, found.runs_wanted, found.because) == ("unknown", None, (because,))
    assert found.worse is not None


def test_ends_of_intervals_that_turn_nothing_leave_the_outcome() -> None:
    for effect, ends, outcome in (
        (ratio(1.3, 1.25, 1.34), (ratio(1.4, 1.3, 1.5), ratio(1.2, 1.11, 1.3)), "worse"),
        (ratio(1.0, 0.99, 1.01), (ratio(1.04, 1.03, 1.05), ratio(0.7, 0.6, 0.8)), "within"),
    ):
        found = gate(comparison(effect, at_ends=ends), 0.1)
        assert (found.outcome, found.because) == (outcome, ())


def test_no_number_of_runs_tells_what_lies_on_both_sides_at_the_ends() -> None:
    """More runs make the interval of the effect narrower, and not those of the runs."""
    at_ends = (ratio(2.0, 1.9, 2.1), ratio(0.5, 0.4, 0.6))
    found = gate(comparison(ratio(1.0, 0.9, 1.3), deviation=0.05, at_ends=at_ends), 0.1)
    assert (found.outcome, found.runs_wanted, len(found.because)) == ("unknown", None, 2)
    assert gate(comparison(ratio(1.0, 0.9, 1.3), deviation=0.05), 0.1).runs_wanted == 10


def test_runs_that_are_bounded_to_a_wide_interval_close_no_gate_and_open_none() -> None:
    """Values around 10 and 13, or 10 and 10, of which each may lie anywhere between 9 and 30."""
    values = (10.0, 10.1, 9.9, 10.2, 10.05, 9.95)

    def bounded(name: str, factor: float) -> Variant:
        return Variant(name, {place: RunFigure(each * factor, 9, 30) for place, each in enumerate(values)})

    for factor in (1.3, 1.0):
        [found] = compared([(bounded("a", 1), bounded("b", factor))], "unknown")
        assert gate(found, 0.1).outcome == "unknown"
        [exact] = compared([(_exact("a", values), _exact("b", [each * factor for each in values]))], "unknown")
        assert gate(exact, 0.1).outcome == ("worse" if factor > 1 else "within")


def _exact(name: str, values: Sequence[float]) -> Variant:
    return Variant(name, {place: RunFigure(each, each, each) for place, each in enumerate(values)})


def test_a_rate_is_as_far_from_its_limit_as_from_what_is_left_of_it() -> None:
    """Of half a rate that may lose half, no number of runs would tell; of all of it, few."""
    for estimate, runs in ((0.5, None), (0.7, 5)):
        found = gate(comparison(ratio(estimate, 0.4, 1.1), deviation=0.05), 0.5, more_is_better=True)
        assert (found.outcome, found.runs_wanted) == ("unknown", runs)


@pytest.mark.parametrize(
    ("estimate", "found", "level", "runs"),
    [
        pytest.param(1.0, {"deviation": 0.05}, 0.05, 10, id="so many runs of each"),
        pytest.param(1.0, {"deviation": 0.05, "pairs": 5}, 0.05, 6, id="so many rounds, whose differences deviate so"),
        pytest.param(1.0, {"deviation": 0.05, "pairs": 5}, 0.01, 9, id="more at a stricter level"),
        pytest.param(1.0, {"deviation": 0.01}, 0.05, 5, id="as many as any verdict needs"),
        pytest.param(1.09, {"deviation": 0.05}, 0.05, None, id="too many"),
        pytest.param(1.1, {"deviation": 0.05}, 0.05, None, id="it is at the limit"),
        pytest.param(1.0, {}, 0.05, None, id="nobody knows how runs deviate"),
    ],
)
def test_where_the_limit_lies_within_it_is_told_how_many_runs_would_tell(
    estimate: float, found: dict[str, Any], level: float, runs: int | None
) -> None:
    """As many as find the distance between what was seen and the limit."""
    told = gate(comparison(ratio(estimate, 0.9, 1.3), **found), 0.1, level=level)
    assert (told.outcome, told.runs_wanted) == ("unknown", runs)
