"""Interval logs: HdrHistogram's own tools find in them what the tables say."""

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]
from hdrh.log import HistogramLogReader  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.arrow import arrow_schema
from streamgauge.cluster.jars import broker_jars
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.domain.latency.percentiles import PERCENTILES, Buckets, percentile_ns
from streamgauge.domain.tables.latency import LATENCY_BUCKETS, METRICS
from streamgauge.processes.jvm.java import Java
from streamgauge.report.exports.hlog import microseconds, write_hlog

Row = dict[str, Any]
Make = Callable[..., RunFolder]

MS = 1_000_000
HOUR_NS = 3600 * NS_PER_SECOND
EXACT = 10_000
"""Counts are multiples of this, so that every percentile is a whole rank, about which nobody can disagree."""

HEAD = """\
#[Streamgauge: ack_response = acked_ns - due_ns]
#[Histogram log format version 1.3]
#[Values in microseconds, Interval_Max in milliseconds (value unit ratio 1000)]
#[The measure phase starts at 2 s; lines before and after it have the tag unmeasured]
#[Below zero, recorded as 0: 4]
#[Never delivered, left out: 7]
#[StartTime: 1767268803.250 (seconds since epoch), 2026-01-01T12:00:03Z]
#[BaseTime: 1767268803.250 (seconds since epoch)]
"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
"""


class Interval(NamedTuple):
    tag: str | None
    start: float
    length: float
    histogram: Any


def row(metric: str, second: int | None, value_ns: int, count: int, **more: Any) -> Row:
    bucket = int(bucket_of(np.array([value_ns]))[0])
    measured = second is None or second >= 0
    place = {"topic": 0, "partition": 0} if second is None else {}
    return {
        "metric": metric, "second": second, "measured": measured, "censored": False, "bucket": bucket, "count": count,
    } | place | more  # fmt: skip


def with_rows(rows: Sequence[Row]) -> Callable[[Row, Any], None]:
    def change(facts: Row, tables: Any) -> None:
        facts.update(wall_ns=1_767_268_800_250_000_000, monotonic_ns=5 * NS_PER_SECOND)
        facts["phases"] = [{"name": "measure", "from_ns": 10 * NS_PER_SECOND, "to_ns": 20 * NS_PER_SECOND}]
        tables["latency_buckets"] = list(rows)

    return change


def read(path: Path) -> list[Interval]:
    reader = HistogramLogReader(str(path), HdrHistogram(1, 2, 3))
    try:
        found = []
        while (histogram := reader.get_next_interval_histogram()) is not None:
            begin, end = (ms / 1000 for ms in (histogram.get_start_time_stamp(), histogram.get_end_time_stamp()))
            found.append(Interval(histogram.get_tag(), begin - reader.get_start_time_sec(), end - begin, histogram))
        return found
    finally:
        reader.close()


WINDOWS = [
    row("ack_response", -2, 3 * MS, 5),
    row("ack_response", 0, 2 * MS, 70),
    row("ack_response", 0, 5 * MS, 30),
    row("ack_response", 0, 9 * MS, 1, measured=False),
    row("ack_response", 3, -17, 4),
    row("ack_response", 3, 300 * MS, 7, censored=True),
    row("ack_response", None, 2 * MS, 104),
    row("poll", 9, 800 * MS, 2),
]


def test_a_log_says_what_it_is(make: Make) -> None:
    """Units, time, what is tagged, what was moved to zero, what was left out."""
    folder = make(with_rows(WINDOWS))

    assert write_hlog(folder) == [folder.hlog / "ack_response.hlog", folder.hlog / "poll.hlog"]
    head, first, *_ = re.split(r"(?<=Histogram\"\n)", (folder.hlog / "ack_response.hlog").read_text(encoding="ascii"))
    assert head == HEAD
    assert first.startswith("Tag=unmeasured,0.000,1.000,3.007,HISTFAAAA")


def test_each_second_is_a_line_and_what_was_not_measured_has_a_tag(make: Make) -> None:
    """Rows by partition would count everything twice; ages of what never came are no latencies."""
    folder = make(with_rows(WINDOWS))
    write_hlog(folder)

    assert [
        (tag, round(start, 3), round(length, 3), histogram.get_total_count())
        for tag, start, length, histogram in read(folder.hlog / "ack_response.hlog")
    ] == [("unmeasured", 0, 1, 5), ("unmeasured", 2, 1, 1), (None, 2, 1, 100), (None, 5, 1, 4)]
    assert [round(interval.start, 3) for interval in read(folder.hlog / "poll.hlog")] == [11]


@pytest.mark.parametrize(
    ("value_ns", "us"), [(-5, 0), (0, 0), (499, 0), (500, 1), (511, 1), (255_500, 256), (2 * MS, 2003), (2**63 - 1, -1)]
)
def test_a_value_is_the_upper_edge_to_the_nearest_microsecond(value_ns: int, us: int) -> None:
    expected = us if us >= 0 else 9_223_372_036_854_776
    assert microseconds(bucket_of(np.array([value_ns]))).tolist() == [expected]


