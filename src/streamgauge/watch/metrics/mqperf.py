"""The metrics of a run by the names, units and buckets of mqperf, for dashboards that were made for it.

mqperf counts a message as sent when it is acknowledged. Its latencies count from the send: so do ours without a target
rate; with one they count from the due time. A batch that a thread waits for is that of a closed loop.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.look import Look, WorkerLook, live_edges_ns
from streamgauge.foreign.results.formats.mqperf import EDGES_MS
from streamgauge.watch.metrics.names import RUN_LABELS
from streamgauge.watch.metrics.samples import Subject

LONGEST_SEND_MS: Final = 5_000.0
"""The buckets of sends end there."""


def mqperf_families(subject: Subject, look: Look) -> Iterator[Metric]:
    """The six metrics of mqperf, labelled with test, run and host; histograms once there is something in them."""
    run = (subject.test, look.run, subject.host)
    producers, consumers = ([each for each in look.workers if each.role == role] for role in ("producer", "consumer"))
    acked = sum((each.known or 0) - each.failed for each in producers)
    yield _counter("mqperf_sent", "Messages acknowledged.", run, acked)
    yield _done("mqperf_sent_threads_done", "Producers that have finished.", run, producers)
    yield _counter("mqperf_received", "Messages received.", run, sum(each.messages for each in consumers))
    yield _done("mqperf_receive_threads_done", "Consumers that have finished.", run, consumers)
    sends = [edge for edge in EDGES_MS if edge <= LONGEST_SEND_MS]
    for name, about, counts, edges in (
        ("mqperf_send_latency_ms", "Batch: from the first send to the last report, in ms.", look.batch, sends),
        (
            "mqperf_latency_ms",
            "Message: from the send, or the due time, to the receipt, in ms.",
            look.end_to_end,
            EDGES_MS,
        ),
    ):
        if counts.any():
            yield _histogram(name, about, run, counts, edges)


def _counter(name: str, about: str, run: Sequence[str], value: float) -> Metric:
    family = CounterMetricFamily(name, about, labels=RUN_LABELS)
    family.add_metric(run, value)
    return family


def _done(name: str, about: str, run: Sequence[str], workers: Sequence[WorkerLook]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=RUN_LABELS)
    family.add_metric(run, sum(each.done for each in workers))
    return family


def _histogram(name: str, about: str, run: Sequence[str], counts: Int64s, edges_ms: Sequence[float]) -> Metric:
    """What was counted in finer buckets; an edge within one of them takes its share of it."""
    finer_ms, below = live_edges_ns() / NS_PER_MS, counts.cumsum()
    at_edges = np.interp(edges_ms, np.concatenate([[0.0], finer_ms]), np.concatenate([[0], below]))
    buckets = [(repr(edge), count) for edge, count in zip(edges_ms, at_edges.tolist(), strict=True)]
    family = HistogramMetricFamily(name, about, labels=RUN_LABELS)
    family.add_metric(run, [*buckets, ("+Inf", float(below[-1]))], float((counts * finer_ms).sum()))
    return family
