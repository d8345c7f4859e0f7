"""The produce loop on a clock that the test moves: nothing sleeps, every figure is exact."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from streamgauge.domain.blocks import Block, ClientSpec
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.pacing import Pacer, constant
from streamgauge.engine.compose import Composer, Recipe
from streamgauge.engine.fake import FakeLog, FakeProducer, FakeTime
from streamgauge.engine.live import Latencies, Live, Order, Slot, State
from streamgauge.engine.produce import BLOCK, LARGEST_BLOCK, Producer

START = 10 * NS_PER_SECOND


@dataclass
class Rows:
    """A sink that keeps rows as dictionaries."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def append(self, block: Block, count: int) -> None:
        """Take rows."""
        for place in range(count):
            self.rows.append({name: _item(values, place) for name, values in block.items()})

    def close(self) -> None:
        """Nothing to write."""

    def column(self, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """One column of the messages that were sent, by sequence."""
        rows = sorted((row for row in self.rows if row["error"] is None), key=lambda row: row["seq"])
        return np.array([row[name] for row in rows], np.int64)


def _item(values: Any, place: int) -> Any:
    if isinstance(values, np.ndarray):
        return int(values[place])
    return values[place] if isinstance(values, list) else values


@dataclass
class Story:
    """One producer on a fake clock with a fake client; `run` tells what became of every message."""

    rate: float | None = 1_000.0
    seconds: float = 10.0
    queue_limit: int = 100_000
    jumps: list[tuple[int, int]] = field(default_factory=list)
    stopped: Callable[[int], bool] = lambda _now: False
    order: Callable[[int], Order] = lambda _now: Order.GO
    drain_ns: int = NS_PER_SECOND
    client: FakeProducer = field(init=False)
    slot: Any = field(init=False)
    ended_ns: int = 0

    def run(self) -> Rows:
        """Run to the end of the load."""
        time, rows = FakeTime(START - NS_PER_SECOND, jumps=self.jumps), Rows()
        spec = ClientSpec("producer-0", ("t",), {})
        self.client = FakeProducer(
            FakeLog(4), spec, self.queue_limit, self.stopped, now_ns=time.now_ns, sleep=time.sleep
        )
        recipe = Recipe(0, 7, "zeros", 64, 42, in_headers=False, scheduled=self.rate is not None)
        self.live = Live.create(1, 4)
        self.slot = self.live.slots[0]
        pacer: Pacer | None = None if self.rate is None else constant(self.rate, 0, 1)
        producer = Producer(
            self.client,
            Composer(recipe, LARGEST_BLOCK),
            rows,
            self.slot,
            Latencies(self.live.latencies[0], START),
            lambda: self.order(time.at_ns),
            time.now_ns,
            time.sleep,
        )
        producer.run(pacer, START, START + round(self.seconds * NS_PER_SECOND), self.drain_ns)
        self.ended_ns = time.at_ns
        return rows


@pytest.mark.parametrize("rate", [0.5, 100.0, 1_000.0, 30_000.0, 200_000.0])
def test_every_due_message_is_sent_once_and_on_time(rate: float) -> None:
    """At low and high rates, the asked rate is the sent rate."""
    seconds = 0.2 if rate > 10_000 else 2.0
    story = Story(rate=rate, seconds=seconds)

    rows = story.run()

    seqs, due, sent = rows.column("seq"), rows.column("due_ns"), rows.column("sent_ns")
    assert seqs.tolist() == list(range(round(rate * seconds)))
    assert due.tolist() == (START + constant(rate, 0, 1).due_ns(0, len(seqs))).tolist()
    assert (sent >= due).all()
    assert np.percentile(sent - due, 99) < 100_000
    assert len(rows.rows) == len(seqs) == story.slot[Slot.KNOWN]
    assert story.slot[Slot.STATE] == State.FLUSHED


def test_a_producer_stays_until_the_load_is_over() -> None:
    """Two seconds after its last message: who left before would be taken for dead, and its polls would not be seen."""
    story = Story(rate=0.5, seconds=4.0)

    assert len(story.run().rows) == 2
    assert story.ended_ns >= START + 4 * NS_PER_SECOND


def test_a_stopped_process_shows_in_response_time_and_not_in_service_time() -> None:
    """The clock leaps by 2 s, as for SIGSTOP: messages keep their due times and are sent late, at once.

    Theory: dues of S seconds at rate r wait S/2 on average, so the mean response over T seconds is S^2 / (2 T).
    """
    stop_s, length_s = 2.0, 20.0
    story = Story(seconds=length_s, jumps=[(START + 5 * NS_PER_SECOND, round(stop_s * NS_PER_SECOND))])

    rows = story.run()

    response = (rows.column("acked_ns") - rows.column("due_ns")) / NS_PER_SECOND
    service = (rows.column("acked_ns") - rows.column("sent_ns")) / NS_PER_SECOND
    assert len(response) == 20_000
    assert response.mean() == pytest.approx(stop_s**2 / (2 * length_s), rel=0.05)
    assert response.max() == pytest.approx(stop_s, rel=0.05)
    assert (response > 0.05).mean() == pytest.approx(stop_s / length_s, rel=0.05)
    # Only what was in flight when the process was stopped can show it in service time.
    assert (service > 0.05).sum() <= BLOCK


def test_a_stopped_broker_with_a_small_queue_shows_mainly_in_response_time() -> None:
    """Nothing is acknowledged for 3 s and 100 messages fit: the rest waits outside, where only due times see it."""
    began, ended = START + 5 * NS_PER_SECOND, START + 8 * NS_PER_SECOND
    story = Story(seconds=20.0, queue_limit=100, stopped=lambda now: began <= now < ended)

    rows = story.run()

    response = (rows.column("acked_ns") - rows.column("due_ns")) / NS_PER_SECOND
    service = (rows.column("acked_ns") - rows.column("sent_ns")) / NS_PER_SECOND
    assert len(response) == 20_000
    assert response.mean() == pytest.approx(3.0**2 / (2 * 20.0), rel=0.05)
    assert (service > 0.05).sum() == pytest.approx(100, abs=2)
    assert np.percentile(service, 98) < 0.02 < 2.0 < np.percentile(response, 98)
    assert story.slot[Slot.BLOCKED_NS] == pytest.approx(2.9 * NS_PER_SECOND, rel=0.05)


def test_a_stopped_broker_with_a_large_queue_shows_in_both() -> None:
    """Everything fits into the queue, so every message is sent on time and acknowledged late."""
    began, ended = START + 5 * NS_PER_SECOND, START + 7 * NS_PER_SECOND
    story = Story(seconds=20.0, stopped=lambda now: began <= now < ended)

    rows = story.run()

    for begin in ("due_ns", "sent_ns"):
        latency = (rows.column("acked_ns") - rows.column(begin)) / NS_PER_SECOND
        assert latency.mean() == pytest.approx(2.0**2 / (2 * 20.0), rel=0.05)


def test_what_finds_no_room_until_the_end_is_unsent() -> None:
    """A broker that never comes back: taken messages are given up by name, the rest was due and never sent."""
    story = Story(rate=100.0, seconds=5.0, queue_limit=10, stopped=lambda _now: True)

    rows = story.run()

    errors = [row["error"] for row in sorted(rows.rows, key=lambda row: row["seq"])]
    assert errors == ["_PURGE_QUEUE"] * 10 + ["unsent"] * 490
    assert [row["seq"] for row in rows.rows] == list(range(500))
    assert {row["sent_ns"] for row in rows.rows if row["error"] == "unsent"} == {None}
    assert all(row["due_ns"] < START + 5 * NS_PER_SECOND for row in rows.rows)


def test_a_load_that_is_stopped_early_owes_only_what_was_due() -> None:
    """The user says stop after a second of ten."""
    story = Story(order=lambda now: Order.STOP_LOAD if now >= START + NS_PER_SECOND else Order.GO)

    rows = story.run()

    assert len(rows.rows) == pytest.approx(1000, abs=2)
    assert all(row["due_ns"] <= START + NS_PER_SECOND + NS_PER_MS for row in rows.rows)


def test_without_a_schedule_messages_have_no_due_time() -> None:
    """As fast as the client takes them, until the end of the load."""
    story = Story(rate=None, seconds=0.005)

    rows = story.run()

    assert len(rows.rows) > 2 * BLOCK
    assert {row["due_ns"] for row in rows.rows} == {-(1 << 63)}
    assert rows.column("seq").tolist() == list(range(len(rows.rows)))
    assert story.slot[Slot.MESSAGES] == len(rows.rows)


def test_an_aborted_run_keeps_what_it_knows_and_ends() -> None:
    """Ctrl-C twice: no flush, no list of what was not sent."""
    story = Story(order=lambda now: Order.ABORT if now >= START + NS_PER_SECOND else Order.GO)

    rows = story.run()

    assert 900 < len(rows.rows) <= 1001
    assert {row["error"] for row in rows.rows} == {None}
