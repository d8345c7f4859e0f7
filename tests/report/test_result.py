"""result.json: valid against its schema whatever the run, and saying what the tables say."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.report.conftest import (
    connecting,
    credited,
    faulty,
    hysteresis,
    lagging,
    latency,
    observing,
    processing,
    scored,
    told,
    transacting,
    used,
    waiting,
)

from streamgauge.delivery.log import LEDGER_CLASSES
from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import BrokerFacts, RunFolder
from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.tables.delivery import DELIVERY_COUNTS
from streamgauge.domain.tables.query import PIPELINE_DELIVERY
from streamgauge.report.assemble.result import TABLES, assemble, write_result
from streamgauge.report.assemble.sections import OF_LAG
from streamgauge.result.model.run import MeasuredBroker
from streamgauge.result.schema import json_schema
from streamgauge.scenario.profile import CLOSED_LOOP

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Make = Callable[..., RunFolder]

SCHEMA: Any = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def as_fast_as_possible(facts: Row, tables: Tables) -> None:
    facts["scenario"]["load"]["rate"] = "max"
    tables["schedule_delay"] = []
    for row in tables["latency"]:
        if row["scope"] == "measure" and row["metric"].endswith("_response"):
            nothing(row, "the load has no schedule")


def nothing(row: Row, reason: str | None) -> None:
    row.update({name: None for name in row if name.endswith(("_ms", "_ms2"))}, count=0, reason=reason)


def produce_only(facts: Row, tables: Tables) -> None:
    facts["scenario"]["consume"] = "off"
    facts["groups"] = []
    tables["polls"] = []
    sides = {"sent", "acked", "failed", "unsent", "aborted"}
    for row in tables["delivery"]:
        row.update(dict.fromkeys({*DELIVERY_COUNTS, "checked"} - sides), group=None)
    for row in tables["throughput"]:
        row.update(received=0, processed=0, received_bytes=0, outstanding=None)
    for row in tables["latency"]:
        if row["scope"] == "measure" and not row["metric"].startswith("ack"):
            nothing(row, "no consumers")


def consume_only(facts: Row, tables: Tables) -> None:
    facts["scenario"]["load"] = "off"
    tables["schedule_delay"] = []
    known = {"received", "duplicate_consumer", "foreign", "corrupt"}
    for row in tables["delivery"]:
        row.update(dict.fromkeys(set(DELIVERY_COUNTS) - known))
    for row in tables["throughput"]:
        row.update(due=0, sent=0, acked=0, sent_bytes=0, outstanding=None)
    for row in tables["latency"]:
        if row["scope"] == "measure" and row["metric"] != "poll":
            nothing(row, "the run has no load")


def closed_loop(facts: Row, tables: Tables) -> None:
    as_fast_as_possible(facts, tables)
    facts["scenario"]["load"]["rate"] = {"closed": {"batch": 10}}


def never_came(_facts: Row, tables: Tables) -> None:
    """Some messages were never delivered: from p99 on the percentiles are intervals, from p99.9 on did not end."""
    for row in tables["latency"]:
        if row["metric"] == "end_to_end_response" and row["scope"] == "measure":
            row.update(censored=120, count=99_880)
            row.update(p99_censored=True, p99_hi_ms=8.0, p99_9_censored=True, p99_9_hi_ms=None)
            row.update(delivered_p50_ms=2.5, delivered_p95_ms=4.0, delivered_p99_ms=5.0, delivered_p99_9_ms=5.5)


def throttled(_facts: Row, tables: Tables) -> None:
    """What a policy made messages wait."""
    waits = {"throttle", "own_schedule_delay"}
    tables["latency"] = [row for row in tables["latency"] if row["metric"] not in waits]
    tables["latency"] += [latency(metric, 400.0) for metric in sorted(waits)]


def few(_facts: Row, tables: Tables) -> None:
    for row in tables["latency"]:
        if row["scope"] == "measure":
            row.update(count=9_999, p99_9_ms=None, p99_99_ms=None)


def interrupted(facts: Row, _tables: Tables) -> None:
    facts.update(ending="interrupted", drained=None, phases=[])


def from_before(_facts: Row, tables: Tables) -> None:
    """Analysed by a version that knew less."""
    later = ("transactions", "resends", "processing", "wire", "connections", "lag", "outstanding", "backpressure")
    for name in (*later, "faults", "recovery", "fault_scores", "fault_partitions"):
        tables.pop(name, None)
    unknown = {"batch", "since_record_time", "throttle", "own_schedule_delay"}
    tables["latency"] = [row for row in tables["latency"] if row["metric"] not in unknown]


def died(facts: Row, _tables: Tables) -> None:
    facts.update(ending="failed", reasons=["producer-0 died: disk full"])
    facts["workers"][0].update(exit_code=1, error="disk full")


def killed(facts: Row, tables: Tables) -> None:
    """The parent was killed and nothing was analysed."""
    for name in ("ending", "drained", "workers", "phases"):
        del facts[name]
    tables.clear()


def external(facts: Row, tables: Tables) -> None:
    facts["broker"] = {"embedded": False, "bootstrap": "kafka:9092"}
    tables["gc"] = []


def cut_short(_facts: Row, tables: Tables) -> None:
    """Interrupted before the measure phase: it has no length."""
    for row in tables["throughput"]:
        row["duration_ns"] = 0


def undecided(_facts: Row, tables: Tables) -> None:
    for row in tables["delivery"]:
        row.update(lost=None, undelivered=None, unknown=None, corrupt=None, received=0, checked=0)


def without(*names: str) -> Callable[[Row, Tables], None]:
    def change(_facts: Row, tables: Tables) -> None:
        for name in names:
            tables.pop(name, None)

    return change


KINDS = [
    as_fast_as_possible, produce_only, consume_only, never_came, few, interrupted, died, external, cut_short, undecided,
    transacting, waiting, processing, connecting, observing, from_before, closed_loop, lagging, credited, hysteresis,
    faulty, scored,
    *(without(name) for name in TABLES if name != "verdict"),
]  # fmt: skip


@pytest.mark.parametrize("change", [None, *KINDS])
@pytest.mark.slow
def test_every_kind_of_run_makes_a_result_that_its_schema_allows(make: Make, change: Any) -> None:
    """Whatever is off, missing or broken; every null has its reason beside it, where the schema has a place for it."""
    result = write_result(make(*([change] if change else []))).document()

    VALIDATOR.validate(result)
    assert set(without_reasons(result)) == set()


def without_reasons(value: Any, path: str = "") -> list[str]:
    """Paths of nulls whose section gives reasons but not theirs, and of reasons for what is not null."""
    if isinstance(value, list):
        return [found for index, each in enumerate(value) for found in without_reasons(each, f"{path}.{index}")]
    if not isinstance(value, dict):
        return []
    found = [each for key, below in value.items() for each in without_reasons(below, f"{path}.{key}")]
    reasons = value.get("reasons")
    if isinstance(reasons, dict):
        nulls = {key for key, below in value.items() if below is None}
        found += [f"{path}.{key}" for key in nulls ^ reasons.keys()]
    return found


def test_a_folder_that_was_never_analysed_says_so(make: Make) -> None:
    """Nulls throughout, each with its reason, and no verdict."""
    result = write_result(make(killed, judged=False)).document()

    VALIDATOR.validate(result)
    assert result["verdict"] == {"valid": None, "checks": []}
    assert result["run"]["ending"] is None
    assert result["delivery"]["lost"] is None
    assert result["delivery"]["reasons"]["lost"] == "the table delivery is missing"
    assert result["throughput"]["reasons"]["sent_per_second"] == "the table throughput is missing"
    assert result["latency"]["ack"] == {"response": None, "service": None}
    assert (result["timeline"], result["schedule_delay"], result["resources"]["host"]) == ([], None, None)
    assert [each["passed"] for each in result["expectations"]] == [False, False]


def test_the_result_says_what_the_tables_say(make: Make) -> None:
    """A short healthy run, looked into here and there."""
    result = told(make())

    assert result["format"] == 2
    assert result["run"]["name"] == "baseline"
    assert result["verdict"]["valid"] is True
    assert result["throughput"] == {
        "measured_seconds": 10.0,
        "target_per_second": 10_000.0,
        "sent_per_second": 10_000.0,
        "acked_per_second": 10_000.0,
        "received_per_second": 10_000.0,
        "processed_per_second": 10_000.0,
        "sent_mb_per_second": 5.12,
        "received_mb_per_second": 5.12,
        "reasons": {},
    }
    ack = result["latency"]["ack"]["response"]
    assert (ack["count"], ack["p50_ms"], ack["p99_ms"], ack["max_ms"]) == (100_000, 3.0, 6.0, 18.0)
    assert ack["cdf"] == [{"le_ms": 1.0, "share": 0.01}, {"le_ms": 100.0, "share": 1.0}]
    assert [key for key in ack if key.endswith("_hi_ms")] == []
    assert result["latency"]["processing"]["service"]["reasons"]["p99_ms"] == "processing is not recorded"
    assert (result["delivery"]["acked"], result["delivery"]["measure"]["acked"]) == (120_000, 100_000)
    assert [group["group"] for group in result["delivery"]["groups"]] == ["g"]
    assert result["delivery"]["checked_share"] == 1.0
    assert result["schedule_delay"]["p99_ms"] == 0.09
    assert [each["producer"] for each in result["schedule_delay"]["producers"]] == [0, 1]
    assert result["expectations"] == [
        {"path": "delivery.lost", "wanted": 0, "found": 0, "passed": True, "reason": None},
        {
            "path": "latency.end_to_end.response.p99_ms",
            "wanted": "<= 20",
            "found": 6.0,
            "passed": True,
            "reason": None,
        },
    ]


def test_resources_cover_the_measure_phase(make: Make) -> None:
    """Pauses of the warm-up are not among them."""
    resources_ = told(make())["resources"]

    assert [row["process"] for row in resources_["processes"]][-1] == "broker-1"
    assert (resources_["host"]["idle_share"], resources_["host"]["steal_share"]) == (0.381, 0.0012)
    # The tables are those of an older version, which did not look for quotas.
    assert resources_["host"]["throttled_share"] is None
    assert resources_["garbage_collection"] == {"pauses": 2, "total_ms": 4.0, "longest_ms": 2.5}
    assert len(resources_["polls"]) == 2
    cores = {role: sum(row["cpu_cores"] for row in resources_["processes"] if row["role"] == role)
             for role in ("producer", "consumer", "broker")}  # fmt: skip
    assert resources_["cpu_us_per_message"] == {
        f"{role}s": pytest.approx(1e6 * used_ / 10_000) for role, used_ in cores.items()
    }


def test_the_cpu_of_a_message_is_not_known_where_that_of_a_process_is_not(make: Make) -> None:
    def change(_facts: Row, tables: Tables) -> None:
        for row in tables["resources"]:
            if row["role"] == "consumer":
                row["cpu_cores"] = None
        tables["resources"] = [row for row in tables["resources"] if row["role"] != "broker"]

    found = told(make(change))["resources"]["cpu_us_per_message"]
    assert (found["producers"] > 0, found["consumers"], found["brokers"]) == (True, None, None)


def test_the_timeline_has_every_second(make: Make) -> None:
    """Warm-up is negative; a window has its rates, both times of both latencies, the backlog and the errors."""

    def errors(_facts: Row, tables: Tables) -> None:
        next(row for row in tables["throughput"] if row["second"] == 3).update(failed=2, unsent=5)

    timeline = told(make(errors))["timeline"]
    figures = {"p50_ms": 3.0, "p99_ms": 6.0, "max_ms": 18.0}

    assert [window["second"] for window in timeline] == list(range(-2, 10))
    assert timeline[5]["errors"] == 7
    assert timeline[0] == {
        "second": -2,
        "sent_per_second": 10_000.0,
        "acked_per_second": 10_000.0,
        "received_per_second": 10_000.0,
        "processed_per_second": 10_000.0,
        "ack": {"response": figures, "service": figures},
        "end_to_end": {"response": figures, "service": figures},
        "outstanding": 40,
        "errors": 0,
        "due_per_second": 10_000.0,
        "admitted_per_second": None,
        "committed_lag": None,
        "position_lag": None,
        "time_lag_ms": None,
    }


def test_lag_is_that_of_the_group_that_is_furthest_behind(make: Make) -> None:
    """Figures of the measure phase; a sample that failed is counted, and is no value."""

    def another_group(facts: Row, tables: Tables) -> None:
        lagging(facts, tables)
        facts["groups"].append({"id": 1, "name": "h"})
        facts["scenario"]["lag"] = {"every": "500ms"}
        others = [row | {"group": 1, "committed_lag": 9, "position_lag": 900} for row in tables["lag"]]
        tables["lag"] += [row for row in others if row["scope"] == "group"]
        tables["resources"].append(used("lag", "lag", 0.03))

    lag = told(make(another_group))["lag"]

    assert {name: lag[name] for name in ("every_ms", "samples", "failed", "failed_share", "cpu_cores")} == {
        "every_ms": 500.0, "samples": 24, "failed": 1, "failed_share": 1 / 24, "cpu_cores": 0.03,
    }  # fmt: skip
    # 8 samples from 0 s on lie below 4 s, one of which failed, and 13 above.
    mean = (7 * 1_300 + 13 * 2_600) / 20
    assert lag["committed"] == {"max": 2_600, "max_second": 4.0, "final": 2_600, "mean": mean}
    assert lag["position"] == {"max": 900, "max_second": 0.0, "final": 900, "mean": 900.0}
    assert (lag["outstanding"]["max"], lag["outstanding"]["exact"]) == (12 * 7_600, False)
    assert lag["time_lag"]["max_ms"] == 12 * 7_600 / 2.4
    assert [(each["group"], each["position"]["max"]) for each in lag["groups"]] == [("g", 130), ("h", 900)]
    assert lag["groups"][1]["outstanding"] is None


def test_backpressure_shows_offered_admitted_sent_and_processed_apart(make: Make) -> None:
    """And for how long messages waited to be let go."""
    result = told(make(credited, throttled))
    held = result["backpressure"]

    assert (held["policy"], held["limit"], held["credits_used_max"], held["within_limit"]) == (
        "credit",
        5_000,
        4_992,
        True,
    )
    assert (held["offered_per_second"], held["admitted_per_second"]) == (10_000.0, 2_500.0)
    assert (held["returned"], held["ambiguous"], held["throttle"]["p99_ms"]) == (12, 3, 400.0)
    assert result["latency"]["throttle"]["p99_ms"] == 400.0
    assert result["lag"]["outstanding"] == {
        "max": 4_990, "max_second": 0.0, "final": 1_200, "mean": pytest.approx(700.0), "exact": True,
    }  # fmt: skip


def test_the_timeline_tells_lag_second_by_second(make: Make) -> None:
    """The last sample of a second, and what is replayed at its end."""
    window = told(make(credited))["timeline"][5]

    assert (window["second"], window["due_per_second"], window["admitted_per_second"]) == (3, 10_000.0, 2_500.0)
    assert (window["committed_lag"], window["position_lag"], window["time_lag_ms"]) == (1_300, 130, 600 / 2.4)


def test_recoveries_name_their_group_and_say_what_is_not_known(make: Make) -> None:
    """One that did not drain has no time to drain, and says so."""
    result = told(make(faulty))

    assert [row["time_to_drain_s"] for row in result["recovery"]] == [2.25, 2.5, None]
    assert result["recovery"][0]["group"] == "g"
    why = "it did not recover before the load ended, or the next cause began"
    assert result["recovery"][2]["reasons"]["time_to_drain_s"] == why
    assert [row["error"] for row in result["faults"]][-1] == "no such process"


def two_topics(facts: Row, tables: Tables) -> None:
    facts["topics"] = [{"id": number, "name": f"t{number}", "partitions": 6} for number in range(2)]
    tables["latency"] += [
        {**latency(metric, p99, "topic"), "topic": topic}
        for topic, p99 in ((0, 5.0), (1, 50.0))
        for metric in ("ack_service", "end_to_end_service", "end_to_end_response")
    ]


def test_latencies_of_several_topics_are_told_apart(make: Make) -> None:
    assert told(make())["latency"]["topics"] == []
    topics = told(make(two_topics))["latency"]["topics"]

    assert [each["topic"] for each in topics] == ["t0", "t1"]
    assert [each["end_to_end"]["response"]["p99_ms"] for each in topics] == [5.0, 50.0]
    assert topics[0]["ack"]["response"] is None


def test_a_censored_percentile_has_a_high_end(make: Make) -> None:
    """Null there means infinite, and says so."""
    response = told(make(never_came))["latency"]["end_to_end"]["response"]

    assert (response["p99_ms"], response["p99_hi_ms"], response["p99_9_hi_ms"]) == (6.0, 8.0, None)
    assert response["reasons"] == {"p99_9_hi_ms": "the percentile lies among messages that were never delivered"}
    assert "p50_hi_ms" not in response
    # How good it looks when what never came vanishes stands beside it, and only there.
    assert response["delivered"] == {"p50_ms": 2.5, "p95_ms": 4.0, "p99_ms": 5.0, "p99_9_ms": 5.5}
    assert "delivered" not in told(make(never_came))["latency"]["end_to_end"]["service"]


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        (few, ("latency", "ack", "service", "p99_9_ms"), "needs 10,000 samples, has 9,999"),
        (as_fast_as_possible, ("latency", "ack", "response", "p50_ms"), "the load has no schedule"),
        (as_fast_as_possible, ("throughput", "target_per_second"), "the load has no target rate"),
        (closed_loop, ("throughput", "target_per_second"), CLOSED_LOOP),
        (few, ("latency", "batch"), "the load does not wait for its reports"),
        (few, ("latency", "since_record_time"), "the run sends what it receives"),
        (few, ("transactions",), "the load has no transactions"),
        (few, ("processing",), "consumers do no processing"),
        (few, ("connections",), "the scenario has none"),
        (few, ("backpressure",), "no backpressure"),
        (from_before, ("lag",), "the table lag is missing"),
        (from_before, ("latency", "throttle"), "the run was analysed by an older version"),
        (credited, ("backpressure", "pauses"), "credit does not pause"),
        (hysteresis, ("backpressure", "within_limit"), "hysteresis has no credit"),
        (lagging, ("recovery",), "no fault ended before the load did"),
        (lagging, ("faults",), "no faults were injected"),
        (lagging, ("scorecards",), "no fault was over"),
        (from_before, ("scorecards",), "the table fault_scores is missing"),
        (produce_only, ("processing",), "no consumers"),
        (consume_only, ("transactions",), "nothing is sent"),
        (consume_only, ("schedule_delay",), "nothing is sent"),
        (as_fast_as_possible, ("schedule_delay",), "the load has no schedule"),
        (closed_loop, ("schedule_delay",), CLOSED_LOOP),
        (from_before, ("latency", "batch"), "the run was analysed by an older version"),
        (from_before, ("transactions",), "the table transactions is missing"),
        (without("latency"), ("latency", "poll"), "the table latency is missing"),
        (produce_only, ("throughput", "received_mb_per_second"), "no consumers"),
        (produce_only, ("delivery", "lost"), "no consumers"),
        (consume_only, ("throughput", "acked_per_second"), "nothing is sent"),
        (consume_only, ("delivery", "undelivered"), "nothing is sent"),
        (without("throughput"), ("throughput", "measured_seconds"), "the table throughput is missing"),
        (without("throughput"), ("throughput", "processed_per_second"), "the table throughput is missing"),
        (cut_short, ("throughput", "sent_per_second"), "no message was measured"),
        (cut_short, ("throughput", "received_per_second"), "no message was measured"),
        (undecided, ("delivery", "lost"), "cannot be decided"),
        (undecided, ("delivery", "corrupt"), "no checksum was verified"),
        (undecided, ("delivery", "checked_share"), "no checksum was verified"),
    ],
)
@pytest.mark.slow
def test_a_null_has_its_reason(make: Make, change: Any, path: tuple[str, ...], reason: str) -> None:
    """Unknown is null, and the section says why."""
    section = told(make(change))
    for key in path[:-1]:
        section = section[key]

    assert section[path[-1]] is None
    assert section["reasons"][path[-1]] == reason


def test_the_group_that_fared_worst_is_told(make: Make) -> None:
    """In the whole run, and of the same group in the measure phase; beside it every group."""

    def two_groups(facts: Row, tables: Tables) -> None:
        facts["groups"].append({"id": 1, "name": "h"})
        run, measure = tables["delivery"]
        tables["delivery"] += [run | {"group": 1, "lost": 3}, measure | {"group": 1, "lost": 0, "undelivered": 9}]
        measure["lost"] = 1

    delivery = told(make(two_groups))["delivery"]

    assert (delivery["lost"], delivery["measure"]["lost"], delivery["measure"]["undelivered"]) == (3, 0, 9)
    assert [(group["group"], group["lost"]) for group in delivery["groups"]] == [("g", 0), ("h", 3)]


def test_the_file_is_the_result(make: Make) -> None:
    """Written whole, over an older one, and nothing else left in the folder."""
    folder = make()
    folder.result.write_text("old")
    before = {path.name for path in folder.root.iterdir()}

    result = write_result(folder)

    assert json.loads(folder.result.read_text()) == result.document()
    assert {path.name for path in folder.root.iterdir()} == before


def test_a_table_that_cannot_be_read_is_one_clear_error(make: Make) -> None:
    """Half a file, as a crash of the machine may leave it."""
    folder = make()
    folder.table("latency").write_bytes(folder.table("latency").read_bytes()[:100])

    with pytest.raises(AnalysisError, match=r"latency\.parquet cannot be read: .*; analyse the run again"):
        assemble(folder)


def test_a_table_of_another_version_that_makes_no_result_is_one_clear_error(make: Make) -> None:
    """It may know kinds of faults that this one does not."""

    def unheard_of(facts: Row, tables: Tables) -> None:
        faulty(facts, tables)
        tables["faults"][0]["kind"] = "mystery"

    with pytest.raises(AnalysisError, match=r"cannot be used: kind is not .*'burst'; analyse the run again"):
        assemble(make(unheard_of))


def test_a_folder_without_run_json_is_one_clear_error(make: Make) -> None:
    """Nothing can be said without the facts."""
    folder = make()
    folder.facts.unlink()

    with pytest.raises(AnalysisError, match=r"run\.json cannot be read"):
        assemble(folder)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to every key of every object but those that are free: what the user wrote, the machine, reasons."""
    if isinstance(value, list):
        return _paths(value[0], (*path, 0)) if value else []
    if not isinstance(value, dict) or path[-1:] in {
        ("scenario",),
        ("machine",),
        ("versions",),
        ("reasons",),
        ("expect",),
    }:
        return []
    return [(*path, key) for key in value] + [found for key in value for found in _paths(value[key], (*path, key))]


