"""What a benchmark printed is read again: the medians in its tables, and their ratios round by round."""

import pytest
from benchmarks.beside import figures, table
from benchmarks.common import spread

OUTPUT = f"""## Saturation

Command: `python -m benchmarks.saturation`
The machine was 97% idle before.

| tool | messages/s | CPU us a message |
|---|---|---|
| Streamgauge | {spread([512_345.0], digits=0)} | {spread([1.25])} |
| other | {spread([400_000.0], digits=0)} | no answer |

Ratios, pair by pair: rate {spread([1.28])}.

| p50 | p99 |
|---|---|
| {spread([0.5])} | {spread([3.0, 4.0, 8.0], " ms")} |
"""


def test_figures_are_the_medians_of_all_tables() -> None:
    """By row and column; a row without words has none, and what is no figure is left out."""
    assert figures(OUTPUT) == {
        ("Streamgauge", "messages/s"): 512_345.0,
        ("Streamgauge", "CPU us a message"): 1.25,
        ("other", "messages/s"): 400_000.0,
        ("", "p50"): 0.5,
        ("", "p99"): 4.0,
    }


def test_a_count_names_a_row() -> None:
    text = f"| messages | seconds |\n|---|---|\n| 5,000,000 | {spread([12.5])} |\n"
    assert figures(text) == {("5,000,000", "seconds"): 12.5}


@pytest.mark.parametrize(
    ("these", "others", "told"),
    [
        (
            [2.0, 3.0, 6.0],
            [2.0, 2.0, 3.0],
            "| a | b | 3.00 (2.00 to 6.00) | 2.00 (2.00 to 3.00) | 1.50 (1.00 to 2.00) |",
        ),
        ([1.0], [0.0], "| a | b | 1.00 (1.00 to 1.00) | 0.00 (0.00 to 0.00) | none: it is 0 |"),
    ],
)
def test_rounds_are_compared_in_pairs(these: list[float], others: list[float], told: str) -> None:
    lines = list(table([{("a", "b"): each} for each in these], [{("a", "b"): each} for each in others]))
    assert lines[2:] == [told]


def test_what_only_one_of_them_has_is_told() -> None:
    """And not compared."""
    lines = list(table([{("a", "b"): 1.0, ("", "p"): 1.0}], [{("a", "c"): 1.0, ("", "p"): 2.0}]))
    assert len(lines) == 2 + 1 + 2
    assert lines[-1] == "Not in every round of both: a b, a c."


def test_a_cell_that_differs_from_round_to_round_names_no_row() -> None:
    """Only those before the first figure do."""
    rounds = [f"| rows | analysis | made in ms |\n|---|---|---|\n| 5 | {spread([2.0])} | {ms} |\n" for ms in (118, 121)]
    assert [figures(each) for each in rounds] == [{("5", "analysis"): 2.0}] * 2
