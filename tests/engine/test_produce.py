"""The produce loop on a clock that the test moves: nothing sleeps, every figure is exact."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from streamgauge.domain import stamp
from streamgauge.domain.blocks import Block, ClientSpec, Outgoing, Refused
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.look import BUCKETS, live_buckets
from streamgauge.engine.board import Cells, Latencies, Order, Slot, State
from streamgauge.engine.fake import FakeLog, FakeProducer, FakeTime
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.loop import BLOCK, LARGEST_BLOCK, RECORD_GAP_AT, Producer, Sending, Times
from streamgauge.engine.produce.round_robin import run_round_robin
from streamgauge.engine.produce.sent import ProducerSinks
from streamgauge.engine.produce.sources import Recipe
from streamgauge.engine.produce.stops import FlushPolicy, TransactionPolicy
from streamgauge.workload.pacing import Pacer, constant

START = 10 * NS_PER_SECOND


@dataclass
class Rows:
    """A sink that keeps rows as dictionaries."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)

    def append(self, block: Block, count: int) -> None:
        """Take rows."""
        self.blocks.append(count)
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
    holds: int | None = None
    jumps: list[tuple[int, int]] = field(default_factory=list)
    stopped: Callable[[int], bool] = lambda _now: False
    order: Callable[[int], Order] = lambda _now: Order.GO
    drain_ns: int = NS_PER_SECOND
    warmup: float = 0.0
    sending: Sending = field(default_factory=Sending)
    topics: tuple[int, ...] = (0,)
    unlucky: set[int] = field(default_factory=set)
    answers_ns: int = 0
    naps: list[float] = field(default_factory=list)
    client: FakeProducer = field(init=False)
    batches: "Rows" = field(init=False)
    transactions: "Rows" = field(init=False)
    attempts: "Rows" = field(init=False)
    slot: Any = field(init=False)
    board: Cells = field(init=False)
    ended_ns: int = 0

    def run(self) -> Rows:
        """Run to the end of the load."""
        time, rows = FakeTime(START - NS_PER_SECOND, jumps=self.jumps), Rows()

        def nap(seconds: float) -> None:
            self.naps.append(seconds)
            time.sleep(seconds)

        spec = ClientSpec("producer-0", ("t",), {})
        self.client = FakeProducer(
            FakeLog(4), spec, self.queue_limit, self.stopped,
            unlucky=set(self.unlucky), answers_ns=self.answers_ns, holds=self.holds,
            now_ns=time.now_ns, sleep=time.sleep,
        )  # fmt: skip
        recipe = Recipe(0, 7, "zeros", 64, 42, in_headers=False, scheduled=self.rate is not None, topics=self.topics)
        self.board = Cells.new(1, 4)
        self.slot = self.board.slots[0]
        pacer: Pacer | None = None if self.rate is None else constant(self.rate, 0, 1)
        self.batches, self.transactions, self.attempts = Rows(), Rows(), Rows()
        producer = Producer(
            self.client,
            Composer(recipe, LARGEST_BLOCK),
            ProducerSinks(rows, self.batches, self.transactions, self.attempts),
            self.slot,
            Latencies(self.board.latencies[0], START, self.board.batches[0]),
            lambda: self.order(time.at_ns),
            replace(self.sending, pacer=pacer),
            time.now_ns,
            nap,
        )
        measure_ns = START + round(self.warmup * NS_PER_SECOND)
        producer.run(Times(START, measure_ns, measure_ns + round(self.seconds * NS_PER_SECOND), self.drain_ns))
        self.ended_ns = time.at_ns
        return rows


@pytest.mark.parametrize("rate", [0.5, 100.0, 1_000.0, 30_000.0, 200_000.0])
@pytest.mark.slow
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


@pytest.mark.parametrize("rate", [100.0, 500.0, 700.0, 1_000.0, 1_500.0])
def test_a_report_is_taken_soon_also_when_a_message_is_due_soon(rate: float) -> None:
    """Reports come 0.5 ms after their messages, while the next ones are due in 0.7 to 10 ms; none is late for it."""
    rows = Story(rate=rate, seconds=1.0, answers_ns=500_000).run()

    assert (rows.column("acked_ns") - rows.column("sent_ns")).max() < 800_000
    assert (rows.column("sent_ns") - rows.column("due_ns")).max() < 100_000


