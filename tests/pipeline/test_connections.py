"""The table `connections`, from rows of that event."""

from typing import Any

import pyarrow as pa
import pytest

from streamgauge.arrow import arrow_schema
from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.events import EVENTS
from streamgauge.domain.tables.machine import CONNECTIONS_BY_KIND
from streamgauge.pipeline.machine.connections import connection_rows
from streamgauge.pipeline.read.silver import Span
from streamgauge.scenario.profile import recorded_profile

SPAN = Span(3 * NS_PER_SECOND, 20 * NS_PER_SECOND, MeasureSpan(5 * NS_PER_SECOND, 15 * NS_PER_SECOND))
ASKED = {"connections": {"open": "10/s", "hold": {"producers": 3, "refresh": "2s"}}}
Row = dict[str, Any]


def use(
    at: float, kind: str = "open", number: int = 0, took_ms: float = 1, error: str | None = None, late_ms: float = 0
) -> Row:
    """A row of the event; `at` is in seconds."""
    at_ns = round(at * NS_PER_SECOND)
    due_ns = at_ns - round(late_ms * NS_PER_MS)
    row: Row = {"at_ns": at_ns, "worker": "connector-0", "kind": kind, "number": number, "due_ns": due_ns}
    return row | {"took_ns": round(took_ms * NS_PER_MS), "error": error}


def answer(*uses: Row, scenario: Any = ASKED) -> list[Row]:
    """The rows of the table, which fit its schema; what several threads recorded comes in any order."""
    profile = recorded_profile(None, scenario).connections
    rows = connection_rows(
        pa.Table.from_pylist(list(reversed(uses)), arrow_schema(EVENTS["connections"])), profile, SPAN
    )
    pa.Table.from_pylist(rows, arrow_schema(CONNECTIONS_BY_KIND)).validate(full=True)
    assert all(row.keys() <= set(CONNECTIONS_BY_KIND.names) for row in rows)
    return rows


def one(rows: list[Row], kind: str, scope: str, second: int | None = None) -> Row:
    """The row of a kind and scope."""
    (row,) = [row for row in rows if (row["kind"], row["scope"], row.get("second")) == (kind, scope, second)]
    return row


def test_operations_are_counted_where_they_began() -> None:
    """In the measure phase, in their second, and in the whole run; however late they were answered."""
    rows = answer(use(4.9, took_ms=200), use(5), use(5.999), use(6), use(14.999, took_ms=500), use(15))

    assert one(rows, "open", "run")["made"] == 6
    assert one(rows, "open", "measure")["made"] == 4
    assert {row["second"]: row["made"] for row in rows if row["scope"] == "window"} == {-1: 1, 0: 2, 1: 1, 9: 1, 10: 1}
    assert one(rows, "open", "measure")["per_second"] == 0.4
    assert one(rows, "open", "measure")["target_per_second"] == 10.0
    assert one(rows, "open", "measure")["duration_ns"] == 10 * NS_PER_SECOND
    assert one(rows, "open", "run")["duration_ns"] == 17 * NS_PER_SECOND
    assert one(rows, "open", "window", 0)["duration_ns"] == NS_PER_SECOND


def test_latencies_are_those_of_answers() -> None:
    """A failure has no answer; how late an operation began is told of all."""
    uses = [use(5 + number / 100, took_ms=number + 1, late_ms=number / 10) for number in range(100)]

    row = one(answer(*uses, use(7, took_ms=500, error="_TIMED_OUT", late_ms=50)), "open", "measure")

    assert (row["made"], row["failed"]) == (100, 1)
    assert row["p50_ms"] == pytest.approx(50, rel=0.01)
    assert row["p99_ms"] == pytest.approx(99, rel=0.01)
    assert row["max_ms"] == 100
    assert row["schedule_delay_p50_ms"] == pytest.approx(5, rel=0.01)
    assert row["schedule_delay_max_ms"] == 50
    assert row["under_way"] == pytest.approx((5050 + 500) / 10_000)
    assert row["at_once"] == 5


def test_failures_have_names() -> None:
    """The most frequent one is told; some are this machine's own."""
    errors = ["ECONNREFUSED", "EADDRNOTAVAIL", "EADDRNOTAVAIL", "_TIMED_OUT", "EMFILE", "EADDRNOTAVAIL"]

    row = one(answer(*(use(6, error=error) for error in errors)), "open", "measure")

    assert (row["made"], row["failed"], row["exhausted"], row["error"]) == (0, 6, 4, "EADDRNOTAVAIL")
    assert (row["p50_ms"], row["p99_ms"], row["max_ms"]) == (None, None, None)


def test_a_connection_is_held_while_its_last_use_was_answered() -> None:
    """Also where that was before the measure phase; what came after it does not count there."""
    kind = "hold-producer"
    rows = answer(
        use(4, kind, 0),
        use(4, kind, 1),
        use(4, kind, 2, error="_TIMED_OUT"),
        use(9, kind, 1, error="_TIMED_OUT"),
        use(11, kind, 1),
        use(12, kind, 2, error="_TIMED_OUT"),
        use(16, kind, 0, error="_TIMED_OUT"),
        use(8, "open", 0),
    )

    assert one(rows, kind, "measure")["held"] == 2
    assert one(rows, kind, "run")["held"] == 1
    assert one(rows, kind, "measure")["target_per_second"] == 1.5
    assert one(rows, "open", "measure")["held"] is None


def test_what_was_made_before_the_load_was_not_late() -> None:
    """It was due at no time."""
    row = one(answer(use(4, "hold-producer") | {"due_ns": None}), "hold-producer", "run")

    assert (row["made"], row["schedule_delay_max_ms"]) == (1, None)


def test_what_was_asked_for_and_not_done_has_rows_too() -> None:
    """So that a check can say so."""
    rows = answer()

    assert [(row["kind"], row["scope"], row["made"]) for row in rows] == [
        ("open", "run", 0),
        ("open", "measure", 0),
        ("hold-producer", "run", 0),
        ("hold-producer", "measure", 0),
    ]
    assert one(rows, "hold-producer", "measure")["held"] == 0


def test_without_connections_there_is_nothing_to_tell() -> None:
    """Rows that nobody asked for, by what is understood of the scenario, are counted all the same."""
    assert answer(scenario={"connections": "off"}) == []
    (row, *_) = answer(use(6, "teleport"), use(6, "open"), scenario={"connections": {"teleport": "1/s"}})
    assert (row["kind"], row["made"], row["target_per_second"], row["at_once"]) == ("open", 1, None, None)
