"""Durations that are few enough to be answered in memory: of polls, batches and transactions."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.latency.buckets import Int64s, bucket_of
from streamgauge.domain.latency.percentiles import Buckets, Moments, summarise
from streamgauge.pipeline.metrics.aggregates.histogram import By, packed
from streamgauge.pipeline.metrics.aggregates.sums import NOWHERE, Sums
from streamgauge.pipeline.read.rows import numbers
from streamgauge.pipeline.read.silver import ticks


@dataclass(frozen=True, slots=True)
class Spans:
    """One metric: how long each thing took, in ns, and the tick by which it is selected."""

    metric: str
    took_ns: Int64s
    tick: Int64s
    times: Int64s | None = None
    """How often each counts, at least once; None for once."""

    def histogram(self) -> pa.Table:
        """Columns key and count, as `pipeline.metrics.aggregates.histogram` gives them."""
        keys = packed(self.metric, By.TICK, self.tick, bucket_of(self.took_ns))
        if self.times is None:
            key, count = np.unique(keys, return_counts=True)
            return pa.table({"key": key, "count": count})
        key, place = np.unique(keys, return_inverse=True)
        weighted = np.zeros(len(key), np.int64)
        np.add.at(weighted, place, self.times)
        return pa.table({"key": key, "count": weighted})

    def sums(self) -> Sums:
        """Moments, as `pipeline.metrics.aggregates.sums` gives them: each thing is a row of its own."""
        took = self.took_ns
        times = np.ones_like(took) if self.times is None else self.times
        real = took.astype(np.float64)
        columns = {"count": times, "min": took, "max": took, "sum": real * times, "squares": real * real * times}
        whole = {"place": np.full_like(took, NOWHERE), "at_selected": self.tick}
        return Sums(pa.table(whole | {f"{self.metric}_{name}": values for name, values in columns.items()}))


def of_batches(rows: pa.Table, measure: MeasureSpan) -> tuple[Spans, Spans]:
    """How long producers that wait for all reports took for a batch, and waited; a batch counts by when it began."""
    began_ns, waited_ns, ended_ns = (numbers(rows, name) for name in ("began_ns", "waited_ns", "ended_ns"))
    tick = ticks(began_ns, measure)
    return Spans("batch", ended_ns - began_ns, tick), Spans("flush_wait", ended_ns - waited_ns, tick)


def figures(took_ns: Int64s, *names: str) -> dict[str, float | None]:
    """Figures of a latency object, like `p99_ms`, of some durations; null where there are none."""
    buckets = Buckets.merged(bucket_of(took_ns), np.ones_like(took_ns))
    real = took_ns.astype(np.float64)
    low, high = (int(took_ns.min()), int(took_ns.max())) if len(took_ns) else (None, None)
    moments = Moments(len(took_ns), low, high, float(real.sum()), float((real * real).sum()))
    shown = summarise(buckets, moments, "").as_result()
    return {name: shown[name] for name in names}
