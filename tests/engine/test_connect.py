"""The loop of connections: what is due is done, when it is due or late, and every operation leaves a row."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest

from streamgauge.domain.blocks import NULL_INT64, Block, ConnectionKind, Work
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.engine.board import Cells, Order, Slot
from streamgauge.engine.connect import GRACE_NS, PREPARE_NS, Connector, shares
from streamgauge.engine.fake import FakeTime
from streamgauge.workload.pacing import Int64s

START_NS = 5 * NS_PER_SECOND
OPEN = Work(ConnectionKind.OPEN, Fraction(10))


@dataclass
class Rows:
    """A sink that keeps rows."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def append(self, block: Block, count: int) -> None:
        """Take rows."""
        columns: Mapping[str, Any] = block
        self.rows += [{name: values[place] for name, values in columns.items()} for place in range(count)]

    def close(self) -> None:
        """Nothing to write."""

    def column(self, name: str) -> list[Any]:
        """One column."""
        return [row[name] for row in self.rows]


@dataclass
class FakeConnections:
    """Answers after `took_ns` of a number of the fake clock; `error` names the errors."""

    time: FakeTime = field(default_factory=lambda: FakeTime(tick_ns=0))
    took_ns: Callable[[int], int] = lambda _number: 2 * NS_PER_MS
    error: Callable[[int], str | None] = lambda _number: None
    used: list[tuple[ConnectionKind, int]] = field(default_factory=list)

    def use(self, kind: ConnectionKind, number: int) -> tuple[int, str | None]:
        """Let time pass."""
        self.used.append((kind, number))
        self.time.sleep(self.took_ns(number) / NS_PER_SECOND)
        return self.time.now_ns(), self.error(number)

    def close(self) -> None:
        """Nothing to close."""


class FakeStop(threading.Event):
    """Waits on a fake clock; set by itself at `at_ns`."""

    def __init__(self, time: FakeTime, at_ns: int | None = None) -> None:
        super().__init__()
        self.time, self.at_ns = time, at_ns

    def wait(self, timeout: float | None = None) -> bool:
        """Let time pass, up to the moment at which it is set."""
        end_ns = self.time.at_ns + round((timeout or 0) * NS_PER_SECOND)
        if self.at_ns is not None and end_ns >= self.at_ns:
            end_ns = self.at_ns
            self.set()
        self.time.sleep((end_ns - self.time.at_ns) / NS_PER_SECOND)
        return self.is_set()


@dataclass
class Ground:
    """A connector with all that it needs, on a fake clock."""

    client: FakeConnections = field(default_factory=FakeConnections)
    work: tuple[Work, ...] = (OPEN,)
    stop_ns: int | None = None
    order: Order = Order.PREPARE
    sink: Rows = field(default_factory=Rows)
    slot: Int64s = field(default_factory=lambda: np.zeros(16, np.int64))

    def connector(self) -> Connector:
        """The connector."""
        stopped = FakeStop(self.client.time, self.stop_ns)
        order: Callable[[], Order] = lambda: self.order  # noqa: E731
        return Connector(self.client, self.work, self.sink, self.slot, order, self.client.time.now_ns, stopped)

    def serve_alone(self, work: Work, end_ns: int) -> None:
        """One thread carries out all of a kind."""
        connector = self.connector()
        (share,) = {id(each): each for each in shares(work)}.values()
        connector.serve(work, share, START_NS, end_ns)
        connector._record()


def test_operations_begin_when_they_are_due() -> None:
    """On an absolute schedule, from the start to the end of the load; each takes its time until the answer."""
    ground = Ground()

    ground.serve_alone(OPEN, START_NS + NS_PER_SECOND)

    dues = [START_NS + number * 100 * NS_PER_MS for number in range(10)]
    assert ground.sink.column("number") == list(range(10))
    assert ground.sink.column("due_ns") == ground.sink.column("at_ns") == dues
    assert set(ground.sink.column("took_ns")) == {2 * NS_PER_MS}
    assert set(ground.sink.column("kind")) == {"open"}
    assert set(ground.sink.column("error")) == {None}


