"""Where every partition of some topics stands: one request for all of them, and none about what does not change."""

from collections.abc import Sequence
from typing import Any, Final

import confluent_kafka as ck
import confluent_kafka.admin
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamgauge.domain.blocks import ClientSpec
from streamgauge.kafka.asking import Asker
from streamgauge.processes.patience import let_go

# The module does not say which of its names are meant for others, so that mypy takes none of them.
_admin: Final[Any] = confluent_kafka.admin


class KafkaOffsets:
    """Offsets of all partitions of some topics, and what groups have committed, in the order of their places.

    Place = number of the topic x partitions + partition. Methods raise BrokerError where the cluster does not answer.
    """

    def __init__(self, asker: Asker, topics: Sequence[str], partitions: int, groups: Sequence[str] = ()) -> None:
        self._asker = asker
        self._places = [TopicPartition(topic, number) for topic in topics for number in range(partitions)]
        self._topics = f"topic {topics[0]}" if len(topics) == 1 else f"{len(topics)} topics"
        self._groups = groups
        self._readers: dict[int, ck.Consumer] = {}

    def log_starts(self) -> list[int]:
        """Offset of the first message that is kept, in each place."""
        return self._offsets("log starts", _admin.OffsetSpec.earliest())

    def log_ends(self) -> list[int]:
        """Offset of the next message to come, in each place."""
        return self._offsets("log ends", _admin.OffsetSpec.latest())

    def are_served(self) -> bool:
        """Whether every leader serves its places: each broker learns of a new topic by itself."""
        return bool(self._answer("log ends", _admin.OffsetSpec.latest(), gone=KafkaError.UNKNOWN_TOPIC_OR_PART))

    def at(self, epoch_ms: int) -> list[int]:
        """Offset of the first message stamped at or after a time, in each place; the end where none is."""
        found = self._offsets("offsets at a time", _admin.OffsetSpec.for_timestamp(epoch_ms))
        return [end if offset < 0 else offset for offset, end in zip(found, self.log_ends(), strict=True)]

    def committed(self, group: int) -> list[int | None]:
        """Committed offset of a group in each place; None where there is none."""
        if group not in self._readers:
            self._readers[group] = self._asker.consumer(self._groups[group])
        ask = self._readers[group].committed

        def once() -> list[TopicPartition]:
            return checked(ask(self._places, timeout=self._asker.timeout_seconds))

        answer = self._asker.patiently(f"commits of group {self._groups[group]} were not read", once)
        known = {(place.topic, place.partition): place.offset for place in answer}
        offsets = (known[place.topic, place.partition] for place in self._places)
        return [offset if offset >= 0 else None for offset in offsets]

    def close(self) -> None:
        """Let go of the clients."""
        let_go([reader.close for reader in self._readers.values()])

    def _offsets(self, what: str, spec: Any) -> list[int]:
        answer = self._answer(what, spec)
        return [int(answer[place].offset) for place in self._places]

    def _answer(self, what: str, spec: Any, gone: int | None = None) -> dict[Any, Any]:
        asked, send = dict.fromkeys(self._places, spec), self._asker.admin.list_offsets
        return self._asker.ask(f"{what} of {self._topics} were not read", send, asked, gone=gone)


def open_offsets(spec: ClientSpec, groups: Sequence[str], partitions: int, timeout_seconds: float) -> KafkaOffsets:
    """A client of its own that asks once each time: for who asks often, and takes no answer for an answer."""
    return KafkaOffsets(Asker(spec.settings, timeout_seconds, 0), spec.topics, partitions, groups)


def checked(places: list[TopicPartition]) -> list[TopicPartition]:
    """The partitions of an answer as they are; raises the first error that one of them carries."""
    for place in places:
        if place.error is not None:
            raise KafkaException(place.error)
    return places
