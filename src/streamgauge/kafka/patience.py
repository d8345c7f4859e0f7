"""How long a cluster is waited for: asked again while it has not got so far yet."""

from collections.abc import Callable
from typing import Final, TypeVar

from confluent_kafka import KafkaError, KafkaException

from streamgauge.domain import clock
from streamgauge.processes.patience import Check, no_check

_PAUSE_SECONDS: Final = 0.05
_PASSING: Final = frozenset(
    {
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        # A broker gave up the directory of the log: another one becomes the leader.
        KafkaError.KAFKA_STORAGE_ERROR,
        # No partition of those that are asked about has a leader: a broker that has just come back.
        KafkaError._NOENT,
        # Consumers that were closed a moment ago are still on their way out of the group.
        KafkaError.NON_EMPTY_GROUP,
    }
)
"""Answers after which asking again helps."""

_T = TypeVar("_T")


def is_passing(error: KafkaError) -> bool:
    """Whether asking again helps: a cluster that starts, or whose disk stood still, counts its brokers as fenced."""
    no_broker_yet = error.code() == KafkaError.INVALID_REPLICATION_FACTOR and "fenced" in error.str()
    return no_broker_yet or error.code() in _PASSING


def patiently(once: Callable[[], _T], seconds: float, check: Check = no_check) -> _T:
    """What `once` returns, tried again for so long while the cluster is not ready for it; raises its last error."""
    deadline_ns = clock.monotonic_ns() + int(seconds * clock.NS_PER_SECOND)
    while True:
        check()
        try:
            return once()
        except KafkaException as error:
            if not is_passing(error.args[0]) or clock.monotonic_ns() > deadline_ns:
                raise
        clock.sleep_seconds(_PAUSE_SECONDS)
