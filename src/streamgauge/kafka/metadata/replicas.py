"""The replicas of all partitions of some topics, as one of the brokers knows them."""

from typing import Any, Final

from streamgauge.domain.blocks import ClientSpec, PlaceReplicas
from streamgauge.kafka.asking import Asker

_NOBODY: Final = -1
"""Kafka's number of the leader where there is none."""


class KafkaReplicas:
    """Asks once each time: no answer is an answer, too. In the order of the places: topic x partitions + partition.

    Metadata come from any broker that is connected. A request to describe topics would wait for the one that the client
    takes for the controller, for seconds after its death.
    """

    def __init__(self, spec: ClientSpec, partitions: int, timeout_seconds: float) -> None:
        self._asker = Asker(spec.settings, timeout_seconds, 0)
        self._topics = tuple(spec.topics)
        self._partitions = partitions

    def look(self) -> list[PlaceReplicas]:
        """The replicas of each place; raises BrokerError where the cluster does not answer in time."""
        only = {"topic": self._topics[0]} if len(self._topics) == 1 else {}
        seconds, ask = self._asker.timeout_seconds, self._asker.admin.list_topics
        answer = self._asker.patiently("replicas were not read", lambda: ask(timeout=seconds, **only))
        found: list[PlaceReplicas] = []
        for topic in self._topics:
            told = answer.topics[topic].partitions if topic in answer.topics else {}
            found += [_place(told.get(number)) for number in range(self._partitions)]
        return found

    def close(self) -> None:
        """Nothing is held: the client goes with this object."""


def _place(told: Any) -> PlaceReplicas:
    """What metadata say of a partition; nothing of one that they do not name."""
    if told is None:
        return PlaceReplicas(None, 0, 0)
    return PlaceReplicas(None if told.leader == _NOBODY else int(told.leader), len(told.isrs), len(told.replicas))
