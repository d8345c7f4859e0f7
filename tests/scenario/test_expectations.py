"""Bounds that scenarios may state."""

import pytest

from streamgauge.scenario.model.expectations import Bound, parse_bound


@pytest.mark.parametrize(
    ("wanted", "bound"),
    [
        (0, Bound("==", 0)),
        (0.5, Bound("==", 0.5)),
        (True, Bound("==", True)),
        ("finished", Bound("==", "finished")),
        ("<= 5", Bound("<=", 5)),
        (">0.99", Bound(">", 0.99)),
        (" >=  10_000 ", Bound(">=", 10_000)),
        ("< -1e-3", Bound("<", -0.001)),
        ("!= 0", Bound("!=", 0)),
        ("== 3", Bound("==", 3)),
    ],
)
def test_a_value_or_bound_is_read(wanted: object, bound: Bound) -> None:
    """A bare value is to be met; a comparison needs a number."""
    assert parse_bound(wanted) == bound


@pytest.mark.parametrize("wanted", ["<= five", "<", "=> 5", "= 5", "<= 5 ms", "!5", None, [1], {"a": 1}])
def test_what_is_no_bound_is_refused_with_the_remedy(wanted: object) -> None:
    """Before anything is started, by whoever validates the scenario."""
    with pytest.raises(ValueError, match=r"write .* like '<= 5'"):
        parse_bound(wanted)
