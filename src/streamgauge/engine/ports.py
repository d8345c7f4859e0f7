"""What the engine needs from the outside, as small protocols.

`kafka.clients.producer`, `kafka.clients.consumer` and `record.parts` satisfy them for real,
`engine.fake` without a broker. Blocks of many messages cross them, never one message at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from streamgauge.domain.blocks import (
    Block,
    ClientSpec,
    Committed,
    Fetched,
    Outcome,
    Outgoing,
    Place,
    Refused,
)
from streamgauge.domain.query import News, Progress, QuerySpec


class ProducerClient(Protocol):
    """A client that sends and tells the fate of every message that it took."""

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

    def fates(self, at_least: int) -> tuple[Block, int]:
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
        """Messages taken whose fate is not known."""
        ...

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client` since the last call, and their number."""
        ...

    def abandon(self) -> None:
        """Give up all that is in flight; their fates become known to the next `serve`."""
        ...

    def close(self) -> None:
        """Let go of the client; what is in flight is lost."""
        ...


class ConsumerClient(Protocol):
    """A consumer of a group: a member that is given partitions, or one that has its own."""

    def watch(self, revoked: Callable[[Sequence[Place]], None]) -> None:
        """Call this, in a poll, before partitions go to others; what was stored until it returns is committed."""
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

    def assigned(self) -> int:
        """Partitions of all topics that this consumer has now."""
        ...

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of messages, now and for partitions still to come."""
        ...

    def store(self, offsets: Sequence[tuple[int, int, int]]) -> None:
        """Note that of these topics and partitions everything below the offset is done with and may be committed."""
        ...

    def commit(self, *, asynchronous: bool) -> None:
        """Commit what is stored, if anything is new; what becomes of it is told by `commits`."""
        ...

    def commits(self) -> list[Committed]:
        """Commits that were answered since the last call, those that the client makes by itself included."""
        ...

    def positions(self) -> list[tuple[int, int, int | None]]:
        """Topic, partition and next offset to read of each partition that this consumer has."""
        ...

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client` since the last call, and their number."""
        ...

    def errors(self) -> list[str]:
        """Errors that the client met since the last call, each once."""
        ...

    def close(self) -> None:
        """Leave the group, once commits are answered; a client that commits by itself commits what is stored."""
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

    def close(self) -> None:
        """Let go of the client."""
        ...


class Sink(Protocol):
    """Where the rows of one kind of event go."""

    def append(self, block: Block, count: int) -> None:
        """Take `count` rows."""
        ...

    def close(self) -> None:
        """Write what is still open."""
        ...


class Query(Protocol):
    """A query that stands between two topics, in processes of its own; it may be started again after it ended."""

    @property
    def exit_code(self) -> int | None:
        """How its process ended, negative for a signal; None while it lives, and before it was started."""
        ...

    def start(self) -> None:
        """Start it: from its checkpoint, where there is one."""
        ...

    def alive(self) -> bool:
        """Whether its process lives."""
        ...

    def news(self) -> Sequence[News]:
        """What it told since the last call; does not wait."""
        ...

    def processes(self) -> Mapping[str, int]:
        """Process ids of what carries it out now, by names like `driver` and `executor-0`."""
        ...

    def stop(self) -> None:
        """Ask it to end; `ended` is among its news when it has."""
        ...

    def limit(self, messages: int) -> None:
        """Let batches hold so many messages from now on; those under way may hold what was allowed before."""
        ...

    def kill(self) -> None:
        """End all its processes at once."""
        ...

    def left_behind(self) -> Sequence[Progress]:
        """Batches that its checkpoint knows and that it never told; each once. Of use when it has ended."""
        ...

    def committed(self) -> Sequence[int] | None:
        """First offset of each partition that is not done, by its checkpoint; None where that is not known."""
        ...

    def checkpoint_bytes(self) -> int:
        """How large its checkpoint is."""
        ...

    def close(self) -> None:
        """Let go of it; what still lives is ended."""
        ...


class TableReader(Protocol):
    """Asks a table that grows how much there is in it."""

    def look(self) -> tuple[int, int, int | None]:
        """Rows, files, and the due time of the newest message that any row comes from; RecordError if it fails."""
        ...


OpenQuery = Callable[[QuerySpec], Query]
OpenSink = Callable[[Path, str, str, Mapping[str, int | str | None]], Sink]
"""(run folder, kind, worker, constant columns) -> sink."""
OpenProducer = Callable[[ClientSpec], ProducerClient]
OpenConsumer = Callable[[ClientSpec], ConsumerClient]


class OpenOffsets(Protocol):
    """Opens a client that is asked about offsets."""

    def __call__(self, spec: ClientSpec, groups: Sequence[str], partitions: int, timeout_seconds: float) -> Offsets:
        """Of the topics of `spec`, each with so many partitions, and groups by name; answers come in that time."""
        ...
