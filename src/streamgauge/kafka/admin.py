"""Questions to a cluster and changes of it, in the words of the run; every failure is a BrokerError that says which."""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, TypeVar

import confluent_kafka as ck
import confluent_kafka.admin
from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition

from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput, BrokerError
from streamgauge.kafka.patience import patiently
from streamgauge.processes.patience import Check, awaited, let_go, no_check
from streamgauge.scenario import Setting

TIMEOUT_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.05
_LOG_LINES: Final = 3
_NO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""How an id of nothing but zeros is written."""
# The module does not say which of its names are meant for others, so that mypy takes none of them.
_admin: Final[Any] = confluent_kafka.admin

_T = TypeVar("_T")


class Cluster:
    """A cluster, asked through one client.

    Methods raise BrokerError when the cluster refuses, or does not answer within `timeout_seconds`; and what `check`
    raises, which is asked some twenty times a second while an answer is awaited.
    """

    def __init__(
        self,
        bootstrap: str,
        client_config: Mapping[str, Setting],
        timeout_seconds: float = TIMEOUT_SECONDS,
        check: Check = no_check,
    ) -> None:
        self.bootstrap = bootstrap
        self.timeout_seconds = timeout_seconds
        self.check = check
        self._said = _LastLines()
        self._logger = logging.Logger("streamgauge.kafka.admin")  # noqa: LOG001 - its lines are for our errors alone
        self._logger.addHandler(self._said)
        self._config = dict(client_config)
        self._readers: dict[str, ck.Consumer] = {}
        try:
            self._client = _admin.AdminClient({**self._config, "bootstrap.servers": bootstrap}, logger=self._logger)
        except KafkaException as error:
            raise BadInput.single("client settings", _text(error), "See librdkafka's CONFIGURATION.md") from error

    def reachable(self) -> None:
        """Return if a broker answers; otherwise raise BrokerError with what was tried and what may help."""
        try:
            self._describe_cluster()
        except KafkaException as error:
            raise BrokerError(
                f"no broker answers at {self.bootstrap} within {self.timeout_seconds:g} s: {self._why(error)}. Check "
                "the address; a cluster with TLS or SASL needs --client-config FILE"
            ) from error

    def version(self) -> str | None:
        """The protocol version that the brokers speak to each other, like `3.9-IV0`; None where they do not tell.

        Brokers since 4.0 have no such setting, and no other that would tell their version.
        """
        try:
            nodes = self._describe_cluster().nodes
            broker = _admin.ConfigResource(_admin.ConfigResource.Type.BROKER, str(nodes[0].id))
            settings = self._ask("settings", self._client.describe_configs, [broker])[broker]
        except (KafkaException, BrokerError):
            return None
        known = settings.get("inter.broker.protocol.version")
        return known.value if known else None

    def partitions_of(self, topic: str) -> int | None:
        """Number of partitions of a topic; None if it does not exist."""
        described = self._describe(topic)
        return None if described is None else len(described.partitions)

    def topic_id(self, topic: str) -> str | None:
        """What the cluster calls a topic, which no other topic is called, also of the same name; None if there is none.

        None too on clusters older than 2.8, which call their topics by name alone.
        """
        described = self._describe(topic)
        uuid = None if described is None else str(described.topic_id)
        return None if uuid == _NO_ID else uuid

    def create_topic(
        self, name: str, partitions: int, replication: int, configs: Mapping[str, Setting] | None = None
    ) -> None:
        """Make a topic and return when each of its partitions has a leader that serves it."""
        what = f"topic {name} could not be made"
        config = {key: str(value) for key, value in (configs or {}).items()}
        new = _admin.NewTopic(name, num_partitions=partitions, replication_factor=replication, config=config)
        self._ask(what, self._client.create_topics, [new])
        self._await(what, lambda: self._all_led(name, partitions))
        self.log_ends(name)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and return when it is gone; one that does not exist is gone."""
        what = f"topic {name} could not be deleted"
        self._ask(what, self._client.delete_topics, [name], gone=KafkaError.UNKNOWN_TOPIC_OR_PART)
        self._await(what, lambda: self._describe(name) is None)

    def log_starts(self, topic: str) -> list[int]:
        """Offset of the first message that is kept, of each partition in order."""
        return self._offsets(topic, _admin.OffsetSpec.earliest())

    def log_ends(self, topic: str) -> list[int]:
        """Offset of the next message to come, of each partition in order."""
        return self._offsets(topic, _admin.OffsetSpec.latest())

    def offsets_at(self, topic: str, epoch_ms: int) -> list[int]:
        """Offset of the first message stamped at or after a time, of each partition in order; the end where none is."""
        found = self._offsets(topic, _admin.OffsetSpec.for_timestamp(epoch_ms))
        ends = self.log_ends(topic)
        return [end if offset < 0 else offset for offset, end in zip(found, ends, strict=True)]

    def set_committed(self, group: str, topic: str, offsets: Sequence[int]) -> None:
        """Commit these offsets, of each partition in order, for a group without members; makes the group."""
        places = [TopicPartition(topic, partition, offset) for partition, offset in enumerate(offsets)]
        self._patiently(f"offsets of group {group} could not be set", lambda: self._commit(group, places))

    def committed(self, group: str, topic: str) -> list[int | None]:
        """Committed offset of a group, of each partition in order; None where there is none."""
        places = self._places(topic)
        if group not in self._readers:
            self._readers[group] = self._consumer(group)
        look = partial(self._readers[group].committed, places, timeout=self.timeout_seconds)
        answer = self._patiently(f"offsets of group {group} could not be read", lambda: _checked(look()))
        known = {place.partition: place.offset for place in answer}
        return [known[place.partition] if known[place.partition] >= 0 else None for place in places]

    def delete_group(self, group: str) -> None:
        """Delete a group and its offsets, once its last member has left; one that does not exist is gone."""
        # A connection that breaks during this request aborts the process (librdkafka's issue 5397), so look first.
        self.reachable()
        what = f"group {group} could not be deleted"
        self._ask(what, self._client.delete_consumer_groups, [group], gone=KafkaError.GROUP_ID_NOT_FOUND)

    def _describe_cluster(self) -> Any:
        return awaited(lambda: self._client.describe_cluster(request_timeout=self.timeout_seconds).result(), self.check)

    def _describe(self, topic: str) -> Any:
        """The description of a topic; None if it does not exist. Does not make it, unlike a request for metadata."""
        what = f"topic {topic} could not be looked up"
        asked = TopicCollection([topic])
        return self._ask(what, self._client.describe_topics, asked, gone=KafkaError.UNKNOWN_TOPIC_OR_PART).get(topic)

    def _all_led(self, topic: str, partitions: int) -> bool:
        described = self._describe(topic)
        return described is not None and sum(each.leader is not None for each in described.partitions) == partitions

    def _places(self, topic: str) -> list[TopicPartition]:
        partitions = self.partitions_of(topic)
        if partitions is None:
            raise BrokerError(f"topic {topic} does not exist")
        return [TopicPartition(topic, partition) for partition in range(partitions)]

    def _offsets(self, topic: str, spec: Any) -> list[int]:
        asked = dict.fromkeys(self._places(topic), spec)
        answer = self._ask(f"offsets of topic {topic} could not be read", self._client.list_offsets, asked)
        return [answer[place].offset for place in asked]

    def _consumer(self, group: str) -> ck.Consumer:
        """A client that knows a group without joining it.

        The admin client could ask about a group's offsets too, but it dereferences null while a coordinator is on the
        move, as after the birth of a cluster (librdkafka's issue 5040).
        """
        patience_ms = max(10, int(self.timeout_seconds * 1000))
        own = {
            "bootstrap.servers": self.bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            # A commit waits this long for a coordinator, and this long for its answer; closing waits for the commit.
            "session.timeout.ms": patience_ms,
            "socket.timeout.ms": patience_ms,
        }
        return ck.Consumer({**self._config, **own}, logger=self._logger)

    def _commit(self, group: str, places: list[TopicPartition]) -> None:
        """One attempt to commit."""
        consumer = self._consumer(group)
        try:
            _checked(consumer.commit(offsets=places, asynchronous=False) or [])
        finally:
            let_go([consumer.close])

    def _ask(
        self, what: str, send: Callable[..., dict[Any, Future[Any]]], asked: Any, *, gone: int | None = None
    ) -> dict[Any, Any]:
        """The answers to a request, sent again while the cluster is not ready for it; none on the error `gone`."""

        def once() -> dict[Any, Any]:
            try:
                answers = send(asked, request_timeout=self.timeout_seconds)
                return {key: answer.result() for key, answer in answers.items()}
            except KafkaException as error:
                if error.args[0].code() == gone:
                    return {}
                raise

        return self._patiently(what, once)

    def _patiently(self, what: str, once: Callable[[], _T]) -> _T:
        """What `once` returns, tried again while the cluster is not ready for it."""
        try:
            return patiently(lambda: awaited(once, self.check), self.timeout_seconds)
        except KafkaException as error:
            raise BrokerError(f"{what}: {self._why(error)}") from error

    def _await(self, what: str, reached: Callable[[], bool]) -> None:
        deadline_ns = self._deadline_ns()
        while not reached():
            self.check()
            if clock.monotonic_ns() > deadline_ns:
                raise BrokerError(f"{what} within {self.timeout_seconds:g} s")
            clock.sleep_seconds(_PAUSE_SECONDS)

    def _deadline_ns(self) -> int:
        return clock.monotonic_ns() + int(self.timeout_seconds * clock.NS_PER_SECOND)

    def _why(self, error: KafkaException) -> str:
        """What an error says, and what the client said last, where the reason often stands."""
        # Brings what librdkafka has said to our logger.
        self._client.poll(0)
        return "; ".join([_text(error), *self._said.lines])


class _LastLines(logging.Handler):
    """Keeps the last things that librdkafka said; shows nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=_LOG_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        # What comes before names threads of librdkafka, what comes after differs from one attempt to the next.
        text = record.getMessage().rpartition("]: ")[2].partition(" (after ")[0]
        if text not in self.lines:
            self.lines.append(text)


def _checked(places: list[TopicPartition]) -> list[TopicPartition]:
    """The partitions of an answer as they are; raises the first error that one of them carries."""
    for place in places:
        if place.error is not None:
            raise KafkaException(place.error)
    return places


def _text(error: KafkaException) -> str:
    return str(error.args[0].str())
