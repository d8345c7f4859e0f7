"""Connections to a cluster, made for their own sake: opened, held and used; every failure is the name of an error.

What they cost, measured on two cores: opening one over a plain socket takes 0.15 ms of CPU and less than a millisecond;
a client with its metadata 1.6 ms of CPU and 3 ms. A client of librdkafka that is held has three to four threads and
0.4 MB; a hundred of them use a seventieth of a core while they are idle, and 0.2 to 0.6 ms for each use.
"""

from collections.abc import Callable
from typing import Any, Final

import confluent_kafka as ck
import confluent_kafka.admin
from confluent_kafka import KafkaException, TopicPartition

from streamgauge.domain.blocks import TIMEOUT_SECONDS, ClientSpec, ConnectionKind, Settings
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.clients.messages import log, note_error, words_of
from streamgauge.kafka.clients.openers import (
    QUIET,
    REACH_SECONDS,
    TIMED_OUT,
    TRANSPORT,
    Ended,
    NotedUse,
    admin,
    ended_now,
    limit_after,
    opener_of,
    seconds_until,
)
from streamgauge.processes.patience import let_go

_AT_END: Final = "_PARTITION_EOF"

_ONCE: Final = {**QUIET, "enable.sparse.connections": False}
"""A client that connects only where it must waits for 50 ms between its first two connections, which would hide
what the cluster takes. This one connects to every broker at once."""

_AT_ITS_END: Final = {
    **QUIET,
    "group.id": "none",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    # Where there is nothing to read, the broker answers at once.
    "fetch.wait.max.ms": 0,
    # Beside a load, it fetches what one answer holds and no more.
    "queued.min.messages": 1,
    "max.partition.fetch.bytes": 1024,
    # An answer that is not fetched from the queue yet keeps the next one waiting: by default for a second.
    "fetch.queue.backoff.ms": 1,
}


class KafkaConnections:
    """Connections to the cluster and the first topic of `spec`; raises BrokerError when no broker answers."""

    def __init__(self, spec: ClientSpec, reach_seconds: float = REACH_SECONDS) -> None:
        self._settings = spec.settings
        self._topic = spec.topics[0]
        self._held: dict[tuple[ConnectionKind, int], _Asking | _Polling] = {}
        try:
            client = admin.AdminClient({**spec.settings, "error_cb": note_error}, logger=log)
            brokers = client.list_topics(self._topic, timeout=reach_seconds).brokers.values()
        except KafkaException as error:
            raise BrokerError(f"{spec.worker}: {words_of(error)}") from error
        self._opener = opener_of(spec, [(each.host, each.port) for each in brokers])

    def use(self, kind: ConnectionKind, number: int) -> Ended:
        """Carry out one operation; what it leaves is closed after it has ended."""
        try:
            match kind:
                case ConnectionKind.OPEN:
                    return self._opener.open(number)
                case ConnectionKind.METADATA:
                    client = _Asking(admin.AdminClient, {**self._settings, **_ONCE}, self._topic)
                    return client.use(TIMEOUT_SECONDS[kind])
                case _:
                    return self._use_held(kind, number)
        except KafkaException as error:
            return ended_now(_name_of(error))

    def close(self) -> None:
        """Close what is held."""
        while self._held:
            self._held.popitem()[1].close()

    def _use_held(self, kind: ConnectionKind, number: int) -> Ended:
        held = self._held.get((kind, number))
        if held is None:
            settings = {**self._settings, **QUIET}
            if kind is ConnectionKind.HOLD_CONSUMER:
                held = _Polling(settings, self._topic, number)
            else:
                held = _Asking(
                    ck.Producer if kind is ConnectionKind.HOLD_PRODUCER else admin.AdminClient, settings, self._topic
                )
            self._held[kind, number] = held
        ended = held.use(TIMEOUT_SECONDS[kind])
        if ended[1]:
            del self._held[kind, number]
            held.close()
        return ended


class _Asking:
    """A client that asks for the topic's metadata.

    Not for a description of the cluster: a request of the administrator during which the connection breaks can abort
    the process (librdkafka's issue 4605).
    """

    def __init__(self, make: Callable[[dict[str, Any]], Any], settings: Settings, topic: str) -> None:
        self._noted = NotedUse()
        self._topic = topic
        self._client = make({**settings, "error_cb": self._noted})

    def use(self, seconds: float) -> Ended:
        """Ask."""
        return ended_now(partitions_of(self._client, self._topic, seconds, self._noted)[1])

    def close(self) -> None:
        """Nothing to do: it is closed with the last reference to it."""


class _Polling:
    """A consumer of no group, which polls one partition at its end."""

    def __init__(self, settings: Settings, topic: str, number: int) -> None:
        self._noted = NotedUse()
        self._topic, self._number = topic, number
        self._place: TopicPartition | None = None
        self._client = ck.Consumer({**settings, **_AT_ITS_END, "error_cb": self._noted})

    def use(self, seconds: float) -> Ended:
        """Ask where the partition ends, and fetch from there: a message is an answer, and so is the end."""
        limit_ns = limit_after(seconds)
        self._noted.forget()
        if self._place is None:
            # What is assigned before its leader is known is looked for again half a second later.
            partitions, error_name = partitions_of(self._client, self._topic, seconds, self._noted)
            if error_name:
                return ended_now(error_name)
            self._place = TopicPartition(self._topic, self._number % partitions, ck.OFFSET_END)
        try:
            self._client.assign([self._place])
            answer = self._client.poll(seconds_until(limit_ns))
            ended = ended_now(self._noted.name or TIMED_OUT if answer is None else _error_of(answer))
            self._client.unassign()
        except KafkaException as error:
            return ended_now(_name_of(error))
        return ended

    def close(self) -> None:
        """Close it; there is no group to leave."""
        let_go([self._client.close])


def _error_of(answer: Any) -> str | None:
    error = answer.error()
    return None if error is None or error.name() == _AT_END else str(error.name())


def partitions_of(client: Any, topic: str, seconds: float, noted: NotedUse) -> tuple[int, str | None]:
    """How many partitions a topic has, and the name of the error if the cluster did not tell."""
    client.poll(0)
    noted.forget()
    try:
        found = client.list_topics(topic, timeout=seconds).topics[topic]
    except KafkaException as error:
        client.poll(0)
        # The client says that much too when nobody answered at all.
        name = _name_of(error)
        return 0, noted.name or (TIMED_OUT if name == TRANSPORT else name)
    return len(found.partitions), None if found.error is None else str(found.error.name())


def _name_of(error: KafkaException) -> str:
    return str(error.args[0].name())
