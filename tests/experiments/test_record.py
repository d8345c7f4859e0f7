"""What is left of a plan, whatever became of the runs so far; and when an experiment ends early."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.experiments.order import PlannedRun, planned_runs
from streamgauge.experiments.record import ExperimentRecord, RecordedRun, RecordedVariant, counted, left_out, remaining
from streamgauge.experiments.search.record import SearchStep, keeps_failing_to_finish
from streamgauge.experiments.stop import exceeds, keeps_failing, seconds_left

PLAN = [PlannedRun(1, 0), PlannedRun(1, 1), PlannedRun(2, 1), PlannedRun(2, 0)]


def run(number: int, variant: int, outcome: Any = "measured", **more: Any) -> RecordedRun:
    return RecordedRun(round=number, variant=variant, begun="2026-01-01T00:00:00Z", outcome=outcome, **more)


def record(*runs: RecordedRun) -> ExperimentRecord:
    variants = [RecordedVariant(name=name, settings={}) for name in "ab"]
    return ExperimentRecord(
        id="x", name="x", created="", command=[], asked={}, variants=variants, order="interleaved", seed=1, repeat=2,
        runs=list(runs),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("runs", "again", "expected"),
    [
        pytest.param([], False, PLAN, id="nothing done"),
        pytest.param([run(1, 0)], False, PLAN[1:], id="one done"),
        pytest.param([run(1, 0, "failed")], False, PLAN[1:], id="a failed run is done"),
        pytest.param([run(1, 0, "not_believed")], True, PLAN, id="it is run again if that is asked for"),
        pytest.param([run(1, 0, "failed"), run(1, 0, "failed")], True, PLAN[1:], id="once"),
        pytest.param([run(1, 0, "failed"), run(1, 0)], True, PLAN[1:], id="until it is measured"),
        pytest.param([run(1, 0, "interrupted")] * 3, False, PLAN, id="interrupted runs are run anew"),
        pytest.param([run(1, 0, "under_way")], False, PLAN, id="one under way is not done"),
    ],
)
def test_what_is_left_of_a_plan(runs: list[RecordedRun], again: bool, expected: list[PlannedRun]) -> None:
    assert list(remaining(PLAN, runs, again=again)) == expected


@given(
    outcomes=st.lists(st.sampled_from(["measured", "failed", "not_believed", "interrupted"]), max_size=60),
    variants=st.integers(1, 4),
    rounds=st.integers(1, 5),
    again=st.booleans(),
)
def test_going_on_does_nothing_twice_and_loses_nothing(
    outcomes: list[Any], variants: int, rounds: int, again: bool
) -> None:
    """However often it is interrupted, every planned run is measured once, or failed as often as is allowed."""
    plan = list(planned_runs(variants, rounds, "interleaved", 1))
    runs: list[RecordedRun] = []
    for outcome in [*outcomes, *["measured"] * len(plan)]:
        left = list(remaining(plan, runs, again=again))
        if not left:
            break
        runs.append(run(left[0].round, left[0].variant, outcome))
    assert not list(remaining(plan, runs, again=again))
    for each in plan:
        done = [one.outcome for one in runs if (one.round, one.variant) == (each.round, each.variant)]
        spoilt = sum(outcome in {"failed", "not_believed"} for outcome in done)
        assert done.count("measured") <= 1
        assert spoilt <= (2 if again else 1)
        assert done.count("measured") == 1 or spoilt == (2 if again else 1)


def test_failed_runs_are_counted_also_where_they_were_run_again() -> None:
    found = record(
        run(1, 0, "failed"), run(1, 0, value=3.0), run(2, 0, "not_believed"), run(1, 1), run(2, 1, "interrupted")
    )
    assert {number: each.value for number, each in counted(found, 0).items()} == {1: 3.0}
    assert (left_out(found, 0), left_out(found, 1)) == (2, 0)


def test_a_record_reads_back_as_it_was_written() -> None:
    found = record(run(1, 0, value=3.5, seconds=4.0, folder="r"))
    assert ExperimentRecord.model_validate_json(found.model_dump_json()) == found
    assert found.plan == list(planned_runs(2, 2, "interleaved", 1))


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        pytest.param([], 10 + 20 + 20 + 10, id="as was estimated"),
        pytest.param([run(1, 0, seconds=12.0)], 12 + 24 + 24 + 12, id="as much longer as the others took"),
        pytest.param([run(1, 0, seconds=12.0), run(1, 1, seconds=30.0)], 84, id="as they took"),
        pytest.param([run(1, 0, seconds=each) for each in (9.0, 10.0, 99.0)], 60, id="in the median"),
    ],
)
def test_the_time_that_is_left(done: list[RecordedRun], expected: float) -> None:
    assert seconds_left(PLAN, done, [10.0, 20.0]) == pytest.approx(expected)


def test_a_limit_of_time_ends_it_before_a_round_that_is_too_long() -> None:
    assert exceeds(50.0, 11.0, 60.0)
    assert not exceeds(50.0, 10.0, 60.0)
    assert not exceeds(1e9, 1e9, None)


FAILED = [
    pytest.param("a b B", 3, False, id="too few"),
    pytest.param("A B", 2, False, id="too few of two variants"),
    pytest.param("A B C", 3, True, id="all of three variants"),
    pytest.param("a B B A", 2, True, id="all of two variants"),
    pytest.param("A A A", 1, True, id="the only variant"),
    pytest.param("A a A A A", 1, True, id="the only variant, later"),
    pytest.param("a B B B", 2, False, id="one variant, run again"),
    pytest.param("a B C C B B C", 3, False, id="two of three variants"),
    pytest.param("a B C D e", 5, False, id="not the last ones"),
    pytest.param("a e B C D", 5, True, id="three of five, which did not fail before"),
    pytest.param("a B C D e e D C B", 5, False, id="three of five, which always fail"),
    pytest.param("a B C D e e D C B A", 5, True, id="and one that had worked"),
    pytest.param("A B C | d", 4, False, id="gone on with"),
    pytest.param("A B C | C", 3, False, id="gone on with, what failed then does not count"),
    pytest.param("A B C | D A", 4, False, id="gone on with, two fail again"),
    pytest.param("A B C | D E F", 6, True, id="gone on with, others fail"),
]


@pytest.mark.parametrize(("runs", "variants", "expected"), FAILED)
def test_runs_that_fail_one_after_another_end_it_unless_variants_alone_are_broken(
    runs: str, variants: int, expected: bool
) -> None:
    """Each letter is a run of a variant, a capital where it failed; `|` is where the experiment was gone on with."""
    before, mark, after = runs.partition("|")
    begun = [
        run(1, ord(each.lower()) - ord("a"), "failed" if each.isupper() else "measured")
        for each in (before + after).replace(" ", "")
    ]
    assert keeps_failing(begun, variants, len(before.split()) if mark else 0) is expected


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(("variants", "bad"), [(2, {0}), (3, {1}), (3, {0, 2}), (5, {3})])
def test_variants_that_always_fail_do_not_end_it(variants: int, bad: set[int], again: bool) -> None:
    for seed in range(50):
        plan, runs = list(planned_runs(variants, 6, "interleaved", seed)), list[RecordedRun]()
        while left := next(remaining(plan, runs, again=again), None):
            runs.append(run(left.round, left.variant, "failed" if left.variant in bad else "measured"))
            assert not keeps_failing(runs, variants)


@pytest.mark.parametrize(
    ("steps", "expected"), [("FFF", True), ("FF", False), ("FFi", False), ("iiF", False), ("FFiF", True)]
)
def test_interrupted_runs_of_a_search_are_no_failures(steps: str, expected: bool) -> None:
    """`F` failed, `i` was interrupted: neither tells a rate."""
    found = [
        SearchStep(phase="up", value=1.0, begun="", outcome="done" if each == "F" else "interrupted") for each in steps
    ]
    assert keeps_failing_to_finish(found) is expected
