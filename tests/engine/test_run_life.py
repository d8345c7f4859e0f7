"""The whole life of a run as its supervisor conducts it, in fake time: nothing sleeps, and no process is started."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP
from types import SimpleNamespace
from typing import Any

import pytest
from tests.injecting import FakeBroker, FakeDisk, fault, scheduled
from tests.links import FakeLinks

from streamgauge.domain import clock
from streamgauge.domain.blocks import Block, ClientSpec
from streamgauge.domain.errors import BrokerError, RecordError, WorkerError
from streamgauge.domain.look import Look
from streamgauge.engine.board import Cells, Order, Slot, State, broker_cell
from streamgauge.engine.consume.loop import Consuming, Reading
from streamgauge.engine.fake import FakeLog, FakeOffsets, FakeReader
from streamgauge.engine.ports.disks import StoringBroker
from streamgauge.engine.ports.workers import Job
from streamgauge.engine.produce.loop import Sending
from streamgauge.engine.produce.sources import Recipe
from streamgauge.engine.supervise.fake import FakeLauncher, FakeProcess, in_order
from streamgauge.engine.supervise.plan import Begun, Interrupts, Outcome, Plan
from streamgauge.engine.supervise.supervisor import (
    ABORT_NS,
    LEAD_NS,
    READY_NS,
    TICK_SECONDS,
    UNUSED_NS,
    Supervisor,
)
from streamgauge.engine.worker.context import Context
from streamgauge.engine.worker.observers import TrackerJob
from streamgauge.engine.worker.roles import ConsumerJob, ConsumerMember, ProducerJob, ProducerMember
from streamgauge.scenario.model.environment.faults.disks import DiskFault
from streamgauge.scenario.model.environment.faults.schedule import Occurrence

SECOND = 1_000_000_000
TICK = round(TICK_SECONDS * SECOND)
PARTITIONS = 2
ENDS = [30, 12]
WARMUP, MEASURE, DRAIN = 2 * SECOND, 10 * SECOND, 5 * SECOND
START = 100 * SECOND


def _never(_spec: Any) -> Any:
    raise AssertionError("nobody opens a client here")


def producer(number: int) -> ProducerJob:
    recipe = Recipe(number, 7, "text", 100, 42, in_headers=False, scheduled=True)
    return ProducerJob(_never, (ProducerMember(ClientSpec("p", ("t",), {}), recipe, Sending()),))


def consumer(number: int) -> ConsumerJob:
    how = Consuming(("t",), PARTITIONS)
    return ConsumerJob(_never, (ConsumerMember(ClientSpec("c", ("t",), {}), Reading(7, None), how, 0, number),), False)


def consumes(process: FakeProcess, board: Cells, now_ns: int) -> None:
    """Has all partitions as soon as it can join, and has read everything two seconds after the load."""
    rows = list(process.spec.rows)
    board.slots[rows, Slot.ASSIGNED] = PARTITIONS if board.order >= Order.JOIN else 0
    over_ns = board.slots[0, Slot.OVER_NS]
    if over_ns and now_ns >= over_ns + 2 * SECOND:
        board.positions[rows] = ENDS
    in_order(process, board, now_ns)


def dies_at(at_ns: int, reason: str | None = None, code: int = 1) -> Callable[[FakeProcess, Cells, int], None]:
    """Does its work until then."""

    def act(process: FakeProcess, board: Cells, now_ns: int) -> None:
        if now_ns < at_ns:
            (consumes if process.spec.name.startswith("consumer") else in_order)(process, board, now_ns)
            return
        process.code = code
        if reason:
            board.say(process.spec.rows[0], reason)

    return act


def does_nothing(_process: FakeProcess, _board: Cells, _now_ns: int) -> None:
    """A worker that hangs."""


def never_ends(process: FakeProcess, board: Cells, now_ns: int) -> None:
    """Follows its orders, but for the last."""
    if board.order < Order.FINISH:
        in_order(process, board, now_ns)


@dataclass
class Rows:
    """A sink of fault rows, which may refuse them."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    full: bool = False

    def append(self, block: Block, count: int) -> None:
        if self.full:
            raise RecordError("the disk is full")
        columns: dict[str, Any] = dict(block)
        self.rows += [tuple(columns[name][at] for name in columns) for at in range(count)]

    def close(self) -> None:
        """Nothing to write."""