def _with_the_first_of_each(value: Any) -> Any:
    """The same value with one item in each list that has any: those that `_paths` looks at."""
    if isinstance(value, dict):
        return {key: _with_the_first_of_each(below) for key, below in value.items()}
    return [_with_the_first_of_each(each) for each in value[:1]] if isinstance(value, list) else value


def _allowed(result: Row, path: tuple[Any, ...], damage: Callable[[Row, str], object]) -> bool:
    """Whether a damaged result is valid. Of a section that was valid only its own schema has to be asked again."""
    section, below = path[0], path[1:]
    if not below:
        return VALIDATOR.is_valid(_damaged(result, path, damage))
    schema = {**SCHEMA["properties"][section], "$defs": SCHEMA["$defs"]}
    return jsonschema.Draft202012Validator(schema).is_valid(_damaged(result[section], below, damage))


def _damaged(value: Any, path: tuple[Any, ...], damage: Callable[[Row, str], object]) -> Any:
    damaged = copy.deepcopy(value)
    place: Any = damaged
    for key in path[:-1]:
        place = place[key]
    damage(place, path[-1])
    return damaged


LATER = (
    "aborted_received", "resent", "unread", "fate_unknown", "fate_unknown_received", "unaccounted", *LEDGER_CLASSES,
)  # fmt: skip
"""Counts of delivery that the first version did not know."""
UNDESCRIBED = {("run", "workers", 0, "pid"), ("run", "workers", 0, "ended_ns")}
OPTIONAL = {
    *UNDESCRIBED, *(("verdict", key) for key in ("state", "used", "judge_by", "place", "calibration")),
    ("verdict", "checks", 0, "title"), ("trust",), ("trust", "throughput.sent_per_second"),
    ("expectations", 0, "decided"), ("run", "profile", "judge_by"), ("run", "profile", "replication"),
    ("run", "profile", "reads_log"), ("run", "profile", "consume", "acknowledge"), ("redelivery",),
    ("run", "calibration"), ("run", "imported"), ("run", "beside"), ("imported",), ("faults", 0, "asked_second"),
    ("run", "broker", "modelled"), ("latency", "topics"), ("steps",), ("replication",),
    *(("replication", key) for key in ("controller_changes", "cpu_cores")),
    *(("replication", f"most_behind{end}") for end in ("", "_node", "_second")),
    ("run", "profile", "load", "message_timeout_ms"), ("run", "profile", "consume", "longest_silence_ms"),
    *(("run", "profile", key) for key in ("timeouts_ms", "bytes_per_partition")),
    ("run", "profile", "timeouts_ms", "message.timeout.ms"),
    *(("run", "profile", "load", key) for key in ("processes", "batch")),
    *(("run", "profile", "consume", key) for key in ("groups", "processes", "commit_every_ms")),
    ("run", "workers", 0, "members"), ("run", "workers", 0, "next_seqs"),
    ("run", "topics", 0, "uuid"), ("run", "groups", 0, "uuid"),
    *(("latency", key) for key in ("poll_per_record", "batch", "flush_wait", "throttle", "own_schedule_delay")),
    ("compression",), ("latency", "since_record_time"), ("latency", "reasons"),
    *(
        (*account, count)
        for account in (("delivery",), ("delivery", "measure"), ("delivery", "groups", 0))
        for count in (*LATER, "delivered_share")
    ),
    ("warmup",), ("rates",),
    *((section,) for section in ("missing", "transactions", "processing", "wire", "connections", "reasons")),
    *((section,) for section in ("lag", "pipeline", "backpressure", "faults", "recovery", "scorecards")),
    *(("timeline", 0, key) for key in ("due_per_second", *OF_LAG)),
    ("lag", "outstanding", "exact"),
    ("latency", "end_to_end", "response", "delivered"),
    *(("latency", "end_to_end", "response", f"{name}_hi_ms") for name in ("p99", "p99_9")),
    *(
        ("wire", "producers", *where, figure)
        for where in ((), ("workers", 0))
        for figure in ("batch_messages", "batch_bytes", "queue_ms")
    ),
    ("connections", "hold_producer", "held"),
    ("run", "ended_wall_ns"), ("run", "ended_monotonic_ns"), ("run", "broker", "class_archive"),
    ("run", "broker", "security"),
    ("resources", "cpu_us_per_message"),
    *(("resources", "processes", 0, key) for key in ("heap_bytes", "threads", "gc_collections", "gc_ms")),
    ("resources", "host", "throttled_share"), ("resources", "host", "throttled_periods_share"),
}  # fmt: skip
"""Keys that came later, so that what an older version left lacks them; and those that only some have."""


