"""What the supervisor decides, as tables."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.look import live_buckets
from streamgauge.engine.board import Cell, Cells, Latencies, Order, PollGap, Slot, State, gap_of_last_second
from streamgauge.engine.fake import FakeOffsets
from streamgauge.engine.observe.looks import Observed, Observer
from streamgauge.engine.supervise.drain import STILL_NS
from streamgauge.engine.supervise.fake import FakeLauncher
from streamgauge.engine.supervise.local import SpawnedProcess
from streamgauge.engine.supervise.plan import Begun, Interrupts, Plan
from streamgauge.engine.supervise.supervisor import LEAD_NS, TICK_SECONDS, Supervisor, phases
from streamgauge.engine.supervise.workers import Worker, Workers, is_group_complete, is_share_group_complete
from streamgauge.engine.worker.context import Context
from streamgauge.engine.worker.roles import ProducerJob
from streamgauge.record.parts import open_sink

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("assigned", "partitions", "topics", "complete"),
    [
        ([], 12, 1, True),
        ([12], 12, 1, True),
        ([6, 6], 12, 1, True),
        ([12, 0], 12, 1, False),
        ([6, 5], 12, 1, False),
        ([12, 6], 12, 1, False),
        ([1, 1, 0], 2, 1, True),
        ([0, 0], 2, 1, False),
        # Topics with one partition each: the range assignor gives both to one member, others do not.
        ([2, 0], 2, 2, True),
        ([1, 1], 2, 2, True),
        ([4, 0], 4, 2, False),
        ([2, 2, 0], 4, 2, True),
    ],
)
def test_a_group_is_complete_when_no_member_waits(
    assigned: list[int], partitions: int, topics: int, complete: bool
) -> None:
    """Every partition once, and a share for everybody who can have one."""
    assert complete is is_group_complete(assigned, partitions, topics)


@pytest.mark.parametrize(
    ("assigned", "partitions", "complete"),
    [
        ([12], 12, True),
        ([6, 6], 12, True),
        ([1, 1, 1], 1, True),
        ([12, 0], 12, False),
        ([6, 5], 12, False),
        ([0], 12, False),
    ],
)
def test_a_share_group_is_complete_when_each_member_has_partitions(
    assigned: list[int], partitions: int, complete: bool
) -> None:
    """Which others may have, too."""
    assert complete is is_share_group_complete(assigned, partitions)


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        (40, [(0, 5), (5, 40)]),
        (35, [(0, 5), (5, 35)]),
        (5, [(0, 5), (5, 5)]),
        (3, [(0, 3), (3, 3)]),
    ],
)
def test_phases_end_when_the_load_is_over(over: int, expected: list[tuple[int, int]]) -> None:
    """Also when that is before the measure phase began."""
    assert expected == [(phase.from_ns, phase.to_ns) for phase in phases(0, 5, over)]


def test_orders_only_rise() -> None:
    """An abort is not taken back by a late order to finish."""
    board = Cells.new(1, 1)
    board.give(Order.ABORT)
    board.give(Order.FINISH)

    assert board.order == Order.ABORT


def test_a_worker_leaves_its_reason() -> None:
    """Cut to what fits; nobody else's is touched."""
    board = Cells.new(2, 3)
    board.say(1, "disk full: " + "x" * 1000)

    assert board.said(0) is None
    assert (board.said(1) or "").startswith("disk full: xxx")


def test_the_longest_gap_between_polls_is_kept_by_second() -> None:
    """A reader takes the second that is over, while the worker writes the one that runs."""
    board = Cells.new(1, 1)
    slot = board.slots[0]
    gap = PollGap(slot, 10 * SECOND)
    for begin, end in ((10.1, 10.2), (10.7, 10.8), (11.0, 11.1), (11.15, 11.2)):
        gap.begin(round(begin * SECOND))
        gap.end(round(end * SECOND))

    assert gap_of_last_second(slot, round(11.5 * SECOND)) == pytest.approx(0.5 * SECOND)
    assert gap_of_last_second(slot, round(12.5 * SECOND)) == pytest.approx(0.2 * SECOND)
    gap.begin(round(12.6 * SECOND))
    assert gap_of_last_second(slot, round(13.5 * SECOND)) == pytest.approx(1.4 * SECOND)
    assert slot[Slot.MESSAGES] == 0


