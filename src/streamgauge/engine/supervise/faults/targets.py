"""The targets of faults that a run has: its workers, the processes of its query, and brokers of our own."""

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.folder.facts import node_of
from streamgauge.engine.board import PROCESSES, Cell, Slot, broker_cell
from streamgauge.engine.observe.sample import Watched
from streamgauge.engine.ports.disks import StoringBroker
from streamgauge.engine.ports.links import Links
from streamgauge.engine.ports.workers import Board, Broker
from streamgauge.engine.supervise.faults.actions import Action, Target, Unfinished
from streamgauge.engine.supervise.workers import Worker, Workers
from streamgauge.scenario.model.environment.faults.disks import DiskFault
from streamgauge.scenario.model.environment.faults.families import DISK, FAMILIES, LINK
from streamgauge.scenario.model.environment.faults.fault import BROKER, KILL, PAUSE
from streamgauge.scenario.model.environment.faults.kinds import DoneFault
from streamgauge.scenario.model.environment.faults.links import LinkFault
from streamgauge.scenario.model.environment.faults.processes import RESTART, ROLLING_RESTART, STOP
from streamgauge.scenario.model.environment.faults.when import RunCounts

Send = Callable[[int], None]
"""Sends a signal; OSError where that is not possible."""
STOP_NS: Final = 30 * NS_PER_SECOND
"""Who was asked to end and lives on after so long is killed."""
_LATE: Final = f"it had not ended {STOP_NS // NS_PER_SECOND} s after it was asked to, or when the load was over: killed"


@dataclass(frozen=True, slots=True)
class Signals:
    """A fault that signals begin and end."""

    send: Send
    first: int
    last: int | None = None

    def begin(self, _fault: object) -> None:
        """Send the first."""
        self.send(self.first)

    def end(self, _fault: object) -> None:
        """Send the last, if there is one."""
        if self.last is not None:
            self.send(self.last)


@dataclass(frozen=True, slots=True)
class Restarted:
    """The end of a broker, at once or in order, which is over when it is started again."""

    broker: Broker
    board: Board
    cell: int
    in_order: bool = False

    def begin(self, _fault: object) -> Unfinished:
        """Kill it, or ask it to end, and wait until it has ended: only then can it be started again."""
        self.broker.signal(signal.SIGTERM if self.in_order else signal.SIGKILL)
        return Unfinished(lambda: self.broker.has_ended, STOP_NS, lambda: self.broker.signal(signal.SIGKILL), _LATE)

    def end(self, _fault: object) -> None:
        """Start it again, and tell who looks at processes which one it is now."""
        self.broker.restart()
        self.board.control[self.cell] = self.broker.pid


@dataclass(frozen=True, slots=True)
class OnDisk:
    """What is done to the disk of a broker."""

    broker: StoringBroker
    board: Board
    cell: int

    def begin(self, fault: DiskFault) -> None:
        """Begin it."""
        self.broker.disk.begin(fault)

    def end(self, fault: DiskFault) -> None:
        """End it, and tell who looks at processes which one the broker is now."""
        self.broker.disk.end(fault)
        self.board.control[self.cell] = self.broker.pid


@dataclass(frozen=True, slots=True)
class Leaving:
    """A consumer that leaves its group in order, and does not return."""

    worker: Worker
    board: Board

    def begin(self, _fault: object) -> Unfinished:
        """Ask it to."""
        self.board.slots[list(self.worker.rows), Slot.LEAVE] = 1
        process = self.worker.process
        return Unfinished(self.worker.is_over, STOP_NS, lambda: process.signal(signal.SIGKILL), _LATE)

    def end(self, _fault: object) -> None:
        """It is gone."""


def by_signals(send: Send) -> dict[str, Action]:
    """What can be done to any process."""
    return {PAUSE: Signals(send, signal.SIGSTOP, signal.SIGCONT), KILL: Signals(send, signal.SIGKILL)}


def meaning(role: str, numbers: Sequence[int]) -> frozenset[str]:
    """The targets of scenarios that mean a process of this role whose clients have these numbers."""
    return frozenset({role, f"{role}s", *(f"{role}-{number}" for number in numbers)})


def targets_of(workers: Workers, brokers: Sequence[StoringBroker]) -> list[Target]:
    """All that faults can be done to in a run."""
    return [
        *(target_of_worker(worker, workers.board) for worker in workers.each),
        *(target_of_broker(broker, workers.board, broker_cell(place)) for place, broker in enumerate(brokers)),
        *(target for row in workers.rows("query") for target in targets_of_query(workers.board, row)),
    ]


def target_of_worker(worker: Worker, board: Board) -> Target:
    """A worker of this run."""
    meant_by = meaning(worker.role, worker.numbers)
    actions = {**by_signals(worker.process.signal), STOP: Leaving(worker, board)}
    return Target(worker.name, meant_by, actions, worker.is_over)


def targets_of_links(links: Links, faults: Sequence[DoneFault]) -> list[Target]:
    """The links that faults are done to: each pair of sides that one of them names is a target."""
    actions = dict.fromkeys(FAMILIES[LINK], links)
    names = dict.fromkeys(fault.target for fault in faults if isinstance(fault, LinkFault))
    return [Target(name, frozenset({name}), actions) for name in names]


def watched_brokers(brokers: Sequence[Broker]) -> list[Watched]:
    """Brokers of our own as processes to look at, each with the cell that tells which process it has become."""
    return [Watched(broker.name, BROKER, broker.pid, cell=broker_cell(place)) for place, broker in enumerate(brokers)]


def target_of_broker(broker: StoringBroker, board: Board, cell: int) -> Target:
    """A broker of our own, which may be another process after it was started again: its cell tells which."""
    stopped, killed = Restarted(broker, board, cell, in_order=True), Restarted(broker, board, cell)
    again = dict.fromkeys((STOP, RESTART, ROLLING_RESTART), stopped)
    actions: dict[str, Action] = {**by_signals(broker.signal), KILL: killed, **again}
    if broker.is_broker:
        actions |= dict.fromkeys(FAMILIES[DISK], OnDisk(broker, board, cell))
    # Scenarios number brokers as Kafka does: the name of one may have the number of another one.
    meant_by = meaning(BROKER, (broker.number,)) if broker.is_broker else frozenset({node_of(broker.name)})
    return Target(broker.name, meant_by, actions, node=broker.number)


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


def counted_by(workers: Workers) -> Callable[[], RunCounts]:
    """What workers have counted whenever it is asked."""
    slots, senders, receivers = workers.board.slots, workers.rows("producer"), workers.rows("consumer")

    def now() -> RunCounts:
        sent, received = (int(slots[rows, Slot.MESSAGES].sum()) for rows in (senders, receivers))
        lag = int(workers.board.control[Cell.LAG])
        return RunCounts(sent, received, None if lag == NULL_INT64 else lag)

    return now