def test_what_is_late_begins_at_once_and_is_not_skipped() -> None:
    """After an operation that took its time the others keep their due times."""
    ground = Ground(FakeConnections(took_ns=lambda number: (350 if number == 2 else 2) * NS_PER_MS))

    ground.serve_alone(OPEN, START_NS + NS_PER_SECOND)

    late_ms = [(row["at_ns"] - row["due_ns"]) / NS_PER_MS for row in ground.sink.rows]
    assert late_ms == [0, 0, 0, 250, 152, 54, 0, 0, 0, 0]


def test_what_is_too_late_at_the_end_does_not_begin() -> None:
    """A second is given to it; a cluster that answers nothing does not keep the run."""
    ground = Ground(FakeConnections(took_ns=lambda _number: 600 * NS_PER_MS))
    end_ns = START_NS + NS_PER_SECOND

    ground.serve_alone(OPEN, end_ns)

    assert ground.sink.column("number") == [0, 1, 2, 3]
    assert ground.sink.rows[-1]["at_ns"] <= end_ns + GRACE_NS < ground.client.time.at_ns


def test_it_ends_when_the_load_is_stopped() -> None:
    """While it waits for the next one."""
    ground = Ground(stop_ns=START_NS + 250 * NS_PER_MS)

    ground.serve_alone(OPEN, START_NS + NS_PER_SECOND)

    assert ground.sink.column("number") == [0, 1, 2]
    assert ground.client.time.at_ns == START_NS + 250 * NS_PER_MS


def test_failures_are_rows_and_are_counted() -> None:
    """The error has its name, and the shared cells tell how many there were."""
    ground = Ground(FakeConnections(error=lambda number: "ECONNREFUSED" if number % 4 == 1 else None))

    ground.serve_alone(OPEN, START_NS + NS_PER_SECOND)

    assert [row["number"] for row in ground.sink.rows if row["error"] == "ECONNREFUSED"] == [1, 5, 9]
    assert (ground.slot[Slot.MESSAGES], ground.slot[Slot.FAILED]) == (10, 3)


@pytest.mark.parametrize(("held", "rate", "threads"), [(3, 3, 3), (12, 1, 5), (100, 100, 32)])
def test_a_held_connection_belongs_to_one_thread(held: int, rate: int, threads: int) -> None:
    """All of them together carry out every use once, each thread in the order of the due times."""
    work = Work(ConnectionKind.HOLD_CONSUMER, Fraction(rate), held)
    taken = [list(islice(share, 60)) for share in shares(work)]

    assert len(taken) == threads
    assert all(share == sorted(share) for share in taken)
    owners = [{operation % held for operation in share} for share in taken]
    assert sum(map(len, owners)) == held
    assert set.union(*owners) == set(range(held))
    first = sorted(operation for share in taken for operation in share if operation < 3 * held)
    assert first == list(range(3 * held))


def test_what_is_not_held_is_taken_by_whoever_is_free() -> None:
    """One thread that waits for an answer delays no other."""
    taken = [next(iter(share)) for share in shares(OPEN)]

    assert taken == list(range(OPEN.at_once))


def test_held_connections_are_used_in_turn() -> None:
    """Their rows have their own numbers; what it takes between two uses is the refresh."""
    ground = Ground()
    work = Work(ConnectionKind.HOLD_PRODUCER, Fraction(1, 2), 1)

    ground.serve_alone(work, START_NS + 5 * NS_PER_SECOND)

    assert ground.sink.column("number") == [0, 0, 0]
    assert ground.sink.column("at_ns") == [START_NS + second * NS_PER_SECOND for second in (0, 2, 4)]


@pytest.mark.parametrize("order", [Order.PREPARE, Order.JOIN])
def test_held_connections_are_made_before_the_load(order: Order) -> None:
    """Each is used once; that was due at no time."""
    work = (
        OPEN,
        Work(ConnectionKind.HOLD_PRODUCER, Fraction(3), 3),
        Work(ConnectionKind.HOLD_METADATA, Fraction(2), 2),
    )
    ground = Ground(FakeConnections(error=lambda number: "_TIMED_OUT" if number == 2 else None), work, order=order)

    ground.connector().prepare()

    made = [
        *((ConnectionKind.HOLD_PRODUCER, number) for number in range(3)),
        (ConnectionKind.HOLD_METADATA, 0),
        (ConnectionKind.HOLD_METADATA, 1),
    ]
    assert ground.client.used == made
    assert set(ground.sink.column("due_ns")) == {NULL_INT64}
    assert ground.sink.column("error") == [None, None, "_TIMED_OUT", None, None]
    assert (ground.slot[Slot.MESSAGES], ground.slot[Slot.FAILED]) == (5, 1)


