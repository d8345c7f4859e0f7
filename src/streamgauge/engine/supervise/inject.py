"""Faults that are injected: what is done to whom, and when; each is a row of `faults` as soon as it was done."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from streamgauge.domain.blocks import Block
from streamgauge.domain.errors import RecordError
from streamgauge.engine.ports.rows import Sink
from streamgauge.engine.ports.workers import Target
from streamgauge.scenario.model.faults import KILL, Injected

BEGIN, END = "begin", "end"


class FaultRow(NamedTuple):
    """A row of `faults`."""

    at_ns: int
    kind: str
    target: str
    action: str
    detail: str | None = None
    error: str | None = None


def block_of(rows: Sequence[FaultRow]) -> Block:
    """The rows as columns; there must be one."""
    at_ns, *texts = zip(*rows, strict=True)
    columns = {name: list(values) for name, values in zip(FaultRow._fields[1:], texts, strict=True)}
    return {"at_ns": np.array(at_ns, np.int64), **columns}


@dataclass(frozen=True, slots=True)
class FaultLog:
    """Writes down every fault as soon as it is done: whoever ends the supervisor must not hide what it did.

    `failed` is told why a row could not be written.
    """

    sink: Sink
    failed: Callable[[str], None]

    def note(self, row: FaultRow) -> None:
        """Write one row."""
        try:
            self.sink.append(block_of([row]), 1)
        except RecordError as error:
            self.failed(f"a fault event was not recorded: {error}")

    def close(self) -> None:
        """Nothing more is done to the run; what cannot be written stays in the open part."""
        try:
            self.sink.close()
        except RecordError as error:
            self.failed(str(error))


class Injection(NamedTuple):
    """The begin or the end of one fault."""

    at_ns: int
    """After the begin of the measure phase."""
    fault: Injected
    action: str


def steps(faults: Sequence[Injected]) -> list[Injection]:
    """What is to be done, in the order of its time; what ends comes before what begins at the same time."""
    found = [Injection(fault.at, fault, BEGIN) for fault in faults]
    found += [Injection(fault.at + fault.for_, fault, END) for fault in faults if fault.for_ is not None]
    return sorted(found, key=lambda step: (step.at_ns, step.action == BEGIN))


@dataclass(slots=True)
class Injector:
    """Begins and ends faults when they are due; `note` is told at once what was done."""

    targets: Sequence[Target]
    now_ns: Callable[[], int]
    note: Callable[[FaultRow], None]
    killed: set[str] = field(default_factory=set)
    """Names of the targets that were killed because the scenario asks for it."""
    _left: list[Injection] = field(default_factory=list)
    _begun: list[tuple[Injected, Target]] = field(default_factory=list)
    """What has begun and is to end."""

    def plan(self, faults: Sequence[Injected]) -> None:
        """What is to be done during the measure phase."""
        self._left = steps(faults)

    def turn(self, measure_ns: int) -> None:
        """Do what is due by now."""
        while self._left and self.now_ns() >= measure_ns + self._left[0].at_ns:
            _, fault, action = self._left.pop(0)
            for target in self.targets:
                if fault.target in target.meant_by:
                    self._do(fault, target, action)

    def release(self) -> None:
        """End everything that has begun, and begin nothing more."""
        self._left.clear()
        while self._begun:
            self._carry_out(*self._begun[0], END)

    def _do(self, fault: Injected, target: Target, action: str) -> None:
        if target.ended():
            self._note(fault, target, action, "the process has already ended")
        elif action == BEGIN or (fault, target) in self._begun:
            self._carry_out(fault, target, action)

    def _carry_out(self, fault: Injected, target: Target, action: str) -> None:
        what, error = target.actions[fault.kind], None
        if action == END:
            self._begun.remove((fault, target))
        elif fault.for_ is not None:
            self._begun.append((fault, target))
        if fault.kind == KILL and action == BEGIN:
            self.killed.add(target.name)
        try:
            (what.begin if action == BEGIN else what.end)()
        except OSError as failure:
            error = failure.strerror or str(failure)
        self._note(fault, target, action, error)

    def _note(self, fault: Injected, target: Target, action: str, error: str | None) -> None:
        self.note(FaultRow(self.now_ns(), fault.kind, target.name, action, error=error))
