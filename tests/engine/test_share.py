"""Consumers of a share group in memory, with a clock that moves when it is read: what comes of each message."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.engine.test_consume import TAG, Blocks, value
from tests.sharing import FakeShareGroup, FakeShareReader

from streamgauge.delivery.attempts import Attempt, Carried, Delivery, Redeliveries, redeliveries
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.engine.board import Cells, Latencies, Slot
from streamgauge.engine.consume.loop import Consumer, ConsumerSinks, Consuming, Reading
from streamgauge.engine.fake import FakeLog, FakeTime
from streamgauge.workload.failing import Failing
from streamgauge.workload.processing import Handling, Stretch

LOCK_NS, DELIVERIES, PARTITIONS = 50 * NS_PER_MS, 3, 2
STEPS = 100_000
"""More turns than any of these histories needs."""


class Members:
    """Consumers of one share group, of which some die."""

    def __init__(self, count: int, handling: Handling, batch: int, members: int = 2, lock_ns: int = LOCK_NS) -> None:
        self.count, self.handling, self.batch = count, handling, batch
        self.time = FakeTime()
        log = FakeLog(PARTITIONS)
        for seq in range(count):
            log.records[seq % PARTITIONS].append((value(seq), b""))
        self.group = FakeShareGroup(log, lock_ns, DELIVERIES, self.time.now_ns)
        self.received, self.attempts = Blocks(), Blocks()
        self.consumers = [self.member() for _ in range(members)]
        self.died: list[object] = []
        """The clients of those that did."""

    def member(self) -> Consumer:
        """Another consumer."""
        board = Cells.new(1, PARTITIONS)
        return Consumer(
            FakeShareReader(self.group, batch=self.batch, sleep=self.time.sleep),
            Reading(TAG, None),
            Consuming(("t",), PARTITIONS, handling=self.handling, buffer=10, seed=5),
            ConsumerSinks(self.received, Blocks(), None, self.attempts),
            board.slots[0],
            board.positions[0],
            Latencies(board.latencies[0], 0),
            lambda: board.order,
            now_ns=self.time.now_ns,
            sleep=self.time.sleep,
        )

    def run(self, dies_at: dict[int, int] | None = None) -> None:
        """Until every message has its outcome; a consumer dies at these turns, and another one takes its place."""
        for step in range(STEPS):
            if (place := (dies_at or {}).get(step)) is not None:
                self.died.append(self.consumers[place].reader)
                self.consumers[place].reader.close()
                self.consumers[place] = self.member()
            for consumer in self.consumers:
                consumer.turn(NS_PER_MS)
            if self.group.lag == 0 and not any(int(each.slot[Slot.BUFFERED]) for each in self.consumers):
                break
        for consumer in self.consumers:
            consumer.finish()
        assert self.group.lag == 0

    def found(self) -> Redeliveries:
        """What became of everything, by the rows."""
        names = ("partition", "offset", "producer", "seq", "delivery_count", "received_ns", "processed_ns")
        rows = zip(*(self.received.column(name) for name in names), strict=True)
        deliveries = [Delivery((0, row[2], row[3]), (0, *row[:2]), row[4], row[5], row[6], None) for row in rows]
        columns: list[list[Any]] = [[] for _ in range(5)]
        for block, count in self.attempts.blocks:
            for column, name in zip(columns, ("partition", "offset", "at_ns", "outcome", "attempt"), strict=True):
                column.extend(np.broadcast_to(np.asarray(block[name]), count).tolist())
        told = [Attempt((0, *row[:2]), *row[2:]) for row in zip(*columns, strict=True)]
        return redeliveries(deliveries, told, Carried(in_place=True, limit=DELIVERIES - 1))


def handling(fail: float, delay_ns: int, slots: int = 1, overrun: float = 0.0) -> Handling:
    failing = Failing(fail, overrun=overrun, overrun_ns=2 * LOCK_NS)
    return Handling((Stretch(-(1 << 62), delay_ns, 0),), slots=slots, failing=failing)


@pytest.mark.parametrize("delay_ns", [0, NS_PER_MS])
@pytest.mark.parametrize("batch", [1, 7, 100])
def test_deliveries_and_dead_letters_are_as_the_seed_draws_them(batch: int, delay_ns: int) -> None:
    """Whoever receives a message, in batches larger than there is room for, too."""
    members = Members(60, handling(0.5, delay_ns), batch, lock_ns=20 * LOCK_NS)
    members.run()
    found, failing = members.found(), Failing(0.5)
    seqs, left = np.arange(60), np.ones(60, np.bool_)
    for number in range(1, DELIVERIES + 1):
        assert found.by_number[number]["deliveries"] == left.sum()
        left &= failing.failed(5, np.full(60, 3), seqs, number)
    assert found.counts["dead"] == found.counts["rejected"] == left.sum() > 0
    assert found.counts["succeeded"] == 60 - left.sum()
    assert not any(found.counts[name] for name in ("open", "archived", "unanswered", "timed_out", "reread"))
    assert {at * PARTITIONS + part for part, at in members.group.dead} == set(np.flatnonzero(left).tolist())


def test_what_outlasts_its_lock_is_told_late_and_comes_again() -> None:
    """Its batch waits behind it: that is what slow messages cost."""
    members = Members(40, handling(0.0, NS_PER_MS, overrun=0.2), 4)
    members.run()
    found = members.found()
    assert found.counts["messages"] == 40
    assert found.counts["timed_out"] > 0
    assert found.counts["succeeded"] + found.counts["archived"] == 40
    assert found.counts["open"] == found.counts["dead"] == 0


@given(
    fail=st.sampled_from([0.0, 0.3, 0.9]),
    delay_ms=st.integers(0, 3),
    slots=st.integers(1, 4),
    batch=st.integers(1, 20),
    dies_at=st.dictionaries(st.integers(0, 60), st.integers(0, 1), max_size=4),
)
@example(fail=0.9, delay_ms=2, slots=2, batch=7, dies_at={48: 1})
@settings(max_examples=25, deadline=None)
def test_every_message_is_done_or_given_up_whoever_dies(
    fail: float, delay_ms: int, slots: int, batch: int, dies_at: dict[int, int]
) -> None:
    """At least once: what no consumer told of is received again, until it is accepted, dead or archived."""
    members = Members(12, handling(fail, delay_ms * NS_PER_MS, slots), batch)
    members.run(dies_at)
    counts = members.found().counts
    assert len(members.group.final) == 12
    # A consumer that dies may have been told of outcomes that it did not record; nobody else leaves a message open.
    assert counts["open"] <= sum(last in members.died for last in members.group.final.values())
    assert counts["messages"] == 12 or dies_at
    assert counts["messages"] == sum(counts[name] for name in ("succeeded", "dead", "archived", "open"))
    assert all(times == 1 for times in Counter(members.group.dead).values())
