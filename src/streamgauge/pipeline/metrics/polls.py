"""The table `polls` and the metric `poll`: how consumers polled.

One poll delivers up to a thousand messages, so polls are few; they are read into memory and answered in numpy.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.pipeline.columns import RETURNED_NS
from streamgauge.pipeline.metrics.spans import Spans
from streamgauge.pipeline.read.rows import Row, numbers, share
from streamgauge.pipeline.read.silver import is_measured, ticks

POLL = "poll"
POLL_PER_RECORD = "poll_per_record"


@dataclass(frozen=True, slots=True)
class Polls:
    """All polls as columns, ordered by consumer and number; `tick` is that of the return."""

    consumer: Int64s
    started_ns: Int64s
    returned_ns: Int64s
    count: Int64s
    tick: Int64s

    @property
    def measured(self) -> Any:
        """Which polls returned in the measure phase."""
        return is_measured(self.tick)

    def spans(self) -> tuple[Spans, Spans]:
        """The time spent in polls, and that of each message in the poll that delivered it: empty polls have none."""
        took, filled = self.returned_ns - self.started_ns, self.count > 0
        each = Spans(POLL_PER_RECORD, took[filled], self.tick[filled], self.count[filled])
        return Spans(POLL, took, self.tick), each


def read(rows: pa.Table, measure: MeasureSpan) -> Polls:
    """The polls from the rows of the event of that name."""
    rows = rows.sort_by([("consumer", "ascending"), ("poll", "ascending")])
    names = ("consumer", "started_ns", RETURNED_NS, "count")
    consumer, started_ns, returned_ns, count = (numbers(rows, name) for name in names)
    return Polls(consumer, started_ns, returned_ns, count, ticks(returned_ns, measure))


def by_consumer(polls: Polls) -> list[Row]:
    """Rows of `polls`: polls that returned in the measure phase."""
    # Between the last poll of one consumer and the first of the next there is no gap.
    gap_ns = np.append(polls.started_ns[1:] - polls.returned_ns[:-1], 0)
    follows = np.append(polls.consumer[1:] == polls.consumer[:-1], False)
    rows = []
    for consumer in np.unique(polls.consumer[polls.measured]).tolist():
        mine = polls.measured & (polls.consumer == consumer)
        rows.append(_row(consumer, polls, mine, gap_ns[mine & follows]))
    return rows


def _row(consumer: int, polls: Polls, mine: Any, gaps_ns: Int64s) -> Row:
    started_ns, returned_ns, count = polls.started_ns[mine], polls.returned_ns[mine], polls.count[mine]
    elapsed_ns = int(returned_ns.max() - started_ns.min())
    filled = count[count > 0]
    return {
        "consumer": consumer,
        "polls": len(count),
        "empty": len(count) - len(filled),
        "messages": int(count.sum()),
        "mean_messages": float(filled.mean()) if len(filled) else None,
        "in_poll_share": share(float((returned_ns - started_ns).sum()), elapsed_ns),
        "longest_gap_ms": float(gaps_ns.max() / NS_PER_MS) if len(gaps_ns) else None,
    }
