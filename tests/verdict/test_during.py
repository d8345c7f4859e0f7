"""What the faults did, told from what the instrument did: which of it lies within a fault."""

from typing import Any

import pytest
from tests.verdict.test_unbounded import look
from tests.verdict.test_unbounded import run as unbounded
from tests.verdict.test_verdict import Run

from streamgauge.domain.folder.facts import RunFacts
from streamgauge.verdict import during
from streamgauge.verdict.evidence import Evidence
from streamgauge.verdict.trust.figures.latencies import _why_wide
from streamgauge.verdict.trust.seconds import seconds

KILL = "kill of broker-1 (second 5.0 to 8.0)"
PAUSE = "pause of consumer-0 (second 20.0 to 21.0)"


def score(kind: str, target: str, began: float, ended: float, until: float) -> dict[str, Any]:
    times = {"began_second": began, "ended_second": ended, "until_second": until}
    return {"fault": 0, "kind": kind, "target": target, "detail": None, **times}


def disturbed(drained: float | None = 2.0) -> Run:
    """A run with two faults; from the first it recovered in two seconds, of the second nobody knows."""
    run = Run()
    run.tables["fault_scores"] = [score("kill", "broker-1", 5, 8, 20), score("pause", "consumer-0", 20, 21, 30)]
    back = {"cause": "kill", "target": "broker-1", "quantity": "outstanding", "ended_second": 8, "group": 0}
    run.tables["recovery"] = [back | {"time_to_drain_s": drained}]
    return run


def evidence(run: Run) -> Evidence:
    return Evidence(RunFacts.model_validate(run.facts), run.tables)


@pytest.mark.parametrize(
    ("stretches", "words"),
    [
        ([], ""),
        ([(1, 2), (12, 14)], ""),
        ([(6, 7)], f"within {KILL}"),
        # While the run recovered, too.
        ([(9, 10)], f"within {KILL}"),
        ([(1, 2), (6, 7), (8, 9)], f"2 of 3 times within {KILL}"),
        ([(4, 6), (29, 30)], f"all within {KILL} and {PAUSE}"),
    ],
)
def test_intervals_lie_within_faults_or_not(stretches: list[tuple[float, float]], words: str) -> None:
    assert during.of_stretches(evidence(disturbed()), stretches) == words


def test_a_fault_that_was_not_recovered_from_lasts_to_the_end_of_its_span() -> None:
    assert during.of_stretches(evidence(disturbed(None)), [(12, 14)]) == f"within {KILL}"


def test_more_faults_than_can_be_named_are_counted() -> None:
    run = disturbed()
    run.tables["fault_scores"] = [score("kill", f"broker-{each}", 5, 8, 9) for each in range(4)]

    assert during.of_stretches(evidence(run), [(6, 7)]).endswith("and 2 more faults")


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({}, ""),
        ({6: 1, 7: 1}, f"; all due within {KILL}"),
        ({6: 1, 15: 1}, f"; 1 of 2 due within {KILL}"),
        # All are counted, however few are shown as examples.
        ({6: 600, 15: 3_000, 20: 400}, f"; 1,000 of 4,000 due within {KILL} and {PAUSE}"),
        ({15: 1}, "; none of them due within a fault"),
        # Whose time nobody knows may have been in none.
        ({None: 1}, ""),
        ({6: 2, None: 1}, f"; 2 of 3 due within {KILL}"),
        ({15: 2, None: 1}, "; none of 2 due within a fault, and of 1 it is not known"),
    ],
)
def test_messages_that_are_lost_are_told_with_the_faults_they_were_due_in(
    counts: dict[int | None, int], words: str
) -> None:
    run = disturbed()
    run.row("delivery", scope="run")["lost"] = max(1, sum(counts.values()))
    run.tables["problems"] = [{"class": "lost", "due_ns": 6 * 10**9, "group": 0}] * 600
    run.tables["problem_counts"] = [problem_count(second, count) for second, count in counts.items()]
    check = run.check("lost")

    assert check is not None
    assert check.evidence.partition("acknowledged and lost")[2] == words


def problem_count(second: int | None, count: int, group: int = 0) -> dict[str, Any]:
    return {"class": "lost", "group": group, "topic": 0, "partition": 0, "second": second, "count": count}


def test_of_several_groups_the_messages_of_the_worst_are_told() -> None:
    """As in the count beside it."""
    run = disturbed()
    counts = [problem_count(6, 3), problem_count(6, 2, group=1), problem_count(15, 4, group=1)]
    run.tables["problem_counts"] = counts

    assert during.of_messages(evidence(run), "lost") == f"2 of 6 due within {KILL}"


def test_a_figure_that_is_not_believed_says_which_fault_it_was_in() -> None:
    given = unbounded(look("producer", 3.0))
    given.tables["fault_scores"] = [score("pause", "broker-1", 2, 3, 4)]  # type: ignore[index]

    found = seconds(given, "a producer stood still", given.matching("resources", role="producer"))
    assert found.because.endswith("; within pause of broker-1 (second 2.0 to 3.0))")


def test_the_longest_gap_between_polls_is_told_with_the_fault_it_was_in() -> None:
    run = disturbed()
    look_at = {**run.tables["resources"][0], "scope": "interval", "role": "consumer"}
    run.tables["resources"] = [look_at | {"second": at, "poll_gap_ms": gap} for at, gap in ((2.0, 5.0), (7.0, 901.0))]

    (told,) = [each for each in _why_wide(evidence(run), "") if each.startswith("longest gap")]
    assert told == f"longest gap between polls 901 ms, within {KILL}"
