"""The host of a query: what it records, when it starts it again, and what it tells others; without Spark."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.engine.test_consume import Blocks

from streamgauge.control.batching import BatchSize
from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.errors import WorkerError
from streamgauge.domain.query import Advance, Happened, Looked, News, QueryProgress
from streamgauge.engine.board import Cell, Cells, Order, Slot, State
from streamgauge.engine.fake import FakeTime
from streamgauge.engine.ports.query import Query
from streamgauge.engine.query import Hosting, QueryHost, QuerySinks
from streamgauge.processes.cpu.waiting import Threads, Waited

READY = Happened(1, "ready")
ENDED = Happened(9, "ended")


@dataclass
class Scripted:
    """A query that tells what the test wrote, one piece at a time; each start has a script of its own."""

    scripts: list[list[News | str]]
    committed_ends: list[int] | None = None
    missed: list[QueryProgress] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    exit_code: int | None = None
    found: dict[str, int] = field(default_factory=dict)
    _script: list[News | str] = field(default_factory=list)
    _alive: bool = False

    def start(self) -> None:
        self.told.append("start")
        self._script, self._alive = list(self.scripts.pop(0)), True

    def alive(self) -> bool:
        if self._script and self._script[0] == "dies":
            self._alive, self.exit_code = False, -9
            self._script.clear()
        return self._alive

    def news(self) -> Sequence[News]:
        if self._script and not isinstance(self._script[0], str):
            found = self._script.pop(0)
            assert not isinstance(found, str)
            return [found]
        return []

    def processes(self) -> Mapping[str, int]:
        return self.found

    def stop(self) -> None:
        self.told.append("stop")
        self._script.append(ENDED)

    def limit(self, messages: int) -> None:
        self.told.append(f"limit {messages}")

    def kill(self) -> None:
        self._alive = False

    def left_behind(self) -> Sequence[QueryProgress]:
        found, self.missed = self.missed, []
        return found

    def committed(self) -> Sequence[int] | None:
        return self.committed_ends

    def checkpoint_bytes(self) -> int:
        return 77

    def close(self) -> None:
        self.told.append("close")


def batch(number: int, *ends: tuple[int, int], **numbers: float | None) -> QueryProgress:
    advances = [Advance(partition, begin, end, None) for partition, (begin, end) in enumerate(ends)]
    return QueryProgress(number, number, 1000 + number, numbers, advances)


@dataclass
class Stage:
    """A host with its query, for a run that ends when `until_ns` is over."""

    query: Scripted
    restarts: int = 1
    survives: bool = False
    waits: bool = False
    sizes: BatchSize | None = None
    until_ns: int = 1_000_000_000
    load_until_ns: int = 0
    stop_at_ns: int | None = None
    board: Cells = field(default_factory=lambda: Cells.new(1, 2))
    time: FakeTime = field(default_factory=FakeTime)
    threads: Callable[[int], Threads] = Threads
    rows: dict[str, Blocks] = field(default_factory=dict)
    readies: list[int] = field(default_factory=list)

    def run(self) -> None:
        kinds = ("query", "progress", "advances", "executors", "resources")
        self.rows = {kind: Blocks() for kind in kinds}
        hosting = Hosting(0, 0, (5, 0), self.restarts, self.survives, self.waits, 700, self.sizes)
        host = QueryHost(
            self.query, hosting, QuerySinks(*self.rows.values()), self.board, 0, self._order,
            lambda: self.readies.append(self.time.at_ns), self.time.now_ns, self.time.sleep, self.threads,
        )  # fmt: skip
        host.run()

    def _order(self) -> Order:
        if self.stop_at_ns is not None and self.time.at_ns >= self.stop_at_ns:
            self.board.control[Cell.STOP_QUERY] = 1
        if self.time.at_ns >= self.until_ns:
            return Order.FINISH
        return Order.GO if self.time.at_ns < self.load_until_ns else Order.STOP_LOAD

    def column(self, kind: str, name: str) -> list[Any]:
        return self.rows[kind].column(name)


def as_a_port(query: Scripted) -> Query:
    """The fake satisfies the port."""
    return query


@pytest.mark.parametrize(
    ("waited", "has_client", "expected"),
    [
        (Waited(5, 0, 7), False, (5, NULL_INT64, 7)),
        (Waited(5, 6, 7), True, (5, 6, 7)),
        (None, False, (NULL_INT64,) * 3),
    ],
)
def test_how_long_its_threads_wait_for_a_core_is_told_of_every_process(
    waited: Waited | None, has_client: bool, expected: tuple[int, int, int]
) -> None:
    """With context switches; a pipeline with a Kafka client of its own tells of the client's threads, too."""

    class Known(Threads):
        has_client = property(lambda _self: told)

        def waited(self) -> Waited | None:
            return waited

    told = has_client
    found = {"driver": os.getpid(), "python-7": os.getppid()}
    stage = Stage(Scripted([[READY]], found=found), threads=Known)
    stage.run()

    names = ("run_delay_ns", "client_run_delay_ns", "switches")
    assert stage.column("resources", "process")[0] == ["driver", "python-7"]
    assert set(zip(*(stage.column("resources", name) for name in names), strict=True)) == {expected}


