"""Drive a broker that was started a moment ago until it is no longer slow because it is young.

A Java process interprets its code before it compiles it: on two cores a fresh broker needs some fifteen seconds of
processor time before 10,000 messages a second cost it little. Nobody measures brokers that live for a minute, so the
one of a run is driven with messages of its own, on a topic that is deleted, before the run touches it.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import confluent_kafka as ck

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.kafka.admin import Cluster

PRIME_SECONDS: Final = 5.0
TOPIC: Final = "streamgauge-prime"
_PARTITIONS: Final = 12
_PAIRS: Final = 2
"""Clients of each kind: connections are served side by side."""
_BURST: Final = 20
_IN_FLIGHT: Final = 500
_VALUE: Final = bytes(512)


def prime(
    cluster: Cluster,
    seconds: float = PRIME_SECONDS,
    stopped: Callable[[], bool] = lambda: False,
    now_ns: Callable[[], int] = clock.monotonic_ns,
) -> int:
    """Send, read and commit messages for so long, or until `stopped`; returns how many were read.

    Raises BrokerError if the topic cannot be made or deleted.
    """
    cluster.create_topic(TOPIC, _PARTITIONS, 1)
    end_ns = now_ns() + int(seconds * NS_PER_SECOND)
    settings = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
    read = 0
    with ExitStack() as closing:
        consumers = [
            ck.Consumer(
                {**settings, "group.id": TOPIC, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 200}
            )
            for _ in range(_PAIRS)
        ]
        for consumer in consumers:
            closing.callback(consumer.close)
            consumer.subscribe([TOPIC])
        # Small batches: it is requests, not bytes, that make a broker's code hot.
        producers = [ck.Producer({**settings, "linger.ms": 1, "acks": 1}) for _ in range(_PAIRS)]
        for producer in producers:
            closing.callback(producer.purge)
        while now_ns() < end_ns and not stopped():
            for producer in producers:
                if len(producer) < _IN_FLIGHT:
                    producer.produce_batch(TOPIC, [{"value": _VALUE}] * _BURST)
                producer.poll(0)
            for consumer in consumers:
                read += sum(message.error() is None for message in consumer.consume(_IN_FLIGHT, 0.001))
    cluster.delete_topic(TOPIC)
    return read