@pytest.mark.slow
def test_the_schema_misses_every_key_and_refuses_every_wrong_one(make: Make) -> None:
    """A key left out, a key too many and a value of a wrong type are each found, wherever they are."""
    result = told(make(transacting, waiting, processing, connecting, credited, throttled, faulty, never_came))
    # One of each list is as good as twelve, and quicker to validate some hundreds of times.
    result = _with_the_first_of_each(result)
    result["trust"] = dict(list(result["trust"].items())[:1])
    paths = [path for path in _paths(result) if path not in UNDESCRIBED]

    assert len(paths) > 200
    assert VALIDATOR.is_valid(result)
    for path in paths:
        assert _allowed(result, path, lambda place, key: place.pop(key)) == (path in OPTIONAL), path
        if path[-1] not in {"scenario", "machine", "versions", "expect"}:
            assert not _allowed(result, path, lambda place, key: place.update({key: {"x": [1]}})), path
    for section in ("throughput", "delivery", "resources", "verdict", "latency"):
        assert not VALIDATOR.is_valid({**result, section: {**result[section], "lots": 0}}), section


def test_the_schema_knows_the_words_of_the_domain() -> None:
    """Percentiles and classes of delivery are said once more in the schema, and are the same."""
    latency = SCHEMA["$defs"]["LatencyFigures"]
    account = SCHEMA["$defs"]["DeliveryCounts"]

    assert {f"{name}_ms" for name in PERCENTILES} <= set(latency["required"])
    assert [name for name in account["properties"] if name in DELIVERY_COUNTS] == list(DELIVERY_COUNTS)
    assert set(account["properties"]) - set(account["required"]) == {*LATER, "delivered_share"}


