"""The consume loop over a log in memory, with a clock that moves when it is read and when somebody sleeps."""

import zlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from streamgauge.domain import stamp
from streamgauge.domain.blocks import NULL_BOOL, NULL_INT32, NULL_INT64, Block, Fetched
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.engine.board import Cells, Latencies, Order, Slot
from streamgauge.engine.consume.commit import CommitEvery
from streamgauge.engine.consume.loop import (
    BITE,
    LONGEST_NS,
    Consumer,
    ConsumerSinks,
    Consuming,
    Reading,
    consume_all,
)
from streamgauge.engine.fake import FakeCommits, FakeLog, FakeReader, FakeTime
from streamgauge.scenario.model.consume import Commit
from streamgauge.scenario.model.pacing.processing import Processing
from streamgauge.workload.processing import Handling, handling_of

TAG = 7
NO_HEAD = bytes(stamp.SIZE)


@dataclass
class Blocks:
    """A sink that keeps blocks."""

    blocks: list[tuple[Block, int]] = field(default_factory=list)

    def append(self, block: Block, count: int) -> None:
        """Take rows."""
        self.blocks.append((block, count))

    def close(self) -> None:
        """Nothing to write."""

    def column(self, name: str) -> list[Any]:
        """One column of all rows."""
        out: list[Any] = []
        for block, count in self.blocks:
            values = block[name]
            out += values.tolist() if isinstance(values, np.ndarray) else [values] * count
        return out


def value(seq: int, *, tag: int = TAG, flags: int = 0, body: bytes = b"body", crc: int | None = None) -> bytes:
    stamps = stamp.blank(1, tag, 3, scheduled=not flags)
    stamps["seq"], stamps["due_ns"], stamps["sent_ns"] = seq, 1000 + seq, 2000 + seq
    stamps["crc"] = zlib.crc32(body) if crc is None else crc
    return stamps.tobytes() + body


PARTITIONS = 2


def processing(**given: Any) -> Handling:
    return handling_of(Processing.model_validate(given))


def every(**given: Any) -> CommitEvery:
    asked = Commit.model_validate(given)
    return CommitEvery(asked.messages, asked.interval, asked.asynchronous)


SLOW = processing(delay="1ms")


@dataclass
class Ground:
    """A consumer of a log in memory, with a clock of its own, and all that it writes."""

    consuming: Consuming = field(default_factory=lambda: Consuming(("t",), PARTITIONS))
    reading: Reading = field(default_factory=lambda: Reading(TAG, None))
    further: int = 0
    time: FakeTime = field(default_factory=FakeTime)
    board: Cells = field(default_factory=lambda: Cells.new(1, 3 * PARTITIONS))
    received: Blocks = field(default_factory=Blocks)
    polls: Blocks = field(default_factory=Blocks)
    commits: Blocks = field(default_factory=Blocks)
    measure_ns: int = 0
    offsets: FakeCommits = field(init=False)
    reader: FakeReader = field(init=False)
    consumer: Consumer = field(init=False)

    def __post_init__(self) -> None:
        """Nothing is in the log yet."""
        logs = [FakeLog(PARTITIONS) for _ in range(1 + self.further)]
        self.offsets = FakeCommits(self.time.now_ns, self.time.sleep)
        self.reader = FakeReader(logs[0], range(PARTITIONS), self.offsets, sleep=self.time.sleep, further=logs[1:])
        self.consumer = Consumer(
            self.reader,
            self.reading,
            self.consuming,
            ConsumerSinks(self.received, self.polls, self.commits),
            self.board.slots[0],
            self.board.positions[0],
            Latencies(self.board.latencies[0], self.time.now_ns()),
            lambda: self.board.order,
            lambda: self.measure_ns,
            self.time.now_ns,
            self.time.sleep,
        )

    def fill(self, count: int, partition: int = 0, topic: int = 0) -> None:
        """Append messages to a partition."""
        log = (self.reader.log, *self.reader.further)[topic]
        first = len(log.records[partition])
        log.records[partition] += [(value(seq), NO_HEAD) for seq in range(first, first + count)]

    def run(self, seconds: float) -> None:
        """Consume for so long."""
        end_ns = self.time.at_ns + round(seconds * NS_PER_SECOND)
        while self.time.at_ns < end_ns:
            self.consumer.turn(LONGEST_NS)

    def finish(self) -> None:
        self.board.give(Order.FINISH)
        self.consumer.run(Order.FINISH)
        self.consumer.finish()

    def processed(self) -> list[tuple[int, int, int]]:
        """(partition, begin, end) of what was processed, by end."""
        columns = (self.received.column(name) for name in ("partition", "started_ns", "processed_ns"))
        return [row for row in zip(*columns, strict=True) if row[2] not in {None, NULL_INT64}]