@pytest.mark.parametrize(("answers_ns", "naps"), [(0, 1), (10 * NS_PER_MS, 5)])
def test_naps_are_short_only_while_reports_are_in_flight(answers_ns: int, naps: int) -> None:
    """Naps between two messages that are 1 ms apart: each wakes the process up, which costs CPU."""
    story = Story(rate=1_000.0, seconds=1.0, answers_ns=answers_ns)

    story.run()

    assert len(story.naps) / 1_000 == pytest.approx(naps, rel=0.05)


@pytest.mark.parametrize(("rate", "rows"), [(100.0, 1), (500.0, RECORD_GAP_AT), (5_000.0, RECORD_GAP_AT)])
def test_reports_are_recorded_together_where_messages_follow_each_other_closely(rate: float, rows: int) -> None:
    """A block costs as much with one row as with many; at a low rate, rows are written soon all the same."""
    blocks = Story(rate=rate, seconds=2.0, answers_ns=100_000).run().blocks

    assert np.median(blocks) == pytest.approx(rows, abs=1)


def test_a_producer_stays_until_the_load_is_over() -> None:
    """Two seconds after its last message: who left before would be taken for dead, and its polls would not be seen."""
    story = Story(rate=0.5, seconds=4.0)

    assert len(story.run().rows) == 2
    assert story.ended_ns >= START + 4 * NS_PER_SECOND


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_wait_for_room_is_told_apart_from_the_delay_of_the_producer() -> None:
    """The queue was full for 2.9 s; the producer was never late by itself by more than it takes to catch up."""
    began, ended = START + 5 * NS_PER_SECOND, START + 8 * NS_PER_SECOND
    story = Story(seconds=20.0, queue_limit=100, stopped=lambda now: began <= now < ended)

    rows = story.run()

    waited_ns = [row["waited_ns"] or 0 for row in rows.rows]
    own_ns = [row["handed_ns"] - row["due_ns"] - waited for row, waited in zip(rows.rows, waited_ns, strict=True)]
    assert max(waited_ns) == pytest.approx(2.9 * NS_PER_SECOND, rel=0.02)
    assert min(own_ns) >= 0
    assert max(own_ns) < 60 * NS_PER_MS


def test_a_producer_that_never_waited_was_late_by_itself() -> None:
    """Without a wait for the system the column is empty."""
    story = Story(seconds=1.0)

    rows = story.run()

    assert {row["waited_ns"] for row in rows.rows} == {None}
    assert (rows.column("handed_ns") >= rows.column("sent_ns")).all()
    assert (rows.column("polled_ns") <= rows.column("acked_ns")).all()


def test_what_was_never_sent_was_never_handed_over() -> None:
    """Nor waited for, nor polled."""
    rows = Story(rate=100.0, seconds=5.0, queue_limit=10, stopped=lambda _now: True).run()

    unsent = [row for row in rows.rows if row["error"] == "unsent"]
    assert {(row["handed_ns"], row["waited_ns"], row["polled_ns"]) for row in unsent} == {(None, None, None)}


@pytest.mark.slow
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


@pytest.mark.parametrize("rate", [200_000.0, None])
def test_a_queue_that_is_full_by_its_bytes_is_waited_for(rate: float | None) -> None:
    """It holds 50 messages, far fewer than it counts with; each report makes room for the next."""
    late_ns = START + NS_PER_SECOND
    story = Story(
        rate, 0.05, holds=50, answers_ns=500_000, order=lambda now: Order.STOP_LOAD if now > late_ns else Order.GO
    )

    rows = story.run()

    assert {row["error"] for row in rows.rows} == {None}
    assert rows.column("seq").tolist() == list(range(story.slot[Slot.NEXT_SEQ]))
    assert len(rows.rows) > 1_000
    assert story.slot[Slot.BLOCKED_NS] > 0
    assert story.ended_ns < START + NS_PER_SECOND // 2


