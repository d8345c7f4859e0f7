"""Faults as they are to be injected, and brokers that play the part of real ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from typing import Any

from pydantic import TypeAdapter

from streamgauge.scenario.model.environment.faults.disks import DiskFault
from streamgauge.scenario.model.environment.faults.families import DISK_FAILS
from streamgauge.scenario.model.environment.faults.kinds import Injected
from streamgauge.scenario.model.environment.faults.schedule import Occurrence, occurrences

_FAULTS: TypeAdapter[tuple[Injected, ...]] = TypeAdapter(tuple[Injected, ...])
LONG_NS = 10**12


def injected(*given: dict[str, Any]) -> tuple[Injected, ...]:
    """Faults as a scenario says them."""
    return _FAULTS.validate_python(given)


def scheduled(*given: dict[str, Any], measure_ns: int = LONG_NS, seed: int = 42) -> list[Occurrence]:
    """The same one by one."""
    return occurrences(injected(*given), measure_ns, seed)


def fault(at: str, kind: str, target: str, lasting: str | None = None) -> dict[str, Any]:
    """A fault of a process, as a scenario says it."""
    return {"at": at, "kind": kind, "target": target} | ({"for": lasting} if lasting else {})


@dataclass
class FakeDisk:
    """The disk of a broker, which fails or loses something."""

    owner: "FakeBroker"
    fails: bool = False
    """Whether writes fail: the broker ends by itself, sooner or later."""
    calls: list[str] = field(default_factory=list)

    def begin(self, fault: DiskFault) -> None:
        """Fail, or lose something while the broker is dead."""
        self.calls.append("begin")
        self.fails = fault.kind == DISK_FAILS
        if not self.fails and not self.owner.has_ended:
            self.owner.signal(SIGKILL)

    def end(self, fault: DiskFault) -> None:
        """Work again; a broker that did not end was not hit."""
        self.calls.append("end")
        self.fails = False
        if fault.kind == DISK_FAILS and not self.owner.has_ended:
            raise OSError("the broker did not end")
        self.owner.restart()


@dataclass
class FakeBroker:
    """A broker that comes back as another process; one that is asked to end does so when it is told to, or at once."""

    name: str = "broker-1"
    pid: int = 77
    starts: int = 1
    is_broker: bool = True
    number: int = 1
    has_ended: bool = False
    is_paused: bool = False
    lingers: bool = False
    got: list[tuple[int, int]] = field(default_factory=list)
    disk: FakeDisk = field(init=False)

    def __post_init__(self) -> None:
        self.disk = FakeDisk(self)

    def signal(self, number: int) -> None:
        """Die, stop, or go on, as a process does."""
        if self.has_ended:
            raise ProcessLookupError(f"{self.name} is not running")
        self.got.append((self.pid, number))
        self.is_paused = number == SIGSTOP or (self.is_paused and number != SIGCONT)
        self.has_ended = number == SIGKILL or (number == SIGTERM and not self.lingers)

    def restart(self) -> None:
        """Live again, as another process."""
        if not self.has_ended:
            raise OSError(f"{self.name} has not ended")
        self.starts, self.pid, self.has_ended = self.starts + 1, self.pid + 1, False
        self.is_paused = False
        self.name = f"{self.name.partition('.')[0]}.{self.starts}"


def is_as_before(brokers: Sequence[FakeBroker]) -> bool:
    """Whether nothing that was done to brokers is left."""
    return not any(each.has_ended or each.is_paused or each.disk.fails for each in brokers)
