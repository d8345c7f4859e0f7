"""The reader of the engine over confluent-kafka: blocks out, of partitions that a group gives it or of its own."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from streamgauge.domain.blocks import Block, ClientSpec, Fetched, Place, Settings
from streamgauge.domain.clock import monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.clients.arrivals import Arrivals
from streamgauge.kafka.clients.commits import KafkaCommits
from streamgauge.kafka.clients.decode import Decoder
from streamgauge.kafka.clients.messages import log, note_error, words_of
from streamgauge.kafka.clients.statistics import Statistics
from streamgauge.kafka.clients.stock import Left, Stock
from streamgauge.processes.cpu.waiting import ThreadDelay
from streamgauge.processes.patience import let_go


class KafkaReader:
    """A member of a group, or a reader of partitions of its own; what is done with is told to its `commits`."""

    def __init__(self, spec: ClientSpec) -> None:
        self._topics = spec.topics
        self._numbers = {name: number for number, name in enumerate(spec.topics)}
        self._decoder = Decoder(spec.topics, spec.stamp_in_header, spec.counted_in)
        self._own = spec.assigned
        self._places: set[Place] = set(spec.assigned or ())
        self._held = False
        self._withheld = False
        self._incremental = _assigns_incrementally(spec.settings)
        self._errors: dict[str, None] = {}
        self._revocations = 0
        self.stock = Stock()
        self.handed: Callable[[list[Any]], None] = lambda _messages: None
        """Called with the messages of each poll, as they came."""
        self._paused: set[Place] = set()
        self._sought: dict[Place, int] = {}
        self._ends: dict[Place, int] = {}
        self.acknowledgements: None = None
        self.commits = KafkaCommits(spec.topics, self._places, self._note)
        self._statistics = Statistics(spec.worker, "consumer")
        self._arrivals = Arrivals(monotonic_ns())
        self._delay = ThreadDelay()
        self._ready_ns = 0
        """Since when the messages of the last pull may have been ready."""
        settings = {
            **spec.settings,
            **self._statistics.settings,
            "enable.auto.offset.store": False,
            "error_cb": self._note,
            "on_commit": self.commits.answered,
        }
        if spec.sees_ends:
            settings["enable.partition.eof"] = True
        try:
            self._client = self.commits.client = ck.Consumer(settings, logger=log)
            if spec.assigned is None:
                wanted = spec.topics if spec.reads is None else [spec.topics[number] for number in spec.reads]
                self._client.subscribe(
                    list(wanted), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
                )
            else:
                self._client.assign(self._partitions(spec.assigned))
        except KafkaException as error:
            raise BrokerError(f"{spec.worker}: {words_of(error)}") from error

    def poll(self, timeout_seconds: float, limit: int, room: Callable[[Place], int] | None = None) -> Fetched | None:
        """Wait for one message, then take what is there: a call that waits for a whole block would add latency."""
        if room is not None or limit == 0 or self.stock:
            messages, empty_ns = self._choose(timeout_seconds, limit, room), None
        else:
            messages, empty_ns = self._pull(timeout_seconds, limit), self._ready_ns
        returned_ns = monotonic_ns()
        self.handed(messages)
        return self._decoder.decode(messages, empty_ns, returned_ns) if messages else None

    def ends(self) -> list[tuple[int, int, int]]:
        """Ends of logs that were reached since the last call, everything below them delivered."""
        if not self._ends:
            return []
        reached = [place for place in self._ends if place not in self.stock]
        return [(*place, self._ends.pop(place)) for place in reached]

    def assigned(self) -> int:
        """Partitions that this consumer has now."""
        return len(self._places)

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of messages, of partitions still to come too."""
        self._held = held
        if held and self._own is not None:
            self._client.assign([])
            self._withheld = True
        elif self._withheld and not held:
            self._withheld = False
            self._client.assign(self._partitions(self._places))
        else:
            self._apply_hold(self._partitions(self._places))

    def positions(self) -> list[tuple[int, int, int | None]]:
        """Position of each partition of this consumer; where nothing was read, what is committed."""
        places = sorted(self._places)
        if not places:
            return []
        known = self._sought | self._known(self._client.position(self._partitions(places)))
        try:
            # Asked of this client, which is in the group, and once: it is asked while messages are read, and where
            # nobody answers, a position is not known. Whoever asks about other groups has `KafkaOffsets`.
            unread = self._partitions([place for place in places if place not in known])
            known |= self._known(self._client.committed(unread, timeout=5.0) if unread else [])
        except KafkaException as error:
            self._note(error.args[0])
        for place in places:
            if (set_aside := self.stock.next_offset(place)) is not None:
                known[place] = set_aside
        return [(*place, known.get(place)) for place in places]

    def errors(self) -> list[str]:
        """Errors that the client met since the last call, each once."""
        out = list(self._errors)
        self._errors.clear()
        return out

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client` since the last call, and their number."""
        return self._statistics.rows()

    def close(self) -> None:
        """Leave the group, once commits are answered; without a broker, give that up after some seconds."""
        self._delay.close()
        let_go([self._client.close])

    def _pull(self, timeout_seconds: float, limit: int) -> list[Any]:
        """What librdkafka has, waiting at most so long for the first message."""
        revocations = self._revocations
        began_ns, delay_ns = monotonic_ns(), self._delay() if timeout_seconds else None
        first = self._client.poll(timeout_seconds)
        first_ns = monotonic_ns()
        if delay_ns is not None and (now_ns := self._delay()) is not None:
            delay_ns = now_ns - delay_ns
        self._ready_ns = self._arrivals.ready_ns(began_ns, first_ns, delay_ns)
        if first is None:
            self._arrivals.seen_empty_ns = max(began_ns, self._ready_ns)
            return []
        messages = [first, *self._client.consume(limit - 1, 0)] if limit > 1 else [first]
        # With fewer than it may have, it has all that was there.
        self._arrivals.seen_empty_ns = first_ns if len(messages) < limit else self._ready_ns
        if any(map(Message.error, messages)):
            messages = self._without_events(messages)
        if self._revocations != revocations:
            # What came before the revocation, in this very call, is read again by the next owner.
            messages = [message for message in messages if self._place(message) in self._places]
        return messages

    def _without_events(self, messages: list[Any]) -> list[Any]:
        """The messages that are some; ends of logs and errors are noted."""
        for message in messages:
            if error := message.error():
                if error.code() == KafkaError._PARTITION_EOF:
                    self._ends[self._place(message)] = message.offset()
                else:
                    self._note(error)
        return [message for message in messages if message.error() is None]

    def _choose(self, timeout_seconds: float, limit: int, room: Callable[[Place], int] | None) -> list[Any]:
        """What is wanted, first of what was set aside; what comes and is not wanted is set aside."""
        left, revocations = Left(room or (lambda _place: limit)), self._revocations
        messages = self.stock.take(limit, left)
        # While there is little of some partition, what stands before its messages is taken ahead of its time.
        is_short = room is not None and self.stock.is_short(self._places)
        asked = limit + limit // 2 if is_short else limit - len(messages)
        # Called in any case: rebalances are served in it.
        pulled = self._pull(0 if messages else timeout_seconds, max(1, asked))
        # In runs, as they come in batches: looked at one by one, messages would cost as much as decoding them.
        for place, run in self._runs(pulled):
            count = max(0, min(left[place], limit - len(messages)))
            left[place] -= count
            messages += run[:count]
            if count < len(run):
                self.stock.add(place, run[count:])
        if self.stock or self._paused:
            self._keep_in_bounds()
        if self._revocations != revocations:
            messages = [message for message in messages if self._place(message) in self._places]
        return messages

    def _runs(self, messages: list[Any]) -> Iterator[tuple[Place, list[Any]]]:
        """Messages that follow each other in one partition, run by run."""
        if len(self._topics) > 1:
            yield from ((place, list(run)) for place, run in groupby(messages, self._place))
        else:
            runs: Any = groupby(messages, Message.partition)
            yield from (((0, partition), list(run)) for partition, run in runs)

    def _keep_in_bounds(self) -> None:
        """Pause partitions of which too much is set aside, and resume them in time."""
        if more := self.stock.too_many() - self._paused:
            self._client.pause(self._partitions(more))
            self._paused |= more
        if fewer := self._paused - self.stock.too_many_still(self._paused):
            resumed = self._partitions(fewer)
            self._client.resume(resumed)
            self._paused -= fewer
            # Nothing else wakes the thread that fetches, and it would sleep for up to a second.
            # It forgets the position until the next message.
            with contextlib.suppress(KafkaException):
                positions = self._client.position(resumed)
                self._sought |= self._known(positions)
                for position in positions:
                    self._client.seek(position)

    def _assigned(self, _consumer: Any, partitions: list[TopicPartition]) -> None:
        self._places.update(map(self._place_of, partitions))
        if self._held and self._incremental:
            # Assigned first: only a partition that is assigned can be paused.
            self._client.incremental_assign(partitions)
            self._apply_hold(partitions)
        elif self._held:
            # Paused before librdkafka knows the committed offset, a partition is fetched a second after it is resumed.
            self._client.assign([])
            self._withheld = True

    def _revoked(self, _consumer: Any, partitions: list[TopicPartition]) -> None:
        places = list(map(self._place_of, partitions))
        # Offsets can still be stored and committed: the partitions go when this returns.
        self.commits.revoked(places)
        self._revocations += 1
        self._places.difference_update(places)
        self._paused.difference_update(places)
        for place in places:
            self.stock.drop(place)
            self._ends.pop(place, None)
            self._sought.pop(place, None)
        self._withheld = self._withheld and bool(self._places)

    def _lost(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        """Others have these partitions already: nobody takes a commit of them."""
        self.commits.is_lost = True
        self._revoked(consumer, partitions)
        self.commits.is_lost = False

    def _apply_hold(self, partitions: list[TopicPartition]) -> None:
        if partitions:
            (self._client.pause if self._held else self._client.resume)(partitions)

    def _place(self, message: Any) -> Place:
        return self._numbers[message.topic()], message.partition()

    def _place_of(self, partition: TopicPartition) -> Place:
        return self._numbers[partition.topic], partition.partition

    def _partitions(self, places: Iterable[Place]) -> list[TopicPartition]:
        return [TopicPartition(self._topics[topic], partition) for topic, partition in places]

    def _known(self, partitions: Iterable[TopicPartition]) -> dict[Place, int]:
        """The offsets that are some."""
        return {self._place_of(each): each.offset for each in partitions if each.offset >= 0}

    def _note(self, error: KafkaError) -> None:
        note_error(error)
        self._errors[f"{error.name()}: {error.str()}"] = None


def _assigns_incrementally(settings: Settings) -> bool:
    """Whether a rebalance tells only what changes, as the cooperative assignor and the new group protocol do."""
    cooperative = "cooperative" in str(settings.get("partition.assignment.strategy", ""))
    return cooperative or settings.get("group.protocol") == "consumer"
