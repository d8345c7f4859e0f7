"""What consumer and tracker have in common: errors that they do not recover from, and waiting for room in a queue."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException

from streamgauge.domain.blocks import MAX_SIZE_BYTES, Settings
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.clients.messages import note_error

FLUSH_SECONDS: Final = 60.0
"""Within which everything that was handed over is to be written."""
ANY_PARTITION: Final = -1
"""The partitioner decides."""
PASSES_ON: Final[Settings] = {"acks": "all", "linger.ms": 1, "message.max.bytes": 2 * MAX_SIZE_BYTES}
"""Settings of a producer that writes messages of others again, unless the user says otherwise. Headers make them
larger: whether they are too large is for the topic to say."""
_WAIT_SECONDS: Final = 0.1


def note_or_raise(error: KafkaError, topic: str) -> None:
    """Log an error of a consumer that passes; raises BrokerError for another."""
    if error.fatal() or error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        raise BrokerError(f"{topic}: {error.str()}")
    note_error(error)


def hand_over(
    producer: ck.Producer,
    topic: str,
    value: bytes | None,
    key: bytes | None,
    partition: int,
    told: Callable[[Any, Any], None],
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> None:
    """Hand a message over, serving delivery reports while the queue is full; `told` gets its own report.

    Of a message that the client refuses it is told at once, with the error and no message.
    """
    while True:
        try:
            producer.produce(topic, value, key, partition, headers=list(headers), on_delivery=told)
        except BufferError:
            producer.poll(_WAIT_SECONDS)
        except KafkaException as error:
            told(error.args[0], None)
            return
        else:
            return