def test_a_cluster_that_answers_nothing_does_not_keep_the_load() -> None:
    """What was not made in time is made when it is due."""
    work = (Work(ConnectionKind.HOLD_CONSUMER, Fraction(100), 100),)
    ground = Ground(FakeConnections(took_ns=lambda _number: 5 * NS_PER_SECOND), work)

    ground.connector().prepare()

    assert len(ground.sink.rows) == PREPARE_NS // (5 * NS_PER_SECOND) + 1


def test_nothing_is_made_once_the_run_is_over() -> None:
    """Somebody asked for its end while it was prepared."""
    ground = Ground(work=(Work(ConnectionKind.HOLD_CONSUMER, Fraction(100), 100),), order=Order.ABORT)

    ground.connector().prepare()

    assert ground.client.used == []


def run_late(client: Any, work: tuple[Work, ...], seconds: int) -> Rows:
    """With all its threads, on a clock that stands at the end of the load: everything is due."""
    sink, board = Rows(), Cells.new(1, 1)
    end_ns = START_NS + seconds * NS_PER_SECOND
    Connector(client, work, sink, board.slots[0], lambda: Order.GO, lambda: end_ns).run(START_NS, end_ns)
    return sink


def test_all_threads_together_carry_out_everything_once() -> None:
    """Kinds side by side; every operation has one row."""
    work = (OPEN, Work(ConnectionKind.METADATA, Fraction(20)), Work(ConnectionKind.HOLD_PRODUCER, Fraction(50), 50))

    sink = run_late(FakeConnections(), work, 10)

    done = sorted(zip(sink.column("kind"), sink.column("due_ns"), sink.column("number"), strict=True))
    kinds = [kind for kind, _, _ in done]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"open": 100, "metadata": 200, "hold-producer": 500}
    assert len(set(done)) == len(done)
    assert [number for kind, _, number in done if kind == "open"] == list(range(100))
    assert [number for kind, _, number in done if kind == "hold-producer"] == [*range(50)] * 10


@dataclass
class Meeting:
    """Every use waits until so many are under way."""

    together: threading.Barrier
    used: Counter[ConnectionKind] = field(default_factory=Counter)

    def use(self, kind: ConnectionKind, _number: int) -> tuple[int, str | None]:
        """Wait for the others."""
        self.together.wait(30)
        self.used[kind] += 1
        return 0, None

    def close(self) -> None:
        """Nothing to close."""


def test_every_kind_has_threads_of_its_own() -> None:
    """Of both kinds as many as may be are under way, all at the same time."""
    held = Work(ConnectionKind.HOLD_METADATA, Fraction(10), 5)
    client = Meeting(threading.Barrier(OPEN.at_once + held.at_once))

    run_late(client, (OPEN, held), 1)

    assert client.used == {ConnectionKind.OPEN: 10, ConnectionKind.HOLD_METADATA: 10}


def test_the_supervisor_ends_it() -> None:
    """Though the end of the load is far away."""
    orders = iter([Order.GO, Order.STOP_LOAD])
    sink, board = Rows(), Cells.new(1, 1)
    connector = Connector(FakeConnections(), (OPEN,), sink, board.slots[0], lambda: next(orders, Order.STOP_LOAD))
    now_ns = connector.now_ns()

    connector.run(now_ns + 3_600 * NS_PER_SECOND, now_ns + 7_200 * NS_PER_SECOND)

    assert sink.rows == []


def test_what_should_not_happen_ends_the_worker() -> None:
    """An exception of the client is a fault of ours: it is told, and no thread goes on without the others knowing."""

    class Broken(FakeConnections):
        def use(self, kind: ConnectionKind, number: int) -> tuple[int, str | None]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_late(Broken(), (OPEN,), 10)
