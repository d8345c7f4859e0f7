"""Clients of a cluster, as the engine needs them; blocks of many messages cross these ports, never single messages.

`kafka.clients`, `kafka.offsets` and `record.table` satisfy them for real, `modelled` and `engine.fake` do without a
broker.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.blocks import (
    Block,
    ClientSpec,
    Committed,
    ConnectionKind,
    Fetched,
    LogEnds,
    Outcome,
    Outgoing,
    Place,
    PlaceReplicas,
    Refused,
)


class ProducerClient(Protocol):
    """A client that sends, and reports what became of every message that it took."""

    @property
    def queue_limit(self) -> int:
        """How many messages the local queue holds at most."""
        ...

    def room(self) -> int:
        """How many messages the local queue still takes; an estimate that `send` may contradict."""
        ...

    def send(self, block: Outgoing) -> Refused:
        """Hand over a block."""
        ...

    def serve(self, timeout_seconds: float) -> None:
        """Serve delivery reports, waiting at most so long for the first."""
        ...

    def reports(self, at_least: int) -> tuple[Block, int]:
        """The rows of `sent` (without the constant columns) that became known since the last call, and their number.

        Nothing, and 0, while there are fewer than `at_least`.
        """
        ...

    def hurry(self) -> None:
        """Send what lingers in the queue at once."""
        ...

    def begin(self) -> None:
        """Begin a transaction."""
        ...

    def end(self, *, commit: bool) -> Outcome:
        """Send what is queued, wait for its reports, and commit the transaction or abort it: what became of it."""
        ...

    def in_flight(self) -> int:
        """Messages taken and not reported yet."""
        ...

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client` since the last call, and their number."""
        ...

    def abandon(self) -> None:
        """Give up all that is in flight; the next `serve` reports it so."""
        ...

    def close(self) -> None:
        """Let go of the client; what is in flight is lost."""
        ...


class Reader(Protocol):
    """Delivers the messages of some partitions: of those that its group gives it, or of its own."""

    @property
    def commits(self) -> "OffsetCommits | None":
        """Where it is told how far its messages are done with; None where nothing is committed."""
        ...

    @property
    def acknowledgements(self) -> "Acknowledgements | None":
        """Where it is told what became of each delivery; None where messages are not acknowledged one by one."""
        ...

    def poll(self, timeout_seconds: float, limit: int, room: Callable[[Place], int] | None = None) -> Fetched | None:
        """What is there, waiting at most so long for the first message; None for nothing.

        At most `limit` messages, and of each partition at most as many as `room` says before the call; the others stay
        for later. With limit 0 nothing is delivered: the group is served, and sees that its member lives.
        """
        ...

    def ends(self) -> list[tuple[int, int, int]]:
        """Topic, partition and end of each log whose end was reached since the last call, where the client sees ends.

        Everything below is delivered.
        """
        ...

    def positions(self) -> list[tuple[int, int, int | None]]:
        """Topic, partition and next offset to read of each partition that this reader has."""
        ...

    def assigned(self) -> int:
        """Partitions of all topics that this reader has now."""
        ...

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of messages, now and for partitions still to come."""
        ...

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client` since the last call, and their number."""
        ...

    def close(self) -> None:
        """Leave the group, once commits are answered; a client that commits by itself commits what is stored."""
        ...


class OffsetCommits(Protocol):
    """Commits the offsets of a member of a group; partitions may go to other members in any poll of its reader."""

    def watch(self, revoked: Callable[[Sequence[Place]], None]) -> None:
        """Call this, in a poll, before partitions go to others; what was stored until it returns is committed."""
        ...

    def store(self, offsets: Sequence[tuple[int, int, int]]) -> None:
        """Note that of these topics and partitions everything below the offset is done with and may be committed."""
        ...

    def commit(self, *, asynchronous: bool) -> None:
        """Commit what is stored, if anything is new; what becomes of it is told by `committed`."""
        ...

    def committed(self) -> list[Committed]:
        """Commits that were answered since the last call, those that the client makes by itself included."""
        ...