@pytest.mark.parametrize("rate", [1_000.0, None])
def test_what_a_full_queue_never_took_has_a_row(rate: float | None) -> None:
    """The queue holds ten messages, and its broker never answers: who was taken up with them is unsent."""
    story = Story(rate, 0.1, holds=10, stopped=lambda _now: True)

    rows = story.run()

    errors = [row["error"] for row in sorted(rows.rows, key=lambda row: row["seq"])]
    assert errors == ["_PURGE_QUEUE"] * 10 + ["unsent"] * (story.slot[Slot.NEXT_SEQ] - 10)
    assert story.ended_ns < START + 3 * NS_PER_SECOND


def test_a_load_that_is_stopped_early_owes_only_what_was_due() -> None:
    """The user says stop after a second of ten."""
    story = Story(order=lambda now: Order.STOP_LOAD if now >= START + NS_PER_SECOND else Order.GO)

    rows = story.run()

    assert len(rows.rows) == pytest.approx(1000, abs=2)
    assert all(row["due_ns"] <= START + NS_PER_SECOND + NS_PER_MS for row in rows.rows)


@pytest.mark.slow
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


def test_a_closed_loop_sends_a_batch_when_the_last_one_is_acknowledged() -> None:
    """Each batch has a row; they lie one behind the other and hold every message."""
    story = Story(rate=None, seconds=0.01, sending=Sending(flush=FlushPolicy(10, hurries=False)))

    rows = story.run()

    batches = story.batches.rows
    assert len(batches) > 10
    assert {row["messages"] for row in batches[:-1]} == {10}
    assert [row["first_seq"] for row in batches] == list(range(0, 10 * len(batches), 10))
    assert all(row["began_ns"] <= row["waited_ns"] <= row["ended_ns"] for row in batches)
    assert all(one["ended_ns"] <= other["began_ns"] for one, other in pairwise(batches))
    took = np.array([row["ended_ns"] - row["began_ns"] for row in batches])
    assert story.board.batches[0].tolist() == np.bincount(live_buckets(took), minlength=BUCKETS).tolist()
    acked = {row["seq"]: row["acked_ns"] for row in rows.rows}
    assert all(max(acked[seq] for seq in range(b["first_seq"], b["first_seq"] + 10)) <= b["ended_ns"] for b in batches)
    assert {row["due_ns"] for row in rows.rows} == {-(1 << 63)}


def test_a_flush_delays_nothing_that_the_schedule_wants() -> None:
    """Flushing after every fourth message: all are sent, each with its due time."""
    story = Story(rate=1_000.0, seconds=1.0, sending=Sending(flush=FlushPolicy(4)))

    rows = story.run()

    assert rows.column("seq").tolist() == list(range(1_000))
    assert [row["messages"] for row in story.batches.rows] == [4] * 250


def test_transactions_of_so_many_messages() -> None:
    """Every message names its transaction; the last one is ended when the load is over."""
    story = Story(rate=1_000.0, seconds=0.25, sending=Sending(transactions=TransactionPolicy(messages=100)))

    rows = story.run()

    assert [(row["transaction"], row["messages"], row["outcome"]) for row in story.transactions.rows] == [
        (0, 100, "committed"),
        (1, 100, "committed"),
        (2, 50, "committed"),
    ]
    assert rows.column("transaction").tolist() == [0] * 100 + [1] * 100 + [2] * 50
    assert all(row["began_ns"] < row["ended_ns"] for row in story.transactions.rows)


def test_transactions_of_a_length_end_on_time_also_when_nothing_is_due() -> None:
    """Two messages a second and transactions of 400 ms: those in which nothing was sent leave no row."""
    story = Story(rate=2.0, seconds=2.0, sending=Sending(transactions=TransactionPolicy(interval_ns=400 * NS_PER_MS)))

    rows = story.run()

    assert rows.column("transaction").tolist() == [0, 1, 2, 3]
    assert [row["messages"] for row in story.transactions.rows] == [1, 1, 1, 1]
    assert all(row["ended_ns"] - row["began_ns"] < 402 * NS_PER_MS for row in story.transactions.rows)


@pytest.mark.parametrize(("share", "aborted"), [(0.0, 0), (1.0, 10), (0.5, 5)])
def test_a_share_of_the_transactions_is_aborted(share: float, aborted: int) -> None:
    """As many as the seed draws."""
    sending = Sending(transactions=TransactionPolicy(messages=10, abort_share=share))
    story = Story(rate=1_000.0, seconds=0.1, sending=sending)
    story.run()

    outcomes = [row["outcome"] for row in story.transactions.rows]
    assert outcomes.count("aborted") == aborted
    assert [outcome == "committed" for outcome in outcomes] == story.client.ended[: len(outcomes)]


