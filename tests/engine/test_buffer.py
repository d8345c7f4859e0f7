"""What is buffered, and the slots that process it: with every reading of the clock given."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain import stamp
from streamgauge.domain.blocks import NULL_INT64, Fetched
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import WorkerError
from streamgauge.engine.consume.buffer import Buffer, Frontier
from streamgauge.engine.consume.receive import Reading, rows, times_in
from streamgauge.scenario.model.pacing.processing import Processing
from streamgauge.workload.failing import Failing
from streamgauge.workload.processing import NEVER, Delays, handling_of

MS = NS_PER_MS
PARTITIONS = 4


def buffer_of(limit: int = 100, *, redelivers: bool = False, **processing: Any) -> Buffer:
    """Messages of two topics of four partitions, to be acknowledged within a second."""
    model = handling_of(Processing.model_validate(processing), NS_PER_SECOND)
    return Buffer(model, limit, Delays(model, 42, (0,)), ("a", "b"), PARTITIONS, lambda: 0, redelivers=redelivers)


def fetched(*places: tuple[int, int, int]) -> Fetched:
    """Messages at (topic, partition, offset)."""
    topic, partition, offset = np.array(places, np.int64).T
    count = len(places)
    return Fetched(
        partition=partition.astype(np.int32),
        offset=offset,
        append_ms=None,
        size_bytes=np.full(count, 7, np.int32),
        stamps=np.zeros(count, stamp.STAMP),
        values=[b"1234567"] * count,
        in_header=False,
        topic=topic.astype(np.int32),
        contents=lambda: [(b"v%d" % number, b"k") for number in offset.tolist()],
    )


def take(buffer: Buffer, *places: tuple[int, int, int], poll: int = 0) -> None:
    block = fetched(*places)
    buffer.take(rows(block, Reading(1, None), poll, 5), block)


@dataclass
class Settled:
    """What is over, and what may be stored then."""

    block: dict[str, Any]
    offsets: list[tuple[int, int, int]]
    polls: int


def settle(buffer: Buffer) -> Settled | None:
    block = buffer.settle()
    return Settled(block, *buffer.get_on(block)) if block else None


def times(settled: Settled | None) -> list[tuple[int, int, int]]:
    """(offset, begin, end) in the order in which they were over, -1 for unknown."""
    assert settled is not None
    columns: list[Any] = [settled.block[name] for name in ("offset", "started_ns", "processed_ns")]
    known = [np.where(column == NULL_INT64, -1, column).tolist() for column in columns]
    return list(zip(*known, strict=True))


def test_one_slot_takes_one_message_after_the_other() -> None:
    """What is late is observed late; the next one begins with the same reading, and makes up for it."""
    buffer = buffer_of(delay="4ms")
    take(buffer, (0, 0, 10), (0, 0, 11), (0, 1, 5))
    turned = [buffer.turn(at_ns) for at_ns in (1 * MS, 4 * MS, 5 * MS, 9 * MS + 500, 13 * MS - 1, 13 * MS)]

    assert turned == [True, False, True, True, False, True]
    assert times(settle(buffer)) == [(10, MS, 5 * MS), (11, 5 * MS, 9 * MS + 500), (5, 9 * MS + 500, 13 * MS)]
    assert (buffer.count, buffer.due_ns) == (0, NEVER)


def test_delays_do_not_add_up_and_a_stall_is_not_made_up_for() -> None:
    """Each delay is as asked on average; after a stall the next one still takes half its time."""
    buffer = buffer_of(delay="4ms")
    take(buffer, *((0, 0, offset) for offset in range(20)))
    buffer.turn(0)
    now = 0
    for _ in range(10):
        now = buffer.due_ns + 300_000
        buffer.turn(now)
    assert now == 40 * MS + 300_000
    buffer.turn(now + 100 * MS)
    assert buffer.due_ns == now + 102 * MS


def test_each_partition_has_a_slot_of_its_own() -> None:
    """In order within a partition, side by side between them, those of two topics apart."""
    buffer = buffer_of(delay="4ms", order="partitions")
    take(buffer, (0, 1, 10), (0, 1, 11), (1, 1, 10), (0, 2, 7))
    for at_ns in (0, 4 * MS, 8 * MS):
        buffer.turn(at_ns)

    assert times(settle(buffer)) == [(10, 0, 4 * MS), (7, 0, 4 * MS), (10, 0, 4 * MS), (11, 4 * MS, 8 * MS)]


def test_slots_take_from_any_partition() -> None:
    buffer = buffer_of(delay="4ms", order="slots", slots=2)
    take(buffer, *((0, 1, offset) for offset in range(5)))
    for at_ns in (0, 4 * MS, 8 * MS, 12 * MS):
        buffer.turn(at_ns)

    assert [each[2] // MS for each in times(settle(buffer))] == [4, 4, 8, 8, 12]


def test_without_a_delay_all_is_over_at_once() -> None:
    """After a change too, once those that began before it are."""
    buffer = buffer_of(delay="4ms", changes=[{"at": "10ms"}])
    buffer.begin(0)
    take(buffer, *((0, 0, offset) for offset in range(50)))
    buffer.turn(8 * MS)
    buffer.turn(11 * MS)
    assert (buffer.count, buffer.takes_no_time) == (50, False)
    buffer.turn(12 * MS)

    assert times(settle(buffer))[:2] == [(0, 8 * MS, 12 * MS), (1, 12 * MS, 12 * MS)]
    assert (buffer.count, buffer.takes_no_time) == (0, True)


def test_rows_are_those_that_were_received() -> None:
    """Every column comes out as it went in, and room is given back."""
    buffer = buffer_of(limit=2, delay="1ms", order="slots", slots=8)
    for poll in range(2_000):
        assert buffer.room(4) == 2
        take(buffer, (0, 3, poll), (1, 2, poll + 7), poll=poll)
        assert buffer.room(4) == 0
        buffer.turn(2 * poll * MS)
        buffer.turn((2 * poll + 1) * MS)
        block: Any = settle(buffer).block  # type: ignore[union-attr]
        assert [block[name].tolist() for name in ("topic", "partition", "offset", "poll", "size_bytes")] == [
            [0, 1],
            [3, 2],
            [poll, poll + 7],
            [poll] * 2,
            [7] * 2,
        ]
        assert set(block["seq"].tolist()) == set(block["created_ms"].tolist()) == {NULL_INT64}


def test_offsets_get_on_only_when_all_below_is_over() -> None:
    """With two slots the second message may be over before the first; what is skipped is over at once."""
    buffer = buffer_of(delay="0s", jitter="10ms", order="slots", slots=3)
    take(buffer, (0, 1, 10), (0, 1, 12), (1, 1, 3))
    buffer.turn(0)
    stored: dict[tuple[int, int], int] = {}
    over: set[tuple[int, int]] = set()
    for at_ns in range(0, 11 * MS, MS // 10):
        buffer.turn(at_ns)
        if settled := settle(buffer):
            block: Any = settled.block
            over |= set(zip(block["topic"].tolist(), block["offset"].tolist(), strict=True))
            stored |= {(topic, partition): offset for topic, partition, offset in settled.offsets}
            assert stored.get((0, 1), 10) == (13 if {(0, 10), (0, 12)} <= over else 12 if (0, 10) in over else 10)

    assert stored == {(0, 1): 13, (1, 1): 4}


@given(st.data())
def test_the_frontier_is_the_first_that_is_not_over(data: st.DataObject) -> None:
    """For messages over in any order, with gaps in the log."""
    offsets = sorted(data.draw(st.sets(st.integers(0, 1000), min_size=1, max_size=60)))
    order = data.draw(st.permutations(offsets))
    frontier = Frontier()
    half = len(offsets) // 2
    if half:
        frontier.add(offsets[:half])
    frontier.add(offsets[half:])
    left = set(offsets)
    for offset in order:
        frontier.finish(offset)
        left.remove(offset)
        assert frontier.reached() == (min(left) if left else offsets[-1] + 1)


@given(st.permutations([*range(6), *range(3, 9)]))
def test_a_log_that_was_cut_back_does_not_stop_the_frontier(order: list[int]) -> None:
    """Offsets 3 to 5 are buffered a second time, with other messages, before the first ones are over."""
    frontier = Frontier()
    frontier.add(range(6))
    frontier.add(range(3, 9))
    for offset in order:
        frontier.finish(offset)
        assert frontier.reached() <= 8 or offset == order[-1]
    assert frontier.reached() == 9


def test_what_is_skipped_is_over_and_was_never_begun() -> None:
    buffer = buffer_of(delay="4ms", skip=0.5)
    take(buffer, *((0, 0, offset) for offset in range(40)))
    first = times(settle(buffer))
    for at_ns in range(0, 200 * MS, 4 * MS):
        buffer.turn(at_ns)
    rest = times(settle(buffer))

    assert {each[1:] for each in first} == {(-1, -1)}
    assert 10 <= len(first) <= 30
    assert all(0 <= begin < end for _, begin, end in rest)
    assert sorted(each[0] for each in first + rest) == list(range(40))


@pytest.mark.parametrize("order", ["loop", "partitions"])
def test_what_is_withdrawn_is_told_and_never_stored(order: str) -> None:
    """One that began keeps its begin; others go on."""
    buffer = buffer_of(delay="4ms", order=order)
    take(buffer, (0, 0, 10), (0, 0, 11), (0, 1, 5))
    buffer.turn(MS)
    buffer.withdraw([(0, 0)])
    settled = settle(buffer)
    assert settled is not None
    assert sorted(times(settled)) == [(10, MS, -1), (11, -1, -1)]
    assert settled.offsets == []
    buffer.turn(5 * MS)
    buffer.turn(9 * MS)
    settled = settle(buffer)

    assert settled is not None
    assert settled.offsets == [(0, 1, 6)]
    assert buffer.count == 0


def test_a_partition_that_comes_back_begins_anew() -> None:
    """Its messages are delivered again, from where they were stored."""
    buffer = buffer_of(delay="4ms")
    take(buffer, (0, 0, 10), (0, 0, 11))
    buffer.withdraw()
    settle(buffer)
    take(buffer, (0, 0, 10))
    buffer.turn(0)
    buffer.turn(4 * MS)
    settled = settle(buffer)

    assert settled is not None
    assert settled.offsets == [(0, 0, 11)]


def test_polls_are_over_when_all_their_messages_are() -> None:
    buffer = buffer_of(delay="1ms")
    take(buffer, (0, 0, 1), (0, 0, 2), poll=7)
    take(buffer, (0, 0, 3), poll=8)
    finished = []
    for at_ns in (0, MS, 2 * MS, 3 * MS):
        buffer.turn(at_ns)
        if settled := settle(buffer):
            finished.append(settled.polls)

    assert finished == [0, 1, 1]


def test_room_is_shared_by_partitions_that_have_slots() -> None:
    """One partition that is ahead leaves the room of the others alone; each has room for one at least."""
    buffer = buffer_of(limit=40, delay="1ms", order="partitions")
    room_of = buffer.room_of(4)
    assert room_of is not None
    take(buffer, *((0, 1, offset) for offset in range(10)))
    buffer.turn(0)

    assert [room_of((0, partition)) for partition in range(4)] == [10, 0, 10, 10]
    assert buffer.room(4) == 30
    scarce = buffer_of(limit=2, delay="1ms", order="partitions")
    assert scarce.room(8) == 8
    assert scarce.room_of(8)((0, 0)) == 1  # type: ignore[misc]
    assert buffer_of(delay="1ms").room_of(4) is None


@pytest.mark.parametrize(("order", "hungry"), [("loop", False), ("partitions", True), ("slots", True)])
def test_a_slot_without_a_message_hungers(order: str, hungry: bool) -> None:
    slots: dict[str, Any] = {"slots": 3} if order == "slots" else {}
    buffer = buffer_of(delay="1ms", order=order, **slots)
    assert buffer.hungers(2)
    take(buffer, (0, 0, 1), (0, 0, 2))
    buffer.turn(0)

    assert buffer.hungers(2) is hungry


def test_an_end_of_the_log_is_reached_when_all_before_is_over() -> None:
    """Behind the last message lies what is none."""
    buffer = buffer_of(delay="1ms")
    assert buffer.end((1, 3), 17)
    take(buffer, (0, 0, 1))
    assert not buffer.end((0, 0), 5)
    buffer.turn(0)
    buffer.turn(MS)
    settled = settle(buffer)

    assert settled is not None
    assert settled.offsets == [(0, 0, 5)]


CALLED: list[tuple[bytes | None, bytes | None]] = []


def handle(value: bytes | None, key: bytes | None) -> None:
    """A user's function that cannot stand one message."""
    if value == b"v13":
        raise ValueError("thirteen")
    CALLED.append((value, key))


