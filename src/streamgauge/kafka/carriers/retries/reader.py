"""The reader of the engine that writes messages which failed to retry topics, and holds those back until they are due.

One group reads the topics and their retry topics. librdkafka is never kept from being polled: what is not due is set
aside, in bounds, partition by partition, and a partition of which too much is set aside is paused. Nothing that is set
aside is passed or committed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import confluent_kafka as ck
import numpy as np
from confluent_kafka import KafkaException
from numpy.typing import NDArray

from streamgauge.delivery.retries.decisions import MAIN, Retries, level_of, ripe
from streamgauge.delivery.retries.wire import AT_ONCE_MS, COUNT_HEADER, due_in
from streamgauge.domain.blocks import NULL_INT64, ClientSpec, Fetched, Place, Settings
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.carriers.around import AroundReader
from streamgauge.kafka.carriers.markers.clients import PASSES_ON
from streamgauge.kafka.carriers.retries.commits import WrittenCommits
from streamgauge.kafka.carriers.retries.writing import RetryTopics
from streamgauge.kafka.clients.messages import log, words_of
from streamgauge.kafka.clients.reader import KafkaReader
from streamgauge.kafka.clients.statistics import Statistics

_HEAR_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class OpenRetryReader:
    """Opens such readers; plain values that can be sent to another process."""

    settings: Settings
    """Of the producer that writes messages again."""
    retries: Retries
    topics: int
    """How many topics are sent to: among all topics, the retry topics stand behind them, level by level."""
    ahead_ns: int
    """How far the wall clock is ahead of the monotonic one: the same for all readers, whatever is done to it."""

    def __call__(self, spec: ClientSpec) -> "RetryReader":
        """A reader of these topics, with a producer of its own."""
        return RetryReader(spec, self)


class RetryReader(AroundReader):
    """A `KafkaReader` that hands over messages of retry topics when they are due."""

    def __init__(self, spec: ClientSpec, given: OpenRetryReader) -> None:
        """Raises BrokerError where a client cannot be made."""
        self._topics, self._ahead_ns = given.topics, given.ahead_ns
        self._reader = KafkaReader(replace(spec, counted_in=COUNT_HEADER))
        self._firsts: dict[Place, tuple[int, int]] = {}
        """Of each partition offset and due time of the first message that is set aside."""
        self._is_for_due = False
        """Whether the last poll left out the topics that are sent to."""
        self._told = Statistics(spec.worker, "acknowledgements")
        try:
            own = {**PASSES_ON, "enable.idempotence": True, **given.settings, **self._told.settings}
            producer = ck.Producer(own, logger=log)
        except KafkaException as error:
            raise BrokerError(f"{spec.worker}: {words_of(error)}") from error
        self.acknowledgements = RetryTopics(producer, spec.topics, given.retries, given.topics, given.ahead_ns)
        self._reader.handed = self._take
        self._handed: Sequence[Any] = ()
        self.commits = WrittenCommits(self._reader.commits, self.acknowledgements)
        self.acknowledgements.confirm = self._confirm

    def poll(self, timeout_seconds: float, limit: int, room: Callable[[Place], int] | None = None) -> Fetched | None:
        """What is there and due, waiting at most so long, and no longer than until something is due.

        Raises BrokerError where a message that failed could not be written again.
        """
        self.acknowledgements.serve()
        self.commits.turn()
        now_ms = (monotonic_ns() + self._ahead_ns) // NS_PER_MS
        left_ms = min((due - now_ms for due in self._dues(room)), default=NS_PER_SECOND)
        # Where consumers are behind there is always more of the topic: what is due has every second poll for itself.
        self._is_for_due = not self._is_for_due and left_ms <= 0

        def ready(place: Place) -> int:
            most = limit if room is None else min(limit, room(place))
            if self._is_retry(place):
                return self._ripe(place, most, now_ms)
            return 0 if self._is_for_due else most

        fetched = self._reader.poll(max(0, min(timeout_seconds, left_ms / 1_000)), limit, ready)
        return fetched and replace(fetched, deadline_ms=self._dues_of(fetched))

    def _dues_of(self, fetched: Fetched) -> NDArray[np.int64]:
        """When each message of a retry topic was due, in ms since 1970; null of all others."""
        dues = np.full(fetched.count, NULL_INT64)
        # Retry topics stand behind those that are sent to.
        is_retry = np.broadcast_to(np.asarray(fetched.topic) >= self._topics, fetched.count)
        for at in np.flatnonzero(is_retry).tolist():
            due_ms = _due_of(self._handed[at])
            dues[at] = NULL_INT64 if due_ms == AT_ONCE_MS else due_ms
        return dues

    def _take(self, messages: list[Any]) -> None:
        self._handed = messages
        self.acknowledgements.take(messages)

    def _confirm(self) -> None:
        """Commit what may be committed, and hear what the group says of it."""
        self.commits.commit(asynchronous=False)
        self._reader.poll(_HEAR_SECONDS, 0)

    def _dues(self, room: Callable[[Place], int] | None) -> list[int]:
        """When the first message is due that is set aside, of each partition for which there is room."""
        places = filter(self._is_retry, self._reader.stock.places())
        return [self._first_due(place) for place in places if room is None or room(place) > 0]

    def _ripe(self, place: Place, most: int, now_ms: int) -> int:
        """How many messages of a retry topic may be handed over: of those that were set aside, as all of them are."""
        waiting = self._reader.stock.waiting(place)
        if not waiting or self._first_due(place) > now_ms:
            return 0
        return ripe(map(_due_of, islice(waiting, most)), now_ms)

    def _first_due(self, place: Place) -> int:
        first = self._reader.stock.waiting(place)[0]
        offset, due_ms = self._firsts.get(place, (-1, AT_ONCE_MS))
        if offset != first.offset():
            due_ms = _due_of(first)
            self._firsts[place] = first.offset(), due_ms
        return due_ms

    def _is_retry(self, place: Place) -> bool:
        return level_of(place[0], self._topics) > MAIN


def _due_of(message: Any) -> int:
    headers: Sequence[tuple[str, bytes | None]] = message.headers() or ()
    return due_in(headers)
