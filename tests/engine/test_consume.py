"""The consume loop over a log in memory."""

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from streamgauge.domain import stamp
from streamgauge.domain.blocks import NULL_BOOL, NULL_INT32, NULL_INT64, Block
from streamgauge.engine.consume import Consumer, Reading
from streamgauge.engine.fake import FakeConsumer, FakeLog, FakeTime
from streamgauge.engine.live import Latencies, Live, Order, Slot

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


def consume(records: list[tuple[bytes, bytes]], reading: Reading) -> tuple[Blocks, Blocks, Live, FakeConsumer]:
    """Everything that a consumer records of one partition."""
    log = FakeLog(2)
    log.records[1] = records
    live, time = Live.create(1, 2), FakeTime()
    client = FakeConsumer(log, [0, 1], sleep=time.sleep)
    received, polls = Blocks(), Blocks()
    latencies = Latencies(live.latencies[0], time.now_ns())
    consumer = Consumer(
        client, reading, received, polls, live.slots[0], live.positions[0], latencies, lambda: live.order, time.now_ns
    )
    for _ in range(3):
        consumer.turn()
    live.give(Order.FINISH)
    consumer.run(Order.FINISH)
    return received, polls, live, client


def test_stamps_are_decoded_and_verified() -> None:
    """Every n-th by its sequence; the rest is not known to be intact."""
    records = [(value(0), NO_HEAD), (value(1, crc=5), NO_HEAD), (value(2, crc=5), NO_HEAD), (value(3), NO_HEAD)]

    received, _, _, _ = consume(records, Reading(TAG, 2))

    assert received.column("seq") == [0, 1, 2, 3]
    assert received.column("producer") == [3] * 4
    assert received.column("due_ns") == [1000, 1001, 1002, 1003]
    assert received.column("sent_ns") == [2000, 2001, 2002, 2003]
    assert received.column("offset") == [0, 1, 2, 3]
    assert received.column("intact") == [1, NULL_BOOL, 0, NULL_BOOL]


@pytest.mark.parametrize("foreign", [b"", b"short", bytes(200), value(5, tag=TAG + 1)])
def test_what_is_not_of_this_run_is_foreign(foreign: bytes) -> None:
    """It is recorded, without producer, sequence and times, and its checksum is nobody's business."""
    received, _, live, client = consume([(foreign, NO_HEAD), (value(1), NO_HEAD)], Reading(TAG, 1))

    assert received.column("producer") == [NULL_INT32, 3]
    assert received.column("seq") == [NULL_INT64, 1]
    assert received.column("sent_ns") == [NULL_INT64, 2001]
    assert received.column("intact") == [NULL_BOOL, 1]
    assert received.column("size_bytes") == [len(foreign), len(value(1))]
    assert client.stored == {1: 2}
    assert live.positions[0].tolist() == [0, 2]


def test_a_load_without_a_schedule_has_no_due_times() -> None:
    """The flag in the stamp says so."""
    received, _, _, _ = consume([(value(4, flags=stamp.NO_SCHEDULE), NO_HEAD)], Reading(TAG, 1))

    assert received.column("due_ns") == [None]
    assert received.column("sent_ns") == [2004]


def test_somebody_elses_load_has_sequences_but_no_times() -> None:
    """Its clock may be that of another machine, or of last week."""
    received, _, _, _ = consume([(value(4, tag=99), NO_HEAD)], Reading(None, 1))

    assert received.column("seq") == [4]
    assert received.column("due_ns") == received.column("sent_ns") == [None]
    assert received.column("intact") == [1]


def test_a_stamp_in_a_header_covers_the_whole_value() -> None:
    """The value is left untouched, so its first bytes count as content."""
    body = b"x" * 100
    head = value(9, body=body)[: stamp.SIZE]

    received, _, _, _ = consume([(body, head), (body[1:], head)], Reading(TAG, 1))

    assert received.column("seq") == [9, 9]
    assert received.column("intact") == [1, 0]


def test_every_poll_is_a_row() -> None:
    """Empty ones too; their numbers connect them with the messages."""
    received, polls, live, _ = consume([(value(0), NO_HEAD), (value(1), NO_HEAD)], Reading(TAG, None))

    assert polls.column("poll") == [0, 1, 2]
    assert polls.column("count") == [2, 0, 0]
    assert received.column("poll") == [0, 0]
    assert received.column("intact") == [None, None]
    assert all(a < b for a, b in zip(polls.column("started_ns"), polls.column("returned_ns"), strict=True))
    assert live.slots[0, Slot.MESSAGES] == 2
    assert live.slots[0, Slot.ASSIGNED] == 2
