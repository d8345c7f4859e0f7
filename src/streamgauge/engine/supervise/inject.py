"""Faults that are injected: which signal goes to whom, and when."""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from streamgauge.domain.blocks import Block
from streamgauge.scenario.model.faults import KILL, PAUSE, Injected

BEGIN, END = "begin", "end"


class Mark(NamedTuple):
    """A row of `faults`."""

    at_ns: int
    kind: str
    target: str
    action: str
    detail: str | None = None
    error: str | None = None


def block_of(marks: Sequence[Mark]) -> Block:
    """Their rows; there must be one."""
    at_ns, *texts = zip(*marks, strict=True)
    columns = {name: list(values) for name, values in zip(Mark._fields[1:], texts, strict=True)}
    return {"at_ns": np.array(at_ns, np.int64), **columns}


class Target(NamedTuple):
    """A process that a fault may be done to."""

    name: str
    role: str
    numbers: tuple[int, ...]
    """Numbers of its clients; none for a process that is no worker."""
    send: Callable[[int], None]
    """Sends a signal; OSError where that is not possible."""
    ended: Callable[[], bool]
    revive: Callable[[], None] | None = None
    """Starts it again after it was killed, where that can be done."""


class Step(NamedTuple):
    """One signal that is to be sent."""

    at_ns: int
    """After the begin of the measure phase."""
    fault: Injected
    action: str

    @property
    def signal(self) -> int:
        """Which signal."""
        if self.fault.kind == KILL:
            return signal.SIGKILL
        return signal.SIGSTOP if self.action == BEGIN else signal.SIGCONT


def steps(faults: Sequence[Injected]) -> list[Step]:
    """What is to be done, in the order of its time; what ends comes before what begins at the same time."""
    found = [Step(fault.at, fault, BEGIN) for fault in faults]
    found += [Step(fault.at + fault.for_, fault, END) for fault in faults if fault.for_ is not None]
    return sorted(found, key=lambda step: (step.at_ns, step.action == BEGIN))


def is_meant(fault: Injected, target: Target) -> bool:
    """Whether a fault is done to this process: one of its clients is meant, or all of its role are."""
    return target.role == fault.role and (fault.number is None or fault.number in target.numbers)


@dataclass(slots=True)
class Injector:
    """Sends signals when they are due; `note` is told at once what was done."""

    targets: Sequence[Target]
    now_ns: Callable[[], int]
    note: Callable[[Mark], None]
    _left: list[Step] = field(default_factory=list)
    killed: set[str] = field(default_factory=set)
    """Names of the processes that were ended because the scenario asks for it."""
    _paused: dict[str, Target] = field(default_factory=dict)
    _down: dict[str, Target] = field(default_factory=dict)
    """Killed, and to be started again."""

    def plan(self, faults: Sequence[Injected]) -> None:
        """What is to be done during the measure phase."""
        self._left = steps(faults)

    def turn(self, measure_ns: int) -> None:
        """Do what is due by now."""
        while self._left and self.now_ns() >= measure_ns + self._left[0].at_ns:
            step = self._left.pop(0)
            for target in self.targets:
                if is_meant(step.fault, target):
                    self._do(step, target)

    def release(self) -> None:
        """Let everything go on that is still paused, start again what is to come back, and begin nothing more."""
        self._left.clear()
        for target in list(self._down.values()):
            self._revive(target)
        for target in list(self._paused.values()):
            self._send(target, signal.SIGCONT, PAUSE, END)

    def _do(self, step: Step, target: Target) -> None:
        if step.fault.kind == KILL and step.action == END:
            self._revive(target)
            return
        if target.ended():
            error = "the process has ended already"
            self.note(Mark(self.now_ns(), step.fault.kind, target.name, step.action, error=error))
            return
        if step.fault.kind == KILL:
            self.killed.add(target.name)
            if step.fault.for_ is not None:
                self._down[target.name] = target
        self._send(target, step.signal, step.fault.kind, step.action)

    def _revive(self, target: Target) -> None:
        if self._down.pop(target.name, None) and target.revive:
            target.revive()
            self.note(Mark(self.now_ns(), KILL, target.name, END))

    def _send(self, target: Target, number: int, kind: str, action: str) -> None:
        error = None
        try:
            target.send(number)
        except OSError as failure:
            error = failure.strerror or str(failure)
        if number == signal.SIGSTOP:
            self._paused[target.name] = target
        else:
            self._paused.pop(target.name, None)
        self.note(Mark(self.now_ns(), kind, target.name, action, error=error))
