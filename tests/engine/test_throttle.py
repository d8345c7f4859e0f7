"""What a policy lets go, and when that was seen; producers behind a throttle, and slots that make up for delays."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.engine.test_produce import Rows

from streamgauge.delivery.reports import certainly_not_written
from streamgauge.domain.blocks import NULL_INT64, ClientSpec
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.engine.board import Cells, Latencies, Order, Slot
from streamgauge.engine.fake import FakeLog, FakeProducer, FakeTime
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.loop import LARGEST_BLOCK, Producer, Sending, Times
from streamgauge.engine.produce.sent import ProducerSinks
from streamgauge.engine.produce.sources import Recipe
from streamgauge.engine.produce.stops import FlushPolicy
from streamgauge.engine.produce.throttle import LOOK_NS, OPEN, SHUT, Throttle
from streamgauge.workload.pacing import constant

START = 10 * NS_PER_SECOND


def test_a_gate_lets_go_what_was_granted_and_remembers_when() -> None:
    """Grants rise; what was claimed is counted before it is sent."""
    board = Cells.new(1, 1)
    slot = board.slots[0]
    throttle = Throttle(slot)
    assert throttle.room(5) == 0
    slot[Slot.GRANTED] = 10
    assert throttle.room(7) == 10
    throttle.claim(4)
    assert slot[Slot.CLAIMED] == 4
    assert throttle.room(8) == 6
    slot[Slot.GRANTED] = 12
    assert throttle.room(9) == 8
    assert throttle.admitted_ns(np.array([0, 3, 9, 10, 11])).tolist() == [7, 7, 7, 9, 9]


def test_a_gate_that_was_shut_admits_from_where_it_stood() -> None:
    """Open, shut below what was claimed, open again: what comes after was let go when it was opened."""
    board = Cells.new(1, 1)
    slot = board.slots[0]
    throttle = Throttle(slot)
    slot[Slot.GRANTED] = OPEN
    throttle.room(1)
    throttle.claim(100)
    slot[Slot.GRANTED] = SHUT
    assert throttle.room(2) == 0
    slot[Slot.GRANTED] = OPEN
    assert throttle.room(3) > 1 << 40
    assert throttle.admitted_ns(np.array([0, 99, 100, 5000])).tolist() == [1, 1, 3, 3]


def test_a_gate_forgets_only_what_is_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory is bounded, and the newer half of it is always there."""
    kept = 2_048
    monkeypatch.setattr("streamgauge.engine.produce.throttle.MOST_KEPT", kept)
    board = Cells.new(1, 1)
    throttle = Throttle(board.slots[0])
    count = kept * 3 + 10
    for number in range(1, count + 1):
        board.slots[0, Slot.GRANTED] = number
        throttle.room(number * 10)
    recent = np.arange(count - kept // 2, count)
    assert throttle.admitted_ns(recent).tolist() == ((recent + 1) * 10).tolist()
    assert len(throttle._firsts) <= 2 * kept


@pytest.mark.parametrize(
    ("error", "certain"),
    [("_MSG_TIMED_OUT", False), ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", False), ("NOT_ENOUGH_REPLICAS", True),
     ("MSG_SIZE_TOO_LARGE", True), ("_PURGE_INFLIGHT", False), ("_PURGE_QUEUE", True), ("REQUEST_TIMED_OUT", False),
     ("unsent", True), ("_FAIL", False), (None, False)],
)  # fmt: skip
def test_credit_comes_back_only_for_what_is_certainly_not_written(error: str | None, certain: bool) -> None:
    """A request without an answer says nothing of what the leader wrote."""
    assert certainly_not_written(error) is certain


class Held:
    """A producer of 1,000 messages a second whose grants the test moves with the clock."""

    def __init__(self, grants: Callable[[int], int], *, rate: float | None = 1_000.0, **sending: Any) -> None:
        self.rows, self.board = Rows(), Cells.new(1, 4)
        slot = self.board.slots[0]
        time = FakeTime(START - NS_PER_SECOND)

        def now_ns() -> int:
            at_ns = time.now_ns()
            slot[Slot.GRANTED] = grants(at_ns - START)
            return at_ns

        client = FakeProducer(
            FakeLog(4), ClientSpec("producer-0", ("t",), {}), unlucky=sending.pop("unlucky", set()), now_ns=now_ns,
            sleep=time.sleep,
        )  # fmt: skip
        recipe = Recipe(0, 7, "zeros", 64, 42, in_headers=False, scheduled=rate is not None, topics=(0,))
        pacer = None if rate is None else constant(rate, 0, 1)
        producer = Producer(
            client, Composer(recipe, LARGEST_BLOCK), ProducerSinks(self.rows, Rows(), None, Rows()), slot,
            Latencies(self.board.latencies[0], START), lambda: Order.GO, replace(Sending(**sending), pacer=pacer),
            now_ns, time.sleep, Throttle(slot),
        )  # fmt: skip
        producer.run(Times(START, START, START + 4 * NS_PER_SECOND, NS_PER_SECOND))
        self.slot = slot


def test_what_is_held_back_keeps_its_due_time_and_says_when_it_was_let_go() -> None:
    """Shut for the second second: those due then are sent when it is over, at once, and nothing is lost."""
    held = Held(lambda after: SHUT if NS_PER_SECOND <= after < 2 * NS_PER_SECOND else OPEN)

    due, sent, admitted = (held.rows.column(name) for name in ("due_ns", "sent_ns", "admitted_ns"))
    assert len(due) == 4_000
    throttled = np.maximum(0, admitted - due)
    waited = (due >= START + NS_PER_SECOND) & (due < START + 2 * NS_PER_SECOND - LOOK_NS)
    assert (throttled[~waited] < 2 * LOOK_NS).all()
    expected = START + 2 * NS_PER_SECOND - due[waited]
    assert np.abs(throttled[waited] - expected).max() < 2 * LOOK_NS
    assert (sent - np.maximum(due, admitted)).max() < 50 * NS_PER_MS
    assert (admitted <= sent).all()


def test_a_source_may_lose_what_it_may_not_send() -> None:
    """Then what was due while it was shut is unsent, and what comes later is on time and knows when it was let go."""
    held = Held(lambda after: SHUT if NS_PER_SECOND <= after < 2 * NS_PER_SECOND else OPEN, drops_held=True)

    due, sent, admitted = (held.rows.column(name) for name in ("due_ns", "sent_ns", "admitted_ns"))
    unsent = [row["due_ns"] - START for row in held.rows.rows if row["error"] is not None]
    assert len(due) + len(unsent) == 4_000
    assert min(unsent) >= NS_PER_SECOND
    assert 2 * NS_PER_SECOND - LOOK_NS - 2 * NS_PER_MS <= max(unsent) < 2 * NS_PER_SECOND
    assert (sent - due).max() < 5 * NS_PER_MS
    assert set(admitted.tolist()) == {admitted.min(), admitted.max()}
    assert (admitted <= sent).all()
    assert held.slot[Slot.CLAIMED] == len(due)
    seqs = [row["seq"] for row in held.rows.rows]
    assert sorted(seqs) == list(range(4_000))


@pytest.mark.parametrize("rate", [1_000.0, None])
def test_never_more_is_claimed_than_was_granted(rate: float | None) -> None:
    """With a schedule or as fast as possible; what is over at the end is unsent where it was due."""
    held = Held(lambda after: max(0, after // (4 * NS_PER_MS)), rate=rate)

    sent, admitted = held.rows.column("sent_ns"), held.rows.column("admitted_ns")
    assert (np.arange(1, len(sent) + 1) <= (sent - START) // (4 * NS_PER_MS)).all()
    assert held.slot[Slot.CLAIMED] == len(sent)
    assert 990 <= len(sent) <= 1_251
    assert (admitted <= sent).all()
    unsent = [row for row in held.rows.rows if row["error"] is not None]
    assert len(unsent) == (0 if rate is None else 4_000 - len(sent))
    assert {row["admitted_ns"] for row in unsent} <= {None}


def test_a_send_that_failed_gives_its_credit_back_if_that_is_certain() -> None:
    """Of those that nobody knows, the number is told."""
    held = Held(lambda _after: OPEN, unlucky={5, 9})

    failed = [row["error"] for row in held.rows.rows if row["error"] is not None]
    assert len(failed) == 2
    certain = sum(certainly_not_written(error) for error in failed)
    assert (held.slot[Slot.RETURNED], held.slot[Slot.AMBIGUOUS]) == (certain, 2 - certain)


def test_flushes_go_on_behind_a_gate() -> None:
    """A producer that is held back still waits for the reports of what it sent."""
    held = Held(lambda after: max(0, after // (4 * NS_PER_MS)), flush=FlushPolicy(10))

    assert 900 <= len(held.rows.column("seq")) <= 1_251
    assert NULL_INT64 not in held.rows.column("acked_ns")
