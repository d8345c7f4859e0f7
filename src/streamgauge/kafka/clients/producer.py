"""The producer of the engine over confluent-kafka: blocks in, delivery reports out, librdkafka's words kept."""

import contextlib
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final

import confluent_kafka as ck
import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message

from streamgauge.domain import stamp
from streamgauge.domain.blocks import (
    ALL_TAKEN,
    NULL_INT32,
    NULL_INT64,
    Block,
    ClientSpec,
    Outcome,
    Outgoing,
    Refused,
)
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.clients.arrivals import Arrivals
from streamgauge.kafka.clients.messages import (
    log,
    note_error,
    numbers,
    sizes_and_stamps,
    sizes_of,
    values_of,
    words_of,
)
from streamgauge.kafka.clients.statistics import Statistics
from streamgauge.processes.cpu.waiting import ThreadDelay

QUEUE_LIMIT: Final = "queue.buffering.max.messages"
_QUEUE_LIMIT_DEFAULT: Final = 100_000
TRANSACTIONAL_ID: Final = "transactional.id"
_METADATA_SECONDS: Final = 15.0
_TRANSACTION_SECONDS: Final = 30.0
_HURRY_SECONDS: Final = 0.005
_ANY: Final = -1
"""The partition that leaves the choice to the client's partitioner."""


