"""The workers of a run as their supervisor sees them, and the processes that faults can be done to."""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.folder.facts import WorkerFacts
from streamgauge.engine.live import PROCESSES, Cell, Live, Slot, State
from streamgauge.engine.observe.sample import Watched
from streamgauge.engine.supervise.inject import Target
from streamgauge.engine.worker.roles import Job, QueryJob

_ALONE: Final = ("query", "lookup", "lag", "controller")
"""Roles of which a run has one worker at most."""


@dataclass(slots=True)
class Worker:
    """One worker process, as its supervisor sees it."""

    name: str
    role: str
    numbers: tuple[int, ...]
    rows: tuple[int, ...]
    """Rows of the shared cells, one for each of its clients."""
    job: Job
    process: subprocess.Popen[bytes]
    ended_ns: int | None = None
    is_meant_dead: bool = False
    """Whether the scenario asks for its death."""

    def is_over(self) -> bool:
        """Whether its process has ended."""
        return self.process.poll() is not None

    def state(self, live: Live) -> State:
        """How far it is: as far as the last of its clients."""
        return min(live.state(row) for row in self.rows)

    def facts(self, live: Live) -> WorkerFacts:
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
            error=live.said(self.rows[0]),
            dropped_rows=int(live.slots[list(self.rows), Slot.DROPPED].sum()),
            next_seqs=live.slots[list(self.rows), Slot.NEXT_SEQ].tolist() if self.role == "producer" else None,
        )


def name_of(role: str, numbers: Sequence[int]) -> str:
    """What a process is called whose clients have these numbers."""
    if role in _ALONE:
        return role
    return f"{role}-{numbers[0]}" if len(numbers) == 1 else f"{role}-{numbers[0]}..{numbers[-1]}"


def reason(facts: WorkerFacts) -> str:
    """Why a worker ended, in words."""
    if facts.error:
        return facts.error
    code = facts.exit_code or 0
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}; see logs/{facts.name}.log"


def places_of(job: QueryJob) -> list[int]:
    """The places that a query reads."""
    return list(range(job.hosting.first_place, job.hosting.first_place + len(job.hosting.starts)))


def target_of_other(live: Live, each: Watched, revive: Callable[[], int] | None) -> Target:
    """A process that is no worker of this run: a broker, which may come back as another process."""

    def send(number: int) -> None:
        os.kill(int(live.control[Cell.BROKER]) or each.pid, number)

    def again() -> None:
        if revive:
            live.control[Cell.BROKER] = revive()

    return Target(each.name, each.role, (), send, lambda: False, again)


def targets_of_query(live: Live, row: int) -> list[Target]:
    """The processes that carry out the query, whichever they are when a fault is done to them."""

    def target(place: int, name: str) -> Target:
        cell = Slot.PROCESSES + place

        def send(number: int) -> None:
            pid = int(live.slots[row, cell])
            # 0 is whoever asks, and all of its group.
            if not pid:
                raise ProcessLookupError(f"{name} is not there")
            os.kill(pid, number)

        role, _, number = name.partition("-")
        return Target(name, role, (int(number),) if number else (), send, lambda: not live.slots[row, cell])

    return [target(place, name) for place, name in enumerate(PROCESSES)]