def consume(records: list[tuple[bytes, bytes]], reading: Reading) -> Ground:
    """Everything that a consumer records of one partition."""
    ground = Ground(reading=reading)
    ground.reader.log.records[1] = records
    for _ in range(3):
        ground.consumer.turn(LONGEST_NS)
    ground.finish()
    return ground


def test_stamps_are_decoded_and_verified() -> None:
    """Every n-th by its sequence; the rest is not known to be intact."""
    records = [(value(0), NO_HEAD), (value(1, crc=5), NO_HEAD), (value(2, crc=5), NO_HEAD), (value(3), NO_HEAD)]

    received = consume(records, Reading(TAG, 2)).received

    assert received.column("seq") == [0, 1, 2, 3]
    assert received.column("producer") == [3] * 4
    assert received.column("due_ns") == [1000, 1001, 1002, 1003]
    assert received.column("sent_ns") == [2000, 2001, 2002, 2003]
    assert received.column("offset") == [0, 1, 2, 3]
    assert received.column("intact") == [1, NULL_BOOL, 0, NULL_BOOL]


@pytest.mark.parametrize("foreign", [b"", b"short", bytes(200), value(5, tag=TAG + 1)])
def test_what_is_not_of_this_run_is_foreign(foreign: bytes) -> None:
    """It is recorded, without producer, sequence and times, and its checksum is nobody's business."""
    ground = consume([(foreign, NO_HEAD), (value(1), NO_HEAD)], Reading(TAG, 1))
    received = ground.received

    assert received.column("producer") == [NULL_INT32, 3]
    assert received.column("seq") == [NULL_INT64, 1]
    assert received.column("sent_ns") == [NULL_INT64, 2001]
    assert received.column("intact") == [NULL_BOOL, 1]
    assert received.column("size_bytes") == [len(foreign), len(value(1))]
    assert ground.offsets.stored == {(0, 1): 2}
    assert ground.board.positions[0].tolist() == [0, 2, 0, 0, 0, 0]


def test_a_load_without_a_schedule_has_no_due_times() -> None:
    """The flag in the stamp says so."""
    received = consume([(value(4, flags=stamp.NO_SCHEDULE), NO_HEAD)], Reading(TAG, 1)).received

    assert received.column("due_ns") == [None]
    assert received.column("sent_ns") == [2004]


def test_somebody_elses_load_has_sequences_but_no_times() -> None:
    """Its clock may be that of another machine, or of last week."""
    received = consume([(value(4, tag=99), NO_HEAD)], Reading(None, 1)).received

    assert received.column("seq") == [4]
    assert received.column("due_ns") == received.column("sent_ns") == [None]
    assert received.column("intact") == [1]


def test_a_stamp_in_a_header_covers_the_whole_value() -> None:
    """The value is left untouched, so its first bytes count as content."""
    body = b"x" * 100
    head = value(9, body=body)[: stamp.SIZE]

    received = consume([(body, head), (body[1:], head)], Reading(TAG, 1)).received

    assert received.column("seq") == [9, 9]
    assert received.column("intact") == [1, 0]


def test_every_poll_is_a_row() -> None:
    """Empty ones too; their numbers connect them with the messages."""
    ground = consume([(value(0), NO_HEAD), (value(1), NO_HEAD)], Reading(TAG, None))
    received, polls, board = ground.received, ground.polls, ground.board

    assert polls.column("poll") == [0, 1, 2]
    assert polls.column("count") == [2, 0, 0]
    assert received.column("poll") == [0, 0]
    assert received.column("intact") == [None, None]
    assert all(a < b for a, b in zip(polls.column("started_ns"), polls.column("returned_ns"), strict=True))
    assert board.slots[0, Slot.MESSAGES] == 2
    assert board.slots[0, Slot.ASSIGNED] == 2
    assert board.slots[0, Slot.OVER_NS] == received.column("received_ns")[0]


