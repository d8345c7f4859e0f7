"""Dead letters of a share group, written by its consumers: brokers keep none, and only archive what they give up."""

from collections.abc import Callable
from functools import partial
from typing import Any

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException

from streamgauge.delivery.markers.redelivery import DEAD_LETTERS, dead_letter_headers
from streamgauge.domain.blocks import Settings
from streamgauge.domain.clock import NS_PER_MS, clock_pair
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.carriers.markers.clients import ANY_PARTITION, PASSES_ON, hand_over
from streamgauge.kafka.clients.messages import log, note_error, words_of
from streamgauge.kafka.clients.statistics import Statistics


class DeadLetters:
    """Writes messages to the topics of dead letters, and tells when each is written."""

    def __init__(self, settings: Settings, worker: str) -> None:
        """Raises BrokerError where the producer cannot be made."""
        self.told = Statistics(worker, "acknowledgements")
        """What its client says of itself."""
        try:
            self._producer = ck.Producer({**PASSES_ON, **settings, **self.told.settings}, logger=log)
        except KafkaException as error:
            raise BrokerError(f"{worker}: {words_of(error)}") from error
        self.waiting = 0
        """Dead letters that are not written yet."""

    def write(self, message: Any, deliveries: int, told: Callable[[bool], None]) -> None:
        """Write a message, with its key, value and headers; `told` hears whether it is written, in a later call."""
        self.waiting += 1
        topic, redeliveries = message.topic(), deliveries - 1
        reason = f"processing failed after {redeliveries} redeliveries"
        now_ms = clock_pair().wall_ns // NS_PER_MS
        origin = dead_letter_headers(topic, message.partition(), message.offset(), redeliveries, now_ms, reason)
        hand_over(
            self._producer,
            f"{topic}{DEAD_LETTERS}",
            message.value(),
            message.key(),
            ANY_PARTITION,
            partial(self._reported, told),
            [*(message.headers() or ()), *origin],
        )

    def serve(self, seconds: float = 0.0) -> None:
        """Hear what became of some, waiting at most so long for the first."""
        self._producer.poll(seconds)

    def flush(self, seconds: float) -> None:
        """Hear what became of all, in bounded time."""
        self._producer.flush(seconds)

    def _reported(self, told: Callable[[bool], None], error: KafkaError | None, _message: ck.Message | None) -> None:
        self.waiting -= 1
        if error is not None:
            note_error(error)
        told(error is None)
