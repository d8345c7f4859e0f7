"""The sampler records what it saw, and null where there is nothing to see."""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest

from streamgauge.domain.blocks import NULL_INT64, Block
from streamgauge.domain.clock import NS_PER_SECOND, ClockPair
from streamgauge.engine.board import MOST_BROKERS, Cell, Cells, Order, Slot, broker_cell
from streamgauge.engine.fake import FakeTime
from streamgauge.engine.observe.sample import INTERVAL_NS, Sampler, Watched
from streamgauge.engine.supervise.faults import targets
from streamgauge.engine.supervise.workers import Workers
from streamgauge.processes.cpu.quotas import Throttling
from streamgauge.processes.cpu.waiting import Pressure, Threads, Waited
from streamgauge.scenario.model.environment.faults.fault import KILL
from streamgauge.scenario.model.environment.faults.processes import ProcessFault


@dataclass
class Looks:
    """A sink that keeps rows by process."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def append(self, block: Block, count: int) -> None:
        """Take rows."""
        columns: Mapping[str, Any] = block
        self.rows += [{name: values[place] for name, values in columns.items()} for place in range(count)]

    def close(self) -> None:
        """Nothing to write."""

    def of(self, process: str) -> list[dict[str, Any]]:
        """The rows of one process."""
        return [row for row in self.rows if row["process"] == process]


def test_every_process_and_the_host_are_looked_at() -> None:
    """A worker's counters come from its cells; a process that is gone has no row; the host has one."""
    board, looks = Cells.new(1, 1), Looks()
    board.slots[0, Slot.MESSAGES], board.slots[0, Slot.BLOCKED_NS] = 123, 456
    board.slots[0, Slot.COLLECTIONS], board.slots[0, Slot.COLLECTED_NS] = 2, 789
    gone = psutil.Popen(["true"])
    gone.wait()
    watched = [
        Watched("producer-0", "producer", os.getpid(), (0,)),
        Watched("broker-1", "broker", os.getpid()),
        Watched("consumer-0", "consumer", gone.pid, (0,)),
    ]

    Sampler(watched, board, looks, lambda: Order.GO).look()

    (worker,), (broker,), (host,) = looks.of("producer-0"), looks.of("broker-1"), looks.of("host")
    assert (worker["messages"], worker["blocked_ns"], worker["role"]) == (123, 456, "producer")
    assert worker["cpu_ns"] > 0
    assert worker["rss_bytes"] > worker["heap_bytes"] > 1 << 20
    assert worker["threads"] >= threading.active_count()
    assert (worker["gc_collections"], worker["gc_ns"]) == (2, 789)
    assert (broker["gc_collections"], broker["gc_ns"]) == (NULL_INT64,) * 2
    assert (host["heap_bytes"], host["threads"]) == (NULL_INT64,) * 2
    assert (broker["messages"], broker["blocked_ns"], broker["poll_gap_ns"]) == (NULL_INT64,) * 3
    assert looks.of("consumer-0") == []
    assert host["cpu_ns"] > 0
    assert host["idle_ns"] > 0


def test_how_long_threads_wait_for_a_core_is_told_of_every_process() -> None:
    """Context switches and the client's threads of workers only; a machine that counts nothing has nulls."""
    board, looks = Cells.new(1, 1), Looks()
    watched = [Watched("producer-0", "producer", os.getpid(), (0,)), Watched("broker-1", "broker", os.getpid())]

    class Known(Threads):
        def waited(self) -> Waited | None:
            return Waited(5, 6, 7 if self.with_switches else None)

    class Unknown(Threads):
        def waited(self) -> Waited | None:
            return None

    Sampler(watched, board, looks, lambda: Order.GO, threads=Known, pressure=lambda: Pressure(1, None, 3)).look()
    Sampler(watched, board, looks, lambda: Order.GO, threads=Unknown, pressure=Pressure).look()

    names = ("run_delay_ns", "client_run_delay_ns", "switches")
    null = (NULL_INT64,) * 3
    assert [tuple(row[name] for name in names) for row in looks.of("producer-0")] == [(5, 6, 7), null]
    assert [tuple(row[name] for name in names) for row in looks.of("broker-1")] == [(5, NULL_INT64, NULL_INT64), null]
    names = ("cpu_pressure_ns", "io_pressure_ns", "memory_pressure_ns")
    assert [tuple(row[name] for name in names) for row in looks.of("host")] == [(1, NULL_INT64, 3), null]


