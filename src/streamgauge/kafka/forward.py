"""The yardstick of a pipeline: a plain consumer and producer that pass messages on, without Spark.

At least once: offsets are committed when everything read below them is acknowledged. It runs in a process of its own.
"""

import contextlib
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND, clock_pair, monotonic_ns
from streamgauge.domain.errors import StreamgaugeError
from streamgauge.domain.query import DRIVER, Advance, Happened, News, QueryProgress, QuerySpec
from streamgauge.kafka.asking import Asker
from streamgauge.kafka.carriers.markers.clients import PASSES_ON
from streamgauge.kafka.clients.messages import log, words_of
from streamgauge.kafka.offsets import KafkaOffsets
from streamgauge.processes.linux import when_orphaned
from streamgauge.processes.patience import let_go
from streamgauge.processes.talk.lines import Child, Orders, Told
from streamgauge.processes.talk.news import STOP, order, read_order

BATCH_NS: Final = NS_PER_SECOND
"""What was passed on in so long is committed together, and told as one batch."""
AT_ONCE: Final = 1000
_WAIT_SECONDS: Final = 0.05
_ASK_SECONDS: Final = 30.0
_FORWARDER: Final = ("-c", "from streamgauge.kafka.forward import main; main()")


@dataclass(slots=True)
class ForwardedBatch:
    """What was read in one second, and how much of it is acknowledged."""

    began_ns: int
    number: int
    begins: dict[int, int]
    """Offset of each partition where it begins."""
    ends: dict[int, int] = field(default_factory=dict)
    sent: int = 0
    acknowledged: int = 0
    error: str | None = None

    def report(self, error: Any, _message: Any) -> None:
        """One delivery report."""
        self.acknowledged += 1
        if error is not None and self.error is None:
            self.error = str(error.str())

    @property
    def is_done(self) -> bool:
        """Whether everything is acknowledged."""
        return self.acknowledged >= self.sent


