"""Whatever was done to brokers that outlive us, and whenever we are killed: whoever comes next undoes all of it.

Processes, signals and time are played; the notes and the registry are real files.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from types import SimpleNamespace
from typing import Any, Final

import psutil
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.cluster.test_disks import fault

from streamgauge.cluster import outages, registry, standing
from streamgauge.cluster.disks import broker_disk
from streamgauge.cluster.registry import Entry
from streamgauge.cluster.standing import StandingBroker
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.processes.identity import ProcessId

BOOTSTRAP: Final = "127.0.0.1:1"
NEVER: Final = 1000
MOMENTS: Final = st.one_of(st.none(), st.none(), st.integers(0, 12))
"""In how many steps somebody is killed, if at all."""
REFUSALS: Final = st.one_of(st.none(), st.none(), st.integers(0, 3))
"""After how many files one cannot be written, if at all."""
LINGERS: Final = st.sampled_from([0, 1, 5, NEVER])
"""How many seconds a broker takes to obey SIGTERM."""
SIGNALS: Final = {"pause": SIGSTOP, "stop": SIGTERM, "kill": SIGKILL}
DISKS: Final = ("disk-fails", "lose-data", "truncate-tail")


class Killed(BaseException):
    """We were killed: nothing after this is done."""


def process_id(pid: int) -> ProcessId:
    """Of a process that is played."""
    return ProcessId(pid=pid, start_ticks=1)


@dataclass
class Played:
    """A process of a broker."""

    pid: int
    data: Path
    alive: bool = True
    paused: bool = False
    limited: bool = False
    """Whether its disk fails: it may end at any time."""
    ends_in: int | None = None
    """Seconds until it obeys SIGTERM; None as long as it was not asked."""

    def passes(self) -> None:
        """A second passes."""
        if self.ends_in is not None and not self.paused:
            self.ends_in -= 1
            self.alive = self.alive and self.ends_in > 0

    def poll(self) -> int | None:
        """As that of a child."""
        return None if self.alive else 0

    def kill(self) -> None:
        """At once."""
        self.alive = False

    def wait(self, _seconds: float) -> int:
        """It was killed."""
        return 0


@dataclass
class World:
    """The processes of a machine, and one of them that is us, which may be killed before any of its next steps."""

    lingers: int = 0
    """How long a broker takes to obey SIGTERM."""
    processes: dict[int, Played] = field(default_factory=dict)
    us: int = 1
    """Who does the next thing."""
    run: int = 1
    """The run that has begun faults, while it lives."""
    steps: int | None = None
    """So many more are done; None for all."""
    refuses: int | None = None
    """After so many files one cannot be written; None where all can."""
    now_ns: int = 0
    known: int = 1
    swept: list[Entry] = field(default_factory=list)

    def step(self) -> None:
        """Something is about to be done."""
        if self.steps == 0:
            raise Killed
        self.steps = None if self.steps is None else self.steps - 1

    @contextmanager
    def living(self, who: int, steps: int | None) -> Iterator[None]:
        """Somebody does something, and may be killed meanwhile; the run is over then, if it was the run."""
        self.us, self.steps = who, steps
        try:
            yield
        except Killed:
            self.us = 0
            self.run = 0 if self.run == who else self.run
        except (OSError, BrokerError, psutil.Error):
            pass
        finally:
            self.steps = self.refuses = None

    def new(self) -> int:
        """Another process that does something."""
        self.known += 1
        return self.known

    def start(self, data: Path) -> Played:
        """A new process."""
        pid = 1000 + len(self.processes)
        self.processes[pid] = Played(pid, data)
        return self.processes[pid]

    def is_alive(self, wanted: ProcessId) -> bool:
        return self.processes[wanted.pid].alive

    def is_gone(self, wanted: ProcessId) -> bool:
        return wanted.pid not in {self.us, self.run} if wanted.pid < 1000 else not self.is_alive(wanted)

    def identify(self, pid: int) -> ProcessId:
        if pid >= 1000 and not self.processes[pid].alive:
            raise psutil.NoSuchProcess(pid)
        return process_id(pid)

    def kill(self, pid: int, number: int) -> None:
        """Send a signal."""
        self.step()
        process = self.processes[pid]
        if not process.alive:
            raise ProcessLookupError
        process.paused = number == SIGSTOP or (process.paused and number != SIGCONT)
        process.alive = number != SIGKILL
        if number == SIGTERM and process.ends_in is None:
            process.ends_in = self.lingers
        if process.ends_in == 0 and not process.paused:
            process.alive = False

    def spawn(self, command: tuple[str, ...], _folder: Path, _log: object) -> Played:
        self.step()
        return self.start(Path(command[-1]).parent)

    def brokers_in(self, data: Path) -> list[Played]:
        return [each for each in self.processes.values() if each.alive and each.data == data]

    def sleep(self, _seconds: float) -> None:
        self.step()
        self.now_ns += NS_PER_SECOND
        for each in self.processes.values():
            each.passes()

    def limit(self, pid: int, _logs: object) -> None:
        self.step()
        if not self.processes[pid].alive:
            raise ProcessLookupError
        self.processes[pid].limited = True

    def patch(self, patches: pytest.MonkeyPatch) -> None:
        """Take the place of the system's."""
        write, unlink = registry.write, Path.unlink

        def written(path: Path, content: Any) -> None:
            self.step()
            self.refuses = None if self.refuses is None else self.refuses - 1
            if self.refuses == -1:
                raise BrokerError("no space left")
            write(path, content)

        def unlinked(path: Path, missing_ok: bool = False) -> None:
            self.step()
            unlink(path, missing_ok=missing_ok)

        system = SimpleNamespace(kill=self.kill, getpid=lambda: self.us)
        clock = SimpleNamespace(
            NS_PER_SECOND=NS_PER_SECOND, monotonic_ns=lambda: self.now_ns, sleep_seconds=self.sleep
        )  # fmt: skip
        found: dict[Any, dict[str, Any]] = {
            outages: {"os": system, "clock": clock, "is_alive": self.is_alive, "is_gone": self.is_gone,
                      "identify": self.identify, "spawn": self.spawn},
            standing: {"os": system, "is_alive": self.is_alive, "identify": self.identify,
                       "_command_of": lambda pid: ("java", str(self.processes[pid].data / registry.PROPERTIES))},
            registry: {"is_alive": self.is_alive, "is_gone": self.is_gone, "brokers_in": self.brokers_in,
                       "write": written, "end": self.swept.append},
            broker_disk: {"limit_files": self.limit, "empty": lambda _: self.step(),
                          "cut_tails": lambda *_: self.step()},
            Path: {"unlink": unlinked},
        }  # fmt: skip
        for where, names in found.items():
            for name, value in names.items():
                patches.setattr(where, name, value)


