"""Which figures may be believed: limits, what failing checks take, and what that makes of a run."""

from typing import Any

import pytest
from tests.verdict.test_verdict import Run

from streamgauge.domain.folder.facts import RunFacts
from streamgauge.result.model.trust import FigureTrust, Trust
from streamgauge.scenario.profile import Profile
from streamgauge.verdict import RULES, Check
from streamgauge.verdict.evidence import Evidence
from streamgauge.verdict.expectations import expectations
from streamgauge.verdict.trust import limits
from streamgauge.verdict.trust.causes import TAKES, UNKNOWN_TAKES, taken
from streamgauge.verdict.trust.parts import State, state, used

Row = dict[str, Any]
ALL = [""]


@pytest.mark.parametrize(
    ("value", "low", "trust"),
    [
        pytest.param(100.0, 90.0, "believed", id="a tenth"),
        pytest.param(100.0, 89.9, "bounded", id="more than a tenth"),
        pytest.param(0.3, 0.1, "believed", id="a fifth of a millisecond"),
        pytest.param(1.2, 0.2, "bounded", id="a factor of six, and a millisecond"),
        pytest.param(1.3, 0.2, "not_believed", id="a factor, and more than a millisecond"),
        pytest.param(100.0, 50.0, "bounded", id="a factor of two"),
        pytest.param(100.0, 49.0, "not_believed", id="more than two"),
        pytest.param(5.0, 0.0, "not_believed", id="it may have been nothing"),
        pytest.param(-1.0, -1.0, "believed", id="a clock that disagrees is the matter of a check"),
    ],
)
def test_a_latency_is_believed_where_its_interval_is_narrow(value: float, low: float, trust: Trust) -> None:
    assert limits.of_latency(value, low, value) == trust


@pytest.mark.parametrize(
    ("value", "low", "trust"),
    [
        pytest.param(40.0, 38.9, "believed", id="the rounding is next to nothing"),
        pytest.param(1.5, 0.4, "bounded", id="the rounding is most of it"),
        pytest.param(0.4, 0.0, "bounded", id="the rounding is all of it"),
        pytest.param(5.0, 1.4, "not_believed", id="more than the rounding"),
    ],
)
def test_rounded_time_stamps_alone_leave_a_latency_bounded(value: float, low: float, trust: Trust) -> None:
    """Both ends of what they do are known. A quick cluster is not refused for them."""
    assert limits.of_stamped(value, low, value, 1.0) == trust


@pytest.mark.parametrize(
    ("low", "high", "trust"), [(995, 1_005, "believed"), (950, 1_050, "bounded"), (900, 1_050, "not_believed")]
)
def test_a_rate_is_believed_within_a_hundredth(low: float, high: float, trust: Trust) -> None:
    assert limits.of_rate(1_000, low, high) == trust


@pytest.mark.parametrize(
    ("value", "off", "trust"),
    [
        pytest.param(10, 10, "believed", id="a few messages"),
        pytest.param(10, 11, "bounded", id="more than a few: the ends say more than the number"),
        pytest.param(10, 100, "bounded", id="some"),
        pytest.param(10, 101, "not_believed", id="more than some"),
        pytest.param(100_000, 500, "believed", id="a hundredth"),
        pytest.param(100_000, 5_000, "bounded", id="a tenth"),
    ],
)
def test_a_lag_is_believed_within_a_hundredth_or_a_few_messages(value: float, off: float, trust: Trust) -> None:
    assert limits.of_lag(value, max(0.0, value - off), value + off) == trust


def test_a_count_is_exact_or_both_ends_are_known() -> None:
    assert (limits.of_count(5, 5), limits.of_count(5, 9)) == ("believed", "bounded")


def test_what_a_check_takes_belongs_to_a_check() -> None:
    """And only to one that can fail for the instrument."""
    of_instrument = {rule.name for rule in RULES if "instrument" in rule.about}

    assert set(TAKES) <= of_instrument
    assert set(TAKES) >= UNKNOWN_TAKES


