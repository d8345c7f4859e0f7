"""The replica sampler: asks the cluster who leads each partition, and how many of its replicas are in sync."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT32, PlaceReplicas
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.board import Order
from streamgauge.engine.observe.regular import regularly
from streamgauge.engine.ports.clients import ReplicasClient
from streamgauge.engine.ports.rows import Sink

EVERY_NS: Final = 200 * clock.NS_PER_MS
"""A leader that is lost and found again within this may be missed; the latency of its messages still shows it."""


@dataclass(slots=True)
class ReplicaSampler:
    """Looks on an absolute schedule until the run is over, and records what has changed since the look before."""

    client: ReplicasClient
    partitions: int
    """Of each topic."""
    sink: Sink
    order: Callable[[], Order]
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    _before: Sequence[PlaceReplicas] = ()
    _failed: str | None = None

    def run(self) -> None:
        """Look until the supervisor wants the end, and then once more."""
        regularly(EVERY_NS, self.look, self.order, self.now_ns, self.sleep)
        if self.order() == Order.FINISH:
            self._before = ()
            self.look()

    def look(self) -> None:
        """Record a row for each place that has changed; one with the reason where the cluster begins not to answer."""
        at_ns = self.now_ns()
        try:
            found = self.client.look()
        except BrokerError as error:
            if self._failed is None:
                self._record_failure(at_ns, str(error))
            self._failed = str(error)
            return
        before, self._failed = self._before if self._failed is None else (), None
        changed = [place for place, each in enumerate(found) if not before or before[place] != each]
        if changed:
            self._record(at_ns, changed, [found[place] for place in changed])
        self._before = found

    def _record(self, at_ns: int, places: list[int], found: list[PlaceReplicas]) -> None:
        chosen = np.array(places, np.int32)
        leaders = [NULL_INT32 if each.leader is None else each.leader for each in found]
        self.sink.append(
            {
                "at_ns": at_ns,
                "answered_ns": self.now_ns(),
                "topic": chosen // self.partitions,
                "partition": chosen % self.partitions,
                "leader": np.array(leaders, np.int32),
                "in_sync": np.array([each.in_sync for each in found], np.int32),
                "replicas": np.array([each.replicas for each in found], np.int32),
                "error": None,
            },
            len(places),
        )

    def _record_failure(self, at_ns: int, error: str) -> None:
        nothing = dict.fromkeys(("answered_ns", "topic", "partition", "leader", "in_sync", "replicas"))
        self.sink.append({"at_ns": at_ns, **nothing, "error": [error]}, 1)