class Forwarder:
    """Passes messages on, from one topic to another."""

    def __init__(self, spec: QuerySpec) -> None:
        self._spec = spec
        self._sink = spec.sink or ""
        self._consumer = ck.Consumer(
            {
                **spec.connection,
                "group.id": spec.name,
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                # The last offsets of a partition may be no messages but ends of transactions.
                "enable.partition.eof": True,
                "fetch.queue.backoff.ms": 10,
                "isolation.level": "read_committed" if spec.read_committed else "read_uncommitted",
            },
            logger=log,
        )
        self._producer = ck.Producer(
            {**PASSES_ON, **spec.connection, "enable.idempotence": True, "acks": "all", "linger.ms": 1}, logger=log
        )
        self._at = dict(enumerate(self._begin()))
        self.left = left_behind(spec.starts, self._at)
        """What was committed before it was started, and not told."""
        self._waiting: deque[ForwardedBatch] = deque()
        self._batch = self._next(0 if self.left is None else self.left.batch + 1)

    def _begin(self) -> list[int]:
        """Where it goes on: at what it has committed, or at what it was given.

        Raises BrokerError if that is not known: who took it for nothing would pass messages on twice.
        """
        spec, asker = self._spec, Asker(self._spec.connection, _ASK_SECONDS, _ASK_SECONDS)
        with contextlib.closing(KafkaOffsets(asker, [spec.source], spec.partitions, [spec.name])) as offsets:
            committed = offsets.committed(0)
        begins = [start if at is None else at for at, start in zip(committed, spec.starts, strict=True)]
        self._consumer.assign([TopicPartition(spec.source, n, offset) for n, offset in enumerate(begins)])
        return begins

    def turn(self) -> list[ForwardedBatch]:
        """Pass on what is there; the batches that are done by now, whose offsets are committed.

        Raises KafkaException for an error that the consumer reports.
        """
        first = self._consumer.poll(_WAIT_SECONDS)
        messages = [] if first is None else [first, *self._consumer.consume(AT_ONCE - 1, 0)]
        for message in messages:
            if (error := message.error()) is None:
                self._pass(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                self._reach(message)
            else:
                raise KafkaException(error)
        self._producer.poll(0)
        if monotonic_ns() - self._batch.began_ns >= BATCH_NS:
            self._seal()
        return self._settled()

    def finish(self) -> list[ForwardedBatch]:
        """Wait for what is under way."""
        self._seal()
        self._producer.flush(_ASK_SECONDS)
        return self._settled()

    def close(self) -> None:
        """Let go of the clients."""
        let_go([self._consumer.close])

    def _pass(self, message: Any) -> None:
        batch = self._batch
        while True:
            try:
                self._producer.produce(
                    self._sink,
                    value=message.value(),
                    key=message.key(),
                    headers=message.headers(),
                    on_delivery=batch.report,
                )
                break
            except BufferError:
                self._producer.poll(_WAIT_SECONDS)
        batch.sent += 1
        self._at[message.partition()] = message.offset() + 1

    def _reach(self, end: Any) -> None:
        """All below the end of a partition is passed on."""
        self._at[end.partition()] = max(self._at[end.partition()], end.offset())

    def _seal(self) -> None:
        """What is read from now on belongs to the next batch."""
        self._batch.ends = dict(self._at)
        self._waiting.append(self._batch)
        self._batch = self._next(self._batch.number + 1)

    def _next(self, number: int) -> ForwardedBatch:
        return ForwardedBatch(monotonic_ns(), number, dict(self._at))

    def _settled(self) -> list[ForwardedBatch]:
        """Batches in their order, as far as they are done."""
        done = []
        while self._waiting and self._waiting[0].is_done:
            batch = self._waiting.popleft()
            if batch.error:
                raise RuntimeError(f"a message was not written to {self._spec.sink}: {batch.error}")
            if batch.ends != batch.begins:
                places = [TopicPartition(self._spec.source, n, offset) for n, offset in batch.ends.items()]
                self._consumer.commit(offsets=places, asynchronous=False)
            done.append(batch)
        return done


def left_behind(starts: Sequence[int], at: Mapping[int, int]) -> QueryProgress | None:
    """The batch between what was told and what is committed: who died between the two did not tell of it."""
    advances = [Advance(number, start, at[number], None) for number, start in enumerate(starts) if at[number] > start]
    if not advances:
        return None
    pair = clock_pair()
    return QueryProgress.untold(pair.monotonic_ns, 0, pair.wall_ns // NS_PER_MS, advances)


def main() -> None:
    """The process: told its QuerySpec, it passes messages on and tells of it, until it is told to stop."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # Who is stopped by a fault cannot see that its input ends.
    when_orphaned(signal.SIGCONT)
    orders, told = Orders(sys.stdin.fileno()), Told(sys.stdout.fileno())
    spec, _ = read_order(orders.first())
    stop = threading.Event()
    threading.Thread(target=_await_stop, args=(orders, stop), daemon=True).start()
    try:
        forwarder = Forwarder(spec)
        told.tell(Happened(monotonic_ns(), "ready"))
        if forwarder.left is not None:
            told.tell(forwarder.left)
        while not stop.is_set():
            _tell(told, forwarder.turn())
        _tell(told, forwarder.finish())
        forwarder.close()
    except (KafkaException, StreamgaugeError, RuntimeError) as error:
        what = words_of(error) if isinstance(error, KafkaException) else str(error)
        told.tell(Happened(monotonic_ns(), "failed", what))
        os._exit(1)
    told.tell(Happened(monotonic_ns(), "ended"))
    os._exit(0)


def _await_stop(orders: Orders, stop: threading.Event) -> None:
    orders.await_stop()
    stop.set()


def _tell(told: Told, batches: Sequence[ForwardedBatch]) -> None:
    for batch in batches:
        if batch.ends == batch.begins:
            continue
        at_ns = monotonic_ns()
        took_ns = at_ns - batch.began_ns
        began_ms = (clock_pair().wall_ns - took_ns) // NS_PER_MS
        numbers = {"rows": batch.sent, "duration_ms": took_ns // NS_PER_MS}
        advances = [Advance(number, batch.begins[number], end, None) for number, end in batch.ends.items()]
        told.tell(QueryProgress(at_ns, batch.number, began_ms, numbers, advances))


class ClientQuery:
    """The yardstick, as the engine hosts it."""

    def __init__(self, spec: QuerySpec) -> None:
        self._spec = spec
        self._child = Child(_FORWARDER)
        self._committed: list[int] | None = None

    @property
    def exit_code(self) -> int | None:
        """How its process ended, negative for a signal; None while it lives, and before it was started."""
        return self._child.exit_code

    def start(self) -> None:
        """Start it: where it has committed, or where the run begins."""
        self._child.start(order(replace(self._spec, starts=tuple(self._begins()))), Path(self._spec.log))

    def alive(self) -> bool:
        """Whether its process lives."""
        return self._child.alive()

    def news(self) -> Sequence[News]:
        """What it told since the last call."""
        news = self._child.news()
        for each in news:
            if isinstance(each, QueryProgress):
                self._note(each)
        return news

    def _note(self, progress: QueryProgress) -> None:
        self._committed = self._begins()
        for far in progress.advances:
            self._committed[far.partition] = far.to_offset

    def _begins(self) -> list[int]:
        """First offset of each partition that was not told of."""
        return list(self._spec.starts if self._committed is None else self._committed)

    def processes(self) -> Mapping[str, int]:
        """Its one process."""
        pid = self._child.pid
        return {DRIVER: pid} if pid is not None and self.alive() else {}

    def stop(self) -> None:
        """Ask it to end."""
        self._child.say(STOP)

    def limit(self, messages: int) -> None:
        """It passes messages on one by one, and has no batches to bound; ValueError."""
        raise ValueError(f"a plain client has no batches to limit to {messages} messages")

    def kill(self) -> None:
        """End it at once."""
        self._child.kill()

    def left_behind(self) -> Sequence[QueryProgress]:
        """Nothing: what was committed and not told is told by who goes on."""
        return []

    def committed(self) -> Sequence[int] | None:
        """First offset of each partition that is not done, as far as it told."""
        return self._committed

    def checkpoint_bytes(self) -> int:
        """Nothing: it commits to the cluster."""
        return 0

    def close(self) -> None:
        """Let go of it."""
        self._child.close()
