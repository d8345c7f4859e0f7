"""Every latency as an HdrHistogram interval log, for the tools that read those: one file per metric, one line a second.

The lines of the measure phase have no tag and the others are tagged `unmeasured`, so a tool that is not asked for tags
sees what result.json speaks of. Each message is recorded at the upper edge of its bucket, as in result.json, to the
nearest microsecond. StartTime is the beginning of the first second of the run, the same in all files of a run.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from streamgauge.domain.clock import NS_PER_SECOND, utc_text
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.buckets import Int64s, upper_edge_ns
from streamgauge.domain.tables.latency import LATENCY_BUCKETS, METRICS
from streamgauge.report.files import metric_windows, read_facts, reading, whole

DIGITS: Final = 3
"""Significant digits of the histograms: a thousandth, where our own buckets are 1/256 wide."""
LARGEST_US: Final = 3_600_000_000
"""What the histograms can hold at least: an hour."""
NS_PER_US: Final = 1_000
US_PER_MS: Final = 1_000
UNMEASURED: Final = "unmeasured"

_LEGEND: Final = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'


def write_hlog(folder: RunFolder) -> list[Path]:
    """One log for each metric that has a window, each written whole or not at all; returns what was written.

    Raises AnalysisError where the run folder cannot be read or a file cannot be written.
    """
    table = folder.table(LATENCY_BUCKETS.name)
    if not table.exists():
        return []
    with reading(table):
        first = pc.min(pq.read_table(table, columns=["second"])["second"]).as_py()
    facts = read_facts(folder)
    measure = facts.phase("measure")
    if first is None or measure is None:
        # A run that failed before its load has polls, and no phase from which their time is counted.
        return []
    start_ns = facts.wall_ns + measure.from_ns - facts.monotonic_ns + first * NS_PER_SECOND
    written = []
    for metric in METRICS:
        # One metric at a time: all together may be more than a gigabyte.
        rows = metric_windows(folder, metric)
        if rows.num_rows:
            target = folder.hlog / f"{metric}.hlog"
            with whole(target) as unfinished, unfinished.open("w", encoding="ascii") as file:
                file.writelines(f"{line}\n" for line in log_lines(metric, rows, first, start_ns))
            written.append(target)
    return written


def log_lines(metric: str, rows: pa.Table, first: int, start_ns: int) -> Iterator[str]:
    """The log of one metric, from its rows by window; its time begins with the second `first`, at `start_ns`."""
    delivered, censored = rows.filter(~pc.field("censored")), rows.filter(pc.field("censored"))
    bucket, count = _numbers(delivered, "bucket"), _numbers(delivered, "count")
    start = f"{start_ns / NS_PER_SECOND:.3f} (seconds since epoch)"
    yield f"#[Streamgauge: {metric} = {METRICS[metric]}]"
    yield "#[Histogram log format version 1.3]"
    yield f"#[Values in microseconds, Interval_Max in milliseconds (value unit ratio {US_PER_MS})]"
    yield f"#[The measure phase starts at {-first} s; lines before and after it have the tag {UNMEASURED}]"
    yield f"#[Below zero, recorded as 0: {count[bucket < 0].sum()}]"
    yield f"#[Never delivered, left out: {_numbers(censored, 'count').sum()}]"
    yield f"#[StartTime: {start}, {utc_text(start_ns)}]"
    yield f"#[BaseTime: {start}]"
    yield _LEGEND
    yield from _intervals(_numbers(delivered, "second") - first, _numbers(delivered, "measured"), bucket, count)


def _numbers(rows: pa.Table, name: str) -> Int64s:
    return np.asarray(rows[name].to_numpy(), np.int64)


def _intervals(second: Int64s, measured: Int64s, bucket: Int64s, count: Int64s) -> Iterator[str]:
    """One line for each second and tag in which there is anything, in order."""
    window = second << 1 | measured
    order = np.argsort(window, kind="stable")
    window, bucket, count = window[order], bucket[order], count[order]
    known = np.unique(bucket)
    place = np.searchsorted(known, bucket)
    encoder = _Encoder(microseconds(known))
    edges = np.flatnonzero(np.diff(window, prepend=-1, append=-1))
    for begin, end in pairwise(edges.tolist()):
        at, is_measured = divmod(int(window[begin]), 2)
        largest_us, encoded = encoder.encode(place[begin:end], count[begin:end])
        tag = "" if is_measured else f"Tag={UNMEASURED},"
        yield f"{tag}{at:.3f},1.000,{largest_us / US_PER_MS:.3f},{encoded}"


def microseconds(buckets: Int64s) -> Int64s:
    """The value that each bucket is recorded at: its upper edge, to the nearest microsecond, and 0 below zero."""
    whole_us, rest_ns = np.divmod(np.maximum(upper_edge_ns(buckets), 0), NS_PER_US)
    return whole_us + (2 * rest_ns >= NS_PER_US)


class _Encoder:
    """Encodes one histogram after another in the same memory.

    The counts are set as arrays: to record and reset them one by one takes many times as long.
    """

    def __init__(self, values_us: Int64s) -> None:
        """For histograms of these values, which are then named by their places."""
        self._histogram: Any = HdrHistogram(1, max(LARGEST_US, *values_us.tolist(), 0), DIGITS)
        self._counts = np.frombuffer(self._histogram.counts, np.uint64)
        self._index = np.array([self._histogram.get_counts_array_index(value) for value in values_us.tolist()], int)

    def encode(self, places: Int64s, counts: Int64s) -> tuple[int, str]:
        """The largest value, in microseconds, and the histogram in the compressed encoding, version 2."""
        index = self._index[places]
        self._counts[:] = 0
        np.add.at(self._counts, index, counts.astype(np.uint64))
        self._histogram.set_internal_tacking_values(int(index.min()), int(index.max()), int(counts.sum()))
        return self._histogram.get_max_value(), self._histogram.encode().decode("ascii")
