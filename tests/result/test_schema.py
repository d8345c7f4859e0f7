"""The schema of result.json as a judge of expectations; tests/cli/test_bad_input.py has what it says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import changed, told

from streamgauge.result.formats import RENAMED
from streamgauge.result.schema import expectation_faults


def values(place: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every path of a result that leads to a single value, and the value."""
    items = place.items() if isinstance(place, dict) else enumerate(place) if isinstance(place, list) else None
    if items is None:
        yield path, place
        return
    for key, each in items:
        if "." not in str(key):
            yield from values(each, f"{path}.{key}" if path else str(key))


def test_every_value_of_a_result_can_be_expected(tmp_path: Path) -> None:
    """Nothing that could hold is refused."""
    expect = {path: value for path, value in values(told(changed(tmp_path / "run"))) if value is not None}

    assert len(expect) > 500
    assert expectation_faults(expect) == []


@pytest.mark.parametrize("wanted", ["<= 5", ">0", 0, 0.5])
def test_bounds_of_numbers_can_be_expected(wanted: Any) -> None:
    """Also of percentiles that are there only sometimes."""
    paths = [
        "delivery.lost",
        "latency.ack.response.p99_9_hi_ms",
        "schedule_delay.p99_ms",
        "timeline.3.errors",
        "run.machine.cores",
    ]

    assert expectation_faults(dict.fromkeys(paths, wanted)) == []


@pytest.mark.parametrize("path", RENAMED)
def test_a_path_of_format_1_leads_to_that_of_today(path: str) -> None:
    """In one message, which names the whole path; and what it names is there."""
    kind = "open" if path.startswith("connections") else "0"
    old = path.replace("*", kind)
    (fault,) = expectation_faults({old: "<= 5"})
    new = fault.mend.removeprefix("Write expect.")

    assert (fault.where, fault.what) == (f"expect.{old}", "has another name by now")
    assert new != old
    assert not any("has no" in each.what for each in expectation_faults({new: "<= 5"}))