def unreported(facts: Row, tables: Tables) -> None:
    """A producer was killed: 400 messages have no report, 150 of them came."""
    facts["workers"][0] |= {"exit_code": -9, "declared_dead": True}
    for row in tables["delivery"]:
        row.update(fate_unknown=400, fate_unknown_received=150, unacked_received=150, unknown=250, unaccounted=0)
        if row["scope"] == "measure":
            row["unaccounted"] = None


def test_messages_of_unknown_fate_are_in_the_account(make: Make) -> None:
    """And what cannot be told of the measure phase says why."""
    result = told(make(unreported))

    VALIDATOR.validate(result)
    delivery = result["delivery"]
    names = ("fate_unknown", "fate_unknown_received", "unknown", "unaccounted")
    assert [delivery[name] for name in names] == [400, 150, 250, 0]
    assert delivery["measure"]["reasons"]["unaccounted"] == "a message without a row has no phase"
    assert "unaccounted" not in delivery["reasons"]


def test_a_count_that_nobody_can_make_says_why(make: Make) -> None:
    """Not that the run is old, where its table has the column."""

    def change(_facts: Row, tables: Tables) -> None:
        for row in tables["delivery"]:
            row.update(unaccounted=None, aborted_received=None)

    reasons = told(make(change))["delivery"]["reasons"]
    assert reasons["unaccounted"] == "the number of claimed messages is not known"
    assert reasons["aborted_received"] == "cannot be decided"