latencies_ns = st.integers(0, 45).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))
counted = st.tuples(st.integers(-3, 3), latencies_ns, st.integers(1, 50))


@given(st.lists(counted, min_size=1, max_size=40))
def test_counts_and_percentiles_are_those_of_the_table(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, int, int]]
) -> None:
    """To the nearest microsecond, and within three digits above that; nearly ten hours are held too."""
    rows = [row("poll", second, value, count * EXACT) for second, value, count in drawn]
    intervals = read(written(tmp_path_factory.mktemp("run"), rows))

    first = min(second for second, _, _ in drawn)
    assert [first + round(each.start) for each in intervals] == sorted({second for second, _, _ in drawn})
    for tag, start, _, histogram in intervals:
        second = first + round(start)
        mine = [each for each in rows if each["second"] == second]
        table = Buckets.merged(*(np.array([each[name] for each in mine]) for name in ("bucket", "count")))
        assert tag == (None if second >= 0 else "unmeasured")
        assert histogram.get_total_count() == table.total
        for rank in PERCENTILES.values():
            edge_ns = percentile_ns(table, rank, table.total, None)
            assert edge_ns is not None
            found_us, expected_us = histogram.get_value_at_percentile(rank / 100), (edge_ns + 500) // 1000
            assert expected_us <= found_us <= expected_us * 1.001


def written(root: Path, rows: Sequence[Row]) -> Path:
    """The log of `poll` from these rows alone."""
    folder = RunFolder(root)
    folder.tables.mkdir()
    facts: Row = {"id": "i", "name": "n", "tag": 1, "created": "", "command": [], "scenario": {}, "versions": {}}
    facts |= {"machine": {}, "broker": {"embedded": True, "bootstrap": ""}, "topics": [], "groups": []}
    with_rows([])(facts, {})
    folder.facts.write_text(json.dumps(facts))
    pq.write_table(pa.Table.from_pylist(list(rows), arrow_schema(LATENCY_BUCKETS)), folder.table("latency_buckets"))
    (log,) = write_hlog(folder)
    return log


def test_every_metric_has_a_log(make: Make) -> None:
    folder = make(with_rows([row(metric, 0, MS, 1) for metric in METRICS]))
    assert [path.stem for path in write_hlog(folder)] == list(METRICS)


@pytest.mark.parametrize("change", [lambda _facts, tables: tables.clear(), with_rows([row("poll", None, MS, 3)])])
def test_without_windows_there_is_nothing(make: Make, change: Any) -> None:
    folder = make(change, judged=False)

    assert write_hlog(folder) == []
    assert not folder.hlog.exists()


def test_windows_without_a_phase_have_no_time_and_no_log(make: Make) -> None:
    """As those of a run that failed before its load: the report is whole without them."""

    def no_phase(facts: Row, _tables: Any) -> None:
        facts["phases"] = []

    folder = make(with_rows(WINDOWS), no_phase, judged=False)
    assert write_hlog(folder) == []
    assert not folder.hlog.exists()


def test_a_damaged_table_is_refused(make: Make) -> None:
    folder = make(with_rows(WINDOWS))
    folder.table("latency_buckets").write_bytes(b"PAR1")

    with pytest.raises(AnalysisError, match=r"latency_buckets.parquet cannot be read: "):
        write_hlog(folder)


@pytest.mark.kafka
def test_the_java_tools_read_it(make: Make, java: Java) -> None:
    """HistogramLogProcessor, out of the jar that Kafka brings along, finds the measure phase without being asked."""
    values = np.exp(np.random.default_rng(7).normal(np.log(2 * MS), 0.5, 5_000)).astype(np.int64)
    rows = [row("poll", second, int(value), 20) for second in range(4) for value in values[second::4]]
    folder = make(with_rows([*rows, row("poll", -1, HOUR_NS, 9)]))
    (log,) = write_hlog(folder)
    jar = next(jar for jar in broker_jars() if jar.name.startswith("HdrHistogram-"))

    command = [str(java.path), "-cp", str(jar), "org.HdrHistogram.HistogramLogProcessor", "-i", str(log)]
    options = ["-outputValueUnitRatio", "1000", "-csv"]
    ran = subprocess.run([*command, *options], capture_output=True, text=True, check=True)

    lines = [line.split(",") for line in ran.stdout.splitlines() if re.match(r"\d", line)]
    recorded = microseconds(bucket_of(values))
    assert int(lines[-1][2]) == 20 * len(values)
    for milliseconds, share, count, _ in lines:
        assert int(count) == 20 * np.count_nonzero(recorded <= round(float(milliseconds) * 1000)), share
