"""The tracker: reads markers, and sends messages again that were not acknowledged in time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamgauge.delivery.markers.redelivery import DEAD_LETTERS, Resent, resent
from streamgauge.delivery.markers.tracking import TooManyOpen, Tracking
from streamgauge.delivery.markers.wire import END_VALUE, key_of, read_marker
from streamgauge.domain.blocks import Settings
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND, clock_pair, monotonic_ns
from streamgauge.domain.errors import BadInput, BadValue, BrokerError
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.carriers.markers.clients import (
    ANY_PARTITION,
    FLUSH_SECONDS,
    PASSES_ON,
    hand_over,
    note_or_raise,
)
from streamgauge.kafka.carriers.markers.fetching import Fetching
from streamgauge.kafka.carriers.markers.history import begins, learn_ends
from streamgauge.kafka.carriers.markers.topics import SUFFIX, check_marker_topic
from streamgauge.kafka.carriers.markers.tracked import Tracked, TrackerCounts
from streamgauge.kafka.clients.messages import log, note_error, words_of

AT_ONCE: Final = 500
"""Markers read at once. Of ten thousand, Python's garbage collector looks at all objects again and again."""
BATCH: Final = 500
"""Messages redelivered at once, of one partition."""
COMMIT_NS: Final = NS_PER_SECOND
UNREAD: Final = 0
"""In place of the wall clock while there are markers to be read: what they say counts."""
_READ_AHEAD: Final = {
    # It keeps some 450 bytes with each marker: its own 100,000 for each of twelve partitions would be half a gigabyte.
    "queued.min.messages": 10_000,
    "max.partition.fetch.bytes": 1 << 18,
    # Its own second, whenever it has enough, is a quarter of the time that history takes.
    "fetch.queue.backoff.ms": 5,
}
"""How far librdkafka reads ahead, unless the user says otherwise."""
_FETCH_SECONDS: Final = 5.0
_LONGEST_WAIT_SECONDS: Final = 0.1
SentAgain = Callable[[ck.Message, bool], None]
"""Told of each message that was sent again, as it was read, and whether it became a dead letter."""


@dataclass(slots=True)
class _Sending:
    """Messages of one partition that were sent again, and what became of them."""

    partition: int
    again: SentAgain
    redelivered: list[int] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)

    @property
    def done(self) -> list[int]:
        """All whose end markers may be written."""
        return [*self.redelivered, *self.dead, *self.gone]

    def told(self, offset: int, is_dead: bool, read: ck.Message, error: KafkaError | None, _sent: Any) -> None:
        """The delivery report of a message that was read at an offset."""
        if error is None:
            (self.dead if is_dead else self.redelivered).append(offset)
            self.again(read, is_dead)
        else:
            note_error(error)


