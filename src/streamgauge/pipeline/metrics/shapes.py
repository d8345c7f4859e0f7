"""The tables `percentiles` and `heat`, which figures are drawn from."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.tables.latency import UNPLACED
from streamgauge.pipeline.metrics.aggregates.curves import curve, heat
from streamgauge.pipeline.metrics.aggregates.histogram import By, Histograms
from streamgauge.pipeline.metrics.latency import Metric, max_ns_of, of_phase
from streamgauge.pipeline.read.rows import Row
from streamgauge.pipeline.read.silver import SHIFT_SECONDS


def percentile_rows(metrics: Iterable[Metric], histograms: Histograms) -> list[Row]:
    """Rows of `percentiles`: the curve of every metric that the run has, in the measure phase."""
    return [
        {
            "metric": metric.name,
            "percent": point.percent,
            "value_ms": point.low_ns / NS_PER_MS,
            "hi_ms": None if point.high_ns is None else point.high_ns / NS_PER_MS,
            "censored": point.is_interval,
        }
        for metric in _present(metrics)
        for point in curve(
            of_phase(histograms.delivered, metric.name).buckets(),
            of_phase(histograms.censored, metric.name).buckets(),
            max_ns_of(metric),
        )
    ]


def heat_rows(metrics: Iterable[Metric], histograms: Histograms) -> list[Row]:
    """Rows of `heat`: messages over the time of the run and the time they took, for every metric of messages."""
    rows = []
    for metric in _present(metrics):
        if metric.name in UNPLACED:
            continue
        counts = histograms.delivered.metric_by(metric.name, By.TICK)
        cells = heat((counts.at >> 1) - SHIFT_SECONDS, counts.bucket, counts.count)
        rows += [{"metric": metric.name, **asdict(cell)} for cell in cells]
    return rows


def _present(metrics: Iterable[Metric]) -> Sequence[Metric]:
    return [metric for metric in metrics if metric.sums is not None and not metric.absent]
