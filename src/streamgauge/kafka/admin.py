"""Questions to a cluster and changes of it, in the words of the run; every failure is a BrokerError that says which."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import confluent_kafka.admin
from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition

from streamgauge.domain import clock
from streamgauge.domain.blocks import Settings
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.asking import Asker, text_of
from streamgauge.kafka.offsets import KafkaOffsets, checked
from streamgauge.processes.patience import Check, let_go, no_check

TIMEOUT_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.05
_NO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""How an id of nothing but zeros is written."""
# The module does not say which of its names are meant for others, so that mypy takes none of them.
_admin: Final[Any] = confluent_kafka.admin


class Cluster:
    """A cluster, asked through one client.

    Methods raise BrokerError when the cluster refuses, or does not answer within `timeout_seconds`; and what `check`
    raises, which is asked some twenty times a second while an answer is awaited. `own` has settings of the client that
    asks, and of no other client.
    """

    def __init__(
        self,
        bootstrap: str,
        client_config: Settings,
        timeout_seconds: float = TIMEOUT_SECONDS,
        check: Check = no_check,
        own: Settings | None = None,
    ) -> None:
        self.bootstrap = bootstrap
        self.settings: Settings = {**client_config, "bootstrap.servers": bootstrap}
        """What any client of this cluster is told."""
        self._asker = Asker({**self.settings, **(own or {})}, timeout_seconds, timeout_seconds, check)

    @property
    def check(self) -> Check:
        """What may end the waiting for an answer."""
        return self._asker.check

    @property
    def asker(self) -> Asker:
        """The client that asks."""
        return self._asker

    def offsets(self, topics: Sequence[str], partitions: int, groups: Sequence[str] = ()) -> KafkaOffsets:
        """Where the partitions of these topics stand, and what these groups have committed."""
        return KafkaOffsets(self._asker, topics, partitions, groups)

    def reachable(self) -> None:
        """Return if a broker answers; otherwise raise BrokerError with what was tried and what may help."""
        try:
            self._describe_cluster()
        except KafkaException as error:
            raise BrokerError(
                f"no broker responds at {self.bootstrap} within {self._asker.timeout_seconds:g} s: "
                f"{self._asker.why(error)}. Check the address; a cluster with TLS or SASL needs --client-config FILE"
            ) from error

    def version(self) -> str | None:
        """The protocol version that the brokers speak to each other, like `3.9-IV0`; None where they do not tell.

        Brokers since 4.0 have no such setting, and no other that would tell their version.
        """
        try:
            nodes = self._describe_cluster().nodes
            broker = _admin.ConfigResource(_admin.ConfigResource.Type.BROKER, str(nodes[0].id))
            settings = self._asker.ask("settings", self._asker.admin.describe_configs, [broker])[broker]
        except (KafkaException, BrokerError):
            return None
        known = settings.get("inter.broker.protocol.version")
        return known.value if known else None

    def partitions_of(self, topic: str) -> int | None:
        """Number of partitions of a topic; None if it does not exist."""
        described = self._describe(topic)
        return None if described is None else len(described.partitions)

    def setting_of(self, topic: str, name: str) -> str | None:
        """The value that a setting of a topic has, also by default; None if the cluster does not know the setting."""
        resource = _admin.ConfigResource(_admin.ConfigResource.Type.TOPIC, topic)
        what = f"settings of topic {topic} could not be read"
        entry = self._asker.ask(what, self._asker.admin.describe_configs, [resource])[resource].get(name)
        return None if entry is None else entry.value

    def topic_id(self, topic: str) -> str | None:
        """What the cluster calls a topic, which no other topic is called, also of the same name; None if there is none.

        None too on clusters older than 2.8, which call their topics by name alone.
        """
        described = self._describe(topic)
        uuid = None if described is None else str(described.topic_id)
        return None if uuid == _NO_ID else uuid

    def replicas_of(self, topic: str) -> list[tuple[int, ...]]:
        """The brokers of each partition of a topic, the preferred leader first; empty if it does not exist."""
        described = self._describe(topic)
        partitions = [] if described is None else sorted(described.partitions, key=lambda each: each.id)
        return [tuple(node.id for node in each.replicas) for each in partitions]

    def create_topic(
        self,
        name: str,
        partitions: int,
        replication: int,
        configs: Settings | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Make a topic and return when each of its partitions has a leader that serves it.

        `assignments` has the brokers of each partition, the preferred leader first; None lets the cluster choose.
        """
        what = f"topic {name} could not be created"
        config = {key: str(value) for key, value in (configs or {}).items()}
        size: dict[str, Any] = {"num_partitions": partitions, "replication_factor": replication}
        if assignments is not None:
            size = {"num_partitions": partitions, "replica_assignment": [list(each) for each in assignments]}
        new = _admin.NewTopic(name, config=config, **size)
        self._asker.ask(what, self._asker.admin.create_topics, [new])
        self._await(what, lambda: self._all_led(name, partitions))
        self._await(what, self.offsets((name,), partitions).are_served)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and return when it is gone; one that does not exist is gone."""
        what = f"topic {name} could not be deleted"
        self._asker.ask(what, self._asker.admin.delete_topics, [name], gone=KafkaError.UNKNOWN_TOPIC_OR_PART)
        self._await(what, lambda: self._describe(name) is None)

    def set_committed(self, group: str, topic: str, offsets: Sequence[int]) -> None:
        """Commit these offsets, of each partition in order, for a group without members; makes the group."""
        places = [TopicPartition(topic, partition, offset) for partition, offset in enumerate(offsets)]
        self._asker.patiently(f"offsets of group {group} could not be set", lambda: self._commit(group, places))

    def delete_group(self, group: str) -> None:
        """Delete a group and its offsets, once its last member has left; one that does not exist is gone."""
        # A connection that breaks during this request aborts the process (librdkafka's issue 5397), so look first.
        self.reachable()
        what = f"group {group} could not be deleted"
        self._asker.ask(what, self._asker.admin.delete_consumer_groups, [group], gone=KafkaError.GROUP_ID_NOT_FOUND)

    def set_group(self, group: str, configs: Mapping[str, str | None]) -> str | None:
        """Set these settings of a group, which need not be there; None for the default of the cluster.

        Returns what the cluster has against their values; None for nothing.
        """
        kinds = _admin.AlterConfigOpType
        entries = [
            _admin.ConfigEntry(name, value or "", incremental_operation=kinds.DELETE if value is None else kinds.SET)
            for name, value in configs.items()
        ]
        resource = _admin.ConfigResource(_admin.ConfigResource.Type.GROUP, group, incremental_configs=entries)

        def once() -> str | None:
            try:
                seconds = self._asker.timeout_seconds
                send = self._asker.admin.incremental_alter_configs
                self._asker.answer(send([resource], request_timeout=seconds)[resource])
            except KafkaException as error:
                if error.args[0].code() != KafkaError.INVALID_CONFIG:
                    raise
                return text_of(error)
            return None

        return self._asker.patiently(f"settings of group {group} could not be made", once)

    def _describe_cluster(self) -> Any:
        seconds = self._asker.timeout_seconds
        send = self._asker.admin.describe_cluster
        return self._asker.awaited(lambda: self._asker.answer(send(request_timeout=seconds)))

    def _describe(self, topic: str) -> Any:
        """The description of a topic; None if it does not exist. Does not make it, unlike a request for metadata."""
        what = f"topic {topic} could not be described"
        send, gone = self._asker.admin.describe_topics, KafkaError.UNKNOWN_TOPIC_OR_PART
        return self._asker.ask(what, send, TopicCollection([topic]), gone=gone).get(topic)

    def _all_led(self, topic: str, partitions: int) -> bool:
        described = self._describe(topic)
        return described is not None and sum(each.leader is not None for each in described.partitions) == partitions

    def _commit(self, group: str, places: list[TopicPartition]) -> None:
        """One attempt to commit."""
        consumer = self._asker.consumer(group)
        try:
            checked(consumer.commit(offsets=places, asynchronous=False) or [])
        finally:
            let_go([consumer.close])

    def _await(self, what: str, reached: Callable[[], bool]) -> None:
        seconds = self._asker.timeout_seconds
        deadline_ns = clock.monotonic_ns() + int(seconds * clock.NS_PER_SECOND)
        while not reached():
            self.check()
            if clock.monotonic_ns() > deadline_ns:
                raise BrokerError(f"{what} within {seconds:g} s")
            clock.sleep_seconds(_PAUSE_SECONDS)
