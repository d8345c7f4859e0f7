"""A modelled broker as the clients and the administration of a run know one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from streamgauge.domain.blocks import Settings
from streamgauge.modelled.memory import COMMITTED, HEAD, TAKEN, Memory, Shape, begin
from streamgauge.modelled.producer import ModelledProducer
from streamgauge.modelled.reader import ModelledReader
from streamgauge.processes.patience import Check, no_check


class ModelledBroker:
    """One topic in memory: its clients, and what is asked and told about it. Nothing can go wrong with it."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self._memory = shape, begin(shape)
        self.check: Check = no_check

    def taken(self, producer: int) -> int:
        """How many messages of a producer have arrived."""
        first = self.shape.first_lane(producer)
        lanes = len(self.shape.models[producer].servers)
        return int(self._memory.cells[first : first + lanes, TAKEN].sum())

    @property
    def open_producer(self) -> "partial[ModelledProducer]":
        """Opens a producer, in any process: by the number in its name."""
        return partial(ModelledProducer, self.shape)

    @property
    def open_reader(self) -> "partial[ModelledReader]":
        """Opens a reader, in any process."""
        return partial(ModelledReader, self.shape)

    def partitions_of(self, _topic: str) -> int | None:
        """It is asked before the topic is made."""
        return None

    def topic_id(self, _topic: str) -> str | None:
        """There is nothing to be told apart."""
        return None

    def create_topic(
        self,
        _name: str,
        _partitions: int,
        _replication: int,
        _configs: Settings | None = None,
        _assignments: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """The topic is there."""

    def replicas_of(self, _topic: str) -> list[tuple[int, ...]]:
        """It has no brokers."""
        return []

    def delete_topic(self, _name: str) -> None:
        """The topic goes with the memory."""

    def set_committed(self, _group: str, _topic: str, _offsets: Sequence[int]) -> None:
        """Readers begin at the begin."""

    def delete_group(self, _group: str) -> None:
        """Groups are not known."""

    def offsets(self, _topics: Sequence[str], _partitions: int, _groups: Sequence[str] = ()) -> "ModelledOffsets":
        """Where its partitions stand."""
        return ModelledOffsets(self._memory)


@dataclass(frozen=True, slots=True)
class ModelledOffsets:
    """Where the partitions of a modelled broker stand."""

    memory: Memory

    def log_starts(self) -> list[int]:
        """Nothing is ever removed, as far as anybody can tell."""
        return [0] * self.memory.shape.lanes

    def log_ends(self) -> list[int]:
        """Offset of the next message, of each partition."""
        ends: list[int] = self.memory.cells[:, HEAD].tolist()
        return ends

    def at(self, _epoch_ms: int) -> list[int]:
        """No message has a time."""
        return self.log_ends()

    def close(self) -> None:
        """The memory is the broker's."""

    def committed(self, _group: int) -> list[int | None]:
        """What was committed of each partition."""
        return list(self.memory.cells[:, COMMITTED].tolist())
