"""What messages repeat: short, on one line, in the words of YAML, never a secret."""

import pytest

from streamgauge.domain.text.shown import LONGEST, one_line, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (5, "5"),
        (0.5, "0.5"),
        ("five", "'five'"),
        ("a\x1b[31m\nb", "'a\\x1b[31m\\nb'"),
        ([1, "a"], "[1, 'a']"),
        ({"lost": 0}, "{'lost': 0}"),
        ("x" * 100, f"'{'x' * LONGEST}'..."),
        (10**100, "a number of 101 digits"),
        ("sasl.password=hunter2", "***"),
        (["x", "sasl.password=hunter2"], "***"),
        ({"sasl.password": "hunter2"}, "***"),
        (["x" * 100 + "password=hunter2"], "***"),
        (["https://me:" + "x" * 100 + "@host"], "***"),
        ("https://me:hunter2@host", "***"),
        ("AccountName=me;AccountKey=hunter2", "***"),
    ],
)
def test_a_value_is_shown(value: object, text: str) -> None:
    assert shown("load.x", value) == text


def test_a_number_that_python_will_not_write_is_told_in_words() -> None:
    assert shown("load.x", 10**5000) == "a number of thousands of digits"


def test_the_value_of_a_secret_is_never_shown() -> None:
    assert shown("load.client.sasl.password", "hunter2") == "***"


def test_what_is_large_is_cut() -> None:
    """Also where it is small on paper, and where it holds itself."""
    bomb: list[object] = ["x"]
    for _ in range(9):
        bomb = [bomb] * 9
    bomb.append(bomb)

    assert len(shown("x", bomb)) < 2 * LONGEST


def test_a_line_is_fit_for_a_terminal() -> None:
    assert one_line("a\x1b[2J\nb") == "a?[2J?b"
    assert one_line("x" * 100) == "x" * LONGEST + "..."
    assert one_line("s3a://me:hunter2@files/" + "x" * 100) == "***"
    assert one_line("--set load.client.sasl.password=***") == "--set load.client.sasl.password=***"