class KafkaProducer:
    """Sends blocks and reports what became of every message as rows of `sent`."""

    def __init__(self, spec: ClientSpec, metadata_seconds: float = _METADATA_SECONDS) -> None:
        self._worker = spec.worker
        self._topics = spec.topics
        self._in_header = bool(spec.stamp_in_header)
        self._acks_none = spec.unacknowledged
        self._limit = int(spec.settings.get(QUEUE_LIMIT, _QUEUE_LIMIT_DEFAULT))
        self._messages: list[Any] = []
        self._times = array("q")
        self._errors: dict[int, str] = {}
        self._heads: list[bytes] = []
        self._taken = 0
        self._told = 0
        self._statistics = Statistics(spec.worker, "producer", lambda: self._taken)
        self._arrivals = Arrivals(monotonic_ns())
        self._delay = ThreadDelay()
        self._ready: list[tuple[int, int]] = []
        """Of each call that brought reports, how many, and since when they may have been ready."""
        settings = {
            **spec.settings,
            **self._statistics.settings,
            "on_delivery": self._reporter(),
            "error_cb": note_error,
        }
        try:
            self._client = ck.Producer(settings, logger=log)
            # The first message must not wait for what can be known before: who leads which partition.
            for topic in spec.topics:
                self._client.list_topics(topic, timeout=metadata_seconds)
            if TRANSACTIONAL_ID in spec.settings:
                self._client.init_transactions(_TRANSACTION_SECONDS)
        except KafkaException as error:
            raise BrokerError(f"{spec.worker}: {words_of(error)}") from error

    @property
    def queue_limit(self) -> int:
        """How many messages the local queue holds at most."""
        return self._limit

    def room(self) -> int:
        """How many messages the local queue still takes."""
        return self._limit - self.in_flight()

    def in_flight(self) -> int:
        """Messages taken whose delivery report was not served."""
        return self._taken - self._told - len(self._messages)

    def send(self, block: Outgoing) -> Refused:
        """Hand a block over to librdkafka's queue."""
        if self._in_header or block.keys or block.topics or block.partitions:
            return self._send_each(block)
        return self._send_values(block.values)

    def serve(self, timeout_seconds: float) -> None:
        """Serve delivery reports."""
        began_ns, before = monotonic_ns(), len(self._messages)
        delay_ns = self._delay() if timeout_seconds else None
        self._client.poll(timeout_seconds)
        self._served(began_ns, before, delay_ns)

    def reports(self, at_least: int) -> tuple[Block, int]:
        """Rows of `sent` from the delivery reports served since the last call."""
        count = len(self._messages)
        if count < max(1, at_least):
            return {}, 0
        messages, times, errors, heads = self._messages[:], self._times[:], dict(self._errors), self._heads[:]
        counts, ready_ns = zip(*self._ready, strict=True)
        self._told += count
        # The callback holds on to these very lists.
        self._messages.clear()
        del self._times[:]
        self._errors.clear()
        self._heads.clear()
        self._ready.clear()
        polled_ns = None if self._acks_none else np.repeat(np.array(ready_ns, np.int64), counts)
        return {**self._rows(messages, times, errors, heads), "polled_ns": polled_ns}, count

    def hurry(self) -> None:
        """Send what lingers in the queue at once."""
        began_ns, before = monotonic_ns(), len(self._messages)
        self._client.flush(_HURRY_SECONDS)
        self._served(began_ns, before, None)

    def begin(self) -> None:
        """Begin a transaction; raises BrokerError if the client cannot."""
        try:
            self._client.begin_transaction()
        except KafkaException as error:
            raise BrokerError(f"{self._worker}: a transaction could not be started: {words_of(error)}") from error

    def end(self, *, commit: bool) -> Outcome:
        """Commit the transaction or abort it, trying again what may be tried again; an error that demands it aborts.

        Raises BrokerError if it cannot be ended.
        """
        began_ns, before = monotonic_ns(), len(self._messages)
        outcome = self._end(commit=commit)
        self._served(began_ns, before, None)
        return outcome

    def _end(self, *, commit: bool) -> Outcome:
        if not commit:
            # Aborting throws away what is queued; a message that nobody may see has to be in the log first.
            self._client.flush(_TRANSACTION_SECONDS)
        ended: Outcome = "committed" if commit else "aborted"
        finish = self._client.commit_transaction if commit else self._client.abort_transaction
        limit_ns = monotonic_ns() + int(_TRANSACTION_SECONDS * NS_PER_SECOND)
        while True:
            try:
                finish(_TRANSACTION_SECONDS)
            except KafkaException as error:
                reason = error.args[0]
                log.warning("transaction: %s", reason.str())
                if reason.txn_requires_abort() and ended == "committed":
                    return self._end(commit=False)
                if not reason.retriable():
                    raise BrokerError(f"{self._worker}: the transaction could not be ended: {reason.str()}") from error
                if monotonic_ns() > limit_ns:
                    return "unknown"
            else:
                return ended

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client` since the last call, and their number."""
        return self._statistics.rows()

    def abandon(self) -> None:
        """Give up what is queued and in flight; the reports say so."""
        self._client.purge(in_queue=True, in_flight=True, blocking=True)

    def close(self) -> None:
        """Drop the client without waiting for anything."""
        # A client with a fatal error says it again; whoever closes it knows.
        with contextlib.suppress(KafkaException):
            self._client.purge(in_queue=True, in_flight=True, blocking=True)
            self._client.poll(0)
        self._delay.close()

    def _served(self, began_ns: int, before: int, delay_ns: int | None) -> None:
        """Note since when the reports may have been ready that came on top of the first `before`."""
        came = len(self._messages) - before
        if delay_ns is not None and (now_ns := self._delay()) is not None:
            delay_ns = now_ns - delay_ns
        first_ns = self._times[before] if came else monotonic_ns()
        ready_ns = self._arrivals.ready_ns(began_ns, first_ns, delay_ns)
        if came:
            self._ready.append((came, ready_ns))
        # The client moves its queue aside before it runs callbacks: what comes meanwhile waits for the next call.
        self._arrivals.seen_empty_ns = max(began_ns, ready_ns)

    def _reporter(self) -> Callable[[KafkaError | None, Message], None]:
        """The delivery callback: it runs once for each message, so it does nothing that can wait."""
        messages, errors = self._messages, self._errors
        keep, keep_time = messages.append, self._times.append

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                errors[len(messages)] = error.name()
            keep(message)
            keep_time(monotonic_ns())

        return delivered

    def _send_values(self, values: Sequence[bytes | None]) -> Refused:
        """One call for each message, which is cheaper than a batch of dictionaries that the client looks into."""
        produce, topic, taken = self._client.produce, self._topics[0], 0
        failed: list[tuple[int, str]] = []
        try:
            for value in values:
                try:
                    produce(topic, value)
                except KafkaException as error:
                    failed.append((taken + len(failed), error.args[0].name()))
                else:
                    taken += 1
        except BufferError:
            return Refused(no_room=range(taken + len(failed), len(values)), failed=failed)
        finally:
            self._taken += taken
        return Refused(failed=failed) if failed else ALL_TAKEN

    def _send_each(self, block: Outgoing) -> Refused:
        """One call for each message, with all it carries; a delivery report returns no headers, so they are kept."""
        count = len(block)
        topics = [self._topics[number] for number in block.topics] if block.topics else repeat(self._topics[0], count)
        keys = block.keys or repeat(None, count)
        partitions = block.partitions or repeat(_ANY, count)
        produce, report, in_header = self._client.produce, self._reporter(), self._in_header
        failed: list[tuple[int, str]] = []
        more: dict[str, Any] = {}
        for place, (topic, value, key, partition) in enumerate(
            zip(topics, block.values, keys, partitions, strict=True)
        ):
            if in_header:
                head = block.stamps[place].tobytes()
                more = {"headers": [(stamp.HEADER_KEY, head)], "on_delivery": partial(self._with_head, head, report)}
            try:
                produce(topic, value, key, partition, **more)
                self._taken += 1
            except BufferError:
                return Refused(no_room=range(place, count), failed=failed)
            except KafkaException as error:
                failed.append((place, error.args[0].name()))
        return Refused(failed=failed) if failed else ALL_TAKEN

    def _with_head(self, head: bytes, report: Callable[[Any, Any], None], error: Any, message: Any) -> None:
        self._heads.append(head)
        report(error, message)

    def _rows(self, messages: list[Any], times: "array[int]", errors: dict[int, str], heads: list[bytes]) -> Block:
        count = len(messages)
        values = values_of(messages)
        if self._in_header:
            sizes, stamps = sizes_of(values), stamp.decode(b"".join(heads))
        else:
            sizes, stamps = sizes_and_stamps(values)
        offsets = numbers(Message.offset, messages)
        partitions = numbers(Message.partition, messages)
        return {
            "seq": stamps["seq"].astype(np.int64),
            "partition": np.where(partitions < 0, NULL_INT32, partitions).astype(np.int32),
            "offset": None if self._acks_none else np.where(offsets < 0, NULL_INT64, offsets),
            "due_ns": np.where(stamps["flags"] & stamp.NO_SCHEDULE, NULL_INT64, stamps["due_ns"]),
            "sent_ns": stamps["sent_ns"],
            "acked_ns": None if self._acks_none else np.frombuffer(times, np.int64),
            "size_bytes": sizes,
            "error": [errors.get(place) for place in range(count)] if errors else None,
        }
