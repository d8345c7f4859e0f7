"""tussle's progress table: each operation in every interval, and what came of the whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.buckets import lower_edge_ns, upper_edge_ns
from streamgauge.domain.latency.percentiles import Buckets, percentile_ns
from streamgauge.domain.tables.latency import LATENCY_BUCKETS
from streamgauge.report.exports.tussle import operation_of
from streamgauge.report.files import metric_windows
from streamgauge.workload.pacing import Int64s

INTERVAL_S: Final = 5
"""Its `progressInterval`."""
METRICS: Final = ("ack_response", "ack_service", "end_to_end_response", "end_to_end_service", "poll_per_record", "poll")
_RANKS: Final = (5_000, 9_000, 9_900, 10_000)
"""Of the percentiles in its head, in ten thousandths."""
_HEAD: Final = (
    "name", "time", "progr", "p50ms", "p90ms", "p99ms", "p100ms", "mean", "count", "rate", "total",
)  # fmt: skip
_WIDTHS: Final = (15, 5, 5, 8, 8, 8, 8, 8, 8, 8, 9)


@dataclass(frozen=True, slots=True)
class OperationCounts:
    """Values of one operation of the measure phase: the second, the bucket and the number of each."""

    name: str
    """As the table shows it: the operation, and four letters of the metric."""
    second: Int64s
    bucket: Int64s
    count: Int64s


def read_operations(folder: RunFolder) -> list[OperationCounts]:
    """The operations that a run has; raises AnalysisError where its table cannot be read."""
    if not folder.table(LATENCY_BUCKETS.name).exists():
        return []
    found: list[OperationCounts] = []
    for metric in METRICS:
        rows = metric_windows(folder, metric).to_pydict()
        kept = np.array(rows["measured"], bool) & ~np.array(rows["censored"], bool)
        name = operation_of(metric)
        if metric == "poll" and any(each.name.startswith("poll") for each in found):
            continue
        if kept.any() and name is not None:
            columns = [np.array(rows[column], np.int64)[kept] for column in ("second", "bucket", "count")]
            found.append(OperationCounts(f"{name[0]} {name[1][:4]}", *columns))
    return found


def progress_text(operations: Sequence[OperationCounts], seconds: float) -> str:
    """The table of a run that measured for so long: a line for each operation and interval, then one for the whole."""
    return "".join(f"{line}\n" for line in _lines(operations, seconds)) if operations else ""


def _lines(operations: Sequence[OperationCounts], seconds: float) -> Iterator[str]:
    yield _row(_HEAD)
    ends = np.arange(INTERVAL_S, max(INTERVAL_S, int(np.ceil(seconds))) + INTERVAL_S, INTERVAL_S)
    for end in ends.tolist():
        at = min(end, seconds)
        for each in operations:
            inside = (each.second >= end - INTERVAL_S) & (each.second < end)
            total = int(each.count[each.second < end].sum())
            length = at - (end - INTERVAL_S)
            if length > 0:
                yield _figures(each, inside, at, 100 * at / seconds, length, total)
    for each in operations:
        total = int(each.count.sum())
        yield _figures(each, np.ones(len(each.count), bool), seconds, 100.0, seconds, total)


def _figures(
    each: OperationCounts, inside: "np.ndarray[tuple[int], np.dtype[np.bool_]]", at: float, percent: float,
    length: float, total: int,
) -> str:  # fmt: skip
    found = Buckets.merged(each.bucket[inside], each.count[inside])
    number = found.total
    cells = [each.name, f"{at:.0f}", f"{percent:.1f}"]
    if number:
        cells += [_ms(percentile_ns(found, rank, number, None) or 0) for rank in _RANKS]
        lower, upper = (np.maximum(edge(found.index), 0) for edge in (lower_edge_ns, upper_edge_ns))
        cells.append(_ms(float(((lower + upper) / 2 * found.count).sum() / number)))
    else:
        cells += ["-"] * (len(_RANKS) + 1)
    return _row([*cells, str(number), f"{number / length:.1f}", str(total)])


def _ms(ns: float) -> str:
    return f"{max(ns, 0) / NS_PER_MS:.4g}" if ns < 1000 * NS_PER_MS else f"{ns / NS_PER_MS:.0f}"


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    widths = _WIDTHS[1:]
    return " | ".join(
        [first.ljust(_WIDTHS[0]), *(cell.rjust(width) for cell, width in zip(others, widths, strict=True))]
    )
