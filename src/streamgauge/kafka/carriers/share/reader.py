"""The reader of the engine that is a member of a share group, over confluent-kafka's ShareConsumer.

The client is one thread's, and polls nothing more until each message of its last poll is acknowledged: a slow message
holds its whole batch. How large that is producers decide, by their batches.
"""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

import confluent_kafka as ck
import numpy as np
from confluent_kafka import KafkaException, Message

from streamgauge.domain.blocks import Block, ClientSpec, Fetched, Place, Settings
from streamgauge.domain.clock import NS_PER_MS, clock_pair, monotonic_ns, sleep_seconds
from streamgauge.domain.errors import BadInput, BrokerError
from streamgauge.kafka.carriers.markers.clients import note_or_raise
from streamgauge.kafka.carriers.share.acknowledgements import ShareAcknowledgements
from streamgauge.kafka.carriers.share.letters import DeadLetters
from streamgauge.kafka.clients.arrivals import Arrivals
from streamgauge.kafka.clients.decode import Decoder
from streamgauge.kafka.clients.messages import log, note_error, words_of
from streamgauge.kafka.clients.statistics import INTERVAL_MS, Statistics, together
from streamgauge.processes.cpu.waiting import ThreadDelay
from streamgauge.processes.patience import let_go

MODE: Final = "share.acknowledgement.mode"
"""How a share consumer acknowledges. The client takes any value for it, and what it does not know for `implicit`."""
EXPLICIT: Final = "explicit"
TOLD_MS: Final = 200
"""How often the client tells how many partitions it has: the load begins so much later than it could."""
_ASSIGNED: Final = re.compile(r'"assignment_size":\s*(\d+)')


@dataclass(frozen=True, slots=True)
class OpenShareReader:
    """Opens such readers; plain values that can be sent to another process."""

    settings: Settings
    """Of the producer of dead letters."""
    lock_ms: int
    """Time for which a delivered message is locked."""
    deliveries: int
    """How often the broker delivers a message at most."""
    dead_letters: bool = True

    def __call__(self, spec: ClientSpec) -> "ShareReader":
        """A reader of these topics, with a producer of its own where it writes dead letters."""
        letters = DeadLetters(self.settings, spec.worker) if self.dead_letters else None
        return ShareReader(spec, letters, self.lock_ms, self.deliveries)


