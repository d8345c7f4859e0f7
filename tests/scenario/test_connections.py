"""Connections beside the load: what a scenario may ask for, and what the verdict says of what became of it."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streamgauge.domain.blocks import MOST_AT_ONCE, ConnectionKind, Work
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.folder.facts import RunFacts
from streamgauge.domain.text.quantities import MAX_DURATION_NS
from streamgauge.scenario.model.environment.connections import (
    FASTEST,
    MOST_HELD,
    Connections,
)
from streamgauge.verdict.check import Check
from streamgauge.verdict.checks.connections import answered, connection_rate
from streamgauge.verdict.evidence import Evidence
from streamgauge.workload.pacing import ConstantPacer

SECONDS = 30


def test_each_kind_has_a_rate_of_its_own() -> None:
    """What is held is used once every `refresh`, one connection after the other."""
    asked = Connections.model_validate(
        {
            "open": "50/s",
            "metadata": 0.5,
            "hold": {"producers": 3, "consumers": 30, "metadata": 1, "refresh": "2s"},
        }
    )

    assert asked.work == (
        Work(ConnectionKind.OPEN, Fraction(50)),
        Work(ConnectionKind.METADATA, Fraction(1, 2)),
        Work(ConnectionKind.HOLD_PRODUCER, Fraction(3, 2), 3),
        Work(ConnectionKind.HOLD_CONSUMER, Fraction(15), 30),
        Work(ConnectionKind.HOLD_METADATA, Fraction(1, 2), 1),
    )


@pytest.mark.parametrize("value", [None, False, "off"])
def test_what_is_off_is_not_asked_for(value: object) -> None:
    """However it is written."""
    asked = Connections.model_validate({"open": value, "metadata": "1/s"})

    assert [work.kind for work in asked.work] == [ConnectionKind.METADATA]


@pytest.mark.parametrize(
    ("work", "at_once"),
    [
        (Work(ConnectionKind.OPEN, Fraction(1)), 4),
        (Work(ConnectionKind.OPEN, Fraction(13)), 7),
        (Work(ConnectionKind.OPEN, Fraction(1_000)), MOST_AT_ONCE),
        (Work(ConnectionKind.METADATA, Fraction(5, 2)), 13),
        (Work(ConnectionKind.HOLD_METADATA, Fraction(2), 2), 2),
        (Work(ConnectionKind.HOLD_METADATA, Fraction(2), 500), 10),
        (Work(ConnectionKind.HOLD_METADATA, Fraction(500), 500), MOST_AT_ONCE),
    ],
)
def test_so_many_are_under_way_at_once(work: Work, at_once: int) -> None:
    """As many as pile up without an answer, within bounds, and no more than there are connections."""
    assert work.at_once == at_once


@given(refresh_ns=st.integers(10**6, MAX_DURATION_NS), held=st.integers(1, MOST_HELD), use=st.integers(0, 5_000))
def test_a_held_connection_is_used_once_every_refresh(refresh_ns: int, held: int, use: int) -> None:
    """Exactly, however long it lasts."""
    work = Work(ConnectionKind.HOLD_PRODUCER, Fraction(held * NS_PER_SECOND, refresh_ns), held)
    pacer = ConstantPacer(work.per_second, 0, 1)

    first, again = (int(pacer.due_ns(number, 1)[0]) for number in (use, use + held))

    assert again - first == refresh_ns


@pytest.mark.parametrize(
    ("given", "where", "what"),
    [
        ({}, "", "no connections are configured; write open, metadata or hold"),
        ({"hold": {"refresh": "1s"}}, "", "no connections are configured"),
        ({"open": "max"}, "open", "not a rate; write how many a second, like 10/s, or off"),
        ({"metadata": "0/s"}, "metadata", "a rate lies between"),
        ({"open": FASTEST + 1}, "open", "a rate lies between"),
        ({"hold": {"producers": -1}}, "hold.producers", "greater than or equal to 0"),
        ({"hold": {"producers": 1, "refresh": "10us"}}, "hold.refresh", "greater than or equal to 1000000"),
        ({"opened": "1/s"}, "opened", "not permitted"),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, where: str, what: str) -> None:
    """With the place, and where it is not plain, with the remedy."""
    with pytest.raises(ValidationError) as caught:
        Connections.model_validate(given)

    (fault,) = caught.value.errors()
    assert ".".join(map(str, fault["loc"])) == where
    assert what in fault["msg"]


def test_it_can_be_written_down_and_read_again() -> None:
    """As a run.json holds it."""
    asked = Connections.model_validate({"open": "10/s", "hold": {"consumers": 2}})
    written = asked.model_dump(mode="json")

    assert written["open"] == "10/s"
    assert written["hold"]["refresh"] == "1s"
    assert Connections.model_validate(written) == asked


def row(kind: str, scope: str, per_second: float = 10.0, **changed: Any) -> dict[str, Any]:
    """A row of a kind with which all went well."""
    out: dict[str, Any] = {"kind": kind, "scope": scope, "duration_ns": SECONDS * NS_PER_SECOND, "failed": 0}
    out |= {"target_per_second": per_second, "made": round(per_second * SECONDS), "exhausted": 0, "error": None}
    return out | {"schedule_delay_p99_ms": 0.2, "under_way": 0.1, "at_once": 4} | changed


def run(
    *rows: dict[str, Any], connections: object = "asked", died: bool = False, tables: bool = True
) -> tuple[Check | None, Check | None]:
    """Both checks of a run with these rows."""
    asked = {"open": "10/s"} if connections == "asked" else connections
    facts = RunFacts.model_validate(
        {
            "id": "x", "name": "x", "tag": 1, "created": "", "wall_ns": 0, "monotonic_ns": 0, "command": [],
            "scenario": {"load": "off", "consume": "off", "connections": asked}, "versions": {}, "machine": {},
            "broker": {"embedded": True, "bootstrap": "127.0.0.1:1"}, "topics": [], "groups": [],
            "workers": [{"name": "connector-0", "role": "connector", "number": 0, "exit_code": -9 if died else 0}],
        }
    )  # fmt: skip
    evidence = Evidence(facts, {"connections": rows} if tables else {})
    return answered(evidence), connection_rate(evidence)


def test_a_run_without_connections_has_no_such_checks() -> None:
    """The question does not arise."""
    assert run(connections="off") == (None, None)


def test_without_the_table_nothing_is_known() -> None:
    """It was asked for, and not answered."""
    connections, rate = run(tables=False)

    assert connections
    assert rate
    assert (connections.status, rate.status) == ("unknown", "unknown")


def test_where_all_went_well_both_pass() -> None:
    """And say how many there were."""
    connections, rate = run(row("open", "run"), row("open", "measure"), row("metadata", "run", 2.0))

    assert connections
    assert rate
    assert (connections.status, rate.status) == ("pass", "pass")
    assert connections.evidence == "all succeeded: open 300 and metadata 60"


def test_failures_are_of_the_system() -> None:
    """Kind by kind, with what they failed with."""
    failing = row("open", "run", made=290, failed=10, error="ECONNREFUSED")
    connections, _ = run(failing, row("metadata", "run"))

    assert connections
    assert (connections.about, connections.status) == ("system", "fail")
    assert connections.evidence == "open 10 of 300 failed (3.3 %), most with ECONNREFUSED"


def test_a_machine_without_more_ports_is_of_the_instrument() -> None:
    """It says nothing of the cluster."""
    connections, _ = run(row("open", "run", made=290, failed=10, error="EADDRNOTAVAIL", exhausted=9))

    assert connections
    assert (connections.about, connections.status) == ("instrument", "fail")
    assert "9 because this machine ran out of files, ports or threads" in connections.evidence


@pytest.mark.parametrize(
    ("changed", "died", "about", "status"),
    [
        ({"made": 298}, False, "instrument", "pass"),
        ({"made": 290, "failed": 10}, False, "instrument", "pass"),
        ({"made": 297}, False, "instrument", "warn"),
        ({"made": 200}, False, "instrument", "fail"),
        ({"made": 350}, False, "instrument", "fail"),
        ({"made": 100, "failed": 100, "under_way": 3.7}, False, "system", "fail"),
        ({"made": 297, "under_way": 3.7}, False, "system", "warn"),
        ({"made": 200, "under_way": 3.7}, True, "instrument", "fail"),
        ({"made": 0, "duration_ns": 0, "schedule_delay_p99_ms": None, "under_way": None}, False, "instrument", "pass"),
    ],
)
def test_what_was_not_begun_in_time_is_of_who_held_it_up(
    changed: dict[str, Any], died: bool, about: str, status: str
) -> None:
    """The worker, unless all that it may do at once waited for an answer; failures have begun, too."""
    _, rate = run(row("open", "measure", **changed), row("metadata", "measure"), died=died)

    assert rate
    assert (rate.about, rate.status) == (about, status)


def test_what_failed_has_begun() -> None:
    """It does not lack in the rate."""
    _, rate = run(row("open", "measure", made=200, failed=100))

    assert rate
    assert rate.evidence == "open: target 10.0/s, started 10.0/s; schedule delay p99 0.200 ms"


def test_the_kind_that_is_furthest_off_is_the_one_that_is_shown() -> None:
    """Two more or less do not make a slow kind the worst one; one that nobody asked for has no rate."""
    _, rate = run(
        row("hold-producer", "measure", 0.1, made=1),
        row("open", "measure", made=250),
        row("metadata", "measure", target_per_second=None, made=0),
    )

    assert rate
    assert rate.evidence == "open: target 10.0/s, started 8.33/s; schedule delay p99 0.200 ms"