@dataclass
class Ground:
    """A run of one producer, two consumers and a sampler, and what happens to it."""

    path: Path
    acts: dict[str, Any] = field(default_factory=dict)
    happens: dict[int, Callable[[], None]] = field(default_factory=dict)
    """What happens from outside, by its time after the order to go, in ns."""
    faults: list[Occurrence] = field(default_factory=list)
    brokers: list[StoringBroker] = field(default_factory=list)
    network: FakeLinks | None = None
    producers: int = 1
    consumers: int = 1
    offsets: FakeOffsets = field(default_factory=lambda: FakeOffsets(ENDS))
    sink: Rows = field(default_factory=Rows)
    interrupts: Interrupts = field(default_factory=Interrupts)
    said: list[str] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    begun: list[Begun] = field(default_factory=list)
    orders: list[tuple[int, Order]] = field(default_factory=list)
    """When each order was seen for the first time."""
    launcher: FakeLauncher = field(init=False)

    def __post_init__(self) -> None:
        self.launcher = FakeLauncher({"consumer-0": consumes, **self.acts}, START)

    def conduct(self) -> Outcome:
        plan = Plan(
            self.path,
            [producer(number) for number in range(self.producers)],
            [consumer(number) for number in range(self.consumers)],
            [],
            self.brokers,
            PARTITIONS,
            list(range(PARTITIONS)),
            WARMUP,
            MEASURE,
            DRAIN,
            lambda *_: self.sink,
            faults=self.faults,
            network=self.network,
        )
        return Supervisor(
            plan,
            self.launcher,
            self.offsets,
            self.interrupts,
            self.said.append,
            self.looks.append,
            self.begun.append,
            self.launcher.now_ns,
            self._sleep,
        ).conduct()

    def _sleep(self, seconds: float) -> None:
        order = self.launcher.cells.order
        if not self.orders or self.orders[-1][1] != order:
            self.orders.append((self.launcher.at_ns, order))
        for at_ns in [each for each in self.happens if self.launcher.at_ns >= START + each]:
            self.happens.pop(at_ns)()
        self.launcher.sleep(seconds)

    @property
    def codes(self) -> dict[str, int | None]:
        return {name: process.code for name, process in self.launcher.processes.items()}


def test_a_run_goes_through_all_its_phases(tmp_path: Path) -> None:
    """Start, ready, go, load, drain, finish; every order at its time, and every worker gone at the end."""
    ground = Ground(tmp_path)
    outcome = ground.conduct()

    start = outcome.phases[0].from_ns
    assert start == pytest.approx(START + LEAD_NS, abs=2 * TICK)
    spans = {phase.name: (phase.from_ns - start, phase.to_ns - start) for phase in outcome.phases}
    assert spans["warmup"] == (0, WARMUP)
    assert spans["measure"] == (WARMUP, WARMUP + MEASURE)
    assert spans["drain"][0] == WARMUP + MEASURE
    assert spans["drain"][1] == pytest.approx(WARMUP + MEASURE + 2 * SECOND, abs=5 * TICK)
    assert [order for _, order in ground.orders] == [
        Order.PREPARE, Order.JOIN, Order.GO, Order.STOP_LOAD, Order.FINISH,
    ]  # fmt: skip
    assert ground.codes == {"producer-0": 0, "consumer-0": 0, "sampler-0": 0}
    assert (outcome.ending, outcome.reasons, outcome.drained) == ("finished", [], True)
    assert outcome.load_ended_ns == start + WARMUP + MEASURE
    assert ground.launcher.closed
    assert ground.interrupts.load_ended
    assert [worker.name for worker in ground.begun[0].workers] == ["producer-0", "consumer-0", "sampler-0"]
    assert ground.said == ["starting 1 producer and 1 consumer", "warm-up 2 s, measure 10 s", "draining"]
    assert {look.stage for look in ground.looks} == {"starting", "warmup", "measure", "drain", "ending"}