def test_a_function_is_called_with_value_and_key() -> None:
    """It takes its own time, for some milliseconds at a stretch; its failure names the message."""
    CALLED.clear()
    clock = iter(range(0, 1000 * MS, 2 * MS))
    model = handling_of(Processing(function=f"{__name__}:handle"))
    buffer = Buffer(model, 100, Delays(model, 42, ()), ("a", "b"), PARTITIONS, lambda: next(clock))
    take(buffer, *((1, 2, offset) for offset in range(8, 14)))
    assert buffer.due_ns == 0
    buffer.turn(next(clock))

    assert CALLED == [(b"v8", b"k"), (b"v9", b"k"), (b"v10", b"k")]
    assert times(settle(buffer)) == [(8, 0, 2 * MS), (9, 2 * MS, 4 * MS), (10, 4 * MS, 6 * MS)]
    with pytest.raises(WorkerError, match="handle failed for the message at b, partition 2, offset 13: Value"):
        buffer.turn(next(clock))


def stamped(count: int, delivery: int = 1) -> Fetched:
    """Messages 0 to `count` of one producer, whose first half is foreign, all in one delivery."""
    stamps = np.zeros(count, stamp.STAMP)
    stamps["magic"], stamps["version"], stamps["tag"] = stamp.MAGIC, stamp.VERSION, 1
    stamps["seq"] = np.arange(count)
    stamps["tag"][: count // 2] = 2
    plain = fetched(*((0, 0, offset) for offset in range(count)))
    ones = np.full(count, delivery, np.int32)
    return replace(plain, stamps=stamps, deliveries=ones, deadline_ms=np.full(count, 77, np.int64))


def test_what_fails_has_a_begin_and_no_end_of_processing() -> None:
    """As the seed has it, delivery by delivery; messages of others never fail."""
    buffer = buffer_of(limit=2_000, redelivers=True, order="slots", slots=1000, delay="1ms", fail=0.5)
    for delivery in (1, 2):
        block = stamped(1000, delivery)
        buffer.take(rows(block, Reading(1, None), 0, 5), block)
        buffer.turn(MS)
        buffer.turn(2 * MS)
        settled = settle(buffer)

        assert settled
        assert set(settled.block["delivery_count"].tolist()) == {delivery}
        assert set(settled.block["deadline_ms"].tolist()) == {77}
        assert (settled.block["started_ns"] == MS).all()
        failed = Failing(fail=0.5).failed(42, np.zeros(1000, int), np.arange(1000), delivery)
        failed[:500] = False
        order = np.argsort(settled.block["offset"])
        assert (settled.block["processed_ns"][order] == np.where(failed, NULL_INT64, 2 * MS)).all()


def test_an_overrun_takes_a_multiple_of_the_timeout() -> None:
    """Also where messages take no time otherwise; a place that is used again is not slow for that."""
    buffer = buffer_of(limit=200, redelivers=True, order="slots", slots=200, overrun={"share": 0.5, "by": "2x"})
    assert not buffer.takes_no_time
    block = stamped(200)
    buffer.take(rows(block, Reading(1, None), 0, 5), block)
    for at_ns in (0, MS, 2 * NS_PER_SECOND):
        buffer.turn(at_ns)
    longer = {offset for offset, begin, end in times(settle(buffer)) if end - begin >= 2 * NS_PER_SECOND}

    overran = Failing(overrun=0.5).overran(42, np.zeros(200, int), np.arange(200), 1)
    overran[:100] = False
    assert longer == set(np.flatnonzero(overran).tolist())
    block = stamped(200)
    buffer.take(rows(block, Reading(1, None), 1, 5), block)
    buffer.withdraw()
    settle(buffer)
    block = fetched(*((0, 0, offset) for offset in range(200)))
    block = replace(block, deliveries=np.ones(200, np.int32), deadline_ms=np.zeros(200, np.int64))
    buffer.take(rows(block, Reading(1, None), 2, 5), block)
    buffer.turn(3 * NS_PER_SECOND)
    assert {end - begin for _, begin, end in times(settle(buffer))} == {0}


def test_the_time_in_a_value_takes_the_place_of_the_time_of_the_record() -> None:
    """Of somebody else's messages only, as Trogdor writes it; what is too short, or no time of this era, has none."""
    values = [(1_700_000_000_123).to_bytes(8, "little") + b"rest", b"short", b"\xff" * 8, bytes(8), b"\x7f" * 9]
    block = replace(
        fetched(*((0, 0, offset) for offset in range(5))), values=values, append_ms=np.full(5, 7),
        created_ms=lambda: np.full(5, 8),
    )  # fmt: skip
    read: dict[str, Any] = dict(rows(block, Reading(None, None, time_in_value=True), 0, 5))
    plain: dict[str, Any] = dict(rows(block, Reading(None, None), 0, 5))

    assert read["append_ms"] is None
    assert read["created_ms"].tolist() == [1_700_000_000_123, *[NULL_INT64] * 4]
    assert plain["created_ms"].tolist() == [8] * 5
    assert rows(block, Reading(1, None, time_in_value=True), 0, 5)["created_ms"] is None
    assert times_in([]).tolist() == []
