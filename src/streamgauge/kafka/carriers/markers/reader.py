"""The reader of the engine that acknowledges single messages with markers, as `MarkerConsumer` does for applications.

It never waits for the broker beyond what it is given: messages are handed over by the poll after their start markers
are written, and end markers are confirmed while others are processed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import confluent_kafka as ck
import numpy as np
from confluent_kafka import KafkaError, KafkaException
from numpy.typing import NDArray

from streamgauge.delivery.attempts import ACCEPTED, RELEASED
from streamgauge.delivery.deliveries import DeliveryKey, attempt_rows, each_settled
from streamgauge.delivery.markers.wire import COUNT_HEADER, END_VALUE, key_of, start_value
from streamgauge.domain.blocks import Block, ClientSpec, Committed, Fetched, Place, Settings
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.carriers.around import AroundReader
from streamgauge.kafka.carriers.markers.clients import FLUSH_SECONDS, hand_over
from streamgauge.kafka.carriers.markers.topics import SUFFIX
from streamgauge.kafka.clients.messages import log, note_error, words_of
from streamgauge.kafka.clients.reader import KafkaReader
from streamgauge.kafka.clients.statistics import Statistics


@dataclass(frozen=True, slots=True)
class OpenMarkerReader:
    """Opens such readers; plain values that can be sent to another process."""

    settings: Settings
    """Of the producer of markers."""
    timeout_ms: int
    """After which a message that is not acknowledged is due again."""

    def __call__(self, spec: ClientSpec) -> "MarkerReader":
        """A reader of these topics, with a producer of its own."""
        return MarkerReader(spec, self.settings, self.timeout_ms)


@dataclass(slots=True)
class _Starting:
    """What was polled, until the start marker of each message is written."""

    fetched: Fetched
    appended_ms: NDArray[np.int64]
    """When the broker appended each start marker."""
    began_ns: int
    left: int
    errors: list[KafkaError] = field(default_factory=list)

    def told(self, place: int, error: KafkaError | None, marker: ck.Message | None) -> None:
        """The delivery report of a start marker."""
        self.left -= 1
        if error is not None:
            self.errors.append(error)
        elif marker is not None:
            self.appended_ms[place] = marker.timestamp()[1]


class MarkerReader(AroundReader):
    """A `KafkaReader` whose messages are acknowledged one by one; polled positions are committed by itself.

    The topics of markers, each named as that of its messages with `SUFFIX` behind, have as many partitions.
    """

    def __init__(self, spec: ClientSpec, settings: Settings, timeout_ms: int) -> None:
        """Raises BrokerError where a client cannot be made."""
        self._reader = KafkaReader(replace(spec, counted_in=COUNT_HEADER))
        self._markers = [f"{topic}{SUFFIX}" for topic in spec.topics]
        self._timeout_ms = timeout_ms
        self._start = start_value(timeout_ms)
        self._starting: _Starting | None = None
        self._told = Statistics(spec.worker, "acknowledgements")
        try:
            own = {"acks": "all", "linger.ms": 1, **settings, **self._told.settings}
            self._producer = ck.Producer(own, logger=log)
        except KafkaException as error:
            raise BrokerError(f"{spec.worker}: {words_of(error)}") from error
        self.commits = PolledCommits(self._reader)
        self.acknowledgements = EndMarkers(self._producer, self._markers)

    def poll(self, timeout_seconds: float, limit: int, room: Callable[[Place], int] | None = None) -> Fetched | None:
        """What was polled before and is started by now; else poll, and start that.

        Raises BrokerError where start markers cannot be written.
        """
        until_ns = monotonic_ns() + round(timeout_seconds * NS_PER_SECOND)
        if self._starting is None:
            self._producer.poll(0)
            fetched = self._reader.poll(timeout_seconds, limit, room)
            if fetched is None:
                return None
            self._begin(fetched)
        else:
            # The group is served, and sees that its member lives.
            self._reader.poll(0, 0)
        return self._started(until_ns)

    def ends(self) -> list[tuple[int, int, int]]:
        """Ends of logs, once everything below them is handed over."""
        return [] if self._starting else self._reader.ends()

    def positions(self) -> list[tuple[int, int, int | None]]:
        """Positions, below what is polled and not handed over."""
        firsts = _firsts(self._starting.fetched) if self._starting else {}
        known = self._reader.positions()
        return [(topic, number, firsts.get((topic, number), offset)) for topic, number, offset in known]

    def _begin(self, fetched: Fetched) -> None:
        starting = _Starting(fetched, np.zeros(fetched.count, np.int64), monotonic_ns(), fetched.count)
        for place, (topic, partition, offset) in enumerate(_offsets_of(fetched)):
            told = partial(starting.told, place)
            hand_over(self._producer, self._markers[topic], self._start, key_of(partition, offset), partition, told)
        self._starting = starting

    def _started(self, until_ns: int) -> Fetched | None:
        """What is being started, if it is by then."""
        starting = self._starting
        assert starting
        while starting.left:
            left_ns = until_ns - monotonic_ns()
            self._producer.poll(max(0, left_ns) / NS_PER_SECOND)
            if left_ns <= 0:
                break
        if starting.errors:
            note_error(starting.errors[0])
            raise BrokerError(f"{self._markers[0]}: start markers could not be written: {starting.errors[0].str()}")
        if starting.left:
            if monotonic_ns() - starting.began_ns > FLUSH_SECONDS * NS_PER_SECOND:
                raise BrokerError(f"{self._markers[0]}: start markers were not written within {FLUSH_SECONDS:g} s")
            return None
        self._starting = None
        self.commits.polled(starting.fetched)
        # It is handed over now, not when it was polled.
        return replace(starting.fetched, returned_ns=None, deadline_ms=starting.appended_ms + self._timeout_ms)


class PolledCommits:
    """Commits polled positions: messages are safe with their start markers, whatever becomes of their consumer."""

    def __init__(self, reader: KafkaReader) -> None:
        self._commits = reader.commits

    def polled(self, fetched: Fetched) -> None:
        """Commit the positions behind these messages; one that fails is made up for by the next."""
        ends = {(topic, partition): offset + 1 for topic, partition, offset in _offsets_of(fetched)}
        self._commits.store([(*place, offset) for place, offset in ends.items()])
        self._commits.commit(asynchronous=True)

    def watch(self, _revoked: Callable[[Sequence[Place]], None]) -> None:
        """Nothing is to be done before partitions go: what is in work is acknowledged in any case."""

    def store(self, _offsets: Sequence[tuple[int, int, int]]) -> None:
        """Nothing: positions are committed when messages are polled."""

    def commit(self, *, asynchronous: bool) -> None:
        """Nothing: as `store`."""

    def committed(self) -> list[Committed]:
        """Commits that were answered since the last call."""
        return self._commits.committed()


class EndMarkers:
    """Writes end markers, and tells when each is confirmed."""

    def __init__(self, producer: ck.Producer, markers: Sequence[str]) -> None:
        self._producer = producer
        self._markers = markers
        self._known: list[tuple[int, DeliveryKey, str]] = []
        self._lost = 0

    @property
    def unwritten(self) -> int:
        """None: trackers deliver again."""
        return 0

    def settle(self, deliveries: Block, accepted: NDArray[np.bool_]) -> None:
        """Write the end markers of deliveries that are accepted; the others are delivered again by a tracker."""
        now_ns = monotonic_ns()
        for delivery, is_accepted in each_settled(deliveries, accepted):
            if not is_accepted:
                self._known.append((now_ns, delivery, RELEASED))
                continue
            topic, partition, offset = delivery[:3]
            told = partial(self._ended, delivery)
            hand_over(self._producer, self._markers[topic], END_VALUE, key_of(partition, offset), partition, told)
        self._producer.poll(0)

    def answered(self) -> tuple[Block, int]:
        """Rows of `attempts` of what became known since the last call."""
        self._producer.poll(0)
        return attempt_rows(self._take())

    def finish(self) -> tuple[Block, int]:
        """The same, once every end marker is written, or was given up."""
        left = self._producer.flush(FLUSH_SECONDS)
        if left or self._lost:
            log.warning("%s end markers were not written: their messages are delivered again", left + self._lost)
        return attempt_rows(self._take())

    def _take(self) -> list[tuple[int, DeliveryKey, str]]:
        known, self._known = self._known, []
        return known

    def _ended(self, delivery: Any, error: KafkaError | None, _marker: ck.Message | None) -> None:
        if error is not None:
            note_error(error)
            self._lost += 1
            return
        self._known.append((monotonic_ns(), delivery, ACCEPTED))


def _firsts(fetched: Fetched) -> dict[Place, int]:
    """Of each partition the first offset that is among these messages."""
    firsts: dict[Place, int] = {}
    for topic, partition, offset in _offsets_of(fetched):
        firsts.setdefault((topic, partition), offset)
    return firsts


def _offsets_of(fetched: Fetched) -> Iterator[tuple[int, int, int]]:
    """Topic, partition and offset of each message."""
    topics = np.broadcast_to(np.asarray(fetched.topic), fetched.count).tolist()
    return zip(topics, fetched.partition.tolist(), fetched.offset.tolist(), strict=True)