class ShareReader:
    """A member of a share group whose messages are acknowledged one by one."""

    def __init__(self, spec: ClientSpec, letters: DeadLetters | None, lock_ms: int, deliveries: int) -> None:
        """Raises BadInput for settings of no share consumer, BrokerError where the client cannot be made."""
        self._topic_names, self._letters = spec.topics, letters
        self._numbers = {name: number for number, name in enumerate(spec.topics)}
        self._decoder = Decoder(spec.topics, spec.stamp_in_header)
        self._statistics = Statistics(spec.worker, "consumer")
        self._lock_ms = lock_ms
        self._held = False
        self._assigned = self._told = 0
        self._stock: deque[Any] = deque()
        """Messages of the last poll that are not handed over."""
        self._whole = False
        """Whether nothing of the last poll is handed over yet."""
        pair = clock_pair()
        self._ahead_ns = pair.ahead_ns
        self._arrivals = Arrivals(pair.monotonic_ns)
        self._delay = ThreadDelay()
        self._ready_ns = self._locked_ns = pair.monotonic_ns
        """Since when the messages of the last poll may have been ready in the client, and locked by the broker."""
        self._client = self._made(spec)
        self.commits: None = None
        self.acknowledgements = ShareAcknowledgements(self._client, spec.topics, deliveries, letters)
        self._client.set_acknowledgement_commit_callback(self.acknowledgements.on_answer)
        wanted = spec.topics if spec.reads is None else [spec.topics[number] for number in spec.reads]
        self._client.subscribe(list(wanted))

    def _made(self, spec: ClientSpec) -> Any:
        own = {MODE: EXPLICIT, "statistics.interval.ms": TOLD_MS, "stats_cb": self._hear, "error_cb": note_error}
        if spec.settings.get(MODE, EXPLICIT) != EXPLICIT:
            raise BadInput.single(f"{spec.worker}: {MODE}", f"is set by the run: {EXPLICIT}", "Leave it out")
        try:
            return ck.ShareConsumer({**spec.settings, **own}, logger=log)
        except KafkaException as error:
            raise BrokerError(f"{spec.worker}: {words_of(error)}") from error
        except ValueError as error:
            raise BrokerError(f"{spec.worker}: {error}") from error

    def poll(self, timeout_seconds: float, limit: int, room: Callable[[Place], int] | None = None) -> Fetched | None:
        """What is left of the last poll; once all of that is acknowledged, what the next one brings.

        Raises BrokerError where the client cannot go on.
        """
        if not self._stock:
            if self.acknowledgements.is_open or self._held or limit == 0:
                self.acknowledgements.wait(timeout_seconds if limit else 0)
                return None
            self._pull(timeout_seconds)
        found = self._chosen(limit, room)
        if found is None and self._stock and timeout_seconds:
            sleep_seconds(timeout_seconds)
        return found

    def ends(self) -> list[tuple[int, int, int]]:
        """None: a share consumer is not told of ends."""
        return []

    def positions(self) -> list[tuple[int, int, int | None]]:
        """None: several consumers read one partition, and are done with its messages in any order."""
        return []

    def assigned(self) -> int:
        """Partitions that this consumer reads now, which others may read, too."""
        return self._assigned

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of messages; what is not polled for is not locked."""
        self._held = held

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client`, also of the producer of dead letters, since the last call, and their number."""
        return together([self._statistics.rows(), *([self._letters.told.rows()] if self._letters else [])])

    def close(self) -> None:
        """Leave the group: what is not acknowledged by then goes to others at once."""
        self._delay.close()
        let_go([self._client.close])

    def _pull(self, timeout_seconds: float) -> None:
        """One poll of the client; released messages were sent back before it."""
        self.acknowledgements.serve()
        began_ns, delay_ns = monotonic_ns(), self._delay() if timeout_seconds else None
        try:
            polled = self._client.poll(timeout_seconds)
        except KafkaException as error:
            note_or_raise(error.args[0], self._topic_names[0])
            return
        returned_ns = monotonic_ns()
        if delay_ns is not None and (now_ns := self._delay()) is not None:
            delay_ns = now_ns - delay_ns
        self._ready_ns = self._arrivals.ready_ns(began_ns, returned_ns, delay_ns)
        # What had not come by the end of the poll before cannot have been locked by then, but for its way here.
        self._locked_ns = self._arrivals.seen_empty_ns
        self._arrivals.seen_empty_ns = returned_ns
        messages = [each for each in polled if self._is_sound(each)]
        if messages:
            until_ns = returned_ns + self._lock_ms * NS_PER_MS
            # In runs, as they come in batches.
            for place, run in groupby(messages, self._place):
                self.acknowledgements.polled(place, list(run), until_ns)
            self._stock.extend(messages)
            self._whole = True

    def _place(self, message: Any) -> Place:
        topic = self._numbers[message.topic()] if len(self._numbers) > 1 else 0
        return topic, message.partition()

    def _is_sound(self, message: Any) -> bool:
        error = message.error()
        if error is None:
            return True
        note_or_raise(error, self._topic_names[0])
        return False

    def _chosen(self, limit: int, room: Callable[[Place], int] | None) -> Fetched | None:
        """Messages of the stock, at most so many, and of each partition as many as there is room for."""
        stock = self._stock
        if not stock or not limit:
            return None
        is_whole = self._whole and room is None and len(stock) <= limit
        if room is None:
            messages = [stock.popleft() for _ in range(min(limit, len(stock)))]
        else:
            messages = self._with_room(limit, room)
            if not messages:
                return None
        self._whole = False
        fetched = self._decoder.decode(messages, self._ready_ns if is_whole else None, monotonic_ns())
        deadline_ms = (self._locked_ns + self._ahead_ns) // NS_PER_MS + self._lock_ms
        return replace(
            fetched,
            deliveries=np.fromiter(map(Message.delivery_count, messages), np.int32, len(messages)),
            deadline_ms=np.full(len(messages), deadline_ms, np.int64),
        )

    def _with_room(self, limit: int, room: Callable[[Place], int]) -> list[Any]:
        left: dict[Place, int] = {}
        chosen: list[Any] = []
        others: deque[Any] = deque()
        for message in self._stock:
            place = self._place(message)
            if place not in left:
                left[place] = room(place)
            if left[place] > 0 and len(chosen) < limit:
                left[place] -= 1
                chosen.append(message)
            else:
                others.append(message)
        self._stock = others
        return chosen

    def _hear(self, text: str) -> None:
        """Take the client's statistics, which tell how many partitions it has."""
        if self._told % (INTERVAL_MS // TOLD_MS) == 0:
            self._statistics.callback(text)
        self._told += 1
        if found := _ASSIGNED.search(text, max(0, text.rfind('"cgrp"'))):
            self._assigned = int(found.group(1))