def test_what_a_query_tells_is_recorded_and_how_far_it_is_can_be_seen() -> None:
    told = batch(0, (5, 8), (0, 4), rows=7, duration_ms=120, input_per_second=3.5)
    stage = Stage(Scripted([[READY, told, Looked(2, "0", {"tasks": 3})]]))
    stage.run()

    assert stage.column("query", "event") == ["started", "ready", "ended"]
    assert stage.column("progress", "rows") == [7]
    assert stage.column("progress", "input_per_second") == [3.5]
    assert stage.column("progress", "state_rows") == [NULL_INT64]
    assert stage.column("progress", "checkpoint_bytes") == [77]
    assert stage.column("advances", "from_offset") == [5, 0]
    assert stage.column("advances", "to_offset") == [8, 4]
    assert stage.column("advances", "committed") == [1, 1]
    assert stage.column("executors", "tasks") == [3]
    assert stage.board.positions[0].tolist() == [8, 4]
    assert stage.board.frontiers[0].tolist() == [8, 4]
    assert stage.board.slots[0, Slot.MESSAGES] == 7
    assert len(stage.readies) == 1
    assert stage.query.told == ["start", "close"]


def test_before_it_told_anything_a_query_is_where_it_begins() -> None:
    stage = Stage(Scripted([[READY]]))
    stage.run()
    assert stage.board.positions[0].tolist() == [5, 0]


def test_a_query_that_was_killed_is_started_again_and_nothing_of_its_checkpoint_is_missed() -> None:
    done = QueryProgress(3, 1, 1001, {"rows": 1}, [Advance(0, 8, 9, None)], "checkpoint")
    torn = QueryProgress(3, 2, 1002, {"rows": 90}, [Advance(0, 9, 99, None)], "checkpoint", committed=False)
    query = Scripted([[READY, batch(0, (5, 8), (0, 4)), "dies"], [READY]], committed_ends=[9, 6], missed=[done, torn])
    stage = Stage(query)
    stage.run()

    assert stage.column("query", "event") == ["started", "ready", "died", "started", "ready", "ended"]
    assert stage.column("query", "start") == [0, 0, 0, 1, 1, 1]
    assert stage.column("query", "detail")[2] == "exit code -9"
    assert stage.column("advances", "committed") == [1, 1, 1, 0]
    assert stage.column("progress", "source")[:2] == [["told"], ["checkpoint", "checkpoint"]]
    assert stage.board.slots[0, Slot.MESSAGES] == 1
    assert stage.board.positions[0].tolist() == [9, 6]
    assert len(stage.readies) == 1


def test_a_query_is_not_started_more_often_than_it_may_be() -> None:
    stage = Stage(Scripted([[READY, "dies"], [READY, "dies"]]))
    with pytest.raises(WorkerError, match=r"ended 2 times"):
        stage.run()