def test_consumers_join_their_groups_when_all_of_them_can(tmp_path: Path) -> None:
    """Whoever joined alone would get all partitions, and give most of them back later."""
    late_ns = START + 3 * SECOND

    def half(process: FakeProcess, board: Cells, now_ns: int) -> None:
        consumes(process, board, now_ns)
        board.slots[list(process.spec.rows), Slot.ASSIGNED] //= 2

    def late(process: FakeProcess, board: Cells, now_ns: int) -> None:
        if now_ns >= late_ns:
            half(process, board, now_ns)

    ground = Ground(tmp_path, {"consumer-0": half, "consumer-1": late}, consumers=2)
    outcome = ground.conduct()

    assert outcome.ending == "finished"
    assert {order: at_ns for at_ns, order in ground.orders}[Order.JOIN] == pytest.approx(late_ns, abs=2 * TICK)


@pytest.mark.parametrize("name", ["consumer-0", "tracker-0"])
def test_who_joins_a_group_opens_its_client_when_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Before, it only says that it could."""
    board = Cells.new(1, PARTITIONS)
    opened: list[Order] = []

    def sleep(_seconds: float) -> None:
        assert (opened, board.state(0)) == ([], State.JOINING)
        board.give(Order.JOIN)

    def opens(*_: Any) -> Any:
        opened.append(board.order)
        raise WorkerError("enough")

    monkeypatch.setattr(clock, "sleep_seconds", sleep)
    jobs: dict[str, Job] = {"consumer-0": replace(consumer(0), open_reader=opens), "tracker-0": TrackerJob(opens, 0, 0)}
    with pytest.raises(WorkerError, match="enough"):
        jobs[name].run(Context(name, (0,), tmp_path, lambda *_: Rows(), board))

    assert opened == [Order.JOIN]


def test_a_load_that_is_sent_before_its_time_is_over_then(tmp_path: Path) -> None:
    """The drain follows at once."""

    def sends_for_a_while(process: FakeProcess, board: Cells, now_ns: int) -> None:
        in_order(process, board, now_ns)
        if board.order == Order.GO and now_ns >= START + 5 * SECOND:
            board.slots[0, Slot.OVER_NS] = board.slots[0, Slot.OVER_NS] or START + 5 * SECOND

    outcome = Ground(tmp_path, {"producer-0": sends_for_a_while}).conduct()

    assert outcome.load_ended_ns == START + 5 * SECOND
    assert (outcome.ending, outcome.drained) == ("finished", True)


def test_a_worker_that_never_gets_ready_fails_the_run(tmp_path: Path) -> None:
    """In bounded time; nobody is left."""
    ground = Ground(tmp_path, {"producer-0": does_nothing})
    outcome = ground.conduct()

    assert outcome.ending == "failed"
    assert outcome.reasons == [
        "producer-0 was not ready within 90 s", "producer-0 did not exit and was killed",
    ]  # fmt: skip
    assert ground.launcher.at_ns == pytest.approx(START + READY_NS + ABORT_NS, abs=5 * TICK)
    assert ground.codes == {"producer-0": -SIGKILL, "consumer-0": 0, "sampler-0": 0}
    assert outcome.phases == []


def test_who_waits_for_others_to_join_is_not_late(tmp_path: Path) -> None:
    """It is the one that does not come that keeps the run."""
    outcome = Ground(tmp_path, {"consumer-1": does_nothing}, consumers=2).conduct()

    assert outcome.reasons[0] == "consumer-1 was not ready within 90 s"


def test_a_group_that_never_gets_its_partitions_fails_the_run(tmp_path: Path) -> None:
    """Though every worker is ready."""
    outcome = Ground(tmp_path, {"consumer-0": in_order}).conduct()

    assert outcome.reasons == ["the consumer group was not ready within 90 s"]


def test_a_worker_that_dies_before_it_is_ready_fails_the_run_at_once(tmp_path: Path) -> None:
    """With the reason that it left."""
    ground = Ground(tmp_path, {"producer-0": dies_at(0, "no such topic")})
    outcome = ground.conduct()

    assert outcome.reasons == ["producer-0 ended before it was ready: no such topic"]
    assert ground.launcher.at_ns < START + SECOND


@pytest.mark.parametrize(("left", "seconds"), [(0, 1), (1, READY_NS // SECOND)])
def test_nobody_waits_for_workers_whose_brokers_have_all_ended(tmp_path: Path, left: int, seconds: int) -> None:
    """They would wait for metadata, which nobody can tell them. One of two brokers that ends is another matter."""
    brokers = [FakeBroker(name="broker-1", has_ended=True), FakeBroker(name="broker-2", has_ended=not left)]
    ground = Ground(tmp_path, {"producer-0": does_nothing}, brokers=[*brokers])
    outcome = ground.conduct()

    expected = "producer-0 was not ready within 90 s" if left else "no broker was left before the load started"
    assert (outcome.ending, outcome.reasons[0], outcome.cluster_answers) == ("failed", expected, bool(left))
    assert ground.launcher.at_ns <= START + seconds * SECOND + 2 * ABORT_NS


@pytest.mark.parametrize(
    ("name", "reason", "expected"),
    [
        ("producer-0", None, ["producer-0 died: exit code 1; see logs/producer-0.log", "no producer is running"]),
        ("consumer-0", "boom", ["consumer-0 died: boom", "no consumer is running"]),
        ("sampler-0", "disk full", ["sampler-0 died: disk full"]),
    ],
)
def test_a_worker_that_dies_under_load_ends_it(tmp_path: Path, name: str, reason: str, expected: list[str]) -> None:
    """It is a reason, never a hang; the others stop, drain and write what they have."""
    ground = Ground(tmp_path, {name: dies_at(START + 6 * SECOND, reason)})
    outcome = ground.conduct()

    assert (outcome.ending, outcome.reasons) == ("failed", expected)
    assert outcome.load_ended_ns == pytest.approx(START + 6 * SECOND, abs=3 * TICK)
    assert {code for other, code in ground.codes.items() if other != name} == {0}
    dead = next(worker for worker in outcome.workers if worker.name == name)
    assert dead.ended_ns == pytest.approx(START + 6 * SECOND, abs=3 * TICK)
    assert ground.launcher.cells.slots[list(ground.launcher.processes[name].spec.rows), Slot.ENDED].all()


def test_the_load_goes_on_while_a_producer_is_left(tmp_path: Path) -> None:
    """The run has failed all the same."""
    outcome = Ground(tmp_path, {"producer-0": dies_at(START + 6 * SECOND)}, producers=2).conduct()

    assert outcome.reasons == ["producer-0 died: exit code 1; see logs/producer-0.log"]
    assert outcome.phases[1].to_ns - outcome.phases[1].from_ns == MEASURE


def test_one_interrupt_stops_the_load_and_drains(tmp_path: Path) -> None:
    """What was measured is kept."""
    ground = Ground(tmp_path)
    ground.happens[4 * SECOND] = ground.interrupts.note
    outcome = ground.conduct()

    assert (outcome.ending, outcome.drained, outcome.reasons) == ("interrupted", True, [])
    assert [phase.name for phase in outcome.phases] == ["warmup", "measure", "drain"]
    assert [order for _, order in ground.orders] == [
        Order.PREPARE, Order.JOIN, Order.GO, Order.STOP_LOAD, Order.FINISH,
    ]  # fmt: skip
    assert outcome.load_ended_ns == pytest.approx(START + 4 * SECOND, abs=3 * TICK)
    assert set(ground.codes.values()) == {0}


def test_two_interrupts_end_it_now(tmp_path: Path) -> None:
    """Nobody waits for what does not end: it is killed, and told so."""

    def hangs(process: FakeProcess, board: Cells, now_ns: int) -> None:
        if board.order < Order.STOP_LOAD:
            consumes(process, board, now_ns)

    ground = Ground(tmp_path, {"consumer-0": hangs})
    ground.happens = {4 * SECOND: ground.interrupts.note, 5 * SECOND: ground.interrupts.note}
    outcome = ground.conduct()

    assert [order for _, order in ground.orders] == [
        Order.PREPARE, Order.JOIN, Order.GO, Order.STOP_LOAD, Order.ABORT,
    ]  # fmt: skip
    assert (outcome.ending, outcome.drained) == ("interrupted", False)
    assert outcome.reasons == ["consumer-0 did not exit and was killed"]
    assert ground.launcher.at_ns == pytest.approx(START + 5 * SECOND + ABORT_NS, abs=5 * TICK)


@pytest.mark.parametrize("seconds", [5, 14])
def test_a_run_that_failed_stays_failed_when_the_user_ends_it(tmp_path: Path, seconds: int) -> None:
    """In the load of the producer that is left, and in the drain."""
    ground = Ground(tmp_path, {"producer-0": dies_at(START + 4 * SECOND)}, producers=2)
    ground.offsets.ends = [31, 12]
    ground.happens[seconds * SECOND] = ground.interrupts.note
    outcome = ground.conduct()

    assert (outcome.ending, outcome.reasons) == ("failed", ["producer-0 died: exit code 1; see logs/producer-0.log"])
    assert outcome.load_ended_ns == pytest.approx(START + min(seconds, 12) * SECOND, abs=SECOND)


def test_an_interrupt_before_the_load_leaves_nothing(tmp_path: Path) -> None:
    """There is nothing to drain, and whoever does not end is ended without a word."""
    ground = Ground(tmp_path, {"producer-0": does_nothing})
    ground.happens[SECOND] = ground.interrupts.note
    outcome = ground.conduct()

    assert (outcome.ending, outcome.reasons) == ("interrupted", ["interrupted before the load started"])
    assert [order for _, order in ground.orders] == [Order.PREPARE, Order.JOIN, Order.ABORT]
    assert ground.launcher.at_ns == pytest.approx(START + SECOND + UNUSED_NS, abs=5 * TICK)
    assert (outcome.phases, ground.begun) == ([], [])


def test_who_does_not_end_at_the_end_is_killed(tmp_path: Path) -> None:
    """After a minute; a second interrupt shortens it."""
    ground = Ground(tmp_path, {"sampler-0": never_ends})
    outcome = ground.conduct()

    assert outcome.reasons == [
        "sampler-0 did not exit and was killed", "sampler-0 died: killed by signal 9",
    ]  # fmt: skip
    assert outcome.drained
    hurried = Ground(tmp_path, {"sampler-0": never_ends})
    for at in (20, 21):
        hurried.happens[at * SECOND] = hurried.interrupts.note
    hurried.conduct()
    assert hurried.orders[-1][1] == Order.ABORT
    assert hurried.launcher.at_ns < ground.launcher.at_ns - 30 * SECOND


def test_a_cluster_that_does_not_answer_ends_the_drain(tmp_path: Path) -> None:
    """No position can be asked for: the workers abort."""

    class Gone(FakeOffsets):
        def log_ends(self) -> list[int]:
            raise BrokerError("no broker responds")

    ground = Ground(tmp_path, offsets=Gone(ENDS))
    outcome = ground.conduct()

    assert (outcome.ending, outcome.reasons, outcome.cluster_answers) == ("failed", ["no broker responds"], False)
    assert ground.orders[-1][1] == Order.ABORT


def test_what_is_not_read_by_the_limit_is_not_drained(tmp_path: Path) -> None:
    """The drain is bounded."""

    def reads_nothing(process: FakeProcess, board: Cells, now_ns: int) -> None:
        board.slots[list(process.spec.rows), Slot.ASSIGNED] = PARTITIONS
        in_order(process, board, now_ns)

    outcome = Ground(tmp_path, {"consumer-0": reads_nothing}, offsets=FakeOffsets([31, 12], [[30, 12]])).conduct()

    drain = outcome.phases[-1]
    assert outcome.drained is False
    assert drain.to_ns - drain.from_ns == pytest.approx(DRAIN, abs=5 * TICK)


def test_faults_are_done_and_written_down(tmp_path: Path) -> None:
    """A consumer is paused and let go; a producer that the scenario kills is no failure."""
    faults = scheduled(fault("1s", "pause", "consumers", "2s"), fault("4s", "kill", "producer-1"))
    ground = Ground(tmp_path, {"consumer-0": consumes}, faults=faults, producers=2)
    outcome = ground.conduct()

    measured = outcome.phases[1].from_ns
    got = [(round((at - measured) / SECOND, 1), number) for at, number in ground.launcher.processes["consumer-0"].got]
    assert got == [(1, SIGSTOP), (3, SIGCONT)]
    assert [(round((at - measured) / SECOND, 1), *row) for at, *row, _ in ground.sink.rows] == [
        (1, "pause", "consumer-0", "begin", None, None),
        (3, "pause", "consumer-0", "end", None, None),
        (4, "kill", "producer-1", "begin", None, None),
    ]
    assert [row[-1] - measured for row in ground.sink.rows] == [SECOND, 3 * SECOND, 4 * SECOND]
    assert (outcome.ending, outcome.reasons) == ("finished", [])
    assert [worker.name for worker in outcome.workers if worker.declared_dead] == ["producer-1"]


def test_a_broker_that_was_killed_comes_back_also_when_the_load_ends_before(
    tmp_path: Path,
) -> None:
    """As another process, which the sampler learns of, and who watches the run."""
    broker = FakeBroker()
    ground = Ground(tmp_path, faults=scheduled(fault("2s", "kill", "broker", "1m")), brokers=[broker])
    ground.happens[6 * SECOND] = ground.interrupts.note
    ground.conduct()

    assert broker.got == [(77, SIGKILL)]
    assert (broker.starts, ground.launcher.cells.control[broker_cell(0)]) == (2, 78)
    assert [row[1:4] for row in ground.sink.rows] == [("kill", "broker-1", "begin"), ("kill", "broker-1", "end")]
    assert ground.sink.rows[-1][0] == pytest.approx(START + 6 * SECOND, abs=3 * TICK)
    assert {worker.name for look in ground.looks for worker in look.workers if worker.role == "broker"} == {
        "broker-1",
        "broker-1.2",
    }


class NotingDisk(FakeDisk):
    """The disk of a broker that notes what is done to it, and does nothing."""

    def begin(self, fault: DiskFault) -> None:
        self.calls.append(f"begin {fault.kind}")

    def end(self, fault: DiskFault) -> None:
        self.calls.append(f"end {fault.kind}")
        raise OSError("the broker did not end")


def test_a_fault_of_a_disk_is_two_rows_and_the_second_may_have_an_error(tmp_path: Path) -> None:
    """Also where the load ends before it does."""
    broker, rows = FakeBroker(), Rows()
    broker.disk = NotingDisk(broker)
    given = {"at": "1s", "kind": "truncate-tail", "target": "brokers", "for": "60s", "bytes": "2KiB"}
    ground = Ground(tmp_path, faults=scheduled(given), sink=rows, brokers=[broker])

    ground.conduct()

    assert broker.disk.calls == ["begin truncate-tail", "end truncate-tail"]
    assert [row[1:6] for row in rows.rows] == [
        ("truncate-tail", "broker-1", "begin", "2048 bytes of each partition", None),
        ("truncate-tail", "broker-1", "end", None, "the broker did not end"),
    ]


def test_links_are_as_they_were_also_when_the_load_ends_before(tmp_path: Path) -> None:
    """Their process is looked at, too: its CPU is the instrument's."""
    cut = {"at": "2s", "for": "1m", "kind": "cut", "between": ["clients", "broker-1"]}
    links = FakeLinks()
    ground = Ground(tmp_path, faults=scheduled(cut), network=links)
    ground.happens[5 * SECOND] = lambda: ground.said.append(f"on: {len(links.on)}")
    ground.happens[6 * SECOND] = ground.interrupts.note
    ground.conduct()

    assert "on: 1" in ground.said
    assert links.on == []
    assert [row[1:4] for row in ground.sink.rows] == [
        ("cut", "clients-broker-1", "begin"),
        ("cut", "clients-broker-1", "end"),
    ]
    assert {each.role for look in ground.looks for each in look.workers if each.name == "links"} == {"proxy"}