def test_a_message_is_received_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of decoding is this worker's, not the stream's; it is no part of the call, either."""
    ground = Ground()
    ground.fill(3)
    poll, returned_ns = FakeReader.poll, list[int]()

    def decoding(reader: FakeReader, *given: Any) -> Fetched | None:
        fetched = poll(reader, *given)
        returned_ns.append(ground.time.now_ns())
        ground.time.sleep(0.001)
        return fetched and replace(fetched, returned_ns=returned_ns[-1])

    monkeypatch.setattr(FakeReader, "poll", decoding)
    ground.consumer.turn(LONGEST_NS)
    ground.finish()

    assert ground.received.column("received_ns") == 3 * returned_ns[:1]
    assert ground.polls.column("returned_ns")[0] == returned_ns[0]


def test_topics_are_told_apart() -> None:
    """In the rows, in the cells of positions, and in what is stored."""
    ground = Ground(Consuming(("a", "b", "c"), PARTITIONS), further=2)
    ground.fill(3, partition=1, topic=2)
    ground.fill(2, partition=0, topic=1)
    ground.run(0.3)

    assert ground.received.column("topic") == [1, 1, 2, 2, 2]
    assert ground.offsets.stored == {(1, 0): 2, (2, 1): 3}
    assert ground.board.positions[0].tolist() == [0, 0, 2, 0, 0, 3]
    assert ground.board.slots[0, Slot.ASSIGNED] == 6


@pytest.mark.parametrize("how", [None, processing(), SLOW])
def test_the_end_of_a_log_is_a_position(how: Handling | None) -> None:
    """Behind the last message may lie what is none: it is read and done with when what is before it is."""
    ground = Ground(Consuming(("t",), PARTITIONS, how))
    ground.fill(3)
    ground.reader.reached += [(0, 0, 5), (0, 1, 2)]
    ground.run(0.1)

    assert ground.offsets.stored == {(0, 0): 5, (0, 1): 2}
    assert ground.board.positions[0].tolist()[:2] == [5, 2]


@pytest.mark.parametrize(
    ("order", "slots", "at_once"),
    [("loop", {}, 1), ("partitions", {}, 2), ("slots", {"slots": 5}, 5)],
)
@pytest.mark.parametrize("delay_us", [200, 1_000, 4_500])
@pytest.mark.slow
def test_delays_are_true_and_so_is_what_is_processed(
    order: str, slots: dict[str, int], at_once: int, delay_us: int
) -> None:
    """Mean delay within 1 %, and messages a second within 2 % of slots / delay, of a log that is always ahead."""
    how = processing(delay=f"{delay_us}us", order=order, **slots)
    ground = Ground(Consuming(("t",), PARTITIONS, how))
    for partition in range(PARTITIONS):
        ground.fill(round(1e6 / delay_us * at_once), partition)
    ground.run(1.0)
    took = [end - begin for _, begin, end in ground.processed()]

    assert min(took) >= delay_us * 1000
    assert np.mean(took) == pytest.approx(delay_us * 1000, rel=0.01)
    assert len(took) == pytest.approx(at_once * 1e6 / delay_us, rel=0.02)


@pytest.mark.parametrize("overshoot_us", [0, 60, 90])
def test_sleeps_that_last_too_long_are_allowed_for(overshoot_us: int) -> None:
    """A busy machine wakes a process late; the stretch before a deadline that is spun through follows."""
    time = FakeTime()
    ground = Ground(Consuming(("t",), PARTITIONS, SLOW), time=time)
    ground.consumer.sleep = lambda seconds: time.sleep(seconds + overshoot_us / 1e6)
    ground.fill(2_000)
    ground.run(1.5)
    took = [end - begin for _, begin, end in ground.processed()][100:]

    assert np.mean(took) == pytest.approx(NS_PER_MS, rel=0.01)


def test_slots_of_partitions_do_not_starve_each_other() -> None:
    """The messages of one partition stand before all others, and fill what may be buffered only to its share."""
    ground = Ground(Consuming(("t",), PARTITIONS, processing(delay="1ms", order="partitions"), buffer=20))
    ground.fill(10_000, 0)
    ground.fill(10_000, 1)
    ground.run(1.0)

    counts = [sum(place == partition for place, _, _ in ground.processed()) for partition in range(PARTITIONS)]
    assert counts == pytest.approx([1000, 1000], rel=0.02)


@pytest.mark.parametrize("buffer", [1, 10, 1000])
def test_what_is_buffered_is_bounded(buffer: int) -> None:
    """What was received and is not processed, at any time, and what the shared cells say of it."""
    ground = Ground(Consuming(("t",), PARTITIONS, SLOW, buffer=buffer))
    ground.fill(5_000)
    most = 0
    for _ in range(300):
        ground.run(0.001)
        received = int(ground.board.slots[0, Slot.MESSAGES])
        most = max(most, received - len(ground.received.column("offset")))
        assert ground.board.slots[0, Slot.BUFFERED] <= buffer

    assert most <= buffer + BITE
    assert len(ground.processed()) > 200


def test_what_is_polled_is_told_to_be_buffered_before_its_position_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who finds every position at the end would else end the run with messages buffered."""
    ground = Ground(Consuming(("t",), PARTITIONS, SLOW))
    ground.fill(20)
    told: list[tuple[int, int]] = []

    def ends(_reader: FakeReader) -> list[tuple[int, int, int]]:
        told.append((int(ground.board.positions[0, 0]), int(ground.board.slots[0, Slot.BUFFERED])))
        return []

    monkeypatch.setattr(FakeReader, "ends", ends)
    ground.run(0.001)

    assert told[0] == (20, 20)