def test_the_host_tells_of_the_wall_clock_and_of_cpu_quotas() -> None:
    """Both clocks are read together; what the system does not tell of quotas is null, as in rows of processes."""
    board, looks = Cells.new(1, 1), Looks()
    told = iter((Throttling(periods=3, stopped_ns=240, periods_ns=300), None))
    watched = [Watched("supervisor", "supervisor", os.getpid())]
    sampler = Sampler(
        watched,
        board,
        looks,
        lambda: Order.GO,
        clocks=lambda: ClockPair(wall_ns=1_007, monotonic_ns=7),
        throttling=lambda: next(told),
    )
    sampler.look()
    sampler.look()

    names = ("at_ns", "wall_ns", "throttled_ns", "throttled_periods", "throttled_periods_ns")
    hosts = [tuple(row[name] for name in names) for row in looks.of("host")]
    assert hosts == [(7, 1_007, 240, 3, 300), (7, 1_007, NULL_INT64, NULL_INT64, NULL_INT64)]
    assert {row[name] for row in looks.of("supervisor") for name in names[1:]} == {NULL_INT64}


def test_it_looks_every_half_second_until_the_end() -> None:
    """On an absolute schedule, and once more when the run is over."""
    board, looks, time = Cells.new(1, 1), Looks(), FakeTime(tick_ns=1_000)
    order = lambda: Order.FINISH if time.at_ns > 2 * NS_PER_SECOND else Order.GO  # noqa: E731

    clocks = lambda: ClockPair(time.now_ns(), time.now_ns())  # noqa: E731
    Sampler([], board, looks, order, time.now_ns, time.sleep, clocks).run()

    moments = [int(row["at_ns"]) for row in looks.of("host")]
    assert [round(at / INTERVAL_NS) for at in moments] == [0, 1, 2, 3, 4]


@dataclass
class KilledBroker:
    """A broker that comes back as the process of this number."""

    name: str
    pid: int
    returns_as: int
    is_broker: bool = True
    disk: Any = None
    number: int = 1
    has_ended: bool = False

    def signal(self, number: int) -> None:
        """Nothing is done to it."""

    def restart(self) -> None:
        self.pid = self.returns_as


def test_of_several_brokers_only_the_one_that_was_killed_is_another_process() -> None:
    """Each life of a broker has a name of its own; the other broker keeps its name and its process."""
    board, looks, here = Cells.new(1, 1), Looks(), os.getpid()
    with psutil.Popen(["sleep", "60"]) as other:
        brokers = [KilledBroker("broker-1", here, here), KilledBroker("broker-2", here, other.pid)]
        watched = targets.watched_brokers(brokers)
        kill = targets.targets_of(Workers(board), brokers)[1].actions[KILL]
        sampled: list[int] = []

        def threads(pid: int, with_switches: bool) -> Threads:
            sampled.append(pid)
            return Threads(pid, with_switches)

        sampler = Sampler(watched, board, looks, lambda: Order.GO, threads=threads)
        sampler.look()
        kill.end(ProcessFault.model_validate({"at": 0, "kind": "kill", "target": "broker-1", "for": "1s"}))
        sampler.look()
        other.kill()

    assert [len(looks.of(name)) for name in ("broker-1", "broker-2", "broker-1.2", "broker-2.2")] == [2, 1, 0, 1]
    assert sampled == [here, here, other.pid]


def test_a_board_has_cells_for_a_number_of_brokers_only() -> None:
    """What lies behind them belongs to workers."""
    cells = [broker_cell(place) for place in range(MOST_BROKERS)]

    assert min(cells) > max(Cell)
    assert len(set(cells)) == MOST_BROKERS
    with pytest.raises(ValueError, match="at most"):
        broker_cell(MOST_BROKERS)