def figure(trust: Trust = "believed", value: float = 5, low: float | None = 5, high: float | None = 5) -> FigureTrust:
    return FigureTrust(value=value, low=low, high=high, trust=trust, because=[])


PLAIN = {
    path: figure()
    for path in (
        "throughput.sent_per_second",
        "throughput.acked_per_second",
        "latency.ack.service.p50_ms",
        "latency.end_to_end.response.p50_ms",
        "latency.end_to_end.response.p90_ms",
        "latency.end_to_end.response.p99_ms",
        "latency.end_to_end.response.p99_9_ms",
        "delivery.lost",
        "delivery.measure.lost",
        "lag.committed.max",
    )
}
MAIN = [
    "throughput.sent_per_second",
    "throughput.acked_per_second",
    "latency.end_to_end.response.p50_ms",
    "latency.end_to_end.response.p99_ms",
    "delivery.lost",
    "delivery.measure.lost",
]


def profile(**scenario: Any) -> Profile:
    facts = Run().facts
    return Evidence(RunFacts.model_validate(facts | {"scenario": facts["scenario"] | scenario}), {}).profile


def check(name: str, status: Any = "fail", about: Any = "instrument") -> Check:
    return Check(name, about, status, f"{name} was bad", "")


@pytest.mark.parametrize(
    ("failed", "path", "is_taken"),
    [
        pytest.param(check("clock"), "latency.ack.service.p50_ms", True, id="clocks take latencies"),
        pytest.param(check("clock"), "throughput.sent_per_second", False, id="and no rates"),
        pytest.param(check("start_transient"), "latency.ack.service.p99_ms", True, id="a cold start takes the tail"),
        pytest.param(check("start_transient"), "latency.ack.service.p50_ms", False, id="and no median"),
        pytest.param(check("wall_clock"), "pipeline.stages.2.p50_ms", True, id="stages are told by wall clocks"),
        pytest.param(check("wall_clock"), "latency.ack.service.p50_ms", False, id="and latencies of messages are not"),
        pytest.param(check("dropped_rows"), "delivery.lost", True, id="lost rows take all"),
        pytest.param(check("not heard of"), "lag.committed.max", True, id="as does what is not in the table"),
        pytest.param(check("lost", about="system"), "delivery.lost", False, id="the system takes nothing"),
        pytest.param(check("clock", "warn"), "latency.ack.service.p50_ms", False, id="nor does a warning"),
        pytest.param(check("wall_clock", "unknown"), "pipeline.stages.2.p50_ms", True, id="nobody knows, and no bound"),
        pytest.param(check("wall_clock", "unknown"), "delivery.lost", False, id="and that is all it takes"),
        pytest.param(check("controller", "unknown"), "throughput.sent_per_second", False, id="the ending takes all"),
        pytest.param(check("rate", "unknown"), "throughput.sent_per_second", False, id="its figures have bounds"),
        pytest.param(check("start_transient", "unknown"), "latency.ack.service.p99_ms", False, id="a short run"),
        pytest.param(check("undecided", "unknown"), "delivery.lost", False, id="counts have both ends"),
    ],
)
def test_a_failing_check_takes_the_figures_that_it_names(failed: Check, path: str, is_taken: bool) -> None:
    assert any(takes.names(path) for _, takes in taken([failed], PLAIN, profile())) is is_taken


@pytest.mark.parametrize(
    ("failed", "scenario", "expected"),
    [
        pytest.param("connection_rate", {"connections": {"open": "50/s"}}, ALL, id="connections that left no figure"),
        pytest.param("connection_rate", {}, ["connections."], id="a run without connections"),
        pytest.param("processing_delay", {}, ["latency.processing.", "lag.", "recovery."], id="lag has figures"),
        pytest.param("source", {}, ["delivery."], id="as has the delivery"),
        pytest.param("rate", {}, ["throughput."], id="and rates"),
        pytest.param("record_clock", {"load": "off"}, ALL, id="records that left no figure"),
        pytest.param("record_clock", {}, ["latency.since_record_time."], id="a run that sends them itself"),
        pytest.param("ack_polls", {"load": "off"}, ["latency.ack."], id="a figure of another run"),
        pytest.param("dropped_rows", {}, ALL, id="a check that names none"),
    ],
)
def test_a_check_takes_all_if_nothing_is_left_of_its_subject(failed: str, scenario: Row, expected: list[str]) -> None:
    ((_, takes),) = taken([check(failed)], PLAIN, profile(**scenario))

    assert list(takes.begins) == expected


