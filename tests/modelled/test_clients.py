"""Clients of a modelled broker: what the model says is what they do, on a clock that tests move."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamgauge.domain.blocks import ClientSpec, Outgoing
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.consume.loop import Reading, rows
from streamgauge.engine.fake import FakeTime
from streamgauge.engine.ports.clients import ProducerClient
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.sources import Recipe
from streamgauge.modelled.broker import ModelledBroker
from streamgauge.modelled.memory import Shape
from streamgauge.modelled.model import PERIOD, Anomaly, Model, Server, in_order, pattern, releases
from streamgauge.modelled.producer import ModelledProducer
from streamgauge.modelled.reader import LOOK_NS, MANY, ModelledReader

TAG = 7
MS = 1_000_000
MODEL = Model((Server(0.75, (2 * MS,), (5 * MS,)), Server(0.25, (MS,), (50 * MS,))))
ANOMALIES = tuple(anomaly for anomaly in Anomaly if anomaly)


@dataclass
class Modelled:
    """A broker with one producer, whose clients share a clock."""

    folder: Path
    model: Model = MODEL
    slots: int = 4_096
    time: FakeTime = field(default_factory=lambda: FakeTime(at_ns=1_000_000_000, tick_ns=0))

    def __post_init__(self) -> None:
        shape = Shape(self.folder / "memory", (self.model,), self.slots)
        shape.file.write_bytes(bytes(shape.size))
        self.broker = ModelledBroker(shape)

    def producer(self, limit: int = 100_000) -> ModelledProducer:
        spec = ClientSpec("producer-0", ("t",), {})
        return self.broker.open_producer(spec, limit, now_ns=self.time.now_ns, sleep=self.time.sleep)

    def reader(self, *lanes: int) -> ModelledReader:
        spec = ClientSpec("consumer-0", ("t",), {}, assigned=tuple((0, lane) for lane in lanes or (0, 1)))
        return self.broker.open_reader(spec, now_ns=self.time.now_ns, sleep=self.time.sleep)


@lru_cache
def composer(size: int) -> Composer:
    return Composer(Recipe(0, TAG, "random", size, 42, False, scheduled=True), 250)


def block(first: int, count: int, size: int = 100) -> Outgoing:
    seqs = np.arange(first, first + count, dtype=np.int64)
    return composer(size).compose(seqs, seqs, 0)


def read(reader: ModelledReader, until_ns: int) -> list[tuple[int, int, int, int, int]]:
    """(sequence, partition, offset, when it was read, whether it was intact) of what comes until a time."""
    found: list[tuple[int, int, int, int, int]] = []
    while (left_ns := until_ns - reader._now_ns()) > 0:
        if fetched := reader.poll(left_ns / 1e9, 500):
            got: Any = rows(fetched, Reading(TAG, 1), 0, 0)
            columns = [got[name].tolist() for name in ("seq", "partition", "offset", "intact")]
            found += [
                (seq, lane, offset, reader._now_ns(), intact)
                for seq, lane, offset, intact in zip(*columns, strict=True)
            ]
    return found


def acknowledged(producer: ProducerClient, seconds: float) -> dict[int, int]:
    """When each message was acknowledged."""
    producer.serve(seconds)
    told, count = producer.reports(1)
    seqs, acked_ns = np.asarray(told["seq"]), np.asarray(told["acked_ns"])
    assert len(seqs) == count
    return dict(zip(seqs.tolist(), acked_ns.tolist(), strict=True))


def test_messages_are_read_when_the_model_says(tmp_path: Path) -> None:
    """Not before, and no later than the next look: 0.1 ms, however many there are at a time."""
    modelled = Modelled(tmp_path)
    producer, reader = modelled.producer(), modelled.reader()
    arrived_ns, seqs = modelled.time.at_ns, np.arange(200, dtype=np.int64)
    producer.send(block(0, 200))
    found = read(reader, arrived_ns + 100 * MS)

    released_ns = releases(np.full(200, arrived_ns), seqs, MODEL).readable_ns.tolist()
    assert sorted(seq for seq, *_ in found) == seqs.tolist()
    assert all(0 <= at_ns - released_ns[seq] <= 0.1 * MS for seq, _, _, at_ns, _ in found)


@pytest.mark.parametrize(("first", "waits_ns"), [(MANY - 1, 0), (MANY, LOOK_NS)])
def test_a_reader_that_found_many_waits_before_it_looks_again(first: int, waits_ns: int, tmp_path: Path) -> None:
    """As a consumer waits for its next fetch; without a timeout it never waits."""
    modelled = Modelled(tmp_path, Model((Server(1.0),), service_ns=(0, 0)))
    producer, reader = modelled.producer(), modelled.reader(0)
    for begin in range(0, 3 * first, first):
        producer.send(block(begin, first))
        at_ns, timeout = modelled.time.at_ns, 1.0 if begin else 0.0
        fetched = reader.poll(timeout, 500)
        assert fetched is not None
        assert fetched.count == first
        assert modelled.time.at_ns - at_ns == (waits_ns if begin else 0)


def test_acknowledgements_come_when_the_model_says(tmp_path: Path) -> None:
    """The wait ends with the first that is due; what is due later stays in flight."""
    modelled = Modelled(tmp_path)
    producer = modelled.producer()
    at_ns = modelled.time.at_ns
    producer.send(block(0, 20))
    found: dict[int, int] = {}
    while producer.in_flight():
        found |= acknowledged(producer, 1.0)
    assert found == dict(enumerate(releases(np.full(20, at_ns), np.arange(20), MODEL).acked_ns.tolist()))
    producer.serve(0.25)
    assert modelled.time.at_ns == max(found.values()) + 250 * MS


def test_every_anomaly_is_what_a_reader_finds(tmp_path: Path) -> None:
    """Lost ones leave a gap, duplicates stand at two offsets, reordered ones after the next; reports tell where."""
    modelled = Modelled(tmp_path, Model(MODEL.servers, anomalies=ANOMALIES * 5))
    producer, reader = modelled.producer(), modelled.reader()
    at_ns = modelled.time.at_ns
    for first in range(0, PERIOD, 7):
        producer.send(block(first, min(7, PERIOD - first)))
    found = read(reader, at_ns + 200 * MS)
    modelled.time.sleep(1)
    producer.serve(0)
    told, _ = producer.reports(1)
    columns = (np.asarray(told[name]).tolist() for name in ("seq", "partition", "offset"))
    places = {seq: (lane, offset) for seq, lane, offset in zip(*columns, strict=True)}

    anomaly = pattern(modelled.model).anomaly
    truth = in_order(releases(np.full(PERIOD, at_ns), np.arange(PERIOD), modelled.model))
    assert len(places) == PERIOD
    assert {seq for seq in places if seq not in {each[0] for each in found}} == set(
        np.flatnonzero(anomaly == Anomaly.LOST).tolist()
    )
    assert {seq for seq, *_, intact in found if not intact} == set(
        np.flatnonzero(anomaly == Anomaly.CORRUPTED).tolist()
    )
    seen: dict[int, list[tuple[int, int]]] = {}
    highest: dict[int, int] = {}
    late = set()
    for seq, lane, offset, read_ns, _ in sorted(found, key=lambda each: each[1:3]):
        seen.setdefault(seq, []).append((lane, offset))
        late |= {seq} if seq < highest.get(lane, -1) else set()
        highest[lane] = max(seq, highest.get(lane, -1))
        assert 0 <= read_ns - truth[seq] <= 0.1 * MS
    assert late == set(np.flatnonzero(anomaly == Anomaly.REORDERED).tolist())
    assert {seq for seq, at in seen.items() if len(at) == 2} == set(
        np.flatnonzero(anomaly == Anomaly.DUPLICATED).tolist()
    )
    assert all(places[seq] == at[0] for seq, at in seen.items())
    ends = modelled.broker.offsets((), 2).log_ends()
    assert [position for *_, position in reader.positions()] == ends
    assert sum(ends) == PERIOD + 5
    assert modelled.broker.taken(0) == PERIOD


def test_a_ring_that_is_full_has_no_room(tmp_path: Path) -> None:
    """Until every reader has read; one that has left is not waited for."""
    modelled = Modelled(tmp_path, slots=32)
    slow, fast, producer = modelled.reader(), modelled.reader(), modelled.producer()
    taken = 0
    while not (refused := producer.send(block(taken, 1))).no_room:
        taken += 1
    assert list(refused.no_room) == [0]
    assert 32 <= taken + 2 <= 64
    assert producer.room() == 0
    read(fast, modelled.time.at_ns + 100 * MS)
    assert producer.room() == 0
    slow.close()
    assert producer.room() == 100_000 - taken
    assert not producer.send(block(taken, 1)).no_room
    assert [seq for seq, *_ in read(fast, modelled.time.at_ns + 100 * MS)] == [taken]


def test_readers_share_nothing(tmp_path: Path) -> None:
    """Each reads its partitions from the begin, in any order; there are as many as there is room for."""
    modelled = Modelled(tmp_path)
    producer = modelled.producer()
    producer.send(block(0, 100))
    end_ns = modelled.time.at_ns + 100 * MS
    lanes = pattern(MODEL).lane[:100]
    found = [sorted(seq for seq, *_ in read(modelled.reader(lane), end_ns + lane * 100 * MS)) for lane in (0, 1)]
    assert found == [np.flatnonzero(lanes == lane).tolist() for lane in (0, 1)]
    for _ in range(6):
        modelled.reader()
    with pytest.raises(BrokerError, match="more than 8 readers"):
        modelled.reader()


def test_limits_of_polls_are_kept(tmp_path: Path) -> None:
    """Of all, and of each partition; what is left comes later, and says nothing of since when it was there."""
    modelled = Modelled(tmp_path)
    producer, reader = modelled.producer(), modelled.reader()
    producer.send(block(0, 100))
    modelled.time.sleep(0.2)
    first = reader.poll(0, 10)
    assert first
    assert first.count == 10
    few = reader.poll(0, 10, lambda place: 1 + place[1])
    assert few
    assert sorted(few.partition.tolist()) == [0, 1, 1]
    assert few.empty_ns is None
    assert reader.poll(0, 0) is None
    rest = reader.poll(0, 1_000)
    assert rest
    assert rest.count == 87
    assert rest.empty_ns == first.empty_ns


def test_a_message_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """For good, and alone."""
    modelled = Modelled(tmp_path)
    producer = modelled.producer()
    assert list(producer.send(block(0, 2, size=145)).failed) == [(0, "MSG_SIZE_TOO_LARGE"), (1, "MSG_SIZE_TOO_LARGE")]
    assert producer.send(block(0, 2, size=144)) == producer.send(block(2, 0))
    assert producer.in_flight() == 2