def test_what_an_older_version_did_not_count_is_null_with_that_reason() -> None:
    """Tables without the column, or the row."""
    result = told(RunFolder(Path(__file__).parent / "golden" / "format-1"))

    VALIDATOR.validate(result)
    assert set(without_reasons(result)) == set()
    for count in LATER:
        assert result["delivery"]["reasons"][count] == "the run was analysed by an older version"
    assert result["latency"]["reasons"]["batch"] == "the run was analysed by an older version"
    assert (result["delivery"]["aborted"], result["delivery"]["lost"]) == (0, 0)


def test_all_that_is_known_of_the_measured_cluster_stands_in_the_result() -> None:
    assert BrokerFacts.model_fields.keys() == MeasuredBroker.model_fields.keys()


def test_the_delivered_share_is_a_number_to_expect_on(make: Make) -> None:
    """What is not known counts as not received; nothing to be received has no share."""

    def lossy(facts: Row, tables: Tables) -> None:
        facts["scenario"]["expect"] = {"delivery.delivered_share": ">= 0.999", "delivery.measure.delivered_share": 1.0}
        for row in tables["delivery"]:
            if row["scope"] == "run":
                row.update(acked=1_100, aborted=60, unread=40, lost=3, undelivered=1, expired=0, unknown=1)

    result = told(make(lossy))
    assert result["delivery"]["delivered_share"] == pytest.approx(0.995)
    assert result["delivery"]["measure"]["delivered_share"] == 1.0
    assert [each["passed"] for each in result["expectations"]] == [False, True]

    def killed_producer(_facts: Row, tables: Tables) -> None:
        for row in tables["delivery"]:
            row.update(acked=1_000, fate_unknown=80, fate_unknown_received=30, unknown=50, unacked_received=30)

    # Nobody acknowledged the 50.
    assert told(make(killed_producer))["delivery"]["delivered_share"] == 1.0

    def filtered(_facts: Row, tables: Tables) -> None:
        for row in tables["delivery"]:
            row.update(acked=10_000, lost=100)
            same = {"scope": row["scope"], "group": row["group"], "dropped": 9_000, "expected": 1_000}
            tables.setdefault("pipeline_delivery", []).append(dict.fromkeys(PIPELINE_DELIVERY.names) | same)

    assert told(make(filtered))["delivery"]["delivered_share"] == pytest.approx(0.9)

    def nothing_acked(_facts: Row, tables: Tables) -> None:
        for row in tables["delivery"]:
            row.update(acked=0)

    delivery = told(make(nothing_acked))["delivery"]
    assert delivery["delivered_share"] is None
    assert delivery["reasons"]["delivered_share"] == "no acknowledged message was to be received"
    assert told(make(consume_only))["delivery"]["reasons"]["delivered_share"] == "nothing is sent"