def test_a_run_of_which_nothing_is_used_is_not_valid() -> None:
    """Whatever its other figures are: nobody has said what it is about."""
    assert (state({}, []), state(PLAIN, [])) == ("not_valid", "not_valid")


@pytest.mark.parametrize(
    ("judge_by", "expected"),
    [
        pytest.param(["throughput"], "valid", id="a begin"),
        pytest.param(["delivery.lost"], "valid", id="a path"),
        pytest.param(["throughputs"], "not_valid", id="none of this name"),
        pytest.param(["latency.end_to_end.response.p99"], "not_valid", id="without its unit"),
        pytest.param(["throughput", "recovery"], "not_valid", id="one that is there beside one that is not"),
    ],
)
def test_what_a_run_is_to_be_judged_by_must_be_there(judge_by: list[str], expected: State) -> None:
    """Also of a folder that an older version recorded, which took any name."""
    assert state(PLAIN, used(PLAIN, (), judge_by), judge_by) == expected


def test_a_run_without_messages_is_judged_by_its_connections() -> None:
    """And one with messages is not."""
    names = ("per_second", "failed", "p50_ms", "p99_ms", "max_ms", "schedule_delay_p99_ms")
    connected = {f"connections.open.{name}": figure() for name in names}

    used_of = used(connected, (), ())

    assert used_of == [f"connections.open.{name}" for name in names[:4]]
    assert used(PLAIN | connected, (), ()) == MAIN


def test_a_run_that_only_consumes_is_judged_by_the_age_of_records() -> None:
    """It is the only latency of such a run; where messages are sent, too, there is a better one."""
    ages = {f"latency.since_record_time.{name}_ms": figure() for name in ("p50", "p90", "p99")}
    consumed = {"throughput.received_per_second": figure(), **ages, "delivery.received": figure()}

    assert used(consumed, (), ()) == [path for path in consumed if "p90" not in path]
    assert used(PLAIN | ages, (), ()) == MAIN


def test_an_expectation_of_an_older_scenario_names_a_figure_by_its_name_of_today() -> None:
    connected = {"connections.open.schedule_delay_p99_ms": figure()}

    assert used(PLAIN | connected, ("connections.open.late_p99_ms",), ()) == [*MAIN, *connected]


def test_used_are_rates_delivery_the_main_latency_and_what_expectations_name() -> None:
    assert used(PLAIN, (), ()) == MAIN
    assert set(used(PLAIN, ("lag.committed.max", "not.there"), ())) == {*MAIN, "lag.committed.max"}


def test_only_the_scenario_narrows_what_is_used() -> None:
    """Whole paths and their begins; what expectations name does not count then."""
    assert used(PLAIN, ("lag.committed.max",), ("throughput", "delivery.lost")) == [
        "throughput.sent_per_second",
        "throughput.acked_per_second",
        "delivery.lost",
    ]


def test_where_nobody_consumes_the_main_latency_is_that_of_acknowledgements() -> None:
    produced = {path: each for path, each in PLAIN.items() if "end_to_end" not in path}

    assert "latency.ack.service.p50_ms" in used(produced, (), ())


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, "valid", id="all is believed"),
        pytest.param({"delivery.lost": figure("bounded")}, "valid", id="an interval is enough"),
        pytest.param({"lag.committed.max": figure("not_believed")}, "in_part", id="what is not used"),
        pytest.param({MAIN[3]: figure("not_believed")}, "not_valid", id="what is used"),
        pytest.param({"throughput.processed_per_second": figure("not_believed")}, "not_valid", id="every rate"),
    ],
)
def test_a_run_is_valid_in_the_parts_that_are_used(changes: dict[str, FigureTrust], expected: State) -> None:
    """Figures say what failing checks took; checks of the system take nothing."""
    figures = PLAIN | changes

    assert state(figures, used(figures, (), ())) == expected


