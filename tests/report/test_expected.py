"""What runs say about expectations: those of an experiment, and those of its scenarios."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import pytest

from streamgauge.experiments.expect import ExpectedOfVariant
from streamgauge.report.compare.expected import expected_answers, failed_of_scenarios
from streamgauge.report.compare.variants import Alike
from streamgauge.result import Result
from streamgauge.result.reading import result_of
from streamgauge.scenario.model.expectations import Bound

P99 = "latency.end_to_end.response.p99_ms"
NOISE = (1.0, 1.02, 0.99, 1.01, 0.98, 1.03)
OTHERS = "the answer would be another one if figures lay at other points of their intervals"
Runs = Callable[..., Alike]


@pytest.fixture
def alike(healthy_result: dict[str, Any]) -> Runs:
    """A maker of variants: `alike("a", 10, low=9, high=30)`, six runs with p99 around 10 that may lie at 9 or 30."""

    def make(name: str, p99: float, low: float | None = None, high: float | None = None) -> Alike:
        found = []
        for noise in NOISE:
            document = deepcopy(healthy_result)
            value = p99 * noise
            document["trust"][P99] |= {"value": value, "low": low or value, "high": high or value, "trust": "bounded"}
            found.append(result_of(document))
        return Alike(name, tuple(found), tuple(range(1, len(found) + 1)))

    return make


@pytest.mark.parametrize(
    ("ends", "holds"),
    [
        pytest.param({}, True, id="no run has an interval"),
        pytest.param({"low": 5, "high": 14}, True, id="it holds at both ends"),
        pytest.param({"low": 9, "high": 30}, None, id="at the high ends it is broken"),
    ],
)
def test_a_bound_holds_only_if_it_does_at_the_ends_of_runs(
    alike: Runs, ends: dict[str, float], holds: bool | None
) -> None:
    bound = ExpectedOfVariant("at most 15", P99, 0, Bound("<=", 15.0))
    [found] = expected_answers([bound], [alike("a", 10, **ends)], "interleaved", 0.05)
    assert (found.holds, found.because) == (holds, None if holds else OTHERS)
    assert found.low == pytest.approx(9.85, abs=0.05)


@pytest.mark.parametrize(("high", "holds"), [(7.5, False), (4.9, None)])
def test_a_bound_is_broken_only_if_it_is_at_the_ends_of_runs(alike: Runs, high: float, holds: bool | None) -> None:
    bound = ExpectedOfVariant("at most 5", P99, 0, Bound("<=", 5.0))
    low = None if holds is False else high
    [found] = expected_answers([bound], [alike("a", 10, low=low, high=high)], "interleaved", 0.05)
    assert found.holds is holds


@pytest.mark.parametrize(
    ("ends", "factor", "holds"),
    [
        pytest.param({}, 1.5, True, id="the ratio holds"),
        pytest.param({}, 1.1, False, id="the ratio is broken"),
        pytest.param({"low": 9, "high": 30}, 1.5, None, id="at the ends it does not hold"),
        pytest.param({"low": 9, "high": 30}, 1.1, None, id="at the ends it is not broken"),
    ],
)
def test_a_ratio_is_judged_at_the_ends_of_runs(
    alike: Runs, ends: dict[str, float], factor: float, holds: bool | None
) -> None:
    ratio = ExpectedOfVariant("not much slower", P99, 1, Bound("<=", factor), 0)
    [found] = expected_answers([ratio], [alike("a", 10, **ends), alike("b", 13, **ends)], "interleaved", 0.05)
    assert (found.holds, found.because) == (holds, None if holds is not None else OTHERS)


def failing(run: Result, number: int, **expectation: Any) -> Result:
    """A run with other expectations than it had: one, or none."""
    about = run.run.model_copy(update={"id": f"run-{number}", "ending": expectation.pop("ending", "finished")})
    judged = [run.expectations[0].model_copy(update=expectation)] if expectation else []
    return run.model_copy(update={"run": about, "expectations": judged})


LOST: dict[str, Any] = {
    "path": "delivery.lost",
    "wanted": 0,
    "found": 3,
    "passed": False,
    "decided": True,
    "reason": None,
}
HELD = LOST | {"found": 0, "passed": True}
DOUBTED = LOST | {"decided": False, "reason": "the figure is not believed"}


def variant(runs: Sequence[Result], *expectations: dict[str, Any]) -> Alike:
    return Alike(
        "fast",
        tuple(failing(run, place, **each) for place, (run, each) in enumerate(zip(runs, expectations, strict=False))),
    )


@pytest.mark.parametrize(
    ("expectations", "holds", "expected"),
    [
        pytest.param(
            (HELD, LOST, LOST, DOUBTED), False,
            "fast: delivery.lost: 0 failed in 2 of 4 runs and cannot be decided in 1 (run-1: found 3)", id="broken",
        ),
        pytest.param(
            (DOUBTED, HELD), None,
            "fast: delivery.lost: 0 cannot be decided in 1 of 2 runs (run-0: the figure is not believed)",
            id="not decided",
        ),
        pytest.param(
            (LOST, LOST | {"ending": "failed"}), False,
            "fast: delivery.lost: 0 failed in 1 of 1 run (run-0: found 3)", id="a run did not finish",
        ),
    ],
)  # fmt: skip
def test_what_runs_failed_of_their_scenario_is_counted(
    alike: Runs, expectations: Sequence[dict[str, Any]], holds: bool | None, expected: str
) -> None:
    [found] = failed_of_scenarios([variant(alike("fast", 10).runs, *expectations)])
    assert (found.holds, found.sentence) == (holds, expected)


def test_each_expectation_of_each_variant_is_counted_by_itself(alike: Runs) -> None:
    runs = alike("fast", 10).runs
    slow = variant(runs, LOST | {"path": P99, "wanted": "<= 20", "found": 25.5}, {})
    found = failed_of_scenarios([variant(runs, HELD, HELD), slow, variant(runs, LOST, HELD)])
    assert [each.sentence for each in found] == [
        f"fast: {P99}: <= 20 failed in 1 of 1 run (run-0: found 25.5)",
        "fast: delivery.lost: 0 failed in 1 of 2 runs (run-0: found 3)",
    ]
