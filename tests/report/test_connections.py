"""The section `connections` of result.json."""

from typing import Any

from streamgauge.domain.folder.facts import RunFacts
from streamgauge.domain.tables.machine import CONNECTIONS_BY_KIND
from streamgauge.report.assemble.connections import NOT_ASKED, connections
from streamgauge.verdict.evidence import Evidence

Row = dict[str, Any]
FACTS: Row = {
    "id": "r", "name": "stress", "tag": 1, "created": "2026-01-01T00:00:00Z", "wall_ns": 1, "monotonic_ns": 2,
    "command": [], "versions": {}, "machine": {}, "broker": {"embedded": True, "bootstrap": "127.0.0.1:9"},
    "topics": [], "groups": [], "scenario": {"load": "off", "consume": "off", "connections": {"open": "10/s"}},
}  # fmt: skip


def row(kind: str, scope: Any = "measure", **changed: Any) -> Row:
    out: Row = {"scope": scope, "second": None, "kind": kind, "duration_ns": 10**10, "target_per_second": 10.0}
    out |= {"made": 99, "failed": 1, "exhausted": 0, "error": "_TIMED_OUT", "per_second": 9.9, "held": None}
    out |= {
        "p50_ms": 1.0,
        "p99_ms": 2.0,
        "max_ms": 3.0,
        "schedule_delay_p50_ms": 0.1,
        "schedule_delay_p99_ms": 0.2,
        "schedule_delay_max_ms": 0.3,
    }
    out |= {"under_way": 0.01, "at_once": 4} | changed
    assert set(out) == set(CONNECTIONS_BY_KIND.names)
    return out


def section(*rows: Row) -> Any:
    found = connections(Evidence(RunFacts.model_validate(FACTS), {"connections": rows}))
    return found and found.model_dump(exclude_unset=True)


def test_each_kind_is_told_by_its_measure_phase() -> None:
    """Those that nobody asked for are null, with the reason."""
    found = section(row("open", "run", made=500), row("open"), row("hold-consumer", held=7), row("open", "window"))

    assert found["open"] == {
        "target_per_second": 10.0, "made": 99, "failed": 1, "error": "_TIMED_OUT", "per_second": 9.9, "p50_ms": 1.0,
        "p99_ms": 2.0, "max_ms": 3.0, "schedule_delay_p99_ms": 0.2, "schedule_delay_max_ms": 0.3, "reasons": {},
    }  # fmt: skip
    assert found["hold_consumer"]["held"] == 7
    assert [name for name, value in found.items() if value is None] == ["metadata", "hold_producer", "hold_metadata"]
    assert found["reasons"] == dict.fromkeys(["metadata", "hold_producer", "hold_metadata"], NOT_ASKED)


def test_every_null_has_its_reason() -> None:
    """Where nothing was answered, nothing began, or nothing failed."""
    answers = dict.fromkeys(("p50_ms", "p99_ms", "max_ms"))
    delay = dict.fromkeys(("schedule_delay_p99_ms", "schedule_delay_max_ms"))
    failed = section(row("open", made=0, per_second=0.0, **answers))["open"]
    idle = section(row("open", made=0, failed=0, error=None, per_second=None, **answers, **delay))["open"]

    assert failed["reasons"] == dict.fromkeys(answers, "none succeeded")
    assert idle["reasons"] == {
        "error": "none failed",
        "per_second": "the measure phase has no length",
        **dict.fromkeys((*answers, *delay), "none began"),
    }


def test_without_connections_there_is_no_section() -> None:
    """Nobody asked for any, or the table is missing."""
    assert section() is None
    assert section(row("open", "run")) is None
