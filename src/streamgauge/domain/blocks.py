"""What crosses the ports between the engine and the outside: blocks, columns of many rows, never single messages.

A column is an array of numbers in which `NULL` stands for null, or one value for all rows. Columns of strings are given
as one value or as a sequence.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.stamp import Stamps
from streamgauge.domain.tables.schema import NULL, Type

Values = (
    NDArray[np.int64]
    | NDArray[np.int32]
    | NDArray[np.int8]
    | NDArray[np.float64]
    | Sequence[str | None]
    | int
    | str
    | bool
    | None
)
Block = Mapping[str, Values]
Settings = Mapping[str, str | int | float | bool]
"""Settings of a client, by name."""
Outcome = Literal["committed", "aborted", "unknown"]
"""What became of a transaction."""

Place = tuple[int, int]
"""Number of a topic, and of one of its partitions."""

MAX_SIZE_BYTES: Final = 100 << 20
"""Largest value of a message."""
FEWEST_AT_ONCE: Final = 4
MOST_AT_ONCE: Final = 32
"""Between these lies the limit of concurrent operations of one kind of connection."""

NULL_INT32: int = NULL[Type.INT32]
NULL_INT64: int = NULL[Type.INT64]
NULL_FLOAT64: float = NULL[Type.FLOAT64]
NULL_BOOL: int = NULL[Type.BOOL]


class PartitionPlace(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class PartitionState(NamedTuple):
    """Who leads a partition, and where its replicas are, by the numbers of brokers."""

    place: PartitionPlace
    leader: int | None
    """None while there is none."""
    replicas: tuple[int, ...]
    """The preferred leader first."""
    in_sync: tuple[int, ...]


class PlaceReplicas(NamedTuple):
    """The replicas of a partition, as the cluster has them at a moment."""

    leader: int | None
    """The node that leads; None without one."""
    in_sync: int
    replicas: int


LogEnds = Mapping[int, Mapping[Place, int] | str]
"""By node: where the log of each partition that it keeps ends, or why it did not answer."""


@dataclass(frozen=True, slots=True)
class ClientSpec:
    """What a client needs to know; plain values that can be sent to another process."""

    worker: str
    topics: tuple[str, ...]
    """Every topic of the run; a topic's place here is its number in run.json and in the rows."""
    settings: Settings
    """Settings of the client by librdkafka's names, complete."""
    stamp_in_header: bool | None = False
    """Whether stamps travel in a record header; None where a consumer has to look in both places."""
    assigned: tuple[Place, ...] | None = None
    """Partitions that a consumer reads whatever others do; None for a member that its group gives partitions."""
    reads: tuple[int, ...] | None = None
    """Numbers of the topics that a consumer reads; None for all."""
    counted_in: str | None = None
    """Header in which messages tell a consumer how often they were redelivered; None where nothing redelivers."""
    sees_ends: bool = False
    """Whether a consumer is told where it reached the end of a log, which lies behind what is no message: the ends of
    transactions, and messages of those that were aborted."""

    @property
    def unacknowledged(self) -> bool:
        """Whether a producer is told nothing of what becomes of its messages: acks 0."""
        return str(self.settings.get("acks", self.settings.get("request.required.acks"))) == "0"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Messages to be handed to a client, all sent now; what a column does not say, it says with None."""

    values: Sequence[bytes | None]
    """None for a tombstone."""
    stamps: Stamps
    """One per message: those in the values, or those that travel in headers."""
    keys: Sequence[bytes | None] | None = None
    topics: Sequence[int] | None = None
    """Number of each message's topic; None where all go to the first."""
    partitions: Sequence[int] | None = None
    """None where the client's partitioner decides."""

    def __len__(self) -> int:
        """Messages in the block."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Refused:
    """Messages of a block that a client did not take: places in the block, and errors other than a full queue."""

    no_room: Sequence[int] = ()
    failed: Sequence[tuple[int, str]] = ()


ALL_TAKEN = Refused()


@dataclass(frozen=True, slots=True)
class Fetched:
    """What one poll delivered: columns of equal length, and the bytes that they were read from."""

    partition: NDArray[np.int32]
    offset: NDArray[np.int64]
    append_ms: NDArray[np.int64] | None
    """None where the topic does not stamp the time of the append."""
    size_bytes: NDArray[np.int32]
    stamps: Stamps
    """One stamp per message; what is no stamp does not look like one."""
    values: Sequence[bytes]
    in_header: NDArray[np.bool_] | bool
    """Whether each stamp was found in a header, so that the checksum covers the whole value."""
    topic: NDArray[np.int32] | int = 0
    """Number of each message's topic, or of all."""
    created_ms: Callable[[], NDArray[np.int64] | None] = lambda: None
    """Gives the times at which producers made the messages; None where the topic does not keep them."""
    empty_ns: int | None = None
    """The earliest time at which the messages can have been ready in the client; None where that says nothing, because
    some were set aside before, or the call was to leave some of them in the client."""
    returned_ns: int | None = None
    """When the client had handed the messages over, before they were decoded; None where the end of the poll tells."""
    deliveries: NDArray[np.int32] | None = None
    """Which delivery of its message each is, from 1; None where nothing redelivers."""
    deadline_ms: NDArray[np.int64] | None = None
    """By the broker's clock, when each is due again unless it is acknowledged; of one from a retry topic, when it was
    due itself. None where nothing redelivers."""
    contents: Callable[[], Sequence[tuple[bytes | None, bytes | None]]] = tuple
    """Gives value and key of each message as they came."""

    @property
    def count(self) -> int:
        """Messages delivered."""
        return len(self.values)


class Committed(NamedTuple):
    """One commit of a consumer that was answered, or given up."""

    at_ns: int
    """When it was begun; where the client commits by itself, when that was answered."""
    took_ns: int | None
    """How long until the answer; None where the client commits by itself."""
    asynchronous: bool
    error: str | None
    """The client's name of the error; None when the offsets are committed."""


class ConnectionKind(StrEnum):
    """What is done with a connection beside the load."""

    OPEN = "open"
    """Opened, answered and closed."""
    METADATA = "metadata"
    """A client is made, fetches metadata and is closed."""
    HOLD_PRODUCER = "hold-producer"
    HOLD_CONSUMER = "hold-consumer"
    HOLD_METADATA = "hold-metadata"


TIMEOUT_SECONDS: Final[Mapping[ConnectionKind, float]] = {
    kind: 0.5 if kind is ConnectionKind.OPEN else 5.0 for kind in ConnectionKind
}
"""Timeout of an operation, after which it has failed."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one kind: operations a second, and over how many held connections they rotate."""

    kind: ConnectionKind
    per_second: Fraction
    held: int = 0
    """0 if every operation creates its own connection."""

    @property
    def at_once(self) -> int:
        """Limit of concurrent operations: as many as are due until the timeout of one."""
        waiting = math.ceil(self.per_second * Fraction(TIMEOUT_SECONDS[self.kind]))
        return min(max(FEWEST_AT_ONCE, waiting), MOST_AT_ONCE, self.held or MOST_AT_ONCE)


def chosen(block: Block, mask: NDArray[np.bool_]) -> Block:
    """The rows of a block that a mask chooses; it has no columns of strings that are a sequence."""
    return {name: each[mask] if isinstance(each, np.ndarray) else each for name, each in block.items()}
