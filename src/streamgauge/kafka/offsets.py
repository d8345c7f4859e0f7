"""Where every partition stands, asked often: one request for all of them, and none about what does not change."""

import logging
from collections.abc import Sequence
from typing import Any, Final

import confluent_kafka as ck
import confluent_kafka.admin
from confluent_kafka import KafkaException, TopicPartition

from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.errors import BrokerError
from streamgauge.processes.patience import let_go

# The module does not say which of its names are meant for others, so that mypy takes none of them.
_admin: Final[Any] = confluent_kafka.admin
_LOGGER: Final = logging.Logger("streamgauge.kafka.offsets")  # noqa: LOG001 - a broker that is gone shows in rows
_LOGGER.addHandler(logging.NullHandler())


class KafkaOffsets:
    """Offsets of all partitions of some topics, each answer within `timeout_seconds` or a BrokerError."""

    def __init__(self, spec: ClientSpec, groups: Sequence[str], partitions: int, timeout_seconds: float) -> None:
        self._timeout = timeout_seconds
        self._places = [TopicPartition(topic, number) for topic in spec.topics for number in range(partitions)]
        settings = dict(spec.settings)
        self._admin: Any = _admin.AdminClient(settings, logger=_LOGGER)
        # A consumer that never joins: the admin client can crash when asked about a group whose coordinator moves.
        self._readers = [
            ck.Consumer({**settings, "group.id": group, "enable.auto.commit": False}, logger=_LOGGER)
            for group in groups
        ]

    def log_starts(self) -> list[int]:
        """Offset of the first message that is kept, in each place."""
        return self._offsets(_admin.OffsetSpec.earliest(), "log starts")

    def log_ends(self) -> list[int]:
        """Offset of the next message to come, in each place."""
        return self._offsets(_admin.OffsetSpec.latest(), "log ends")

    def committed(self, group: int) -> list[int | None]:
        """Committed offset of a group in each place; None where there is none."""
        try:
            answer = self._readers[group].committed(self._places, timeout=self._timeout)
        except KafkaException as error:
            raise BrokerError(f"commits were not read: {error.args[0].str()}") from error
        for place in answer:
            if place.error is not None:
                raise BrokerError(f"commits were not read: {place.error.str()}")
        known = {(place.topic, place.partition): place.offset for place in answer}
        offsets = (known[place.topic, place.partition] for place in self._places)
        return [offset if offset >= 0 else None for offset in offsets]

    def close(self) -> None:
        """Let go of the clients."""
        let_go([reader.close for reader in self._readers])

    def _offsets(self, spec: Any, what: str) -> list[int]:
        try:
            answer = self._admin.list_offsets(dict.fromkeys(self._places, spec), request_timeout=self._timeout)
            return [int(answer[place].result().offset) for place in self._places]
        except KafkaException as error:
            raise BrokerError(f"{what} were not read: {error.args[0].str()}") from error
