"""Warm up a broker that has just started, until the JVM has compiled the code that messages pass through.

A Java process interprets its code before it compiles it: on two cores a fresh broker needs some fifteen seconds of
CPU time before 10,000 messages a second cost it little. Nobody measures brokers that live for a minute, so the
one of a run is driven with messages of its own, on a topic that is deleted, before the run touches it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import confluent_kafka as ck

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.admin import Cluster
from streamgauge.processes.patience import let_go

PRIME_SECONDS: Final = 5.0
MOST_SHARED_SECONDS: Final = 24.0
"""Of a cluster that serves many runs: three brokers are then primed within half a minute of their start."""
TOPIC: Final = "streamgauge-prime"
IDLE_SHARE: Final = 0.2
"""Compilers are idle where they use less of a core."""
_WINDOW_NS: Final = NS_PER_SECOND
_PARTITIONS: Final = 12
_PAIRS: Final = 2
"""Clients of each kind: connections are served side by side."""
_MOST_REPLICAS: Final = 3
_BURST: Final = 20
_IN_FLIGHT: Final = 500
_VALUE: Final = bytes(64)
_CLOSE_SECONDS: Final = 2.0
"""Nobody waits for these clients, but a topic is deleted more quietly without them."""


@dataclass(slots=True)
class Warming:
    """When a broker is warm: its compilers have become idle, but not before one time, and at the latest at another."""

    least_ns: int
    most_ns: int
    compiled_ns: Callable[[], int | None]
    """The CPU time that its compilers have used so far; None where nobody knows."""
    _looked_ns: int = field(default=0, init=False)
    _next_ns: int = field(default=0, init=False)
    _used_ns: int | None = field(default=None, init=False)

    def is_over(self, now_ns: int) -> bool:
        """Whether it is, now. Compilers are looked at once a second."""
        if now_ns >= self.most_ns or now_ns < self._next_ns:
            return now_ns >= self.most_ns
        used_ns, passed_ns, before_ns = self.compiled_ns(), now_ns - self._looked_ns, self._used_ns
        self._looked_ns, self._used_ns = now_ns, used_ns
        if used_ns is None:
            self._next_ns = self.least_ns
            return now_ns >= self.least_ns
        self._next_ns = now_ns + _WINDOW_NS
        are_idle = before_ns is not None and used_ns - before_ns < IDLE_SHARE * passed_ns
        return now_ns >= self.least_ns and are_idle


def prime(
    cluster: Cluster,
    seconds: float = PRIME_SECONDS,
    now_ns: Callable[[], int] = clock.monotonic_ns,
    *,
    most_seconds: float | None = None,
    compiled_ns: Callable[[], int | None] = lambda: None,
    replicas: int = 1,
) -> int:
    """Send, read and commit messages for so long; returns how many were read.

    With `most_seconds`, it goes on up to so long while the broker's compilers, whose CPU time `compiled_ns` tells, are
    busy. With `replicas`, up to as many as there are brokers, these copy the messages from each other meanwhile.

    Raises BrokerError if the topic cannot be made or deleted, and what the cluster's `check` raises.
    """
    try:
        cluster.create_topic(TOPIC, _PARTITIONS, min(replicas, _MOST_REPLICAS))
        begin_ns = now_ns()
        least_ns, most_ns = (begin_ns + int(each * NS_PER_SECOND) for each in (seconds, most_seconds or seconds))
        read = _drive(cluster, Warming(least_ns, most_ns, compiled_ns), now_ns)
        cluster.delete_topic(TOPIC)
    except BrokerError as error:
        raise BrokerError(f"the broker at {cluster.bootstrap} could not be primed: {error}") from error
    return read


def _drive(cluster: Cluster, warming: Warming, now_ns: Callable[[], int]) -> int:
    """Send, read and commit until it is warm; the clients are let go in any case, whatever the broker answers."""
    settings = {**cluster.settings, "log_level": 0}
    own = {"group.id": TOPIC, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 200}
    consumers = [ck.Consumer({**settings, **own}) for _ in range(_PAIRS)]
    # Small batches: it is requests, not bytes, that make a broker's code hot.
    producers = [ck.Producer({**settings, "linger.ms": 1, "acks": 1}) for _ in range(_PAIRS)]
    read = 0
    try:
        for consumer in consumers:
            consumer.subscribe([TOPIC])
        while not warming.is_over(now_ns()):
            cluster.check()
            for producer in producers:
                if len(producer) < _IN_FLIGHT:
                    producer.produce_batch(TOPIC, [{"value": _VALUE}] * _BURST)
                producer.poll(0)
            for consumer in consumers:
                read += sum(message.error() is None for message in consumer.consume(_IN_FLIGHT, 0.001))
    finally:
        ends = [*(producer.purge for producer in producers), *(consumer.close for consumer in consumers)]
        let_go(ends, _CLOSE_SECONDS)
    return read