def test_totals_of_the_warm_up(make: Make) -> None:
    """The windows before second 0; null with a reason where there is no warm-up."""

    def warm(facts: Row, tables: Tables) -> None:
        facts["phases"].insert(0, {"name": "warmup", "from_ns": -2 * 10**9, "to_ns": 0})
        windows = [row for row in tables["throughput"] if row["scope"] == "window"]
        counts = {"sent": 10, "acked": 9, "failed": 1, "unsent": 2, "received": 8}
        sizes = {"sent_bytes": 100, "received_bytes": 80}
        tables["throughput"] = [
            *(row for row in tables["throughput"] if row["scope"] != "window" or row["second"] >= 0),
            *({**windows[0], "second": second, **counts, **sizes} for second in (-2, -1)),
        ]

    assert told(make(warm))["warmup"] == {
        "seconds": 2.0, "sent": 20, "acked": 18, "errors": 6, "received": 16, "sent_bytes": 200, "received_bytes": 160,
        "reasons": {},
    }  # fmt: skip
    without_load = told(make(warm, consume_only))["warmup"]
    assert (without_load["sent"], without_load["reasons"]["sent"]) == (None, "nothing is sent")
    cold = told(make())
    assert (cold["warmup"], cold["reasons"]["warmup"]) == (None, "there is no warm-up")


