"""From two looks to what is shown: rates, percentiles of the last second, warnings as they arise."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from streamgauge.domain.look import BUCKETS, Look, WorkerLook, live_buckets
from streamgauge.watch.progress import RunProgress, in_one_line, progress

SECOND = 1_000_000_000
NOTHING = np.zeros(BUCKETS, np.int64)


def counted(milliseconds: float, count: int) -> Any:
    counts = NOTHING.copy()
    counts[live_buckets(np.array([round(milliseconds * 1e6)]))] = count
    return counts


def look(second: float, sent: int = 0, received: int = 0, **changes: Any) -> Look:
    """A run with one producer and one consumer, started at 0, measured from 5 s to 15 s."""
    producer: dict[str, Any] = {
        "known": sent,
        "failed": 0,
        "blocked_ns": 0,
        "cpu_ns": round(second * 0.3 * SECOND),
        "alive": True,
    }
    producer |= {name: changes.pop(name) for name in tuple(changes) if name in producer}
    workers = [
        WorkerLook("producer-0", "producer", messages=sent, **producer),
        WorkerLook("consumer-0", "consumer", alive=True, messages=received, cpu_ns=round(second * 0.1 * SECOND)),
    ]
    stage: Any = "warmup" if second < 5 else "measure" if second < 15 else "drain"
    made = Look(
        round(second * SECOND), stage, 0, 5 * SECOND, 15 * SECOND, workers, NOTHING, NOTHING,
        idle_ns=round(second * SECOND), cores=2,
    )  # fmt: skip
    return replace(made, **changes)


def test_rates_and_percentiles_are_those_between_two_looks() -> None:
    """Counts since the start are subtracted; cores and idle are shares of the same time."""
    before = look(6, 60_000, 59_000, ack=counted(900, 60_000), end_to_end=counted(900, 59_000))
    now = look(
        8, 80_000, 78_000, ack=counted(900, 60_000) + counted(4, 99) + counted(50, 1),
        end_to_end=counted(900, 59_000) + counted(4, 50) + counted(50, 50),
    )  # fmt: skip
    said = progress(10_000.0, before, now, None)
    assert (said.target_rate, said.sent, said.acked, said.received) == (10_000.0, 10_000.0, 10_000.0, 9_500.0)
    assert said.outstanding == 2_000
    assert said.ack_ms == pytest.approx((4.2, 4.2), rel=0.07)
    assert said.end_to_end_ms == pytest.approx((4.2, 50), rel=0.1)
    assert said.cores == pytest.approx({"producer": 0.3, "consumer": 0.1})
    assert said.idle == pytest.approx(0.5)
    assert (said.stage, said.seconds, said.seconds_of) == ("measure", 3.0, 10.0)
    assert said.warnings == ()


def test_the_first_look_has_no_rates() -> None:
    """Nor cores; a role that is not there never has."""
    said = progress(10_000.0, None, look(1, 10, 10), None)
    assert (said.sent, said.acked, said.received, said.cores, said.idle) == (None, None, None, {}, None)
    alone = replace(look(2, 10), workers=look(2, 10).workers[:1])
    said = progress(10_000.0, replace(alone, at_ns=SECOND), alone, None)
    assert (said.sent, said.received, said.outstanding) == (0.0, None, None)


@pytest.mark.parametrize(
    ("second", "stage", "seconds", "seconds_of"),
    [(2.0, "warmup", 2.0, 5.0), (5.0, "measure", 0.0, 10.0), (15.0, "drain", 0.0, None), (17.5, "drain", 2.5, None)],
)
def test_how_far_a_stage_is(second: float, stage: str, seconds: float, seconds_of: float | None) -> None:
    """The drain has no planned end."""
    said = progress(None, None, look(second), None)
    assert (said.stage, said.seconds, said.seconds_of) == (stage, seconds, seconds_of)


def healthy(second: float, **changes: Any) -> Look:
    return look(second, round(second * 10_000), round(second * 10_000), **changes)


@pytest.mark.parametrize(
    ("asked", "changes", "warning"),
    [
        (10_000.0, {}, None),
        (10_000.0, {"alive": False}, "producer-0 has died"),
        (10_000.0, {"failed": 12}, "failed messages: 12"),
        (10_000.0, {"blocked_ns": SECOND // 2}, "the client's queue was full 50 % of the time: the system is too slow"),
        (10_000.0, {"blocked_ns": SECOND // 10}, None),
        (None, {"blocked_ns": SECOND // 2}, None),
        (10_200.0, {}, "producers are 1,400 messages behind schedule"),
        (10_200.0, {"is_constant": False}, None),
        (10_000.0, {"idle_ns": 6 * SECOND}, "the machine is 0 % idle"),
        (None, {"idle_ns": 6 * SECOND}, None),
    ],
)
def test_warnings_arise_at_their_bounds(asked: float | None, changes: dict[str, Any], warning: str | None) -> None:
    """A load without a schedule is neither late nor too hungry, and a mean rate does not tell what is due by now."""
    said = progress(asked, healthy(6), healthy(7, **changes), None)
    assert len(said.warnings) == (warning is not None)
    assert warning is None or said.warnings[0].startswith(warning)


def test_consumers_that_fall_behind_are_told_after_three_looks() -> None:
    """Each with more outstanding than the last, and more than they take in a second; catching up ends it."""
    outstanding = [0, 6_000, 12_000, 18_000, 24_000, 20_000]
    said: RunProgress | None = None
    before: Look | None = None
    told = []
    for second, missing in enumerate(outstanding, start=6):
        now = look(second, second * 10_000, second * 10_000 - missing)
        said = progress(10_000.0, before, now, said)
        told.append([warning for warning in said.warnings if "fall behind" in warning])
        before = now
    assert told == [
        [], [], [], ["consumers fall behind: 18,000 messages outstanding"],
        ["consumers fall behind: 24,000 messages outstanding"], [],
    ]  # fmt: skip


def test_nothing_is_outstanding_where_not_each_message_is_received_once() -> None:
    """As with two groups, of which one may read nothing: what is missing there does not follow from counts."""
    said: RunProgress | None = None
    before: Look | None = None
    for second in range(6, 12):
        now = look(second, second * 10_000, second * 5_000, reads_once=False)
        said = progress(10_000.0, before, now, said)
        before = now
        assert (said.outstanding, said.warnings) == (None, ())
    assert said is not None
    assert "outstanding" not in in_one_line(said)


def test_a_line_of_a_log() -> None:
    """What is not known is left out."""
    before = healthy(6)
    now = healthy(7, ack=counted(4, 10), failed=1)
    assert in_one_line(progress(10_000.0, before, now, None)) == (
        "measure 2/10 s  sent 10,000/s  acked 9,999/s  received 10,000/s  ack p99 4.19 ms  outstanding 0  failed 1"
    )
    assert in_one_line(progress(None, None, look(16), None)) == "drain 1 s  outstanding 0"
    assert in_one_line(progress(None, None, replace(look(1), stage="starting"), None)) == "starting  outstanding 0"
