"""What the modelled broker does with messages: a pure function of arrivals and sequences."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.modelled.model import (
    ANOMALY_LANES,
    NEVER,
    PERIOD,
    Anomaly,
    Carry,
    Model,
    Releaser,
    Releases,
    Server,
    in_order,
    next_in,
    pattern,
    releases,
)
from streamgauge.workload.pacing import Int64s

MODEL = Model(
    (Server(0.5), Server(0.3, (1_000, 90_000), (2_000, 50_000)), Server(0.2, (5_000_000,), (50_000_000,))),
    service_ns=(0, 30_000),
    stalls=((40, 2_000_000_000),),
    anomalies=(Anomaly.LOST, Anomaly.DUPLICATED, Anomaly.REORDERED, Anomaly.CORRUPTED) * 8,
)
GAPS = st.lists(st.sampled_from([0, 1_000, 10_000, 200_000, 3_000_000]), min_size=1, max_size=300)
"""Between arrivals, in ns."""


def arrivals(gaps: Sequence[int]) -> tuple[Int64s, Int64s]:
    return np.cumsum(np.array(gaps, np.int64)), np.arange(len(gaps), dtype=np.int64)


def columns(found: Releases) -> list[list[int]]:
    return [column.tolist() for column in found]


@given(GAPS)
def test_every_partition_is_first_in_first_out(gaps: list[int]) -> None:
    """Nothing is released before it arrived, nor before what came earlier to its partition."""
    at_ns, seqs = arrivals(gaps)
    found = releases(at_ns, seqs, MODEL)
    assert (found.acked_ns >= at_ns).all()
    for lane in range(len(MODEL.servers)):
        mine = found.lane == lane
        for released in (found.acked_ns, found.readable_ns):
            assert (np.diff(released[mine]) >= 0).all()


@given(GAPS, st.data())
def test_sending_earlier_ends_no_message_later(gaps: list[int], data: st.DataObject) -> None:
    """Nor does it make one readable later."""
    late_ns, seqs = arrivals(gaps)
    earlier = data.draw(st.lists(st.integers(0, 5_000_000), min_size=len(gaps), max_size=len(gaps)))
    early_ns = np.maximum.accumulate(late_ns - np.array(earlier, np.int64))
    early_ns = np.minimum(early_ns, late_ns)
    late, early = releases(late_ns, seqs, MODEL), releases(early_ns, seqs, MODEL)
    assert (early.acked_ns <= late.acked_ns).all()
    assert (in_order(early) <= in_order(late)).all()


@given(GAPS, st.integers(0, 1 << 55))
def test_shifted_arrivals_shift_all_releases(gaps: list[int], by_ns: int) -> None:
    """Stalls, too: they follow from sequences, not from a clock."""
    at_ns, seqs = arrivals(gaps)
    found, later = releases(at_ns, seqs, MODEL), releases(at_ns + by_ns, seqs, MODEL)
    assert (later.acked_ns - found.acked_ns).tolist() == [by_ns] * len(gaps)
    assert (later.readable_ns - found.readable_ns).tolist() == [by_ns] * len(gaps)


@given(GAPS, st.lists(st.integers(0, 300), max_size=5))
def test_block_by_block_is_all_at_once(gaps: list[int], cuts: list[int]) -> None:
    """The carry is all that a block leaves to the next one."""
    at_ns, seqs = arrivals(gaps)
    carry, parts = Carry.empty(MODEL), list[list[list[int]]]()
    for block in np.split(seqs, sorted(cut for cut in cuts if cut < len(gaps))):
        parts.append(columns(releases(at_ns[block], block, MODEL, carry)))
    together = [[number for part in parts for number in part[column]] for column in range(4)]
    assert together == columns(releases(at_ns, seqs, MODEL))


@given(GAPS)
def test_one_by_one_is_all_at_once(gaps: list[int]) -> None:
    """What the producer computes is what is compared with."""
    at_ns, seqs = arrivals(gaps)
    line = Releaser(MODEL)
    one_by_one = [(*line.take(at, seq), line.lane(seq)) for at, seq in zip(at_ns.tolist(), seqs.tolist(), strict=True)]
    assert [list(column) for column in zip(*one_by_one, strict=True)] == columns(releases(at_ns, seqs, MODEL))


def test_a_stall_holds_up_its_partition_and_no_other() -> None:
    """A message of long service: what comes after it in its partition waits, and departs by its own service."""
    seq = next_in(MODEL, 0, 100)
    model = replace(MODEL, stalls=((seq, 2_000_000_000),), service_ns=(10_000, 10_000), anomalies=())
    seqs = np.arange(400, dtype=np.int64)
    found = releases(seqs * 1_000_000, seqs, model)
    waited = found.readable_ns - seqs * 1_000_000
    mine = found.lane == 0
    assert set(waited[mine & (seqs < seq)].tolist()) == {10_000}
    assert waited[seq] == 2_000_010_000
    assert (np.diff(found.readable_ns[mine & (seqs >= seq)]) == 10_000).all()
    assert waited[found.lane == 1].max() < 1_000_000


def test_a_reordered_message_is_read_with_the_next_of_its_partition() -> None:
    """A lost one never; until the next one came, neither can a reordered one."""
    seqs = np.arange(PERIOD, dtype=np.int64)
    found = releases(seqs * 1_000, seqs, MODEL)
    readable_ns = in_order(found)
    (late, *_) = np.flatnonzero(found.anomaly == Anomaly.REORDERED)
    following = late + 1 + np.flatnonzero(found.lane[late + 1 :] == found.lane[late])[0]
    assert readable_ns[late] == readable_ns[following] == found.readable_ns[following]
    assert set(readable_ns[found.anomaly == Anomaly.LOST].tolist()) == {NEVER}
    cut = releases(seqs[:following] * 1_000, seqs[:following], MODEL)
    assert in_order(cut)[late] == NEVER


def test_anomalies_are_planted_once_in_a_period_and_never_beside_each_other() -> None:
    """In the first half, so that short runs have them; until the end of what is planted."""
    planted = pattern(MODEL)
    for anomaly in Anomaly:
        if anomaly:
            assert np.count_nonzero(planted.anomaly == anomaly) == 8
    assert not planted.anomaly[PERIOD // 2 :].any()
    for lane in range(ANOMALY_LANES):
        anomalies = planted.anomaly[planted.lane == lane]
        assert not (anomalies[:-1] * anomalies[1:]).any()
    seqs = np.arange(PERIOD, dtype=np.int64)
    assert not releases(seqs, seqs, replace(MODEL, anomalous_until=0)).anomaly.any()


@pytest.mark.parametrize(("lane", "share"), [(0, 0.5), (1, 0.3), (2, 0.2)])
def test_shares_are_those_of_the_messages(lane: int, share: float) -> None:
    """To one message of a period."""
    assert np.count_nonzero(pattern(MODEL).lane == lane) == pytest.approx(share * PERIOD, abs=1)
