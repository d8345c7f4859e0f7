"""Workers without processes, on a clock that moves only when somebody sleeps: for tests of what a supervisor does.

What a worker does is written in Python, and done whenever time passes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from signal import SIGCONT, SIGKILL, SIGSTOP

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.engine.board import Cells, Order, Slot, State
from streamgauge.engine.ports.workers import BoardSpec, WorkerSpec
from streamgauge.engine.supervise.workers import JOINING


@dataclass(slots=True)
class FakeProcess:
    """A worker as its launcher plays it; `got` are the signals that it was sent, with their times."""

    spec: WorkerSpec
    pid: int
    now_ns: Callable[[], int]
    code: int | None = None
    """How it ended; None while it lives."""
    stopped: bool = False
    got: list[tuple[int, int]] = field(default_factory=list)

    def poll(self) -> int | None:
        """How it ended; None while it lives."""
        return self.code

    def signal(self, number: int) -> None:
        """Die, stop, or go on."""
        if self.code is None:
            self.got.append((self.now_ns(), number))
            self.stopped = number == SIGSTOP or (self.stopped and number != SIGCONT)
            self.code = -SIGKILL if number == SIGKILL else None

    def end(self) -> None:
        """Die, if it lives."""
        self.signal(SIGKILL)


Act = Callable[[FakeProcess, Cells, int], None]
"""What a worker does at some time, with its process and its board."""


def in_order(process: FakeProcess, board: Cells, now_ns: int) -> None:
    """What a worker does that follows its orders: it is ready at once, or once it has joined its group, and ends.

    A producer sends until the load is over.
    """
    rows, role = list(process.spec.rows), process.spec.name.partition("-")[0]
    state, order = board.state(rows[0]), board.order
    if state < State.READY and role in JOINING and order < Order.JOIN:
        board.slots[rows, Slot.STATE] = State.JOINING
    elif state < State.READY:
        board.slots[rows, Slot.STATE] = State.READY
    elif order >= Order.FINISH:
        board.slots[rows, Slot.STATE] = State.DONE
        process.code = 0
    elif role == "producer" and order >= Order.GO and state < State.FLUSHED:
        start_ns, _, end_ns, _ = board.times() or (0, 0, 0, 0)
        if order > Order.GO or now_ns >= end_ns:
            board.slots[rows, Slot.STATE] = State.FLUSHED
            board.slots[rows, Slot.OVER_NS] = min(now_ns, max(end_ns, start_ns))


@dataclass(slots=True)
class FakeLauncher:
    """Plays workers: `acts` are those that do not follow their orders, by the name of the worker."""

    acts: dict[str, Act] = field(default_factory=dict)
    at_ns: int = 0
    cells: Cells = field(init=False)
    processes: dict[str, FakeProcess] = field(default_factory=dict)
    closed: bool = False

    def now_ns(self) -> int:
        """Read the clock."""
        return self.at_ns

    def sleep(self, seconds: float) -> None:
        """Let time pass, and every worker that lives do what it does."""
        self.at_ns += round(seconds * NS_PER_SECOND)
        for name, process in self.processes.items():
            if process.code is None and not process.stopped:
                self.acts.get(name, in_order)(process, self.cells, self.at_ns)

    def board(self, spec: BoardSpec) -> Cells:
        """New cells, in the memory of this process."""
        self.cells = Cells.new(spec.clients, spec.places, spec.groups)
        return self.cells

    def start(self, spec: WorkerSpec) -> FakeProcess:
        """Start a worker, which does nothing before time passes."""
        self.processes[spec.name] = FakeProcess(spec, 1_000 + len(self.processes), self.now_ns)
        return self.processes[spec.name]

    def close(self) -> None:
        """Note that the run is over."""
        self.closed = True
