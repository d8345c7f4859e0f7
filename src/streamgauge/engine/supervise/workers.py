"""The workers of a run, as their supervisor sees them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from streamgauge.domain.folder.facts import WorkerFacts
from streamgauge.engine.board import Order, Slot, State
from streamgauge.engine.ports.workers import Board, Job, Process
from streamgauge.engine.worker.observers import QueryJob
from streamgauge.engine.worker.roles import ConsumerJob

JOINING: Final = ("consumer", "tracker")
"""Roles that join groups, all at the same time."""
_ALONE: Final = ("query", "lookup", "lag", "controller")
"""Roles of which a run has one worker at most."""


@dataclass(slots=True)
class Worker:
    """One worker, as its supervisor sees it."""

    name: str
    role: str
    numbers: tuple[int, ...]
    rows: tuple[int, ...]
    """Rows of the board, one for each of its clients."""
    job: Job
    process: Process
    ended_ns: int | None = None
    is_meant_dead: bool = False
    """Whether the scenario asks for its death."""

    def is_over(self) -> bool:
        """Whether its process has ended."""
        return self.process.poll() is not None

    def is_in_order(self) -> bool:
        """Whether it lives, or ended because it had done all that it was to do."""
        return self.process.poll() in (None, 0)

    def state(self, board: Board) -> State:
        """How far it is: as far as the last of its clients."""
        return min(board.state(row) for row in self.rows)

    def facts(self, board: Board) -> WorkerFacts:
        """What run.json says of it."""
        code = self.process.poll()
        return WorkerFacts(
            name=self.name,
            role=self.role,
            number=self.numbers[0],
            members=list(self.numbers),
            pid=self.process.pid,
            exit_code=code,
            ended_ns=self.ended_ns,
            declared_dead=self.is_meant_dead and code not in (None, 0),
            error=board.said(self.rows[0]),
            dropped_rows=int(board.slots[list(self.rows), Slot.DROPPED].sum()),
            next_seqs=board.slots[list(self.rows), Slot.NEXT_SEQ].tolist() if self.role == "producer" else None,
        )


@dataclass(slots=True)
class Workers:
    """All workers of a run, in the order of their rows."""

    board: Board
    each: list[Worker] = field(default_factory=list)
    received_before: int = 0
    """What consumers had received when the measure phase began."""

    @property
    def share(self) -> bool:
        """Whether consumers are members of share groups."""
        return any(isinstance(worker.job, ConsumerJob) and worker.job.shares for worker in self.each)

    def of(self, role: str) -> list[Worker]:
        """Those of a role."""
        return [worker for worker in self.each if worker.role == role]

    def in_order(self, role: str) -> list[Worker]:
        """Those of a role that live, or ended because they had done all that they were to do."""
        return [worker for worker in self.of(role) if worker.is_in_order()]

    def is_alive(self, role: str) -> bool:
        """Whether any of a role lives."""
        return any(not worker.is_over() for worker in self.of(role))

    def rows(self, role: str, *, alive: bool = False) -> list[int]:
        """The rows of all clients of a role, or of those that live."""
        return [row for worker in self.of(role) if not (alive and worker.is_over()) for row in worker.rows]

    def rows_by_group(self, *, alive: bool = False) -> dict[int, list[int]]:
        """The rows of each group's consumers: of all of them, or of those that live."""
        groups: dict[int, list[int]] = {}
        for worker in self.each:
            if isinstance(worker.job, ConsumerJob) and not (alive and worker.is_over()):
                for row, member in zip(worker.rows, worker.job.members, strict=True):
                    groups.setdefault(member.group, []).append(row)
        return groups

    def newly_dead(self, now_ns: int) -> list[Worker]:
        """Those that did not end in order, and are found dead for the first time."""
        over = [worker for worker in self.each if worker.ended_ns is None and worker.is_over()]
        for worker in over:
            worker.ended_ns = now_ns
        return [worker for worker in over if not worker.is_in_order()]

    def let_join(self) -> None:
        """Give the order to join groups, once all who join one can."""
        if all(each.state(self.board) >= State.JOINING for each in self.each if each.role in JOINING):
            self.board.give(Order.JOIN)

    def not_ready(self) -> list[str]:
        """The names of those that cannot begin yet, without those that wait for others to join their groups."""
        waiting = State.JOINING if self.board.order < Order.JOIN else None
        states = [(each.name, each.state(self.board)) for each in self.each]
        return [name for name, state in states if state < State.READY and state != waiting]

    def are_groups_complete(self, partitions: int, topics: int) -> bool:
        """Whether every group has all partitions that it reads, of so many topics together."""
        assigned = [self.board.slots[rows, Slot.ASSIGNED].tolist() for rows in self.rows_by_group().values()]
        if self.share:
            return all(is_share_group_complete(each, partitions) for each in assigned)
        return all(is_group_complete(each, partitions, topics) for each in assigned)

    def are_flushed(self) -> bool:
        """Whether every producer that lives has a report of all it sent, or has no more to do."""
        return all(worker.is_over() or worker.state(self.board) >= State.FLUSHED for worker in self.of("producer"))

    def have_sent(self) -> bool:
        """Whether every producer that did not die has sent all that it was to send, before the time was over."""
        producers = self.in_order("producer")
        return bool(producers) and all(self.board.slots[list(each.rows), Slot.OVER_NS].all() for each in producers)

    def have_read(self, wanted: int | None, *, measured: bool) -> bool:
        """Whether consumers have received so many messages since the measure phase began; never where none is wanted.

        Asked at every tick, it remembers what they had received before.
        """
        if wanted is None:
            return False
        received = int(self.board.slots[self.rows("consumer"), Slot.MESSAGES].sum())
        if not measured:
            self.received_before = received
        return received - self.received_before >= wanted

    def last_ns(self, role: str) -> int | None:
        """When the last message of a role was sent or received; None where there was none."""
        return int(self.board.slots[self.rows(role), Slot.OVER_NS].max()) or None

    def are_meant_dead(self, role: str) -> bool:
        """Whether the scenario asks for the death of every worker of a role that did not end in order."""
        return all(worker.is_meant_dead for worker in self.of(role) if worker.process.poll() != 0)

    def has_given_up(self) -> bool:
        """Whether a worker ended and said why: with a full disk, say, it will not be the only one."""
        return any(not worker.is_in_order() and self.board.said(worker.rows[0]) for worker in self.each)

    def facts(self) -> list[WorkerFacts]:
        """What run.json says of them."""
        return [worker.facts(self.board) for worker in self.each]


