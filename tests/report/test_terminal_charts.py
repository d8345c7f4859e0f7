"""What a terminal is drawn of a result."""

from typing import Any

import pytest
from tests.report.conftest import altered

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.bars import ASCII
from streamgauge.report.assemble.result import assemble
from streamgauge.report.pages.terminal_charts import MOST_ROWS, drawn, histogram, rate_line
from streamgauge.result import Result

CDF = "latency.end_to_end.response.cdf"


@pytest.fixture
def result(healthy: RunFolder) -> Result:
    return assemble(healthy)


def cdf(*shares: float) -> list[dict[str, float]]:
    edges = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
    return [{"le_ms": edge, "share": share} for edge, share in zip(edges, shares, strict=False)]


@pytest.mark.parametrize(
    ("points", "censored", "expected"),
    [
        (cdf(0, 0.25, 1), 0, [("<= 1", 13, "25 %"), ("<= 2", 40, "75 %")]),
        (cdf(0.5, 0.5, 1, 1), 0, [("<= 0.5", 40, "50 %"), ("<= 1", 0, "0 %"), ("<= 2", 40, "50 %")]),
        (cdf(0, 0.9), 100, [("<= 1", 40, "90 %"), ("never", 4, "10 %")]),
        # Others came, but later than the last range ends.
        (cdf(0, 0.9), 0, [("<= 1", 40, "90 %"), ("> 1", 4, "10 %")]),
        (cdf(0, 0.8), 100, [("<= 1", 40, "80 %"), ("> 1", 5, "10 %"), ("never", 5, "10 %")]),
        (cdf(0, 0.99999, 1), 0, [("<= 1", 40, "100 %"), ("<= 2", 1, "< 0.01 %")]),
    ],
)
def test_a_bar_for_each_range(
    result: Result, points: list[dict[str, float]], censored: int, expected: list[Any]
) -> None:
    """From the first range with messages to the last one; messages that never came are a range of their own."""
    path = CDF.removesuffix("cdf")
    counted = altered(altered(result, f"{path}count", 1_000 - censored), f"{path}censored", censored)
    head, *rows = histogram(altered(counted, CDF, points), ASCII)

    assert head.bar == "end-to-end response time"
    assert [(row.upto, len(row.bar), row.share) for row in rows] == expected


def test_the_lowest_ranges_are_joined_where_they_are_many(result: Result) -> None:
    """The tail is what one looks at."""
    rows = histogram(altered(result, CDF, cdf(*(each / 12 for each in range(1, 13)))), ASCII)[1:]

    assert len(rows) == MOST_ROWS
    assert (rows[0].upto, rows[0].share) == ("<= 10", "42 %")
    assert (rows[-1].upto, rows[-1].share) == ("<= 2,000", "8.3 %")


def test_what_is_not_believed_is_drawn_as_such(result: Result) -> None:
    trust = {"value": 3.0, "low": None, "high": None, "trust": "not_believed", "because": ["it was late"]}
    made = altered(result, "trust", {"latency.end_to_end.response.p50_ms": trust})

    assert histogram(made, ASCII)[0].bar == "end-to-end response time, not believed"


def test_the_first_latency_that_there_is_is_drawn(result: Result) -> None:
    for path, expected in (
        ("end_to_end.response", "end-to-end service time"),
        ("end_to_end.service", "ack response time"),
    ):
        result = altered(result, f"latency.{path}", None)
        assert histogram(result, ASCII)[0].bar == expected
    for path in ("ack.response", "ack.service"):
        result = altered(result, f"latency.{path}", None)
    assert histogram(result, ASCII) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "received ########## 10,000/s"),
        ({"timeline.12.received_per_second": 5_000.0}, "received ##=####### 5,000 to 10,000/s"),
        ({"timeline.12.received_per_second": None}, "received ## ####### 10,000/s"),
        ({"throughput.measured_seconds": 9.995}, "received ########## 10,000/s"),
        ({"throughput.measured_seconds": 9.5}, "received ######### 10,000/s"),
        ({"throughput.measured_seconds": 2.0}, ""),
        ({"throughput.measured_seconds": None}, ""),
        ({"throughput.received_per_second": None}, "sent ########## 10,000/s"),
    ],
)
def test_the_rate_of_each_whole_second(result: Result, changes: dict[str, Any], expected: str) -> None:
    """Of the measure phase: a second that is cut would look like a fall."""
    seconds = [each.second for each in result.timeline]
    for path, value in changes.items():
        result = altered(result, path.replace("timeline.12", f"timeline.{seconds.index(2)}"), value)

    assert rate_line(result, ASCII) == expected


@pytest.mark.parametrize(
    ("room", "rates", "rows"), [(0, False, 0), (1, True, 0), (5, True, 0), (6, True, 3), (20, True, 8)]
)
def test_charts_keep_to_the_lines_that_are_left(result: Result, room: int, rates: bool, rows: int) -> None:
    """The rate takes one line; the histogram an empty one, its head, and at least three bars."""
    charts = drawn(altered(result, CDF, cdf(*(each / 12 for each in range(1, 13)))), ASCII, room)

    assert (bool(charts.rates), max(0, len(charts.histogram) - 1)) == (rates, rows)