def test_a_message_that_takes_long_keeps_nobody_from_polling() -> None:
    """Its group hears of the consumer at least every second, though there is no room for a message."""
    ground = Ground(Consuming(("t",), PARTITIONS, processing(delay="1m"), buffer=1))
    ground.fill(10)
    ground.run(20.0)
    ground.finish()
    started = ground.polls.column("started_ns")

    assert sum(ground.polls.column("count")) == 1
    assert max(np.diff(started)) <= 1.2 * NS_PER_SECOND
    assert 15 <= len(started) <= 30


def test_processing_that_takes_no_time_costs_no_turn_for_each_message() -> None:
    """A backlog goes through in polls of full size."""
    ground = Ground(Consuming(("t",), PARTITIONS, processing(), buffer=10))
    ground.fill(20_000)
    for _ in range(10):
        ground.consumer.turn(LONGEST_NS)

    assert len(ground.processed()) == 20_000
    assert ground.offsets.stored == {(0, 0): 20_000}


def test_a_change_ends_a_backlog() -> None:
    """From the begin of the measure phase on; what has begun takes as long as it was to."""
    ground = Ground(Consuming(("t",), PARTITIONS, processing(delay="10ms", changes=[{"at": "1s"}]), buffer=50))
    ground.fill(10_000)
    ground.run(0.5)
    ground.measure_ns = ground.time.at_ns
    ground.run(0.99)
    before = len(ground.processed())
    ground.run(0.1)

    assert before == pytest.approx(149, abs=2)
    assert len(ground.processed()) == 10_000


def test_what_is_skipped_is_handled_and_never_processed() -> None:
    """With and without a delay."""
    for delay in ("0s", "1ms"):
        ground = Ground(Consuming(("t",), PARTITIONS, processing(delay=delay, skip=0.25)))
        ground.fill(1_000)
        ground.run(1.5)

        assert len(ground.processed()) == pytest.approx(750, abs=50)
        assert len(ground.received.column("offset")) == 1_000
        assert ground.offsets.stored == {(0, 0): 1_000}


@pytest.mark.parametrize(("delay_ms", "expected"), [(10, 9.5), (1, 95)])
def test_revoked_partitions_leave_with_what_is_known(delay_ms: int, expected: float) -> None:
    """What is buffered of them is recorded, not processed and not stored; the others go on."""
    how = processing(delay=f"{delay_ms}ms", order="partitions")
    ground = Ground(Consuming(("t",), PARTITIONS, how, commit=every(interval="1s")))
    ground.fill(120, 0)
    ground.fill(120, 1)
    ground.run(0.0975)
    ground.reader.revoke([0])
    stored, asked = ground.offsets.stored[0, 0], list(ground.offsets.asked)
    ground.run(2.0)

    assert stored == pytest.approx(expected, abs=3 if delay_ms == 1 else 1)
    assert ground.offsets.stored == {(0, 0): stored, (0, 1): 120}
    assert asked == [False]
    places = list(zip(ground.received.column("partition"), ground.received.column("offset"), strict=True))
    assert sorted(places) == [(partition, offset) for partition in range(2) for offset in range(120)]
    done = [partition for partition, _, _ in ground.processed()]
    assert (done.count(0), done.count(1)) == (stored, 120)


