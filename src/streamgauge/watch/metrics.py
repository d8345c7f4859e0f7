"""A Prometheus endpoint: what a run has done so far, as counters and as histograms that are fine below 50 ms.

It is live, and so never judged: what of the figures may be believed follows from the rows of the whole run.
"""

from collections.abc import Iterator
from typing import Final, Self

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.look import STEPS_PER_DOUBLING, Held, Look, live_edges_ns
from streamgauge.domain.text.address import LOOPBACK

EDGES_PER_DOUBLING: Final = 4
"""Every second edge of the live buckets: each bucket is at most a fifth wider than the one below."""
LOWEST_SECONDS: Final = 100e-6
HIGHEST_SECONDS: Final = 70.0
_STAGES: Final = ("starting", "warmup", "measure", "drain", "ending")


class Metrics(Collector):
    """The metrics of one run, from the last look; an endpoint serves them while the context lasts."""

    def __init__(
        self, run: str, target_rate: float | None, *, scheduled: bool, address: str = LOOPBACK, port: int = 0
    ) -> None:
        self._run = run
        self._target_rate = target_rate
        self._kind = "response" if scheduled else "service"
        self.address = address
        self._wanted = port
        self._look: Look | None = None
        self.port = 0
        """Where it listens, while it does."""

    def show(self, look: Look) -> None:
        """The run as it is now."""
        self._look = look

    def collect(self) -> Iterator[Metric]:
        """All metrics; without a look only what the run is."""
        yield InfoMetricFamily("streamgauge_run", "The measured run.", {"scenario": self._run})
        look = self._look
        if look is None:
            return
        stage = GaugeMetricFamily("streamgauge_stage", "1 for the current stage of the run.", labels=["stage"])
        for name in _STAGES:
            stage.add_metric([name], float(name == look.stage))
        yield stage
        if self._target_rate is not None:
            yield GaugeMetricFamily("streamgauge_target_messages_per_second", "Target rate.", self._target_rate)
        yield from _messages(look)
        if look.held is not None:
            yield from _held(look.held)
        yield from _workers(look)
        for name, counts in (("ack", look.ack), ("end_to_end", look.end_to_end)):
            if counts.any():
                yield _histogram(f"streamgauge_{name}_latency_seconds", self._kind, counts)

    def __enter__(self) -> Self:
        """Begin to listen. Raises BadInput where the port cannot be had."""
        registry = CollectorRegistry()
        registry.register(self)
        try:
            self._server, self._thread = start_http_server(self._wanted, self.address, registry)
        except (OSError, OverflowError, UnicodeError) as error:
            where = f"--metrics-address {self.address} --metrics-port {self._wanted}"
            what = f"cannot listen on this address: {getattr(error, 'strerror', None) or error}"
            raise BadInput.single(where, what, "Name a free port, or 0 for any") from error
        self.port = self._server.server_port
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _messages(look: Look) -> Iterator[Metric]:
    stages = {
        "sent": ("producer", look.sent),
        "acked": ("producer", look.acked),
        "failed": ("producer", look.failed),
        "received": ("consumer", look.received),
    }
    roles = {worker.role for worker in look.workers}
    messages = CounterMetricFamily("streamgauge_messages", "Messages by event.", labels=["stage"])
    for name, (role, count) in stages.items():
        if role in roles:
            messages.add_metric([name], count)
    yield messages
    size = CounterMetricFamily(
        "streamgauge_value_bytes", "Bytes of values, acknowledged or received.", labels=["stage"]
    )
    for name, role in (("acked", "producer"), ("received", "consumer")):
        if role in roles:
            size.add_metric([name], look.total(role, "message_bytes"))
    yield size
    if look.outstanding is not None:
        yield GaugeMetricFamily("streamgauge_outstanding_messages", "Sent and not yet received.", look.outstanding)
    if look.lag is not None:
        about = "Log end minus committed offset, last sample of the group with the most lag."
        yield GaugeMetricFamily("streamgauge_committed_lag_messages", about, look.lag)


def _held(held: Held) -> Iterator[Metric]:
    """Whether and how far producers are held back."""
    about = "Lag above which producers pause, or the limit of credit."
    yield GaugeMetricFamily("streamgauge_backpressure_limit_messages", about, held.limit)
    if held.paused is not None:
        yield GaugeMetricFamily("streamgauge_producers_paused", "1 while producers are paused.", float(held.paused))
    if held.in_use is not None:
        about = "Credit in use."
        yield GaugeMetricFamily("streamgauge_credit_in_use_messages", about, held.in_use)


def _workers(look: Look) -> Iterator[Metric]:
    labels = ["worker", "role"]
    up = GaugeMetricFamily("streamgauge_worker_up", "1 while a worker runs or has exited normally.", labels=labels)
    cpu = CounterMetricFamily("streamgauge_worker_cpu_seconds", "CPU time of a worker.", labels=labels)
    blocked = CounterMetricFamily(
        "streamgauge_queue_full_seconds", "Time blocked by a full client queue.", labels=labels
    )
    for worker in look.workers:
        up.add_metric([worker.name, worker.role], float(worker.alive))
        if worker.cpu_ns is not None:
            cpu.add_metric([worker.name, worker.role], worker.cpu_ns / NS_PER_SECOND)
        if worker.blocked_ns is not None:
            blocked.add_metric([worker.name, worker.role], worker.blocked_ns / NS_PER_SECOND)
    yield from (up, cpu, blocked)


def _histogram(name: str, kind: str, counts: Int64s) -> Metric:
    """A histogram of what was counted by live bucket; the sum is that of the buckets' upper edges."""
    edges_ns = live_edges_ns()
    below = counts.cumsum()
    step = STEPS_PER_DOUBLING // EDGES_PER_DOUBLING
    buckets = [
        (repr(edge / NS_PER_SECOND), float(count))
        for edge, count in zip(edges_ns[step - 1 :: step].tolist(), below[step - 1 :: step].tolist(), strict=True)
        if LOWEST_SECONDS <= edge / NS_PER_SECOND <= HIGHEST_SECONDS
    ]
    total = float(below[-1])
    histogram = HistogramMetricFamily(name, f"Latency of messages ({kind} time).", labels=["kind"])
    histogram.add_metric([kind], [*buckets, ("+Inf", total)], float((counts * edges_ns).sum()) / NS_PER_SECOND)
    return histogram
