"""Warm up a broker that has just started, until the JVM has compiled the code that messages pass through.

A Java process interprets its code before it compiles it: on two cores a fresh broker needs some fifteen seconds of
processor time before 10,000 messages a second cost it little. Nobody measures brokers that live for a minute, so the
one of a run is driven with messages of its own, on a topic that is deleted, before the run touches it.
"""

from collections.abc import Callable
from typing import Final

import confluent_kafka as ck

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.admin import Cluster
from streamgauge.processes.patience import let_go

PRIME_SECONDS: Final = 5.0
TOPIC: Final = "streamgauge-prime"
_PARTITIONS: Final = 12
_PAIRS: Final = 2
"""Clients of each kind: connections are served side by side."""
_MOST_REPLICAS: Final = 3
_BURST: Final = 20
_IN_FLIGHT: Final = 500
_VALUE: Final = bytes(512)
_CLOSE_SECONDS: Final = 2.0
"""Nobody waits for these clients, but a topic is deleted more quietly without them."""


def prime(
    cluster: Cluster,
    seconds: float = PRIME_SECONDS,
    now_ns: Callable[[], int] = clock.monotonic_ns,
    *,
    replicas: int = 1,
) -> int:
    """Send, read and commit messages for so long; returns how many were read.

    With `replicas`, up to as many as there are brokers, these copy them from each other meanwhile.

    Raises BrokerError if the topic cannot be made or deleted, and what the cluster's `check` raises.
    """
    try:
        cluster.create_topic(TOPIC, _PARTITIONS, min(replicas, _MOST_REPLICAS))
        read = _drive(cluster, now_ns() + int(seconds * NS_PER_SECOND), now_ns)
        cluster.delete_topic(TOPIC)
    except BrokerError as error:
        raise BrokerError(f"the broker at {cluster.bootstrap} could not be primed: {error}") from error
    return read


def _drive(cluster: Cluster, end_ns: int, now_ns: Callable[[], int]) -> int:
    """Send, read and commit until then; the clients are let go in any case, whatever the broker answers."""
    settings = {**cluster.settings, "log_level": 0}
    own = {"group.id": TOPIC, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 200}
    consumers = [ck.Consumer({**settings, **own}) for _ in range(_PAIRS)]
    # Small batches: it is requests, not bytes, that make a broker's code hot.
    producers = [ck.Producer({**settings, "linger.ms": 1, "acks": 1}) for _ in range(_PAIRS)]
    read = 0
    try:
        for consumer in consumers:
            consumer.subscribe([TOPIC])
        while now_ns() < end_ns:
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