def test_at_the_end_all_that_was_received_is_recorded() -> None:
    """One that began has its begin, the others have neither, and only what is processed is stored."""
    ground = Ground(Consuming(("t",), PARTITIONS, processing(delay="10ms")))
    ground.fill(20)
    ground.run(0.055)
    ground.finish()

    processed = len(ground.processed())
    assert processed == 5
    assert ground.offsets.stored == {(0, 0): processed}
    assert ground.received.column("offset") == list(range(20))
    begun = [each != NULL_INT64 for each in ground.received.column("started_ns")]
    assert begun == [True] * (processed + 1) + [False] * (19 - processed)
    assert ground.board.slots[0, Slot.BUFFERED] == 0


@pytest.mark.parametrize(
    ("way", "how", "expected"),
    [
        ("auto", None, 0),
        ("never", None, 0),
        ("batch", None, 5),
        ("batch", SLOW, 19),
        (every(messages=1000), None, 5),
        (every(messages=3000), None, 3),
        (every(messages=100), SLOW, 10),
        (every(interval="200ms"), SLOW, 5),
        (every(interval="200ms", asynchronous=True), SLOW, 5),
    ],
)
def test_commits_come_when_they_are_asked_for(way: Any, how: Handling | None, expected: int) -> None:
    """Of what is stored, and a last one at the end; each is a row."""
    ground = Ground(Consuming(("t",), PARTITIONS, how, commit=way, buffer=100))
    ground.fill(1_000 if how else 10_000)
    ground.run(1.1)
    ground.finish()
    asynchronous = ground.commits.column("asynchronous")

    assert len(asynchronous) == pytest.approx(expected, abs=0 if how is None else 1)
    assert len(ground.offsets.asked) == len(asynchronous)
    assert set(ground.offsets.asked[:-1]) <= {isinstance(way, CommitEvery) and way.asynchronous}
    assert set(ground.commits.column("took_ns")) <= {NS_PER_MS}


@pytest.mark.parametrize("how", [None, processing(), SLOW])
def test_a_reader_without_a_group_commits_nothing(how: Handling | None) -> None:
    """A table, say: its rows are recorded and its positions told all the same."""
    ground = Ground(Consuming(("t",), PARTITIONS, how, commit="batch"))
    ground.reader.commits = None
    ground.consumer.__post_init__()
    ground.fill(100)
    ground.run(1.0)
    ground.finish()

    assert ground.received.column("offset") == list(range(100))
    assert ground.board.positions[0].tolist()[:2] == [100, 0]
    assert (ground.offsets.stored, ground.offsets.asked, ground.commits.blocks) == ({}, [], [])


@pytest.mark.parametrize("how", [None, processing(), SLOW])
@pytest.mark.parametrize("per_second", [0.2, 50, 900, 20_000])
@pytest.mark.slow
def test_a_rate_is_kept_and_spread_evenly(per_second: float, how: Handling | None) -> None:
    """Bounded waits: a consumer that may take nothing polls all the same, for its group."""
    ground = Ground(Consuming(("t",), PARTITIONS, how, per_second=per_second, buffer=20))
    ground.fill(100_000)
    seconds = max(2.0, 3 / per_second)
    ground.run(seconds)
    ground.finish()
    expected = min(seconds * per_second + 1, seconds * 1000 if how is SLOW else 1e9)
    times = np.array(ground.received.column("received_ns"))

    assert len(times) == pytest.approx(expected, rel=0.02, abs=1)
    for half in np.array_split(times, 2):
        assert len(half) == pytest.approx(expected / 2, rel=0.05, abs=1)
    assert max(np.diff(ground.polls.column("started_ns"))) <= 1.2 * NS_PER_SECOND


def test_consumers_of_one_process_take_turns() -> None:
    """Neither waits for the other: every delay is as true as for one alone."""
    time = FakeTime()
    grounds = [Ground(Consuming(("t",), PARTITIONS, how), time=time) for how in (SLOW, SLOW, None)]
    grounds[0].fill(400)
    grounds[1].fill(400)
    grounds[2].fill(9_000)
    grounds[0].consumer.order = lambda: Order.FINISH if time.at_ns >= NS_PER_SECOND else Order.GO
    consume_all([ground.consumer for ground in grounds], Order.FINISH)

    for ground in grounds[:2]:
        took = [end - begin for _, begin, end in ground.processed()]
        assert len(took) == 400
        assert np.mean(took) == pytest.approx(NS_PER_MS, rel=0.02)
    assert len(grounds[2].received.column("offset")) == 9_000
