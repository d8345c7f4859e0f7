"""A Prometheus endpoint: what a run has done so far, by the last look at it.

It is live, and so never judged: what of the figures may be believed follows from the rows of the whole run.
"""

import platform
from collections.abc import Iterator
from typing import Literal, Self

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from streamgauge.domain.errors import BadInput
from streamgauge.domain.look import Look
from streamgauge.domain.text.address import LOOPBACK
from streamgauge.watch.metrics.mqperf import mqperf_families
from streamgauge.watch.metrics.samples import Subject, families

MetricNames = Literal["streamgauge", "mqperf"]
"""Whose names metrics have."""


class Metrics(Collector):
    """The metrics of one run, from the last look; an endpoint serves them while the context lasts."""

    def __init__(
        self,
        test: str,
        target_rate: float | None,
        *,
        scheduled: bool,
        address: str = LOOPBACK,
        port: int = 0,
        names: MetricNames = "streamgauge",
    ) -> None:
        self._subject = Subject(test, platform.node(), target_rate, "response" if scheduled else "service")
        self.address = address
        self._wanted = port
        self._families = families if names == "streamgauge" else mqperf_families
        self._look: Look | None = None
        self.port = 0
        """Where it listens, while it does."""

    def show(self, look: Look) -> None:
        """The run as it is now."""
        self._look = look

    def collect(self) -> Iterator[Metric]:
        """All metrics; none before the first look, which tells the name of the run."""
        if self._look is not None:
            yield from self._families(self._subject, self._look)

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