@pytest.mark.parametrize("rate", [1_000.0, None])
def test_a_message_that_failed_is_sent_again(rate: float | None) -> None:
    """With its stamp; the row tells the last report, an attempt tells of the other."""
    story = Story(rate=rate, seconds=0.5, unlucky={0, 7, 8}, sending=Sending(resend=1, measured_messages=400))

    rows = story.run()

    assert rows.column("seq").tolist() == list(range(400))
    assert [(row["seq"], row["attempt"], row["error"]) for row in story.attempts.rows] == [
        (0, 1, "_MSG_TIMED_OUT"),
        (7, 1, "_MSG_TIMED_OUT"),
        (8, 1, "_MSG_TIMED_OUT"),
    ]


def _away(*, until_ns: int, order: Callable[[int], Order] = lambda _now: Order.GO) -> Story:
    """Every message fails once, and the broker goes away while their room is filled with the next ones."""
    story = Story(rate=1_000_000.0, queue_limit=10, unlucky=set(range(400)), order=order)
    story.sending = Sending(resend=1, measured_messages=400)
    story.stopped = lambda now: story.slot[Slot.MESSAGES] >= 140 and now < until_ns
    return story


def test_a_message_is_sent_again_however_long_the_queue_is_full() -> None:
    """It waits for its room as the others do."""
    rows = _away(until_ns=START + NS_PER_SECOND // 2).run()

    assert rows.column("seq").tolist() == list(range(400))
    assert rows.column("sent_ns").max() > START + NS_PER_SECOND // 2


def test_a_message_that_found_no_room_when_it_was_to_be_sent_again_has_failed() -> None:
    """It was sent once, so it may be in the log: its row says how that attempt ended."""
    stop_ns = START + NS_PER_SECOND // 2
    story = _away(until_ns=2 * stop_ns, order=lambda now: Order.STOP_LOAD if now > stop_ns else Order.GO)

    rows = story.run()

    tried = {row["seq"] for row in story.attempts.rows}
    assert len(tried) > 100
    assert {row["error"] for row in rows.rows if row["seq"] in tried} == {"_MSG_TIMED_OUT"}
    assert sorted(row["seq"] for row in rows.rows) == list(range(story.slot[Slot.NEXT_SEQ]))


def test_every_report_is_recorded_when_nothing_can_be_sent_again() -> None:
    """A broker that never answers: what was given up at the end has failed, and is not kept for another attempt."""
    story = Story(rate=100.0, seconds=1.0, queue_limit=10, stopped=lambda _now: True, sending=Sending(resend=3))

    rows = story.run()

    errors = [row["error"] for row in sorted(rows.rows, key=lambda row: row["seq"])]
    assert errors == ["_PURGE_QUEUE"] * 10 + ["unsent"] * 90


def test_without_it_a_message_that_failed_has_failed() -> None:
    """Its row says why."""
    story = Story(seconds=0.5, unlucky={7})

    rows = story.run()

    assert [(row["seq"], row["error"]) for row in rows.rows if row["error"]] == [(7, "_MSG_TIMED_OUT")]
    assert story.attempts.rows == []


def test_a_number_of_messages_ends_a_scheduled_load_when_the_next_would_be_due() -> None:
    """So that the rate of the measure phase is the rate of the schedule; warm-up does not count."""
    story = Story(rate=100.0, warmup=0.5, seconds=10.0, sending=Sending(measured_messages=200))

    rows = story.run()

    assert len(rows.rows) == 250
    assert story.slot[Slot.OVER_NS] == pytest.approx(START + 2.5 * NS_PER_SECOND, abs=NS_PER_MS)


def test_a_number_of_messages_ends_a_load_without_a_schedule() -> None:
    """Those of the measure phase alone count."""
    story = Story(rate=None, warmup=0.002, seconds=10.0, sending=Sending(measured_messages=1_234))

    rows = story.run()

    measured = rows.column("sent_ns") >= START + 2 * NS_PER_MS
    assert measured.sum() == pytest.approx(1_234, abs=500)
    assert story.slot[Slot.OVER_NS] == pytest.approx(rows.column("sent_ns")[-1], abs=NS_PER_MS)


def test_topics_in_turn() -> None:
    """Every row names its topic."""
    story = Story(rate=1_000.0, seconds=0.1, topics=(2, 5, 7))

    rows = story.run()

    assert rows.column("topic").tolist() == [(2, 5, 7)[seq % 3] for seq in range(100)]


def test_several_producers_in_one_process_do_not_wait_for_each_other() -> None:
    """One whose broker does not answer, in a closed loop, and two on a schedule, which stay on time."""
    time, board, sinks = FakeTime(START - NS_PER_SECOND, tick_ns=200), Cells.new(3, 4), [Rows() for _ in range(3)]
    producers = []
    for number in range(3):
        client = FakeProducer(
            FakeLog(4), ClientSpec("p", ("t",), {}),
            stopped=(lambda _now: True) if number == 0 else (lambda _now: False),
            now_ns=time.now_ns, sleep=time.sleep,
        )  # fmt: skip
        sending = Sending(flush=FlushPolicy(10)) if number == 0 else Sending(constant(200.0, number, 3))
        recipe = Recipe(number, 7, "zeros", 64, 42, in_headers=False, scheduled=number > 0)
        producers.append(
            Producer(
                client, Composer(recipe, LARGEST_BLOCK), ProducerSinks(sinks[number], Rows()), board.slots[number],
                Latencies(board.latencies[number], START), lambda: Order.GO, sending, time.now_ns, time.sleep,
            )
        )  # fmt: skip

    run_round_robin(producers, Times(START, START, START + NS_PER_SECOND, NS_PER_SECOND // 2), time.now_ns, time.sleep)

    assert {row["error"] for row in sinks[0].rows} == {"_PURGE_QUEUE"}
    for rows in sinks[1:]:
        delays = rows.column("sent_ns") - rows.column("due_ns")
        assert len(delays) in {66, 67}
        assert delays.max() < NS_PER_MS
    assert [board.state(row) for row in range(3)] == [State.FLUSHED] * 3


@pytest.mark.parametrize("rate", [1_000.0, 100_000.0, None])
@pytest.mark.slow
def test_a_message_is_taken_up_before_it_can_be_anywhere(rate: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever counts after a death at any moment finds none with the client, or in the rows, that was not taken up."""
    story = Story(rate=rate, seconds=0.01, queue_limit=300)
    send, append = FakeProducer.send, Rows.append
    seen: list[tuple[int, int]] = []

    def note_sent(client: FakeProducer, block: Outgoing) -> Refused:
        seen.append((int(stamp.decode(block.stamps.tobytes())["seq"].max()), int(story.slot[Slot.NEXT_SEQ])))
        return send(client, block)

    def note_recorded(rows: Rows, block: Block, count: int) -> None:
        if block.get("sent_ns") is not None:
            seen.append((int(np.max(np.asarray(block["seq"]))), int(story.slot[Slot.NEXT_SEQ])))
        append(rows, block, count)

    monkeypatch.setattr(FakeProducer, "send", note_sent)
    monkeypatch.setattr(Rows, "append", note_recorded)
    rows = story.run()

    assert len(seen) > 2
    assert [each for each in seen if each[0] >= each[1]] == []
    assert story.slot[Slot.NEXT_SEQ] == len(rows.rows)


def test_what_was_never_sent_is_counted_once_it_is_recorded() -> None:
    """The client takes nothing more from the second half on: what was due is recorded, and only then counted."""
    story = Story(rate=1_000.0, seconds=1.0, stopped=lambda now: now >= START + NS_PER_SECOND // 2, queue_limit=10)

    rows = story.run()

    assert len(rows.rows) == 1_000
    assert story.slot[Slot.NEXT_SEQ] == 1_000


def test_refused_messages_are_among_those_that_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or what the live view calls acknowledged would be fewer than none."""
    refusal = Refused(failed=[(0, "MSG_SIZE_TOO_LARGE")])
    monkeypatch.setattr(FakeProducer, "send", lambda _client, _block: refusal)
    story = Story(rate=100.0, seconds=0.1)

    story.run()

    assert story.slot[Slot.KNOWN] == story.slot[Slot.FAILED] == 10
