"""Where workers run and how they are told what to do; `engine.supervise.local` is here.

A supervisor starts workers through a launcher and talks with them through a board, and knows nothing else of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from streamgauge.engine.board import Order, State
from streamgauge.engine.ports.rows import OpenSink
from streamgauge.workload.pacing import Int64s


class Board(Protocol):
    """Orders down, counters up: what a supervisor and its workers tell each other, one writer for each cell.

    Places are in the order of topic x partitions + partition; rows are those of clients.
    """

    control: Int64s
    """What the supervisor tells all (`Cell`)."""
    slots: Int64s
    """What each client tells (`Slot`)."""
    latencies: Int64s
    """How many latencies of each client fell into each live bucket: of acknowledgement, or end to end."""
    batches: Int64s
    """How many batches of each producer took how long, by live bucket."""
    positions: Int64s
    """Next offset that each client would read in each place; 0 for never read."""
    frontiers: Int64s
    """First offset that is not processed, as far as each client knows, in each place; 0 for nothing processed."""
    foreign: Int64s
    """Messages of others that each group met in each place, each offset once; written by who owns the partition."""
    foreign_ends: Int64s
    """Below which offset those are counted already."""

    @property
    def order(self) -> Order:
        """What the supervisor wants now."""
        ...

    def give(self, order: Order) -> None:
        """Want this; an earlier, stronger order stands."""
        ...

    def give_times(self, start_ns: int, measure_ns: int, load_end_ns: int, drain_ns: int) -> None:
        """Tell when the load begins, is measured and ends, and how long the drain may last; before the order to go."""
        ...

    def times(self) -> tuple[int, int, int, int] | None:
        """What `give_times` told; None while it is not told."""
        ...

    def state(self, row: int) -> State:
        """How far a client is."""
        ...

    def said(self, row: int) -> str | None:
        """The reason that a worker left for its failure, if any."""
        ...


@dataclass(frozen=True, slots=True)
class BoardSpec:
    """What a board is for."""

    run: Path
    clients: int
    places: int
    """Partitions of all topics together."""
    groups: int
    producers: Mapping[int, int]
    """Row of each producer, by its number: for who finds the board after the death of its supervisor."""


class Job(Protocol):
    """What a worker does."""

    def run(self, context: Any, /) -> None:
        """Do it until the run is over; `context` is a `worker.context.Context`."""
        ...


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """Everything a worker needs, wherever it runs."""

    name: str
    rows: tuple[int, ...]
    """Its rows of the board, one for each of its clients."""
    run: Path
    open_sink: OpenSink
    job: Job


class Process(Protocol):
    """A worker that was started."""

    @property
    def pid(self) -> int:
        """The number of its process."""
        ...

    def poll(self) -> int | None:
        """How it ended, negative for a signal; None while it lives."""
        ...

    def signal(self, number: int) -> None:
        """Send it a signal; nothing if it has ended. OSError where that is not possible."""
        ...

    def end(self) -> None:
        """End it by force if it lives, and wait until it is gone."""
        ...


class Launcher(Protocol):
    """Starts the workers of one run."""

    def board(self, spec: BoardSpec) -> Board:
        """A new board, all zero, that workers started from now on share; WorkerError where there is no room for it."""
        ...

    def start(self, spec: WorkerSpec) -> Process:
        """Start a worker."""
        ...

    def close(self) -> None:
        """Let go of the board, when all workers are gone."""
        ...


class Broker(Protocol):
    """A node of a cluster of our own, a process of this machine."""

    @property
    def name(self) -> str:
        """Its name, like `broker-1`; each of its lives may have another."""
        ...

    @property
    def pid(self) -> int:
        """The number of its process now."""
        ...

    @property
    def is_broker(self) -> bool:
        """Whether it serves clients; a controller apart from the brokers does not."""
        ...

    @property
    def number(self) -> int:
        """The cluster's number of it, from 1."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether its process has ended; a paused one has not."""
        ...

    def signal(self, number: int) -> None:
        """Send its process a signal; OSError where that is not possible. What ends of it, ends on purpose."""
        ...

    def restart(self) -> None:
        """Start it again after it has ended; it may be another process then. OSError where that is not possible."""
        ...