def name_of(role: str, numbers: Sequence[int]) -> str:
    """What a worker is called whose clients have these numbers."""
    if role in _ALONE:
        return role
    return f"{role}-{numbers[0]}" if len(numbers) == 1 else f"{role}-{numbers[0]}..{numbers[-1]}"


def reason(facts: WorkerFacts) -> str:
    """Why a worker ended, in words."""
    if facts.error:
        return facts.error
    code = facts.exit_code or 0
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}; see logs/{facts.name}.log"


def is_group_complete(assigned: Sequence[int], partitions: int, topics: int = 1) -> bool:
    """Whether a group with these numbers of partitions has all of them, and no member waits that could have one.

    The range assignor gives partitions of the same number to the same member: with more members than a topic has
    partitions, some have none, however many topics there are.
    """
    if not assigned:
        return True
    least = min(len(assigned), -(-partitions // topics))
    return sum(assigned) == partitions and sum(count > 0 for count in assigned) >= least


def is_share_group_complete(assigned: Sequence[int], partitions: int) -> bool:
    """The same of a share group, whose members may have the same partitions: each has some."""
    return sum(assigned) >= partitions and all(assigned)


def places_of(job: QueryJob) -> list[int]:
    """The places that a query reads."""
    return list(range(job.hosting.first_place, job.hosting.first_place + len(job.hosting.starts)))
