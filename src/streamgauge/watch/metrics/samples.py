"""The samples of all metrics: from one look at a run to families in the words of the Prometheus client library."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.look import STEPS_PER_DOUBLING, Held, Look, WorkerLook, live_edges_ns
from streamgauge.watch.metrics import names
from streamgauge.watch.metrics.names import Name

EDGES_PER_DOUBLING: Final = 4
"""Every second edge of the live buckets: each bucket is at most a fifth wider than the one below."""
_FAMILIES: Final = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily}
LOWEST_SECONDS: Final = 100e-6
HIGHEST_SECONDS: Final = 70.0

LabelledValue = tuple[tuple[str, ...], float]
"""The values of the labels of a metric, and its value."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a run is besides what a look tells: name of its scenario, machine, target rate, kind of its latencies."""

    test: str
    host: str
    target_rate: float | None
    kind: str
    """`response` where messages have due times, else `service`."""


def families(subject: Subject, look: Look) -> Iterator[Metric]:
    """Every metric that has a sample, labelled with test, run and host; the client library escapes what it writes."""
    run = (subject.test, look.run, subject.host)
    info = InfoMetricFamily(names.RUN.name.removesuffix("_info"), names.RUN.about, labels=names.RUN_LABELS)
    info.add_metric(run, {"version": version("streamgauge")})
    yield info
    for name, samples in _samples(subject, look):
        if found := list(samples):
            family = _FAMILIES[name.kind](name.name, name.about, labels=(*names.RUN_LABELS, *name.labels))
            for labels, value in found:
                family.add_metric((*run, *labels), value)
            yield family
    for name, role, kind, counts in _latencies(subject, look):
        if counts.any():
            yield _histogram(name, (*run, role, kind), counts)


def _samples(subject: Subject, look: Look) -> Iterator[tuple[Name, Iterable[LabelledValue]]]:
    yield names.STAGE, [((stage,), float(stage == look.stage)) for stage in names.STAGES]
    pace = "constant" if look.is_constant else "mean"
    yield names.TARGET, [] if subject.target_rate is None else [((pace,), subject.target_rate)]
    yield from _messages(look.workers)
    yield names.OUTSTANDING, _single(look.outstanding)
    yield names.LAG, _single(look.lag)
    yield from _held(look.held)
    yield from _processes(look.workers)
    yield names.CORES, _single(look.cores)
    yield names.IDLE, _single(_seconds(look.idle_ns))


def _latencies(subject: Subject, look: Look) -> Iterator[tuple[Name, str, str, Int64s]]:
    """Each histogram with its role, kind of latency, and counts by live bucket."""
    yield names.ACK, "producer", subject.kind, look.ack
    yield names.END_TO_END, "consumer", subject.kind, look.end_to_end
    # A batch begins when it is sent: it has no due time.
    yield names.SEND_BATCH, "producer", "service", look.batch


def _messages(workers: Sequence[WorkerLook]) -> Iterator[tuple[Name, Iterable[LabelledValue]]]:
    producers = [worker for worker in workers if worker.role == "producer"]
    consumers = [worker for worker in workers if worker.role == "consumer"]
    yield names.SENT, _each((worker, worker.messages) for worker in producers)
    yield names.ACKED, _each((worker, (worker.known or 0) - worker.failed) for worker in producers)
    yield names.FAILED, _each((worker, worker.failed) for worker in producers)
    yield names.RECEIVED, _each((worker, worker.messages) for worker in consumers)
    yield names.ACKED_BYTES, _each((worker, worker.message_bytes) for worker in producers)
    yield names.RECEIVED_BYTES, _each((worker, worker.message_bytes) for worker in consumers)


def _held(held: Held | None) -> Iterator[tuple[Name, Iterable[LabelledValue]]]:
    """Whether and how far producers are held back."""
    if held is not None:
        yield names.LIMIT, _single(held.limit)
        yield names.PAUSED, _single(held.paused)
        yield names.IN_USE, _single(held.in_use)


def _processes(workers: Sequence[WorkerLook]) -> Iterator[tuple[Name, Iterable[LabelledValue]]]:
    clients = [worker for worker in workers if worker.clients]
    yield names.BUFFERED, _each((worker, worker.buffered) for worker in workers)
    yield names.QUEUE_FULL, _each((worker, _seconds(worker.blocked_ns)) for worker in workers)
    yield names.UP, _each((worker, worker.alive) for worker in workers)
    yield names.CLIENTS, _each((worker, worker.clients) for worker in clients)
    yield names.DONE, _each((worker, worker.done) for worker in clients)
    yield names.DROPPED, _each((worker, worker.dropped) for worker in clients)
    yield names.CPU, _each((worker, _seconds(worker.cpu_ns)) for worker in workers)


def _single(value: float | None) -> list[LabelledValue]:
    return [] if value is None else [((), float(value))]


def _each(values: Iterable[tuple[WorkerLook, float | None]]) -> list[LabelledValue]:
    return [((worker.name, worker.role), float(value)) for worker, value in values if value is not None]


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / NS_PER_SECOND


def _histogram(name: Name, labels: tuple[str, ...], counts: Int64s) -> Metric:
    """A histogram of what was counted by live bucket; the sum is that of the buckets' upper edges."""
    edges_ns = live_edges_ns()
    below = counts.cumsum()
    step = STEPS_PER_DOUBLING // EDGES_PER_DOUBLING
    buckets = [
        (repr(edge / NS_PER_SECOND), float(count))
        for edge, count in zip(edges_ns[step - 1 :: step].tolist(), below[step - 1 :: step].tolist(), strict=True)
        if LOWEST_SECONDS <= edge / NS_PER_SECOND <= HIGHEST_SECONDS
    ]
    histogram = HistogramMetricFamily(name.name, name.about, labels=(*names.RUN_LABELS, *name.labels))
    histogram.add_metric(
        labels, [*buckets, ("+Inf", float(below[-1]))], float((counts * edges_ns).sum()) / NS_PER_SECOND
    )
    return histogram
