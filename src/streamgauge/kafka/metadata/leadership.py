"""Who leads, coordinates and controls, and changes of it.

confluent-kafka has neither reassignments nor DescribeQuorum, without which nobody knows the active controller: in KRaft
mode a description of the cluster names any broker. While brokers restart, librdkafka looks for the coordinator of a
group without end, or aborts the process. For these, and for the elections that follow, kafka-python asks. Its clients
live for one request, so that none of them waits for a broker that has died since.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from streamgauge.domain import clock
from streamgauge.domain.blocks import PartitionPlace, PartitionState, Settings
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.asking import Asker
from streamgauge.kafka.metadata.library import leader_of, library, opened

TIMEOUT_SECONDS: Final = 4.0
_PAUSE_SECONDS: Final = 0.1
_NOBODY: Final = -1
"""Kafka's number of the leader where there is none."""
_PREFERRED: Final = 0


class KafkaLeadership:
    """Asks a cluster and changes it; every failure is a BrokerError, after some seconds at most."""

    def __init__(self, settings: Settings, topics: Sequence[str], timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._settings = settings
        self._topics = tuple(topics)
        self._timeout_seconds = timeout_seconds
        self._asker = Asker(settings, timeout_seconds, timeout_seconds)

    def partitions(self) -> list[PartitionState]:
        """All partitions of the topics, as one of the brokers knows them."""
        only = {"topic": self._topics[0]} if len(self._topics) == 1 else {}
        ask = self._asker.admin.list_topics
        answer = self._asker.patiently("leaders were not read", lambda: ask(timeout=self._timeout_seconds, **only))
        return [
            _state(PartitionPlace(topic, number), told)
            for topic in self._topics
            if topic in answer.topics
            for number, told in sorted(answer.topics[topic].partitions.items())
        ]

    def controller(self) -> int:
        """The number of the active controller, the leader of the metadata quorum."""
        what = "the controller could not be determined"
        leader = leader_of(self._asked(what, lambda client: client.describe_metadata_quorum()))
        if leader is None:
            raise BrokerError(f"{what}: there is none now")
        return leader

    def coordinator(self, group: str) -> int:
        """The number of the broker that coordinates a group; who asks first has the brokers make the groups' topic."""
        what = f"the coordinator of {group} could not be determined"
        found = self._asked(what, lambda client: client._manager.run(client._find_coordinator_id, group))
        if found in (None, _NOBODY):
            raise BrokerError(f"{what}: there is none now")
        return int(found)

    def reassign(self, replicas: Mapping[PartitionPlace, Sequence[int]]) -> None:
        """Ask for these replicas, the preferred leader first."""
        what = "replicas could not be reassigned"
        wanted = {library().structs.TopicPartition(*place): list(brokers) for place, brokers in replicas.items()}
        answers = self._asked(what, lambda client: client.alter_partition_reassignments(wanted))
        for place, error in answers.items():
            if error is not None:
                raise BrokerError(f"{what}: {place.topic}/{place.partition}: {error.__name__}")

    def elect_preferred(self, places: Sequence[PartitionPlace]) -> None:
        """Make preferred replicas the leaders; those that lead already are left alone."""
        wanted: dict[str, list[int]] = {}
        for topic, partition in places:
            wanted.setdefault(topic, []).append(partition)
        what = "preferred leaders could not be elected"
        self._asked(what, lambda client: client.elect_leaders(_PREFERRED, wanted))

    def _asked(self, what: str, ask: Callable[[Any], Any]) -> Any:
        """An answer, asked for again while that may help: metadata name brokers for seconds after their death."""
        errors, milliseconds = library().errors, int(self._timeout_seconds * 1000)
        deadline_ns = clock.monotonic_ns() + int(self._timeout_seconds * clock.NS_PER_SECOND)
        while True:
            try:
                # A broker that is paused accepts connections: there is to be time for another one.
                client = opened(self._settings, request_ms=milliseconds // 2, bootstrap_ms=milliseconds)
                with contextlib.closing(client):
                    return ask(client)
            except errors.KafkaError as error:
                # A preferred leader that has just come back is in sync before it may lead.
                may_help = error.retriable or isinstance(error, errors.PreferredLeaderNotAvailableError)
                if not may_help or clock.monotonic_ns() >= deadline_ns:
                    raise BrokerError(f"{what}: {error}") from error
            clock.sleep_seconds(_PAUSE_SECONDS)


def _state(place: PartitionPlace, told: Any) -> PartitionState:
    leader = None if told.leader == _NOBODY else int(told.leader)
    return PartitionState(place, leader, tuple(told.replicas), tuple(told.isrs))