def test_a_consumer_that_is_stopped_leaves_before_the_others_and_is_no_failure(tmp_path: Path) -> None:
    """Its process ends when it has left; it is neither killed nor declared dead."""

    def leaves(process: FakeProcess, board: Cells, now_ns: int) -> None:
        consumes(process, board, now_ns)
        if board.slots[process.spec.rows[0], Slot.LEAVE] and now_ns > START + 6 * SECOND:
            process.code = 0

    faults = scheduled(fault("1s", "stop", "consumer-0"))
    ground = Ground(tmp_path, {"consumer-0": leaves}, faults=faults)
    outcome = ground.conduct()

    assert [(row[1:4], row[5]) for row in ground.sink.rows] == [
        (("stop", "consumer-0", "begin"), None), (("stop", "consumer-0", "end"), None)
    ]  # fmt: skip
    assert ground.sink.rows[-1][0] == pytest.approx(START + 6 * SECOND, abs=3 * TICK)
    assert not ground.launcher.processes["consumer-0"].got
    assert [worker.name for worker in outcome.workers if worker.declared_dead] == []


@pytest.mark.parametrize(("leaves", "order", "positions"), [(True, Order.GO, 0), (False, Order.FINISH, PARTITIONS)])
def test_who_leaves_early_says_nothing_of_where_the_group_ends(
    tmp_path: Path, leaves: bool, order: Order, positions: int
) -> None:
    """It has its rows all the same."""
    board, counted = Cells.new(1, PARTITIONS), {"lag": 0}

    def open_sink(_run: Path, kind: str, _worker: str, _constants: Any) -> Any:
        def append(_block: Block, count: int) -> None:
            counted[kind] = counted.get(kind, 0) + count

        return SimpleNamespace(append=append, close=lambda: None)

    log = FakeLog(PARTITIONS)
    board.slots[0, Slot.LEAVE] = leaves
    board.give(order)
    job = replace(consumer(0), open_reader=lambda _: FakeReader(log, range(PARTITIONS), None))
    job.run(Context("consumer-0", (0,), tmp_path, open_sink, board))

    assert counted["lag"] == positions


def test_a_fault_that_cannot_be_written_down_fails_the_run(tmp_path: Path) -> None:
    """It is done all the same."""
    ground = Ground(tmp_path, faults=scheduled(fault("1s", "pause", "consumer-0", "1s")), sink=Rows(full=True))
    outcome = ground.conduct()

    assert outcome.reasons == ["supervisor: a fault event was not recorded: the disk is full"]
    assert len(ground.launcher.processes["consumer-0"].got) == 2


def test_states_only_rise(tmp_path: Path) -> None:
    """A fake that went back would hide what a supervisor does."""
    seen: list[State] = []

    def noted(process: FakeProcess, board: Cells, now_ns: int) -> None:
        in_order(process, board, now_ns)
        seen.append(board.state(process.spec.rows[0]))

    Ground(tmp_path, {"producer-0": noted}).conduct()

    assert seen == sorted(seen)
    assert set(seen) == {State.READY, State.FLUSHED, State.DONE}
