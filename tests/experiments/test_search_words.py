"""A search in words: what its answer says, and what it leaves open."""

import pytest
from tests.searching import record_of, step

from streamgauge.experiments.search.record import SearchRecord
from streamgauge.experiments.search.words import answer_lines, said, shown_figure, shown_value


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(
            record_of((1000, "h"), (1040, "bb"), down="bh"),
            [
                "Highest load.rate that held: 1,000/s  (p99 <= 20 ms)",
                "Lowest that did not: 1,040/s (p99 <= 20 ms: 50.0)",
                "After overload it held again at 1,000/s.",
            ],
            id="found",
        ),
        pytest.param(
            record_of((1000, "h"), (1040, "BHB"), (1144, "b")),
            [
                "Highest load.rate that held: 1,000/s  (p99 <= 20 ms)",
                "Lowest that did not: 1,040/s (p99 <= 20 ms: 50.0)",
                "Runs of some values did not agree; all runs held up to 1,000/s, and no run held from 1,144/s on.",
            ],
            id="two of three",
        ),
        pytest.param(
            record_of((1000, "h"), (1040, "bb"), down="h"),
            [
                "Highest load.rate that held: 1,000/s  (p99 <= 20 ms)",
                "Lowest that did not: 1,040/s (p99 <= 20 ms: 50.0)",
                "Runs of some values did not agree; all runs held up to 1,000/s, and some run held at every value.",
                "After overload 1,040/s held, which it had not on the way up.",
            ],
            id="it held on the way down",
        ),
        pytest.param(
            record_of((900, "h"), (1000, "h"), (1040, "bb"), down="bbh"),
            [
                "Highest load.rate that held: 1,000/s  (p99 <= 20 ms)",
                "Lowest that did not: 1,040/s (p99 <= 20 ms: 50.0)",
                "After overload it held again at 900/s only, 10 % less (hysteresis).",
            ],
            id="hysteresis",
        ),
        pytest.param(
            record_of((5, "h"), (4, "h"), (3, "bb"), down="bbh", path="load.producers", whole=True, find="smallest"),
            [
                "Lowest load.producers that held: 4  (p99 <= 20 ms)",
                "Highest that did not: 3 (p99 <= 20 ms: 50.0)",
                "After overload it held again at 5 only, 25 % more (hysteresis).",
            ],
            id="the smallest, on the way down",
        ),
        pytest.param(
            record_of((1000, "h"), (1040, "UHU"), (1144, "b")),
            [
                "Highest load.rate that held: 1,000/s  (p99 <= 20 ms)",
                "Cannot be told at 1,040/s (p99 <= 20 ms: 50.0)",
                "Lowest that did not: 1,144/s (p99 <= 20 ms: 50.0)",
                "Runs of some values did not agree; all runs held up to 1,000/s, and no run held from 1,144/s on.",
            ],
            id="what ended it cannot be told",
        ),
        pytest.param(
            record_of((1000, "h"), (1040, "UU")),
            [
                "Highest load.rate that held: 1,000/s  (p99 <= 20 ms)",
                "Cannot be told at 1,040/s (p99 <= 20 ms: 50.0)",
                "No run failed for certain: the limit may be that of the load generator, not of the system.",
            ],
            id="nothing failed for certain",
        ),
        pytest.param(
            record_of((1000, "BHB"), (900, "BHB")),
            [
                "Lowest that did not: 900/s (p99 <= 20 ms: 50.0)",
                "Runs of some values did not agree; no value held in all runs, and some run held at every value.",
            ],
            id="nothing is sure",
        ),
        pytest.param(
            record_of((1, "bb"), ending="never_held"),
            [
                "Lowest that did not: 1.00/s (p99 <= 20 ms: 50.0)",
                "No value held, not even the limit of 1.00/s.",
            ],
            id="never held",
        ),
        pytest.param(
            record_of((8, "h"), path="load.producers", whole=True, ending="at_limit"),
            [
                "Highest load.producers that held: 8  (p99 <= 20 ms)",
                "That is the limit of the search; nothing beyond it was tried.",
            ],
            id="at the limit",
        ),
        pytest.param(
            record_of((4, "h"), (3, "bb"), path="load.producers", whole=True, find="smallest"),
            [
                "Lowest load.producers that held: 4  (p99 <= 20 ms)",
                "Highest that did not: 3 (p99 <= 20 ms: 50.0)",
            ],
            id="the smallest",
        ),
        pytest.param(
            record_of((4, "h"), (3, "BHB"), (2, "b"), path="load.producers", whole=True, find="smallest"),
            [
                "Lowest load.producers that held: 4  (p99 <= 20 ms)",
                "Highest that did not: 3 (p99 <= 20 ms: 50.0)",
                "Runs of some values did not agree; all runs held down to 4, and no run held from 2 on.",
            ],
            id="the smallest, two of three",
        ),
        pytest.param(
            record_of((1000, "h"), ending="interrupted", reasons=["a run was interrupted"]),
            ["Highest load.rate that held: 1,000/s  (p99 <= 20 ms)", "interrupted: a run was interrupted"],
            id="interrupted",
        ),
        pytest.param(
            record_of(staircase={}), ["The high bound is not known yet."], id="a staircase that has not begun"
        ),
    ],
)
def test_an_answer_is_said_in_sentences(record: SearchRecord, expected: list[str]) -> None:
    assert list(answer_lines(record)) == expected


def test_runs_and_values_are_shown_as_people_read_them() -> None:
    assert [said(step(5, word)) for word in "hHbBU"] == [
        "held", "held, doubtful", "did not hold", "did not hold, doubtful", "cannot be told",
    ]  # fmt: skip
    assert (shown_value(1234.5, "load.rate"), shown_value(12, "topic.partitions")) == ("1,234/s", "12")
    assert (shown_figure(None), shown_figure(20.04)) == ("infinite", "20.0")


@pytest.mark.parametrize(
    ("tried", "down", "expected"),
    [
        pytest.param([(1000, "h"), (2000, "bb")], "", (1000, 2000), id="all agree"),
        pytest.param([(1000, "h"), (1500, "bhh"), (2000, "bb")], "", (1000, 2000), id="some do not"),
        pytest.param([(1000, "h"), (2000, "bb")], "h", (1000, None), id="held on the way down"),
        pytest.param([(1000, "h"), (1500, "UU"), (2000, "bb")], "", (1000, 2000), id="cannot be told is no end"),
        pytest.param([(1000, "h"), (1500, "UU")], "", (1000, None), id="nothing is told for certain"),
        pytest.param([(1000, "h")], "", (1000, None), id="all held"),
        pytest.param([(1000, "bb")], "", (None, 1000), id="none held"),
    ],
)
def test_the_capacity_lies_between_what_held_and_what_surely_did_not(
    tried: list[tuple[float, str]], down: str, expected: tuple[float | None, float | None]
) -> None:
    assert record_of(*tried, down=down).between == expected