@pytest.mark.parametrize(("survives", "ready_first"), [(False, True), (True, False)])
def test_a_query_that_failed_says_why(survives: bool, ready_first: bool) -> None:
    """By an error of its own, or before it had ever read anything."""
    failed = Happened(3, "failed", "the job threw")
    script: list[News | str] = [*([READY] if ready_first else []), failed, "dies"]
    stage = Stage(Scripted([script, [READY]]), survives=survives)
    with pytest.raises(WorkerError, match="the job threw"):
        stage.run()
    assert stage.column("query", "event")[-1] == "failed"


def test_where_the_cluster_is_taken_away_a_failure_is_survived() -> None:
    script: list[News | str] = [READY, Happened(3, "failed", "no broker"), "dies"]
    stage = Stage(Scripted([script, [READY]]), survives=True)
    stage.run()
    assert stage.column("query", "event") == ["started", "ready", "failed", "started", "ready", "ended"]


def test_a_query_ends_when_it_is_told_to_and_its_end_can_be_seen() -> None:
    stage = Stage(Scripted([[READY]], committed_ends=[6, 1]), stop_at_ns=100_000_000)
    stage.run()
    assert stage.query.told == ["start", "stop", "close"]
    assert stage.column("query", "event") == ["started", "ready", "ended"]
    assert stage.board.slots[0, Slot.STATE] == State.FLUSHED
    assert stage.board.positions[0].tolist() == [6, 1]


def test_a_query_that_is_started_again_while_it_is_stopped_is_told_to_stop_too() -> None:
    class DiesOnce(Scripted):
        def stop(self) -> None:
            super().stop()
            if self.scripts:
                self._script = ["dies"]

    stage = Stage(DiesOnce([[READY], [READY]]), stop_at_ns=100_000_000)
    stage.run()

    assert stage.query.told == ["start", "stop", "start", "stop", "close"]
    assert stage.column("query", "event") == ["started", "ready", "died", "started", "ready", "ended"]
    assert stage.board.slots[0, Slot.STATE] == State.FLUSHED


def test_a_query_over_what_is_there_begins_when_the_load_is_over() -> None:
    stage = Stage(Scripted([[READY, batch(0, (5, 9), (0, 9)), ENDED]]), waits=True, load_until_ns=300_000_000)
    stage.run()
    assert len(stage.readies) == 1
    assert stage.readies[0] < 100_000_000
    assert stage.column("query", "at_ns")[0] >= 300_000_000
    assert stage.column("query", "event") == ["started", "ready", "ended"]


def test_the_size_of_batches_follows_how_long_they_take() -> None:
    """Each decision is recorded, and each batch has the size that was allowed when it was told."""
    long = batch(0, (5, 505), (0, 500), rows=1000, duration_ms=2000)
    under_way = batch(1, (505, 1005), (500, 1000), rows=1000, duration_ms=2000)
    short = QueryProgress(2, 2, 1002, {"rows": 500, "duration_ms": 100}, [Advance(0, 1005, 1505, 9000)])
    stage = Stage(
        Scripted([[READY, long, under_way, short, batch(3)]]), sizes=BatchSize(10**9, least=10, most=1500, limit=1000)
    )
    stage.run()

    assert stage.query.told == ["start", "limit 500", "limit 1500", "close"]
    assert stage.column("progress", "max_offsets") == [1000, 500, 500, 1500]
    limited = [
        detail
        for what, detail in zip(stage.column("query", "event"), stage.column("query", "detail"), strict=True)
        if what == "limited"
    ]
    assert limited == ["500 messages per batch at most", "1500 messages per batch at most"]


def test_without_a_policy_the_size_of_batches_stays() -> None:
    stage = Stage(Scripted([[READY, batch(0, (5, 505), rows=500, duration_ms=60_000)]]))
    stage.run()

    assert stage.query.told == ["start", "close"]
    assert stage.column("progress", "max_offsets") == [700]


def test_long_reasons_are_cut() -> None:
    """Texts of rows share a head of limited size."""
    stage = Stage(Scripted([[READY, Happened(3, "failed", "x" * 5000), "dies"]]))
    with pytest.raises(WorkerError):
        stage.run()
    assert len(stage.column("query", "detail")[-1]) == 1000