PATH = "latency.p99_ms"


@pytest.mark.parametrize(
    ("figure", "wanted", "passed", "decided"),
    [
        pytest.param(figure("bounded", 19, 10, 19), "<= 20", True, True, id="both ends pass"),
        pytest.param(figure("bounded", 25, 21, 25), "<= 20", False, True, id="neither does"),
        pytest.param(figure("bounded", 25, 15, 25), "<= 20", False, False, id="it lies on both sides"),
        pytest.param(figure("bounded", 19, 15, 25), "<= 20", False, False, id="also where the value passes"),
        pytest.param(figure("not_believed", 19, 2, 19), "<= 20", True, True, id="decided whatever its trust"),
        pytest.param(figure("not_believed", 19, None, None), "<= 20", False, False, id="no bound is known"),
        pytest.param(figure("believed", 19, None, None), "<= 20", True, True, id="recorded before there were bounds"),
        pytest.param(None, "<= 20", True, True, id="no figure of the verdict"),
        pytest.param(figure("bounded", 30, 30, None), ">= 20", True, True, id="at least so much is enough"),
        pytest.param(figure("bounded", 30, 30, None), "> 30", False, False, id="it may be more"),
        pytest.param(figure("bounded", 30, 30, None), "< 20", False, True, id="at least so much is too much"),
        pytest.param(figure("bounded", 30, 30, None), "<= 40", False, False, id="it may be too much"),
        pytest.param(figure("bounded", 30, None, 30), "<= 30", True, True, id="at most so much"),
        pytest.param(figure("bounded", 30, 30, None), 20, False, True, id="at least more than one value"),
        pytest.param(figure("bounded", 30, 30, None), 40, False, False, id="one of the values above"),
        pytest.param(figure("bounded", 4, 3, 7), 5, False, False, id="the value lies within"),
        pytest.param(figure("bounded", 4, 3, 7), 4, False, False, id="it may be another"),
        pytest.param(figure("bounded", 4, 3, 7), 7, False, False, id="it is one end"),
        pytest.param(figure("bounded", 4, 3, 7), 8, False, True, id="the value lies outside"),
        pytest.param(figure("bounded", 4, 3, 7), "!= 5", False, False, id="it may be the forbidden value"),
        pytest.param(figure("bounded", 4, 3, 7), "!= 8", True, True, id="it cannot be the forbidden value"),
        pytest.param(figure("believed", 5, 5, 5), 5, True, True, id="exactly the value"),
        pytest.param(figure("believed", 5, 5, 5), "!= 5", False, True, id="exactly the forbidden value"),
        pytest.param(figure("bounded", 4, 3, 7), "few", False, True, id="a number is no text"),
    ],
)
def test_an_expectation_is_decided_by_the_interval(
    figure: FigureTrust | None, wanted: str | int, passed: bool, decided: bool
) -> None:
    found = figure.value if figure else 19
    trust = {PATH: figure} if figure else {}

    (judged,) = expectations({"latency": {"p99_ms": found}}, {PATH: wanted}, trust)

    assert (judged.passed, judged.decided) == (passed, decided)
    assert (judged.reason is None) is decided


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(15, 25, "lies between 15 and 25"), (15, None, "lies at 15 or above"), (None, 25, "lies at 25 or below")],
)
def test_what_cannot_be_decided_names_the_interval(low: float | None, high: float | None, said: str) -> None:
    (judged,) = expectations({"latency": {"p99_ms": 20}}, {PATH: "< 20"}, {PATH: figure("bounded", 20, low, high)})

    assert said in (judged.reason or "")


def test_what_never_came_fails_an_expectation_whatever_the_instrument_did() -> None:
    """Its high end is infinite, and no interval of the generator makes that less."""
    document = {"latency": {"p99_ms": 15, "p99_hi_ms": None}}

    (judged,) = expectations(document, {PATH: "<= 20"}, {PATH: figure("not_believed", 15, None, None)})

    assert (judged.passed, judged.decided) == (False, True)