class Leaving(RuleBasedStateMachine):
    """Faults of a broker that stays, and the death of who does them, or undoes them, at any moment."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.world = pytest.MonkeyPatch(), World()
        # Whatever is left of it is taken away with the object.
        self.place = tempfile.TemporaryDirectory(prefix="outages-")
        self.root = Path(self.place.name)
        self.patches.setenv("XDG_STATE_HOME", str(self.root / "state"))
        self.world.patch(self.patches)
        self.data = self.root / "broker"
        self.data.mkdir()
        text = f"process.roles=broker,controller\nnode.id=1\nlog.dirs={self.data}\n"
        (self.data / registry.PROPERTIES).write_text(text, encoding="ascii")
        process = self.world.start(self.data)
        entry = Entry(
            name="stands", process=process_id(process.pid), owner=None, bootstrap=BOOTSTRAP, version="4",
            data=self.data, temporary=True, log=self.root / "log",
        )  # fmt: skip
        registry.register(entry)
        self.brokers: list[StandingBroker] = []
        self.begun = ""
        """What the run has begun and not ended."""

    @initialize()
    def a_run_begins(self) -> None:
        self.somebody_comes(None, None)

    @rule(steps=MOMENTS, refuses=REFUSALS)
    def somebody_comes(self, steps: int | None, refuses: int | None) -> None:
        """Another run on the cluster: what those before have left is undone first."""
        self.world.refuses = refuses
        self.brokers, self.begun, self.world.run = [], "", self.world.new()
        with self.world.living(self.world.run, steps):
            self.brokers = standing.standing(BOOTSTRAP)

    @rule(steps=MOMENTS, refuses=REFUSALS)
    def somebody_looks(self, steps: int | None, refuses: int | None) -> None:
        """The start of another broker, while the run lives or after it."""
        self.world.refuses = refuses
        with self.world.living(self.world.new(), steps):
            outages.undo()
            registry.sweep()

    def done(self, steps: int | None, refuses: int | None, act: Callable[[StandingBroker], None]) -> None:
        """The run does something to its broker, while it lives."""
        self.world.refuses = refuses
        if self.world.run and self.brokers:
            with self.world.living(self.world.run, steps):
                act(self.brokers[0])

    @precondition(lambda self: not self.begun)
    @rule(kind=st.sampled_from([*SIGNALS, *DISKS]), lingers=LINGERS, steps=MOMENTS, refuses=REFUSALS)
    def begins(self, kind: str, lingers: int, steps: int | None, refuses: int | None) -> None:
        """A run that was killed is followed by another one."""
        if not self.world.run or not self.brokers:
            self.somebody_comes(None, None)
        self.begun, self.world.lingers = kind, lingers
        if kind in SIGNALS:
            self.done(steps, refuses, lambda broker: broker.signal(SIGNALS[kind]))
        else:
            self.done(steps, refuses, lambda broker: broker.disk.begin(fault(kind)))

    @precondition(lambda self: self.begun)
    @rule(steps=MOMENTS, refuses=REFUSALS)
    def ends(self, steps: int | None, refuses: int | None) -> None:
        """As the injector does it: who takes too long to end is killed."""
        kind, self.begun = self.begun, ""

        def end(broker: StandingBroker) -> None:
            if kind == "pause":
                broker.signal(SIGCONT)
            elif kind in DISKS:
                broker.disk.end(fault(kind))
            else:
                with suppress(ProcessLookupError):
                    broker.signal(SIGKILL)
                broker.restart()

        self.done(steps, refuses, end)

    @rule(seconds=st.integers(1, 4), writes=st.booleans())
    def time_passes(self, seconds: int, writes: bool) -> None:
        """A failing disk ends its broker when this writes."""
        for each in self.world.processes.values():
            each.alive = each.alive and not (each.limited and writes)
            for _ in range(seconds):
                each.passes()

    @rule()
    def the_run_is_killed(self) -> None:
        self.world.run, self.brokers, self.begun = 0, [], ""

    @invariant()
    def nobody_is_taken_for_gone(self) -> None:
        """Whose data would be taken away; and nobody works twice on the same."""
        assert self.world.swept == []
        assert len(self.world.brokers_in(self.data)) <= 1

    def teardown(self) -> None:
        """Somebody comes who is not killed, after us."""
        try:
            self.the_run_is_killed()
            self.somebody_looks(None, None)
            self.nobody_is_taken_for_gone()
            (alive,) = self.world.brokers_in(self.data)
            assert (alive.paused, alive.limited, alive.ends_in) == (False, False, None)
            assert [each.process.pid for each in registry.listing()] == [alive.pid]
            assert sorted(path.suffix for path in (self.root / "state").rglob("*") if path.is_file()) == [".json"]
        finally:
            self.patches.undo()
            outages._LEFT.clear()
            self.place.cleanup()


TestLeaving = Leaving.TestCase
TestLeaving.settings = settings(max_examples=200, stateful_step_count=20, deadline=None)
