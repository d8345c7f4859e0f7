"""Counts as tables: `latency_buckets` and `latency_widths`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from streamgauge.arrow import arrow_schema
from streamgauge.domain.clock import NS_PER_US
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.tables.latency import LATENCY_BUCKETS, LATENCY_WIDTHS, METRICS
from streamgauge.pipeline.metrics.aggregates.bounds import UNKNOWN, Widths, widest_ns
from streamgauge.pipeline.metrics.aggregates.histogram import By, Counts, Histograms
from streamgauge.pipeline.metrics.expressions import SCHEDULE_DELAY
from streamgauge.pipeline.read.rows import shaped
from streamgauge.pipeline.read.silver import SHIFT_SECONDS, is_measured, place_of


def bucket_table(histograms: Histograms) -> pa.Table:
    """The table `latency_buckets`; schedule delay by producer is not in it, nor are widths."""
    delivered, ages = (_buckets(counts, censored=counts is histograms.censored) for counts in histograms.both)
    return pa.concat_tables([delivered, ages])


def _buckets(counts: Counts, *, censored: bool) -> pa.Table:
    names = list(METRICS)
    by_producer = (counts.by == By.PART) & (counts.metric == names.index(SCHEDULE_DELAY))
    counts = counts.where((counts.by != By.WIDTH) & ~by_producer)
    by_window = counts.by == By.TICK
    metric = pa.DictionaryArray.from_arrays(counts.metric.astype(np.int32), names)
    where = {name: _where(~by_window, numbers) for name, numbers in place_of(counts.at).items()}
    columns = {
        "metric": metric,
        "second": _where(by_window, (counts.at >> 1) - SHIFT_SECONDS),
        **where,
        "measured": ~by_window | is_measured(counts.at),
        "censored": np.full(len(by_window), censored),
        "bucket": counts.bucket,
        "count": counts.count,
    }
    return shaped(columns, len(by_window), arrow_schema(LATENCY_BUCKETS))


def _where(chosen: Any, numbers: Int64s) -> pa.Array:
    return pa.array(numbers, mask=~chosen)


def width_table(widths: Mapping[str, Widths]) -> pa.Table:
    """The table `latency_widths`: who merges seconds has the low ends of what he merged from it."""
    schema = arrow_schema(LATENCY_WIDTHS)
    return pa.concat_tables([schema.empty_table(), *(_widths(name, each, schema) for name, each in widths.items())])


def _widths(metric: str, widths: Widths, schema: pa.Schema) -> pa.Table:
    known = widths.width != UNKNOWN
    width_us = widest_ns(np.where(known, widths.width, 0)) // NS_PER_US
    columns = {
        "metric": [metric] * len(known),
        "bucket": widths.bucket,
        "width_us": _where(known, width_us),
        "count": widths.count,
    }
    return shaped(columns, len(known), schema)
