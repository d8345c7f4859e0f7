"""Faults with their spans, and what the cluster told around them: tables, without Spark."""

from typing import Any

import pytest

from streamgauge.delivery.outages import FaultSpan
from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.pipeline.pressure.faults import faults_of, score_rows, spans_of, told
from streamgauge.pipeline.read.silver import Span

S = NS_PER_SECOND
LATE = "it had not ended 30 s after it was asked to: killed"
SPAN = Span(0, 200 * S, MeasureSpan(5 * S, 195 * S))
"""Five seconds of warm-up; all seconds count from then."""


def mark(second: float, kind: str, target: str, action: str = "begin", error: str | None = None) -> dict[str, Any]:
    return {"second": second, "kind": kind, "target": target, "action": action, "detail": None, "error": error}


def both(begin: float, end: float, kind: str, target: str) -> list[dict[str, Any]]:
    return [mark(begin, kind, target), mark(end, kind, target, "end")]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([], []),
        (both(10, 12, "pause", "broker-1"), [("broker-1", 15, 77)]),
        # Over when it happens, if nobody undoes it.
        ([mark(10, "kill", "consumer-0")], [("consumer-0", 15, 75)]),
        (both(10, 14, "kill", "broker-2"), [("broker-2", 15, 79)]),
        # Not beyond the start of the next fault, nor the end of the run.
        (
            both(10, 12, "pause", "broker-1") + both(30, 170, "black-hole", "clients-broker-1"),
            [("broker-1", 15, 35), ("clients-broker-1", 35, 200)],
        ),
        # What is done to several at once disturbs once.
        (
            both(10, 20, "cut", "broker-1-broker-2") + both(10.1, 20.1, "cut", "broker-1-broker-3"),
            [("broker-1-broker-2", 15, 85), ("broker-1-broker-3", 15.1, 85.1)],
        ),
        # What could not be done is no fault, nor are changes of the load.
        ([mark(10, "kill", "broker-1", error="no such process")], []),
        (both(10, 20, "burst", "producers") + both(12, 14, "delay", "consumers"), []),
        (both(10, 20, "pause", "broker-1") + both(22, 24, "burst", "producers"), [("broker-1", 15, 85)]),
        (both(10, 20, "delay", "clients-broker-1"), [("clients-broker-1", 15, 85)]),
        # Not over: nobody knows for how long it lasted.
        ([mark(10, "pause", "broker-1")], []),
        # It ended otherwise than it should have, or is still on after that: it lasted until then all the same.
        ([mark(10, "stop", "broker-1"), mark(45, "stop", "broker-1", "end", LATE)], [("broker-1", 15, 110)]),
        ([mark(10, "kill", "broker-1"), mark(45, "kill", "broker-1", "end", "no port")], [("broker-1", 15, 110)]),
        # Nor what could not be begun and was ended to be sure.
        ([mark(10, "cut", "a-b", error="no proxy"), mark(20, "cut", "a-b", "end")], []),
        # The second could not be begun, as the first was still on: the end is that of the first.
        (
            [
                mark(10, "kill", "broker-1"),
                mark(12, "kill", "broker-1", error="under another fault"),
                mark(20, "kill", "broker-1", "end"),
            ],
            [("broker-1", 15, 85)],
        ),
    ],
)
def test_faults_have_a_span_in_which_they_may_show(
    rows: list[dict[str, Any]], found: list[tuple[str, float, float]]
) -> None:
    faults = faults_of(rows)
    spans = spans_of(faults, SPAN)

    assert [fault.target for fault in faults] == [target for target, _, _ in found]
    assert [each[:2] for each in spans] == [(round(begin * S), round(until * S)) for _, begin, until in found]


def test_what_waits_counts_to_the_begin_of_the_next_fault() -> None:
    """Also where that begins after the span."""
    rows = [*both(10, 12, "pause", "broker-1"), *both(90, 92, "pause", "broker-2"), *both(100, 101, "kill", "broker-1")]
    spans = spans_of(faults_of(rows), SPAN)

    assert spans == [
        FaultSpan(15 * S, 77 * S, 95 * S), FaultSpan(95 * S, 105 * S, 105 * S), FaultSpan(105 * S, 166 * S),
    ]  # fmt: skip


def look(second: float, lacking: int = 0, leaderless: int = 0, moved: int = 0, answered: bool = True) -> dict[str, Any]:
    counts = {"under_replicated": lacking, "leaderless": leaderless, "leaders_moved": moved}
    return {"second": second, **counts, "answered": answered, "took_ms": 2.0 if answered else None}


FINE = look(-5)


@pytest.mark.parametrize(
    ("looks", "noticed", "leaders", "in_sync"),
    [
        ([], None, None, None),
        ([FINE], None, None, 0.0),
        # Killed at 10, back at 20: the leaders move at 14, all replicas are back at 26.
        ([FINE, look(12, 4), look(14, 4, moved=2), look(26)], 2.0, 4.0, 6.0),
        ([FINE, look(13, 4, 2), look(15, 4, moved=2), look(26)], 3.0, 5.0, 6.0),
        # The same leader is back, and no other has moved.
        ([FINE, look(13, 4, 2), look(15, 4), look(26)], 3.0, 5.0, 6.0),
        # Without a leader to the end; missing replicas to the end.
        ([FINE, look(13, 4, 2)], 3.0, None, None),
        # Lost again after it was in sync.
        ([FINE, look(12, 4), look(24), look(30, 1), look(40)], 2.0, None, 20.0),
        # In sync before it was over.
        ([FINE, look(12, 4), look(15)], 2.0, None, 0.0),
        # A replica was missing before; that nothing gets worse is not noticed.
        ([look(-5, 2), look(12, 2), look(13, 1), look(30)], None, None, 10.0),
        # A look that failed tells nothing.
        ([FINE, look(12, 4, 4, 4, answered=False), look(18, 4), look(26)], 8.0, None, 6.0),
        # Nor is it known to be in sync before the cluster answers again.
        ([FINE, look(12, answered=False), look(26)], None, None, 6.0),
        ([FINE, look(12, answered=False)], None, None, None),
        # What comes after the span is not of this fault.
        ([FINE, look(90, 4)], None, None, 0.0),
    ],
)
def test_replicas_tell_when_a_fault_was_noticed_and_over(
    looks: list[dict[str, Any]], noticed: float | None, leaders: float | None, in_sync: float | None
) -> None:
    assert told(looks, 10.0, 20.0, 80.0) == {"noticed_s": noticed, "leaders_s": leaders, "in_sync_s": in_sync}


@pytest.mark.parametrize(("failed", "counts"), [(None, [None, None]), ({1: 7}, [0, 7])])
def test_each_fault_has_a_row(failed: dict[int, int] | None, counts: list[int | None]) -> None:
    faults = faults_of(both(10, 12, "pause", "broker-1") + both(30, 32, "kill", "broker-2"))
    rows = score_rows(faults, spans_of(faults, SPAN), [], failed, SPAN)

    assert [(row["fault"], row["began_second"], row["ended_second"], row["until_second"]) for row in rows] == [
        (0, 10, 12, 30), (1, 30, 32, 92),
    ]  # fmt: skip
    assert [row["failed"] for row in rows] == counts


def test_a_score_tells_the_error_of_the_end() -> None:
    rows = [mark(10, "stop", "broker-1"), mark(45, "stop", "broker-1", "end", LATE), *both(80, 82, "kill", "broker-2")]
    faults = faults_of(rows)

    scores = score_rows(faults, spans_of(faults, SPAN), [], None, SPAN)
    assert [(row["ended_second"], row["error"]) for row in scores] == [(45, LATE), (82, None)]
