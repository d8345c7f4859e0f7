"""Percentiles in a moving window: those of the messages in it, for full windows only."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import vl_convert
from tests.report.conftest import Make, Row, Tables, walk
from tests.report.seen import phased

from streamgauge.domain.latency.buckets import bucket_of, upper_edge_ns
from streamgauge.report.assemble.result import assemble
from streamgauge.report.figures import catalogue, over_time
from streamgauge.report.figures.drawing.theme import color_of
from streamgauge.report.figures.drawing.timeline import source_of
from streamgauge.report.moving import moving_rows
from streamgauge.report.publish import tables_of

MS = 1_000_000


def bucket(ms: float) -> int:
    return int(bucket_of(np.array([round(ms * MS)]))[0])


def rows_of(counted: Sequence[tuple[int, float | None, int]]) -> pa.Table:
    """From {second, ms, messages}; None for messages that never arrived."""
    return pa.table(
        {
            "second": pa.array([second for second, _, _ in counted], pa.int64()),
            "bucket": pa.array([bucket(ms or 1e6) for _, ms, _ in counted], pa.int64()),
            "count": pa.array([count for *_, count in counted], pa.int64()),
            "censored": pa.array([ms is None for _, ms, _ in counted], pa.bool_()),
        }
    )


@pytest.mark.parametrize(
    ("counted", "expected"),
    [
        ([], []),
        ([(0, 1.0, 5)], []),
        # The slow message leaves with its second.
        ([(0, 9.0, 1), (1, 1.0, 1), (2, 2.0, 1)], [(1, 2, 9.0), (2, 2, 2.0)]),
        # In whatever order the rows are, and over a second without messages.
        ([(3, 4.0, 2), (0, 1.0, 3)], [(1, 3, 1.0), (3, 2, 4.0)]),
        ([(0, 1.0, 1), (1, None, 1), (2, 1.0, 1), (3, 1.0, 1)], [(1, 2, None), (2, 2, None), (3, 2, 1.0)]),
        ([(0, None, 1), (1, None, 1)], [(1, 2, None)]),
    ],
)
def test_a_window_has_the_messages_of_its_seconds(
    counted: list[tuple[int, float | None, int]], expected: list[tuple[int, int, float | None]]
) -> None:
    found = [(row["second"], row["count"], row["p99"]) for row in moving_rows(rows_of(counted), ["p99"], 2)]

    edges = [
        (second, count, ms and int(upper_edge_ns(np.array([bucket(ms)]))[0]) / MS) for second, count, ms in expected
    ]
    assert found == edges


@pytest.mark.parametrize(
    ("counted", "expected"),
    [([], []), ([(0, 1.0, 1)], [1]), ([(1, 1.0, 1)], [1, 2]), ([(1, 1.0, 1), (4, 1.0, 1), (5, 1.0, 1)], [1, 2, 4, 5])],
)
def test_windows_end_with_the_phase_also_where_its_end_has_no_messages(
    counted: list[tuple[int, float | None, int]], expected: list[int]
) -> None:
    """Those that have messages, that is: the last may be of the first seconds of its window."""
    assert [row["second"] for row in moving_rows(rows_of(counted), ["p99"], 2, 5)] == expected


def with_buckets(_facts: Row, tables: Tables) -> None:
    """A second with a slow message in five; the last window is without it."""
    slow = {second: 50.0 if second == 1 else 5.0 for second in range(12)}
    tables["latency_buckets"] = [
        {"metric": "end_to_end_response", "second": second, "measured": True, "censored": False,
         "bucket": bucket(ms), "count": count}
        for second, late in slow.items()
        for ms, count in ((2.0, 80), (late, 20))
    ]  # fmt: skip


def test_the_report_draws_it_over_the_measure_phase(make: Make) -> None:
    """Of the percentiles for which a window has messages enough."""
    folder = make(phased, with_buckets)
    drawn = catalogue.figures(assemble(folder), tables_of(folder, print))
    figure: Any = next(each for each in drawn if each.name == "moving-window")

    assert "End-to-end response time. Percentiles of the messages of the last 10 s" in figure.about
    shown = {row["s"]: (row["moving p50"], row["moving p99"]) for row in figure.data["timeline"]}
    assert shown[8] == (None, None)
    assert shown[9] == (pytest.approx(2.0, rel=0.005), pytest.approx(50.0, rel=0.005))
    assert all("moving p99_9" not in row for row in figure.data["timeline"])


def test_a_percentile_with_a_dot_in_its_name_is_drawn_too(make: Make) -> None:
    """To the charting library a column with a dot in its name is part of another; it drew nothing."""

    def often(facts: Row, tables: Tables) -> None:
        with_buckets(facts, tables)
        for row in tables["latency_buckets"]:
            row["count"] *= 100

    folder = make(phased, often)
    drawn = catalogue.figures(assemble(folder), tables_of(folder, print))
    figure: Any = next(each for each in drawn if each.name == "moving-window")
    assert figure.data["timeline"][-1]["moving p99_9"] is not None
    scene = vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True)
    marks = [node for node in walk(scene) if isinstance(node, dict) and node.get("marktype") == "line"]
    assert {item["stroke"] for mark in marks for item in mark["items"]} >= {color_of(each) for each in ("p99", "p99.9")}


def test_one_window_is_no_line(make: Make) -> None:
    """It would be a point of which nobody sees anything."""

    def short(facts: Row, tables: Tables) -> None:
        with_buckets(facts, tables)
        tables["latency_buckets"] = [row for row in tables["latency_buckets"] if row["second"] < 10]

    folder = make(phased, short)
    figure = over_time.moving(source_of(assemble(folder), tables_of(folder, print)))
    assert figure.missing == "the run has only one window of 10 s with messages"


def test_a_run_that_is_shorter_than_a_window_has_no_such_figure(make: Make) -> None:
    folder = make()
    drawn = catalogue.figures(assemble(folder), tables_of(folder, print))

    assert "moving-window" not in {each.name for each in drawn}
