"""Names of topics, and the ranges that they may have."""

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.scenario import parse


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("t", ("t",)),
        ("t[1-3]", ("t1", "t2", "t3")),
        ("t[9-11]x", ("t9x", "t10x", "t11x")),
        ("a[1-2]-[0-1]", ("a1-0", "a1-1", "a2-0", "a2-1")),
        ("a[1-1][2-3][4-4]", ("a124", "a134")),
    ],
)
def test_ranges(name: str, expected: tuple[str, ...]) -> None:
    assert parse({"name": "x", "topic": {"name": name}}).sent_topics == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("t[3-1]", "a range of 0 topics"),
        ("a[1-2]-[3-1]", "a range of 0 topics"),
        ("a[0-9]-[0-10]", "a range of 110 topics"),
        ("t[0-9999][0-9999][0-9999]", "a range of 1000000000000 topics"),
        ("a[1-1][1-1][1-1][1-1]", "4 ranges in a name"),
        ("a[1-1", "not in an allowed form"),
        ("__consumer_offsets", "an internal topic of Kafka"),
    ],
)
def test_names_that_topics_cannot_have(name: str, expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        parse({"name": "x", "topic": {"name": name}})