class MarkerTracker:
    """Redelivers messages whose end marker does not come in time. Several trackers of a group share the partitions.

    Call `turn` again and again. Not for use by several threads.
    """

    def __init__(
        self,
        settings: Settings,
        topic: str,
        group: str,
        *,
        markers: str | None = None,
        tracked: Tracked | None = None,
        consumer: Mapping[str, Any] | None = None,
        producer: Mapping[str, Any] | None = None,
        fetching: Mapping[str, Any] | None = None,
        again: SentAgain = lambda _message, _is_dead: None,
    ) -> None:
        """`settings` are those of all clients, such as `bootstrap.servers`; the others are added to them, each to those
        of one client: the consumer of markers, the producer, and the consumer that reads messages again.

        `again` is called when a message was sent again, or became a dead letter. Raises BadInput where the topics do
        not fit each other, BrokerError where the cluster does not answer.
        """
        self.topic, self.markers, self.tracked = topic, markers or f"{topic}{SUFFIX}", tracked or Tracked()
        self.counts = TrackerCounts()
        self._again = again
        self._dead_letters = self.tracked.dead_letters or f"{topic}{DEAD_LETTERS}"
        cluster = Cluster(str(settings.get("bootstrap.servers", "")), settings)
        check_marker_topic(cluster, topic, self.markers)
        if self.tracked.limit is not None and cluster.partitions_of(self._dead_letters) is None:
            what = "does not exist, and dead letters would be lost"
            raise BadInput.single(f"topic {self._dead_letters}", what, "Create it, or set no limit")
        own: dict[str, Any] = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        # The last offsets of a partition may be no records: its end tells that they are passed.
        own["enable.partition.eof"] = True
        self._consumer = ck.Consumer({**_READ_AHEAD, **settings, **(consumer or {}), **own}, logger=log)
        self._producer = ck.Producer({**PASSES_ON, **settings, **(producer or {})}, logger=log)
        self._fetching = Fetching({**settings, **(fetching or {})}, topic)
        self._partitions: dict[int, Tracking] = {}
        self._unended: list[tuple[int, int]] = []
        """Messages that were sent again, and whose end markers could not be written."""
        self._commit_ns = 0
        self._consumer.subscribe([self.markers], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)

    @property
    def open(self) -> int:
        """Messages that are open, of all partitions that this tracker has."""
        return sum(tracking.open for tracking in self._partitions.values())

    @property
    def current(self) -> int:
        """Partitions that this tracker has, and of which it has read all that was written before it got them."""
        return sum(each.is_current for each in self._partitions.values())

    @property
    def is_current(self) -> bool:
        """Whether it has partitions, and these are all that it has."""
        return 0 < self.current == len(self._partitions)

    def turn(self, timeout_seconds: float = _LONGEST_WAIT_SECONDS) -> int:
        """Read markers, waiting at most so long for one, and redeliver what is due; returns how many were redelivered.

        Raises BrokerError for what the client does not recover from, and where more messages are open than allowed.
        """
        polled = self._consumer.consume(AT_ONCE, self._patience(timeout_seconds))
        wall_ms = _wall_ms()
        for record in polled:
            if record.error() is None:
                self._take(record, wall_ms)
            else:
                self._pass(record)
        self._end(())
        # Markers that wait to be read are no silence: the wall clock counts as of a look that found no more of them.
        looked_ms = wall_ms if len(polled) < AT_ONCE else UNREAD
        count = self._redeliver(looked_ms)
        if monotonic_ns() >= self._commit_ns:
            self._commit(self._partitions)
            learn_ends(self._consumer, self.markers, self._partitions)
            self._fetching.serve()
        return count

    def close(self) -> None:
        """Commit, and leave the group; what is open is left to the others, or to the next tracker."""
        self._producer.flush(FLUSH_SECONDS)
        self._commit(self._partitions)
        self._consumer.close()
        self._fetching.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _assigned(self, consumer: ck.Consumer, given: Sequence[TopicPartition]) -> None:
        """Begin with what was committed; what is written by now is history."""
        begun, how = begins(consumer, given), self.tracked
        for place, end in begun:
            self._partitions[place.partition] = Tracking(end, how.silence_ms, place.offset, how.most_open)
        consumer.assign([place for place, _ in begun])

    def _revoked(self, _consumer: ck.Consumer, taken: Sequence[TopicPartition]) -> None:
        gone = {each.partition: tracking for each in taken if (tracking := self._partitions.pop(each.partition, None))}
        self._commit(gone)

    def _lost(self, _consumer: ck.Consumer, taken: Sequence[TopicPartition]) -> None:
        """Another member has these partitions by now: nothing may be committed."""
        for each in taken:
            self._partitions.pop(each.partition, None)

    def _patience(self, timeout_seconds: float) -> float:
        """How long markers are waited for: not beyond the next deadline by the wall clock."""
        nexts = [due for each in self._partitions.values() if (due := each.next_due_ms()) is not None]
        if not nexts:
            return timeout_seconds
        left_ms = min(nexts) - _wall_ms()
        return min(timeout_seconds, max(0.001, left_ms / 1_000))

    def _pass(self, told: ck.Message) -> None:
        """What the client tells in place of a marker: the end of a partition, or an error."""
        error, partition = told.error(), told.partition()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            note_or_raise(error, self.markers)
        elif partition is not None and (tracking := self._partitions.get(partition)):
            tracking.pass_over(told.offset() or 0)

    def _take(self, record: ck.Message, wall_ms: int) -> None:
        partition, offset = record.partition(), record.offset()
        tracking = None if partition is None else self._partitions.get(partition)
        if tracking is None or offset is None:
            return
        try:
            marker = read_marker(record.key(), record.value())
        except BadValue as error:
            log.warning("%s, partition %s, offset %s: %s", self.markers, partition, offset, error)
            self.counts.no_markers += 1
            tracking.pass_over(offset + 1)
            return
        try:
            tracking.take(offset, record.timestamp()[1], marker, wall_ms)
        except TooManyOpen as error:
            what = f"{self.markers}, partition {partition}: {error}, the limit"
            raise BrokerError(f"{what}. Acknowledge messages, or raise the limit (most_open)") from error
        self.counts.markers += 1

    def _redeliver(self, looked_ms: int) -> int:
        """Send messages again that are due, of all partitions together; returns how many were."""
        due = {
            partition: sorted(offsets)
            for partition, tracking in self._partitions.items()
            if (offsets := tracking.due(looked_ms, BATCH))
        }
        if not due:
            return 0
        sendings = [_Sending(partition, self._again) for partition in due]
        found = self._fetching.fetch(due, _FETCH_SECONDS)
        for sending in sendings:
            for offset, message in found[sending.partition].items():
                if message is None:
                    sending.gone.append(offset)
                else:
                    self._send(sending, offset, message)
        self._producer.flush(FLUSH_SECONDS)
        for sending in sendings:
            self._settle(sending, due[sending.partition])
        return sum(len(sending.redelivered) for sending in sendings)

    def _settle(self, sending: _Sending, due: Sequence[int]) -> None:
        """End what was sent again; what was not is due again."""
        failed = set(due) - set(sending.done)
        for offset in failed:
            self._partitions[sending.partition].put_back(offset)
        self.counts.redelivered += len(sending.redelivered)
        self.counts.dead += len(sending.dead)
        self.counts.gone += len(sending.gone)
        self.counts.failed += len(failed)
        self._end([(sending.partition, offset) for offset in sending.done])

    def _send(self, sending: _Sending, offset: int, message: ck.Message) -> None:
        """Send a message again; its headers tell how often, and of a dead letter where it came from."""
        headers: Any = message.headers() or []
        try:
            next_ = resent(self.topic, sending.partition, offset, headers, self.tracked.limit, _wall_ms())
        except BadValue as error:
            # It would be due for ever: somebody else's header is no reason to lose the message.
            log.warning("%s, partition %s, offset %s: %s", self.topic, sending.partition, offset, error)
            next_ = Resent(True, tuple(headers))
        topic = self._dead_letters if next_.is_dead else self.topic
        # A dead letter goes wherever the partitioner of its topic says.
        partition = ANY_PARTITION if next_.is_dead else sending.partition
        told = partial(sending.told, offset, next_.is_dead, message)
        hand_over(self._producer, topic, message.value(), message.key(), partition, told, next_.headers)

    def _end(self, places: Sequence[tuple[int, int]]) -> None:
        """Write end markers of messages that were sent again; those that fail are tried again in the next turn."""
        unended, self._unended = [*self._unended, *places], []
        for place in unended:
            told = partial(self._ended, place)
            hand_over(self._producer, self.markers, END_VALUE, key_of(*place), place[0], told)
        self._producer.poll(0)

    def _ended(self, place: tuple[int, int], error: KafkaError | None, _marker: ck.Message | None) -> None:
        if error is not None:
            note_error(error)
            self._unended.append(place)

    def _commit(self, partitions: Mapping[int, Tracking]) -> None:
        """Commit where a successor has to begin; one that fails is made up for by the next."""
        self._commit_ns = monotonic_ns() + COMMIT_NS
        places = [TopicPartition(self.markers, partition, each.commit) for partition, each in partitions.items()]
        if not places:
            return
        try:
            self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            log.warning("%s: %s", self.markers, words_of(error))


def _wall_ms() -> int:
    return clock_pair().wall_ns // NS_PER_MS
