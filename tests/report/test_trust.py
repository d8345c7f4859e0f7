"""What of an assembled result may be believed, where evidence of several tables comes together."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.report.conftest import Make, bounds

from streamgauge.report.assemble.result import assemble
from streamgauge.result.model.trust import FigureTrust, Trust
from streamgauge.verdict import exit_code
from streamgauge.verdict.exits import Exit

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Change = Callable[[Row, Tables], None]

P50, P99 = (f"latency.end_to_end.response.{name}_ms" for name in ("p50", "p99"))
SENT = "throughput.sent_per_second"


def trust_of(make: Make, *changes: Change) -> dict[str, FigureTrust]:
    return assemble(make(*changes)).trust


def pace(rate: Any) -> Change:
    def change(facts: Row, _tables: Tables) -> None:
        facts["scenario"]["load"]["rate"] = rate

    return change


def look(role: str, **numbers: Any) -> Change:
    """A sample of the second second, of a process that is the only one of its role."""

    def change(_facts: Row, tables: Tables) -> None:
        row = {"process": f"{role}-0", "role": role, "scope": "interval", "second": 2.0, "duration_ns": 10**9}
        tables["resources"] = [
            each for each in tables["resources"] if each.get("second") is None or each["role"] != role
        ]
        tables["resources"].append({**row, **numbers})

    return change


def failing(name: str) -> Change:
    def change(_facts: Row, tables: Tables) -> None:
        row = {"name": name, "about": "instrument", "status": "fail", "evidence": f"{name} failed", "advice": ""}
        tables["verdict"] = [row]

    return change


def bounded(**low: float) -> Change:
    def change(_facts: Row, tables: Tables) -> None:
        of_response = bounds("end_to_end_response") | low
        others = [row for row in tables["bounds"] if row["metric"] != "end_to_end_response"]
        tables["bounds"] = [*others, of_response]

    return change


def test_a_healthy_run_is_believed(make: Make) -> None:
    found = trust_of(make)

    assert {each.trust for each in found.values()} == {"believed"}
    assert {each.place for each in found.values()} == {None}
    assert (found[SENT].low, found[SENT].high) == (10_000.0, 10_000.0)


@pytest.mark.parametrize("rate", ["max", "closed"])
def test_a_rate_that_follows_from_the_answers_is_a_least_one(make: Make, rate: str) -> None:
    """And latencies belong to this generator; they keep their trust."""
    trust = trust_of(make, pace(rate))
    found = trust[SENT]

    assert (found.low, found.high, found.trust) == (10_000.0, None, "bounded")
    assert "another generator" in (trust[P99].place or "")
    assert (trust[P99].trust, found.place) == ("believed", None)


@pytest.mark.parametrize(("low", "trust"), [(5.9, "believed"), (4.0, "bounded"), (1.0, "not_believed")])
def test_a_percentile_is_as_good_as_its_interval(make: Make, low: float, trust: Trust) -> None:
    found = trust_of(make, bounded(p99_ms=low))[P99]

    assert (found.low, found.trust) == (low, trust)
    assert bool(found.because) is (trust != "believed")


@pytest.mark.parametrize(
    ("error_ms", "low", "high", "trust"),
    [(0.5, 5.5, 6.0, "believed"), (-2.0, 5.94, 8.0, "bounded"), (4.0, 2.0, 6.0, "not_believed")],
)
def test_an_interval_is_as_wide_as_the_instrument_was_wrong_when_it_was_calibrated(
    make: Make, error_ms: float, low: float, high: float, trust: Trust
) -> None:
    """On the side where the truth was."""

    def calibrated(facts: Row, _tables: Tables) -> None:
        facts["calibration"]["errors_ms"] = {"end_to_end.response.p99": error_ms}

    found = trust_of(make, bounded(p99_ms=5.94), calibrated)[P99]

    assert (found.low, found.high, found.trust) == (low, high, trust)


@pytest.mark.parametrize(
    ("days", "modelled", "expected"),
    [(30, False, None), (31, False, "31 days old"), (None, False, "missing for this version"), (None, True, None)],
)
def test_a_calibration_that_is_missing_or_old_is_told(
    make: Make, days: int | None, *, modelled: bool, expected: str | None
) -> None:
    def calibrated(facts: Row, _tables: Tables) -> None:
        facts["broker"]["modelled"] = modelled
        made_ns = facts["wall_ns"] - (days or 0) * 86_400 * 10**9
        facts["calibration"] = None if days is None else {"rate": 1.0, "wall_ns": made_ns, "errors_ms": {}}

    said = assemble(make(calibrated)).verdict.calibration

    assert said is expected is None or (expected or "") in (said or "")


def test_a_quota_takes_what_has_no_bounds(make: Make) -> None:
    """Latencies have, and rates of a schedule say themselves whether they were reached."""
    scheduled, flat_out = (
        assemble(make(failing("cpu_quota"), pace(rate), judged=False)).trust for rate in ("10k/s", "max")
    )

    assert (scheduled[P99].trust, scheduled[SENT].trust) == ("believed", "believed")
    assert (flat_out[P99].trust, flat_out[SENT].because[-1]) == ("believed", "cpu_quota failed")


@pytest.mark.parametrize(
    ("failed", "taken"),
    [(None, []), ("schedule", []), ("worker_cpu", ["latency.poll.p99_ms"]), ("cpu_quota", ["latency.poll.p99_ms"])],
)
def test_what_the_load_itself_did_is_as_long_as_it_was(make: Make, failed: str | None, taken: list[str]) -> None:
    """Unless it had no core: then nobody knows how long its calls take."""
    trust = assemble(make(*([failing(failed)] if failed else []), judged=failed is None)).trust

    own = {path: trust[path] for path in ("latency.poll.p99_ms", "schedule_delay.p99_ms")}
    assert {each.value == each.low == each.high for path, each in own.items() if path not in taken} == {True}
    assert [path for path, each in own.items() if each.trust == "not_believed"] == taken


def test_a_starved_broker_is_named_and_takes_nothing(make: Make) -> None:
    """It had no core in a tenth of the time: the slowest tenth may be of this machine."""
    found = trust_of(make, look("broker", run_delay_share=1.5, cpu_cores=0.4))

    assert found[P50].place is None
    assert "second 1 to 2; 10 % of the messages" in (found[P99].place or "")
    assert found[P99].trust == "believed"


def test_a_client_without_a_core_takes_the_tail(make: Make) -> None:
    """It had none in a tenth of the time; nobody knows what its messages would have been."""
    found = trust_of(make, look("producer", client_run_delay_share=0.9, cpu_cores=0.4))

    assert found[P50].trust == "believed"
    assert (found[P99].trust, found[P99].low, found[P99].place) == ("not_believed", None, None)
    assert "second 1 to 2; 10 % of the messages" in found[P99].because[0]


def test_a_wide_interval_says_how_much_waiting_workers_can_explain(make: Make) -> None:
    def waited(_facts: Row, tables: Tables) -> None:
        next(row for row in tables["resources"] if row["role"] == "producer").update(client_run_delay_share=0.004)

    because = trust_of(make, bounded(p99_ms=4.0), waited)[P99].because

    assert "can explain the slowest 0.40 % of the messages" in because[-1]


def test_what_stood_still_together_has_no_bound(make: Make) -> None:
    def looked(_facts: Row, tables: Tables) -> None:
        row = {"process": "host", "role": "host", "scope": "interval", "duration_ns": 500_000_000}
        tables["resources"] += [row | {"second": second} for second in (0.5, 1.0, 1.5)]

    found = trust_of(make, look("host", duration_ns=800_000_000), looked, look("producer", poll_gap_ms=280.0))

    assert found[P50].trust == "believed"
    assert (found[P99].trust, found[P99].low, found[P99].high) == ("not_believed", None, None)


def test_a_gap_beyond_a_timeout_puts_duplicates_in_doubt(make: Make) -> None:
    """If there are any."""

    def duplicated(_facts: Row, tables: Tables) -> None:
        tables["delivery"][0]["duplicate_consumer"] = 3

    silent = look("consumer", poll_gap_ms=46_000.0)

    assert trust_of(make, silent)["delivery.duplicate_consumer"].trust == "believed"
    assert trust_of(make, silent, duplicated)["delivery.duplicate_consumer"].trust == "not_believed"


@pytest.mark.parametrize(
    ("change", "because"),
    [
        pytest.param(lambda tables: tables.pop("bounds"), "streamgauge analyse", id="analysed by an older version"),
        pytest.param(lambda tables: tables.update(bounds=[]), "for some messages it is not known", id="no gaps known"),
    ],
)
def test_without_bounds_no_latency_is_believed(make: Make, change: Any, because: str) -> None:
    found = trust_of(make, lambda _facts, tables: change(tables))

    assert because in found[P50].because[0]
    assert (found[P50].trust, found[SENT].trust) == ("not_believed", "believed")


def stressing(facts: Row, tables: Tables) -> None:
    """Nothing is sent or received; connections are opened 50 times a second, and 40 were."""
    facts["scenario"] = {"topic": {"partitions": 12}, "load": "off", "consume": "off", "connections": {"open": "50/s"}}
    tables["latency"] = tables["bounds"] = tables["schedule_delay"] = tables["delivery"] = []
    row = {"kind": "open", "duration_ns": 10**10, "target_per_second": 50.0, "made": 400, "failed": 0, "exhausted": 0}
    row |= {"per_second": 40.0, "p50_ms": 2.0, "p99_ms": 4.0, "max_ms": 9.0, "under_way": 0.1, "at_once": 8}
    row |= {f"schedule_delay_{name}_ms": 2_000.0 for name in ("p50", "p99", "max")}
    tables["connections"] = [row | {"scope": scope} for scope in ("run", "measure")]


def test_connections_that_fall_behind_make_their_run_not_valid(make: Make) -> None:
    """It has nothing else to be judged by."""
    behind = assemble(make(stressing))
    kept = assemble(make(stressing, lambda _facts, tables: tables["connections"][1].update(made=500)))

    assert (behind.verdict.state, kept.verdict.state) == ("not_valid", "valid")
    assert behind.trust["connections.open.p99_ms"].trust == "not_believed"
    assert exit_code("finished", valid=bool(behind.verdict.valid), expectations_passed=True) == Exit.NOT_VALID
