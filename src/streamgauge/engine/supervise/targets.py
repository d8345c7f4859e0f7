"""The targets of faults that a run has: its workers, the processes of its query, and brokers of our own."""

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streamgauge.engine.board import PROCESSES, Slot, broker_cell
from streamgauge.engine.observe.sample import Watched
from streamgauge.engine.ports.workers import Action, Board, Broker, Target
from streamgauge.engine.supervise.workers import Worker, Workers
from streamgauge.scenario.model.faults import BROKER, KILL, PAUSE

Send = Callable[[int], None]
"""Sends a signal; OSError where that is not possible."""


@dataclass(frozen=True, slots=True)
class Signals:
    """A fault that signals begin and end."""

    send: Send
    first: int
    last: int | None = None

    def begin(self) -> None:
        """Send the first."""
        self.send(self.first)

    def end(self) -> None:
        """Send the last, if there is one."""
        if self.last is not None:
            self.send(self.last)


@dataclass(frozen=True, slots=True)
class Restarted:
    """The death of a broker, which ends when it is started again."""

    send: Send
    broker: Broker
    board: Board
    cell: int

    def begin(self) -> None:
        """Kill it."""
        self.send(signal.SIGKILL)

    def end(self) -> None:
        """Start it again, and tell who looks at processes which one it is now."""
        self.broker.restart()
        self.board.control[self.cell] = self.broker.pid


def by_signals(send: Send) -> dict[str, Action]:
    """What can be done to any process."""
    return {PAUSE: Signals(send, signal.SIGSTOP, signal.SIGCONT), KILL: Signals(send, signal.SIGKILL)}


def meaning(role: str, numbers: Sequence[int]) -> frozenset[str]:
    """The targets of scenarios that mean a process of this role whose clients have these numbers."""
    return frozenset({role, f"{role}s", *(f"{role}-{number}" for number in numbers)})


def targets_of(workers: Workers, brokers: Sequence[Broker]) -> list[Target]:
    """All that faults can be done to in a run."""
    return [
        *(target_of_worker(worker) for worker in workers.each),
        *(target_of_broker(broker, workers.board, broker_cell(place)) for place, broker in enumerate(brokers)),
        *(target for row in workers.rows("query") for target in targets_of_query(workers.board, row)),
    ]


def target_of_worker(worker: Worker) -> Target:
    """A worker of this run."""
    meant_by = meaning(worker.role, worker.numbers)
    return Target(worker.name, meant_by, by_signals(worker.process.signal), worker.is_over)


def watched_brokers(brokers: Sequence[Broker]) -> list[Watched]:
    """Brokers of our own as processes to look at, each with the cell that tells which process it has become."""
    return [Watched(broker.name, BROKER, broker.pid, cell=broker_cell(place)) for place, broker in enumerate(brokers)]


def target_of_broker(broker: Broker, board: Board, cell: int) -> Target:
    """A broker of our own, which may be another process after it was started again: its cell tells which."""

    def send(number: int) -> None:
        os.kill(broker.pid, number)

    actions = {**by_signals(send), KILL: Restarted(send, broker, board, cell)}
    return Target(broker.name, meaning(BROKER, ()) | {broker.name}, actions)


def targets_of_query(board: Board, row: int) -> list[Target]:
    """The processes that carry out the query, whichever they are when a fault is done to them."""

    def target(place: int, name: str) -> Target:
        cell = Slot.PROCESSES + place

        def send(number: int) -> None:
            pid = int(board.slots[row, cell])
            # 0 is whoever asks, and all of its group.
            if not pid:
                raise ProcessLookupError(f"{name} is not running")
            os.kill(pid, number)

        role, _, number = name.partition("-")
        meant_by = meaning(role, (int(number),) if number else ())
        return Target(name, meant_by, by_signals(send), lambda: not board.slots[row, cell])

    return [target(place, name) for place, name in enumerate(PROCESSES)]
