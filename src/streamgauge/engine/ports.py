"""What the engine needs from the outside, as small protocols.

`kafka.producer`, `kafka.consumer` and `record.parts` satisfy them for real, `engine.fake` without a broker. Blocks of
many messages cross them, never one message at a time.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.blocks import Block, ClientSpec, Fetched, Outgoing, Refused


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

    def in_flight(self) -> int:
        """Messages taken whose fate is not known."""
        ...

    def abandon(self) -> None:
        """Give up all that is in flight; their fates become known to the next `serve`."""
        ...

    def close(self) -> None:
        """Let go of the client; what is in flight is lost."""
        ...


class ConsumerClient(Protocol):
    """A member of a consumer group that reads one topic."""

    def poll(self, timeout_seconds: float, limit: int) -> Fetched | None:
        """What is there, waiting at most so long for the first message; None for nothing."""
        ...

    def assigned(self) -> int:
        """Partitions that this member has now."""
        ...

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of messages, now and for partitions still to come."""
        ...

    def store(self, partitions: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Note that everything below these offsets is recorded and may be committed."""
        ...

    def positions(self) -> list[tuple[int, int | None]]:
        """Partition and next offset to read of each partition that this member has."""
        ...

    def errors(self) -> list[str]:
        """Errors that the client met since the last call, each once."""
        ...

    def close(self) -> None:
        """Commit what is stored and leave the group."""
        ...


class Sink(Protocol):
    """Where the rows of one kind of event go."""

    def append(self, block: Block, count: int) -> None:
        """Take `count` rows."""
        ...

    def close(self) -> None:
        """Write what is still open."""
        ...


OpenSink = Callable[[Path, str, str, Mapping[str, int | str | None]], Sink]
"""(run folder, kind, worker, constant columns) -> sink."""
OpenProducer = Callable[[ClientSpec], ProducerClient]
OpenConsumer = Callable[[ClientSpec], ConsumerClient]
