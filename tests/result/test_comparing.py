"""What is said of runs that should not be compared as they are."""

import pytest

from streamgauge.result.comparing import archives_differ


@pytest.mark.parametrize(
    ("archives", "said"),
    [
        ({}, None),
        ({"a": True, "b": True, "c": None}, None),
        ({"a": False, "b": False, "c": None}, None),
        ({"a": None, "b": None}, None),
        ({"a": True, "b": False, "c": None}, "in a, without one in b."),
        ({"a": False, "b": True, "c": True}, "in b and c, without one in a."),
        ({**dict.fromkeys("abcd", False), "e": True}, "in e, without one in a, b and 2 more."),
    ],
)
def test_brokers_that_were_not_started_alike(archives: dict[str, bool | None], said: str | None) -> None:
    found = archives_differ(archives)

    assert (found is None) == (said is None)
    assert said is None or (found is not None and said in found)