class Acknowledgements(Protocol):
    """Acknowledges the deliveries of a reader one by one, in any order."""

    def settle(self, deliveries: Block, accepted: NDArray[np.bool_]) -> None:
        """Acknowledge those that are accepted, and tell of the others that they failed; does not wait.

        Columns are those of `attempts` but its first and last, with `delivery_count` for `attempt`.
        """
        ...

    @property
    def unwritten(self) -> int:
        """Deliveries that failed and that it is about to write again; 0 where others do that."""
        ...

    def answered(self) -> tuple[Block, int]:
        """The rows of `attempts` (without the constant columns) that became known since the last call, and how many."""
        ...

    def finish(self) -> tuple[Block, int]:
        """The same, once all is answered that was told, waiting in bounded time."""
        ...


class Tracker(Protocol):
    """Delivers messages again that are not acknowledged in time."""

    @property
    def open(self) -> int:
        """Messages that are delivered and not acknowledged, as far as it knows."""
        ...

    @property
    def current(self) -> int:
        """Partitions that it has, and of which it knows all that was told before it got them."""
        ...

    @property
    def is_current(self) -> bool:
        """Whether it has partitions, and these are all that it has."""
        ...

    def turn(self, timeout_seconds: float) -> tuple[Block, int]:
        """Redeliver what is due, waiting at most so long for news; rows of `attempts`, and how many."""
        ...

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client` since the last call, and their number."""
        ...

    def close(self) -> None:
        """Let go of the clients; what is open is left to others."""
        ...


class Offsets(Protocol):
    """What a cluster says of all partitions of all topics of a run, in the order of their places.

    Place = number of the topic x partitions + partition. Each answer comes within the bound that the client was made
    with, or BrokerError says why it does not.
    """

    def log_starts(self) -> list[int]:
        """Offset of the first message that is kept."""
        ...

    def log_ends(self) -> list[int]:
        """Offset of the next message to come."""
        ...

    def committed(self, group: int) -> list[int | None]:
        """Committed offset of a group; None where there is none."""
        ...


class OffsetsClient(Offsets, Protocol):
    """A client of its own that is asked about offsets."""

    def close(self) -> None:
        """Let go of the client."""
        ...


class ReplicasClient(Protocol):
    """A client of its own that is asked about the replicas of all partitions of all topics of a run."""

    def look(self) -> Sequence[PlaceReplicas]:
        """The replicas of each place, now; BrokerError says why there is no answer within the bound of the client."""
        ...

    def close(self) -> None:
        """Let go of the client."""
        ...


class QuorumClient(Protocol):
    """A client of its own that is asked who controls the cluster, and how long the logs are on each broker."""

    def look(self) -> tuple[int | None, LogEnds]:
        """Node of the active controller, None if nobody told, and the ends; BrokerError if nobody answers in time."""
        ...

    def close(self) -> None:
        """Let go of the client."""
        ...


class ConnectionsClient(Protocol):
    """Makes, uses and closes connections; called by several threads, but never by two for the same held connection."""

    def use(self, kind: ConnectionKind, number: int) -> tuple[int, str | None]:
        """Carry out operation `number` of a kind, or use held connection `number`, made first where it is not there.

        Returns when it was answered or failed, on the monotonic clock, and the name of the error if it failed; a held
        connection that failed is closed. Bounded in time; raises nothing.
        """
        ...

    def close(self) -> None:
        """Close what is held."""
        ...


OpenTracker = Callable[[], Tracker]
OpenProducer = Callable[[ClientSpec], ProducerClient]
OpenReader = Callable[[ClientSpec], Reader]
OpenConnections = Callable[[ClientSpec], ConnectionsClient]


OpenReplicas = Callable[[ClientSpec, int, float], ReplicasClient]
OpenQuorum = Callable[[ClientSpec, int, float], QuorumClient]
"""Opens a client for the topics of a spec, each with so many partitions; answers come in so many seconds."""


class OpenOffsets(Protocol):
    """Opens a client that is asked about offsets."""

    def __call__(
        self, spec: ClientSpec, groups: Sequence[str], partitions: int, timeout_seconds: float
    ) -> OffsetsClient:
        """Of the topics of `spec`, each with so many partitions, and groups by name; answers come in that time."""
        ...
