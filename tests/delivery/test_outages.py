"""How long partitions could not be written or read around a fault: a table, and rules that hold for any history."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.delivery.outages import FaultSpan, Outage, PartitionRead, PartitionWait, unreadable, unwritable

SPAN = FaultSpan(100, 200)
NOTHING = Outage()


def acked(sent: int, settled: int, offset: int = 0) -> PartitionWait:
    return PartitionWait(sent, settled, offset)


def failed(sent: int, settled: int) -> PartitionWait:
    return PartitionWait(sent, settled, None, acked=False)


@pytest.mark.parametrize(
    ("waits", "found"),
    [
        ([], NOTHING),
        ([acked(10, 20), acked(210, 220)], NOTHING),
        ([acked(110, 130)], Outage(20, 110, 1)),
        # What waited before the fault began is counted from its begin on.
        ([acked(10, 130)], Outage(30, 100, 1)),
        # What still waits when the span is over is counted until it is acknowledged.
        ([acked(150, 900)], Outage(750, 150, 1)),
        ([acked(201, 900)], NOTHING),
        # Nothing waits between the two.
        ([acked(110, 120), acked(150, 155)], Outage(10, 110, 1)),
        # The first waits, others join it; each acknowledgement begins anew.
        ([acked(110, 150), acked(120, 150), acked(130, 160)], Outage(40, 110, 3)),
        ([acked(110, 120), acked(110, 170), acked(115, 170)], Outage(50, 120, 2)),
        # One that fails has waited, and ends nothing.
        ([failed(110, 140), acked(135, 160)], Outage(50, 110, 1)),
        ([failed(110, 140), acked(140, 160)], Outage(50, 110, 1)),
        ([failed(110, 140), acked(141, 160)], Outage(30, 110, 1)),
        # Of two that are equally long the first.
        ([acked(110, 120), acked(130, 140)], Outage(10, 110, 1)),
    ],
)
def test_a_partition_is_unwritable_while_messages_wait_and_none_is_acknowledged(
    waits: list[PartitionWait], found: Outage
) -> None:
    assert unwritable(waits, SPAN) == found


@pytest.mark.parametrize(
    ("waits", "found"),
    [
        # On its way when the next fault begins, it waits for that one.
        ([acked(110, 150), acked(199, 900)], Outage(40, 110, 1)),
        ([acked(199, 900)], Outage(1, 199, 1)),
        # What this fault holds up counts to the start of the next.
        ([acked(110, 900), acked(150, 900)], Outage(90, 110, 2)),
        ([acked(200, 900)], NOTHING),
    ],
)
def test_a_time_counts_to_the_begin_of_the_next_fault(waits: list[PartitionWait], found: Outage) -> None:
    assert unwritable(waits, FaultSpan(100, 200, 200)) == found


@pytest.mark.parametrize(
    ("waits", "reads", "end", "found"),
    [
        ([], [], None, NOTHING),
        # Received before it was acknowledged: there was nothing to read.
        ([acked(110, 130, 0)], [PartitionRead(120, 0)], None, NOTHING),
        ([acked(110, 120, 0)], [PartitionRead(150, 0)], None, Outage(30, 120)),
        ([acked(10, 20, 0)], [PartitionRead(150, 0)], None, Outage(50, 100)),
        # PartitionRead in part: each delivery begins anew.
        ([acked(110, 120, 5)], [PartitionRead(130, 3), PartitionRead(170, 5)], None, Outage(40, 130)),
        # Never read: until the end of the run; but not where its place in the log is gone.
        ([acked(110, 120, 5)], [], None, Outage(880, 120)),
        ([acked(110, 120, 5)], [PartitionRead(125, 4)], 5, Outage(5, 120)),
        # What was lost below a delivery is nothing to read.
        ([acked(110, 120, 5)], [PartitionRead(115, 9)], None, NOTHING),
        ([failed(110, 120)], [], None, NOTHING),
    ],
)
def test_a_partition_is_unreadable_while_there_is_something_to_read_and_nothing_is_delivered(
    waits: list[PartitionWait], reads: list[PartitionRead], end: int | None, found: Outage
) -> None:
    assert unreadable(waits, reads, SPAN, 1_000, end) == found


TIMES = st.integers(0, 60)
WAITS = st.lists(
    st.builds(
        lambda sent, took, offset, is_acked: PartitionWait(sent, sent + took, offset if is_acked else None, is_acked),
        TIMES, st.integers(0, 30), st.integers(0, 20), st.booleans(),
    ),
    max_size=12,
)  # fmt: skip
SPANS = st.builds(
    lambda begin, length, more: FaultSpan(begin, begin + length, begin + length + more),
    TIMES, st.integers(0, 30), st.integers(0, 40),
)  # fmt: skip


@given(WAITS, SPANS)
def test_an_outage_lies_within_the_waiting_and_has_no_acknowledgement_inside(
    waits: list[PartitionWait], span: FaultSpan
) -> None:
    found = unwritable(waits, span)

    if found.from_ns is None:
        assert not any(
            max(wait.sent_ns, span.begin_ns) < min(wait.settled_ns, span.last_ns) and wait.sent_ns <= span.until_ns
            for wait in waits
        )
        return
    end = found.from_ns + found.length_ns
    assert span.begin_ns <= found.from_ns <= span.until_ns
    assert end <= span.last_ns
    assert not any(wait.acked and found.from_ns < wait.settled_ns < end for wait in waits)
    moments = range(found.from_ns, end)
    assert all(any(wait.sent_ns <= at < wait.settled_ns for wait in waits) for at in moments)


@given(WAITS, SPANS, st.integers(0, 20))
def test_a_longer_span_finds_no_shorter_outage(waits: list[PartitionWait], span: FaultSpan, more: int) -> None:
    longer = FaultSpan(span.begin_ns, span.until_ns + more, span.last_ns + more)

    assert unwritable(waits, longer).length_ns >= unwritable(waits, span).length_ns
    reads = [PartitionRead(wait.sent_ns, wait.offset) for wait in waits if wait.offset is not None]
    assert unreadable(waits, reads, longer, 200, None).length_ns >= unreadable(waits, reads, span, 200, None).length_ns