def test_latencies_are_counted_by_whoever_measures_them() -> None:
    """From the due time, or from the sent time where nothing was due; what is not known is left out."""
    board = Cells.new(2, 3)
    latencies = Latencies(board.latencies[1], 0)
    ended, due, sent = (np.array(values) for values in ([9_000_000, NULL_INT64], [1_000_000] * 2, [8_000_000] * 2))
    latencies.take(ended, due, sent, 2, SECOND // 20)
    assert board.latencies.sum() == 0
    latencies.take(5_000_000, None, np.array([4_000_000, NULL_INT64, 4_500_000]), 3, SECOND // 10)
    latencies.take(5_000_000, None, None, 3, SECOND // 10)
    latencies.take(None, due, sent, 2, SECOND // 5)
    latencies.count()
    expected = live_buckets(np.array([8_000_000, 1_000_000, 500_000]))

    assert np.flatnonzero(board.latencies[1]).tolist() == sorted(expected.tolist())
    assert board.latencies.sum() == 3
    assert board.slots.sum() == board.positions.sum() == board.control.sum() == 0


def test_a_look_sees_counters_latencies_and_processes() -> None:
    """Of every role what it has; a process that is gone uses nothing, and is told if it did not end in order."""
    board = Cells.new(2, 3)
    board.slots[0, [Slot.MESSAGES, Slot.KNOWN, Slot.FAILED, Slot.BYTES, Slot.BLOCKED_NS]] = [10, 8, 1, 700, 5]
    board.slots[1, [Slot.MESSAGES, Slot.BUFFERED, Slot.DROPPED]] = [6, 2, 9]
    board.slots[:, Slot.STATE] = State.FLUSHED
    board.latencies[:, 3] = [4, 2]
    board.batches[0, 5] = 3
    ended = [subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})"]) for code in (0, 3)]
    for process in ended:
        process.wait()
    observed = [
        Observed("producer-0", "producer", ended[0].pid, (0,), ended[0].poll()),
        Observed("consumer-0", "consumer", ended[1].pid, (1,), ended[1].poll()),
        Observed("broker-1", "broker", os.getpid()),
    ]
    observer = Observer(board, 5 * SECOND, run="20260101-120000-baseline")
    before = observer.look("starting", observed, 7)
    board.control[[1, 2]] = [100, 20 * SECOND]
    look = observer.look("measure", observed, 8)

    assert (before.start_ns, before.measure_ns, before.end_ns) == (None, None, None)
    assert (look.start_ns, look.measure_ns, look.end_ns) == (100, 100 + 5 * SECOND, 20 * SECOND)
    assert (look.sent, look.acked, look.failed, look.received, look.outstanding) == (10, 7, 1, 6, 3)
    assert (look.ack[3], look.end_to_end[3]) == (4, 2)
    assert (look.batch[5], look.batch.sum(), look.run) == (3, 3, "20260101-120000-baseline")
    assert [(worker.clients, worker.done) for worker in look.workers] == [(1, 1), (1, 0), (0, 0)]
    assert [(worker.buffered, worker.dropped) for worker in look.workers] == [(None, 0), (2, 9), (None, 0)]
    assert [worker.alive for worker in look.workers] == [True, False, True]
    assert [worker.cpu_ns is None for worker in look.workers] == [True, True, False]
    assert (look.workers[0].message_bytes, look.workers[0].blocked_ns) == (700, 5)
    assert (look.workers[1].known, look.workers[1].blocked_ns) == (None, None)
    assert look.idle_ns


@pytest.mark.parametrize(("code", "stops", "sent"), [(0, False, True), (1, True, False)])
def test_a_producer_that_has_sent_everything_may_be_gone(code: int, stops: bool, sent: bool, tmp_path: Path) -> None:
    """Before the supervisor looks: that is no death, and the load is over. One that died is none that is left."""
    process = subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})"])
    process.wait()
    job = ProducerJob(_never, ())
    plan = Plan(tmp_path, [job], [], [], (), 1, [0], 0, 0, 0, open_sink)
    launcher = FakeLauncher()
    supervisor = Supervisor(plan, launcher, FakeOffsets(), Interrupts(), lambda _: None)
    launcher.cells = supervisor._workers.board = supervisor._board = Cells.new(1, 1)
    launcher.cells.slots[0, Slot.OVER_NS] = 5
    supervisor._workers.each.append(Worker("producer-0", "producer", (0,), (0,), job, SpawnedProcess(process)))

    assert supervisor._must_stop() is stops
    assert supervisor._workers.have_sent() is sent


def _never(_spec: Any) -> Any:
    raise AssertionError("nobody opens a client here")


def test_without_acknowledgements_a_log_ends_where_it_stops_growing(tmp_path: Path) -> None:
    """Not where it ended when the last message was handed to the network; and the wait is bounded."""
    plan = Plan(tmp_path, [], [], [], (), 1, [0], 0, 0, 0, open_sink)
    launcher, growing = FakeLauncher(), FakeOffsets(moving=[[end] for end in (7, 7, *range(8, 201))])
    supervisor = Supervisor(
        plan, launcher, growing, Interrupts(), lambda _: None, now_ns=launcher.now_ns, sleep=launcher.sleep
    )
    assert supervisor._draining().final_ends(60 * SECOND) == [200]
    assert launcher.at_ns == pytest.approx(194 * TICK_SECONDS * SECOND + STILL_NS, rel=0.02)

    began, supervisor.offsets = launcher.at_ns, FakeOffsets(moving=[[end] for end in range(10**4)])
    supervisor._draining().final_ends(began + 3 * SECOND)
    assert launcher.at_ns - began == pytest.approx(3 * SECOND, rel=0.02)


def test_times_are_told_whole_or_not_at_all() -> None:
    """A processor may show them to others one by one, after the order to go: who sees a part of them waits."""
    board = Cells.new(1, 1)
    assert board.times() is None
    board.give_times(100, 200, 300, 0)
    assert board.times() == (100, 200, 300, 0)

    for cell in (Cell.START_NS, Cell.MEASURE_NS, Cell.LOAD_END_NS, Cell.TIMES_SUM):
        told = int(board.control[cell])
        board.control[cell] = 0
        assert board.times() is None
        board.control[cell] = told


def test_a_worker_that_sees_the_order_before_the_times_waits_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the run ends before its load began."""
    board = Cells.new(1, 1)
    context = Context("w", (0,), Path(), open_sink, board)
    monkeypatch.setattr(clock, "sleep_seconds", lambda _: board.give_times(1, 2, 3, 4))
    board.give(Order.GO)
    assert context.times() == (1, 2, 3, 4)

    ended = Cells.new(1, 1)
    ended.give(Order.FINISH)
    assert Context("w", (0,), Path(), open_sink, ended).times() == (0, 0, 0, 0)


def test_what_is_planned_is_written_down_before_the_order_to_go(tmp_path: Path) -> None:
    """On a slow disk again, for a start that lies ahead; after three times it begins all the same."""
    launcher, told = FakeLauncher(at_ns=10 * SECOND), []
    plan = Plan(tmp_path, [], [], [], (), 1, [0], SECOND, 2 * SECOND, 0, open_sink)

    def note(begun: Begun) -> None:
        assert launcher.cells.order == Order.PREPARE
        told.append([(phase.name, phase.from_ns, phase.to_ns) for phase in begun.phases])
        launcher.at_ns += LEAD_NS if len(told) == 1 else 0

    supervisor = Supervisor(
        plan, launcher, FakeOffsets(), Interrupts(), lambda _: None, begins=note, now_ns=launcher.now_ns
    )
    start = supervisor._begin()

    assert start == 10 * SECOND + 2 * LEAD_NS
    assert told[-1] == [("warmup", start, start + SECOND), ("measure", start + SECOND, start + 3 * SECOND)]
    assert len(told) == 2
    assert launcher.cells.times() == (start, start + SECOND, start + 3 * SECOND, 0)
    assert launcher.cells.order == Order.GO


def test_what_consumers_received_before_the_measure_phase_does_not_count() -> None:
    """And where no number is wanted, none is looked for."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    workers = Workers(Cells.new(2, 1))
    job = ProducerJob(_never, ())
    workers.each.append(Worker("consumer-0", "consumer", (0, 1), (0, 1), job, SpawnedProcess(process)))

    assert not workers.have_read(None, measured=True)
    for received, measured, over in ((7, False, False), (9, False, False), (12, True, False), (19, True, True)):
        workers.board.slots[0, Slot.MESSAGES], workers.board.slots[1, Slot.MESSAGES] = received - 3, 3
        assert workers.have_read(10, measured=measured) is over
