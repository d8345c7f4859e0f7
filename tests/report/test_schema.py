"""The schema of result.json as a judge of expectations and of results; tests/cli/test_bad_input.py has what it says."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble.result import write_result
from streamgauge.report.schema import expectation_faults, misfit

Make = Callable[..., RunFolder]


def values(place: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every path of a result that leads to a single value, and the value."""
    items = place.items() if isinstance(place, dict) else enumerate(place) if isinstance(place, list) else None
    if items is None:
        yield path, place
        return
    for key, each in items:
        if "." not in str(key):
            yield from values(each, f"{path}.{key}" if path else str(key))


def test_every_value_of_a_result_can_be_expected(make: Make) -> None:
    """Nothing that could hold is refused."""
    expect = {path: value for path, value in values(write_result(make())) if value is not None}

    assert len(expect) > 500
    assert expectation_faults(expect) == []


@pytest.mark.parametrize("wanted", ["<= 5", ">0", 0, 0.5])
def test_bounds_of_numbers_can_be_expected(wanted: Any) -> None:
    """Also of percentiles that are there only sometimes."""
    paths = [
        "delivery.lost",
        "latency.ack.response.p99_9_hi_ms",
        "lateness.p99_ms",
        "timeline.3.errors",
        "run.machine.cores",
    ]

    assert expectation_faults(dict.fromkeys(paths, wanted)) == []


def test_a_result_fits_and_may_have_more(make: Make) -> None:
    """A later version may add keys."""
    result = write_result(make())

    assert misfit(result) is None
    assert misfit({**result, "mood": "good"}) is None
    assert misfit({**result, "format": 2}) == "format is not 1"
