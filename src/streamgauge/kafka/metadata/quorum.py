"""The active controller, and where the log of each partition ends on every broker that keeps it.

confluent-kafka can ask neither: its description of the cluster names any broker in KRaft mode, and its ListOffsets
asks leaders only. kafka-python can: DescribeQuorum names the leader of the metadata quorum. A follower answers
ListOffsets to who asks as a debugging consumer (replica -2), from its own log. The lag in DescribeLogDirs is that
behind the high watermark of the broker itself, and so 0; JMX needs a port in each broker, and a JVM that asks.
"""

import contextlib
from collections.abc import Mapping
from typing import Any, Final

from streamgauge.domain.blocks import ClientSpec, LogEnds, Place
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.metadata.library import leader_of, library, opened

_DEBUGGING: Final = -2
_LATEST: Final = -1
_UNKNOWN: Final = "the cluster does not know it now"
_NEWEST: Final = 4
"""Version of ListOffsets that brokers from 2.0 on understand."""


class KafkaQuorum:
    """Asks all brokers at once, on connections that it keeps; opens them with the first look."""

    def __init__(self, spec: ClientSpec, partitions: int, timeout_seconds: float) -> None:
        self._settings = spec.settings
        self._topics = {name: number for number, name in enumerate(spec.topics)}
        self._partitions = partitions
        self._milliseconds = int(timeout_seconds * 1000)
        self._kafka = library()
        self._client: Any = None
        self._seen: set[int] = set()

    def look(self) -> tuple[int | None, LogEnds]:
        """The active controller, None if nobody told, and the ends of logs; BrokerError if nobody answers in time."""
        ms = self._milliseconds
        try:
            client = self._client = self._client or opened(self._settings, request_ms=ms, bootstrap_ms=ms)
            # It has no other way to ask a broker that is not the leader.
            found: tuple[int | None, LogEnds] = client._manager.run(self._ask, client)
        except (self._kafka.errors.KafkaError, OSError, AssertionError) as error:
            # It asserts that settings fit each other; those of librdkafka may not, in its eyes.
            raise BrokerError(f"followers were not read: {error or type(error).__name__}") from error
        return found

    def close(self) -> None:
        """Let go of the connections."""
        if self._client is not None:
            with contextlib.suppress(self._kafka.errors.KafkaError):
                self._client.close()

    async def _ask(self, client: Any) -> tuple[int | None, LogEnds]:
        manager = client._manager
        # A broker that is down leaves the metadata, and is in them again only if they are asked for.
        manager.cluster.request_update()
        known = {int(broker.node_id) for broker in manager.cluster.brokers()}
        self._seen |= known
        asked = {node: manager.send(self._request(), node, self._milliseconds) for node in sorted(known)}
        ends: dict[int, Mapping[Place, int] | str] = dict.fromkeys(sorted(self._seen - known), _UNKNOWN)
        for node, answer in asked.items():
            try:
                ends[node] = self._ends(await answer)
            except self._kafka.errors.KafkaError as error:
                ends[node] = str(error)
        controller: int | None = None
        with contextlib.suppress(self._kafka.errors.KafkaError):
            controller = leader_of(await client._async_describe_quorum("__cluster_metadata", 0))
        if not known:
            raise self._kafka.errors.KafkaError("no broker is known")
        return controller, ends

    def _request(self) -> Any:
        request = self._kafka.protocol.consumer.offsets.ListOffsetsRequest
        topic = request.ListOffsetsTopic
        partitions = [
            topic.ListOffsetsPartition(partition_index=number, timestamp=_LATEST, current_leader_epoch=-1)
            for number in range(self._partitions)
        ]
        topics = [topic(name=name, partitions=partitions) for name in self._topics]
        return request(replica_id=_DEBUGGING, isolation_level=0, topics=topics, min_version=_NEWEST)

    def _ends(self, answer: Any) -> dict[Place, int]:
        """Where logs end; a partition that the broker does not keep is an error, and left out."""
        return {
            (self._topics[topic.name], partition.partition_index): partition.offset
            for topic in answer.topics
            for partition in topic.partitions
            if partition.error_code == 0
        }
