"""Percentiles in a moving window over a run, from the buckets of every second: what a limit over 10 s is judged by."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.percentiles import PERCENTILES, Buckets, percentile_ns
from streamgauge.report.files import metric_windows

WINDOW_SECONDS: Final = 10


def moving_percentiles(
    folder: RunFolder, metric: str, names: Sequence[str], length: int = WINDOW_SECONDS, seconds: int = 0
) -> list[dict[str, Any]]:
    """A row for each full window of the measure phase in which there are messages, in their order.

    The last one ends with the last second that has messages, or with so many `seconds` of the phase. A row has the last
    `second` of the window, the `count` of its messages, and each percentile in ms under its name, None for infinite:
    what never arrived is that. Raises AnalysisError where the table cannot be read.
    """
    return moving_rows(metric_windows(folder, metric).filter(pc.field("measured")), names, length, seconds)


def moving_rows(rows: pa.Table, names: Sequence[str], length: int, seconds: int = 0) -> list[dict[str, Any]]:
    """The same from rows of `second`, `bucket`, `count` and `censored`."""
    second, bucket, count = (np.asarray(rows[name].to_numpy(), np.int64) for name in ("second", "bucket", "count"))
    arrived = ~np.asarray(rows["censored"].to_numpy(), bool)
    order = np.argsort(second, kind="stable")
    second, bucket, count, arrived = second[order], bucket[order], count[order], arrived[order]
    known = np.unique(bucket[arrived])
    place, amount = np.searchsorted(known, bucket[arrived]), count[arrived]
    seconds = max(seconds, int(second[-1]) + 1 if len(second) else 0)
    of_all = np.searchsorted(second, np.arange(seconds + 1))
    of_arrived = np.searchsorted(second[arrived], np.arange(seconds + 1))
    counts, found = np.zeros(len(known), np.int64), []
    for end in range(1, seconds + 1):
        come = slice(of_arrived[end - 1], of_arrived[end])
        np.add.at(counts, place[come], amount[come])
        begin = end - length
        if begin > 0:
            gone = slice(of_arrived[begin - 1], of_arrived[begin])
            np.subtract.at(counts, place[gone], amount[gone])
        population = int(count[of_all[max(begin, 0)] : of_all[end]].sum())
        if begin >= 0 and population:
            figures = {name: _ms(Buckets(known, counts), name, population) for name in names}
            found.append({"second": end - 1, "count": population, **figures})
    return found


def _ms(buckets: Buckets, name: str, population: int) -> float | None:
    found = percentile_ns(buckets, PERCENTILES[name], population, None)
    return None if found is None else found / NS_PER_MS
