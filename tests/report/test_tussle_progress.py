"""tussle's progress table: percentiles, means and rates of intervals, and of the whole."""

from typing import Any

import numpy as np
from tests.report.conftest import Make

from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.report.assemble.result import assemble
from streamgauge.report.exports.exported import export
from streamgauge.report.exports.tussle_progress import OperationCounts, progress_text, read_operations

MS = 1_000_000
GOLDEN = """\
name            |  time | progr |    p50ms |    p90ms |    p99ms |   p100ms |     mean |    count |     rate |     total
send resp       |     5 |  71.4 |    1.001 |    2.003 |    2.003 |    2.003 |    1.251 |        4 |      0.8 |         4
poll serv       |     5 |  71.4 |        - |        - |        - |        - |        - |        0 |      0.0 |         0
send resp       |     7 | 100.0 |     2995 |     2995 |     2995 |     2995 |     2991 |        2 |      1.0 |         6
poll serv       |     7 | 100.0 |    4.006 |    4.006 |    4.006 |    4.006 |    4.002 |        3 |      1.5 |         3
send resp       |     7 | 100.0 |    1.001 |     2995 |     2995 |     2995 |    997.7 |        6 |      0.9 |         6
poll serv       |     7 | 100.0 |    4.006 |    4.006 |    4.006 |    4.006 |    4.002 |        3 |      0.4 |         3
"""


def counts(name: str, *rows: tuple[int, int, int]) -> OperationCounts:
    """Second, value in ms and number of each."""
    second, ms, count = np.array(rows, np.int64).T
    return OperationCounts(name, second, bucket_of(ms * MS), count)


def test_the_table() -> None:
    """The last interval is shorter, and its rate is that of its own length."""
    send = counts("send resp", (4, 2, 1), (0, 1, 3), (6, 2990, 2))
    made = progress_text([send, counts("poll serv", (5, 4, 3))], 7.0)

    assert made == GOLDEN
    assert progress_text([], 7.0) == ""


def test_a_run_is_exported_with_it(make: Make, tmp_path: Any) -> None:
    """What is not of the measure phase, or never arrived, is not in it."""

    def change(_facts: Any, tables: Any) -> None:
        row = {"topic": None, "partition": None, "measured": True, "censored": False, "bucket": 5, "second": 0}
        tables["latency_buckets"] = [
            {**row, "metric": "ack_response", "count": 7},
            {**row, "metric": "ack_response", "count": 100, "censored": True},
            {**row, "metric": "ack_response", "count": 100, "measured": False, "second": -1},
            {**row, "metric": "throttle", "count": 100},
        ]

    folder = make(change)
    [found] = read_operations(folder)
    assert (found.name, found.count.tolist()) == ("send resp", [7])

    written = export(folder, assemble(folder), "tussle", tmp_path / "out")
    text = next(path for path in written if path.name == "progress.txt").read_text()
    assert text.splitlines()[-1].split("|")[-1].strip() == "7"
    assert "histograms/send_response_time_100_10000_0.hlog" in {
        str(path.relative_to(tmp_path / "out")) for path in written
    }