def test_rates_of_topics_partitions_and_minutes(make: Make) -> None:
    """Only whole minutes; a second without a row had nothing."""

    def long(facts: Row, tables: Tables) -> None:
        facts["phases"] = [{"name": "measure", "from_ns": 0, "to_ns": 130 * 10**9}]
        window = next(row for row in tables["throughput"] if row["scope"] == "window")
        counts = {"acked": 60, "received": 30, "received_bytes": 60_000_000}
        whole = [row for row in tables["throughput"] if row["scope"] in {"run", "measure"}]
        placed = {"scope": "partition", "topic": 0, "partition": 3, "second": None, "duration_ns": 10 * 10**9}
        tables["throughput"] = [
            *({**row, "duration_ns": 130 * 10**9} for row in whole),
            *({**window, "second": second, **counts} for second in (0, 59, 60, 125)),
            {**window, **counts, **placed},
            {**window, **counts, **placed, "scope": "topic", "partition": None},
        ]

    rates = told(make(long))["rates"]
    part = {"acked_per_second": 6.0, "received_per_second": 3.0, "received_mb_per_second": 6.0}
    assert rates["partitions"] == [{"topic": "streamgauge-baseline", "partition": 3, **part}]
    assert rates["topics"] == [{"topic": "streamgauge-baseline", **part}]
    minutes = [(each["minute"], each["acked_per_second"], each["received_mb_per_second"]) for each in rates["minutes"]]
    assert minutes == [(0, 2.0, 2.0), (1, 1.0, 1.0)]
    assert told(make())["rates"]["minutes"] == []
    assert {each["received_per_second"] for each in told(make(produce_only))["rates"]["partitions"]} == {None}
