"""Ranges: what values they have, and which are refused."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.errors import BadValue
from streamgauge.experiments.ranges import MOST_VALUES, is_range, values_of


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"from": 64, "to": 1024, "times": 4}, [64, 256, 1024]),
        ({"from": 1, "to": 10, "times": 2}, [1, 2, 4, 8]),
        ({"from": 0, "to": 100, "plus": 50}, [0, 50, 100]),
        ({"from": 0.1, "to": 0.3, "plus": 0.1}, [0.1, 0.2, 0.3]),
        ({"from": 64, "to": "1KiB", "times": 4}, [64, 256, 1024]),
        ({"from": "1ms", "to": "1s", "times": 10}, ["1ms", "10ms", "100ms", "1s"]),
        ({"from": "500ms", "to": "2s", "plus": "500ms"}, ["500ms", "1s", "1500ms", "2s"]),
        ({"from": "1k/s", "to": "4k/s", "times": 2}, ["1k/s", "2k/s", "4k/s"]),
        ({"from": "500/s", "to": "1500/s", "plus": "500/s"}, ["500/s", "1k/s", "1500/s"]),
        ({"from": 5, "to": 5, "plus": 1}, [5]),
    ],
)
def test_values_go_from_one_end_to_the_other(given: dict[str, Any], expected: list[Any]) -> None:
    assert is_range(given)
    assert values_of(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"from": 1, "to": 2}, "not a range"),
        ({"from": 1, "to": 2, "plus": 1, "times": 2}, "not a range"),
        ({"from": 1, "times": 2}, "not a range"),
        ({"from": 1, "to": 2, "step": 1}, "not a range"),
        ({"from": 2, "to": 1, "plus": 1}, "ends below"),
        ({"from": 1, "to": 2, "plus": 0}, "does not advance"),
        ({"from": 0, "to": 2, "times": 2}, "does not advance"),
        ({"from": 1, "to": 2, "times": 1}, "does not advance"),
        ({"from": 1, "to": 2, "times": "x"}, "times is not a number"),
        ({"from": "x", "to": 2, "times": 2}, "not quantities"),
        ({"from": "1s", "to": "1KiB", "times": 2}, "not quantities"),
        ({"from": 1, "to": math.inf, "times": 2}, "not quantities"),
        ({"from": math.nan, "to": 2, "plus": 1}, "not quantities"),
        ({"from": 1, "to": 2, "plus": math.inf}, "not quantities"),
        ({"from": 1, "to": 2, "times": math.inf}, "times is not a number"),
        ({"from": "1/s", "to": f"{'9' * 400}/s", "times": 2}, "too large"),
        ({"from": 0.5, "to": 10**400, "plus": 10**399}, "too large"),
        ({"from": 1, "to": True, "times": 2}, "not quantities"),
        ({"from": 1, "to": MOST_VALUES + 1, "plus": 1}, "more than 1,000"),
    ],
)
def test_what_makes_no_range_is_told(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadValue, match=expected):
        values_of(given)


@given(first=st.integers(1, 1000), count=st.integers(1, 50), step=st.integers(1, 1000))
def test_steps_meet_an_end_that_they_reach(first: int, count: int, step: int) -> None:
    found = values_of({"from": first, "to": first + (count - 1) * step, "plus": step})
    assert found == [first + place * step for place in range(count)]
