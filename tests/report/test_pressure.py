"""What people read of lag, backpressure, faults and recovery: in the report, on the screen and in summary.md."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import credited, fault, faulty, hysteresis, recovered, told
from tests.report.test_html import Page

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble.result import assemble
from streamgauge.report.pages import html, pressure, words
from streamgauge.report.pages.html import to_html
from streamgauge.report.pages.markdown import to_markdown
from streamgauge.report.pages.terminal import summary
from streamgauge.result import Result
from streamgauge.result.reading import parse_result, result_of

Row = dict[str, Any]
Make = Callable[..., RunFolder]

EVIL = "</td><script>alert(1)</script>{{7*7}}"

LAG: Row = {
    "every_ms": 500.0, "samples": 24, "failed": 1, "failed_share": 1 / 24, "cpu_cores": 0.021,
    "committed": {"max": 12_177, "max_second": 5.0, "final": 1_828, "mean": 9_000.5},
    "position": {"max": 700, "max_second": 6.0, "final": 0, "mean": 300.0},
    "outstanding": {"max": 4_990, "max_second": 2.5, "final": 0, "mean": 4_800.0, "exact": True},
    "time_lag": {"max_ms": 2_083.0, "max_second": 5.5, "final_ms": None, "mean_ms": 900.0},
    "groups": [], "reasons": {},
}  # fmt: skip
CREDIT: Row = {
    "policy": "credit", "limit": 5_000, "resume": None, "poll_ms": 1.0, "decisions": 900, "outstanding_max": 4_990,
    "credits_used_max": 4_992, "max_second": 2.5, "within_limit": True, "pauses": None, "paused_s": None,
    "returned": 12, "ambiguous": 3, "controller_died_second": None, "offered_per_second": 10_000.0,
    "admitted_per_second": 2_400.0, "sent_per_second": 2_400.0, "processed_per_second": 2_390.0, "unsent": 76_000,
    "throttle": {"count": 9, "mean_ms": 1.0, "p50_ms": 3_200.0, "p99_ms": 7_500.0, "p99_9_ms": 7_600.0, "max_ms": 9.5},
    "reasons": {},
}  # fmt: skip
HYSTERESIS: Row = CREDIT | {
    "policy": "hysteresis", "limit": 20_000, "resume": 5_000, "poll_ms": 200.0, "outstanding_max": 25_123,
    "within_limit": None, "pauses": 8, "paused_s": 32.0, "returned": None, "ambiguous": None, "throttle": None,
    "unsent": 0, "reasons": {"throttle": "the load has no schedule"},
}  # fmt: skip
FAULTS = [fault(3.0, "pause", "consumer-0"), fault(5.0, "pause", "consumer-0", "end"), fault(7.0, "kill", "consumer-1")]
FAULTS += [fault(8.0, "pause", "broker-1", error="no such process")]
LAST: Row = {"cause": "kill", "target": "consumer-1", "detected_s": None, "group": "0", "reasons": {}}
RECOVERY = [
    recovered("outstanding", 2.25) | {"group": "g", "detail": "4ms", "reasons": {}},
    recovered("committed_lag", 2.5) | {"group": None, "reasons": {}},
    recovered("outstanding", None) | LAST,
]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The charting library takes seconds to bundle; the browser's tests have it."""
    monkeypatch.setattr(html, "bundle", lambda: "/* bundle */")


@pytest.fixture
def result(make: Make) -> Callable[..., Result]:
    """A result with these sections; the others that this is about are null."""
    plain = told(make())

    def made(**sections: Any) -> Result:
        return result_of({**plain, **dict.fromkeys(("lag", "backpressure", "faults", "recovery")), **sections})

    return made


def page(result: Result) -> str:
    return Page(to_html(result, [])).text


def lines_of(result: Result) -> list[str]:
    return [" ".join(line.split()) for line in summary(result, colour=False, width=100).splitlines()]


def test_a_run_without_any_of_it_says_nothing(result: Callable[..., Result]) -> None:
    """Neither where the sections are null, nor in a result that was written before there were any."""
    absent = {"lag", "backpressure", "faults", "recovery"}
    older = {name: section for name, section in result().document().items() if name not in absent}
    for each in (result(), result_of(older)):
        assert "Lag and backpressure" not in page(each)
        assert "Lag and backpressure" not in to_markdown(each)
        assert pressure.in_short(each) == {}
        assert not any(line.startswith(("Lag", "Backpressure", "Faults", "Recovery")) for line in lines_of(each))


def test_a_policy_is_told_with_what_it_cost(result: Callable[..., Result]) -> None:
    """Limit, peak, whether limit respected, load, wait, credits: in the report and in summary.md."""
    shown = page(result(backpressure=CREDIT))
    told = [
        "Policy credit: at most 5,000 messages sent and not processed; decided every 1.00 ms",
        "Peak 4,990 messages outstanding at 2.50 s; 4,992 of 5,000 credits in use at most: limit respected",
        "Load offered 10,000/s, admitted 2,400/s, sent 2,400/s, processed 2,390/s; 76,000 messages were due and never",
        "Throttle wait p50 3.20 s, p99 7.50 s, p99.9 7.60 s, max 9.50 ms",
        "Credits 12 of failed sends returned; 3 of sends with unknown outcome not returned",
    ]
    for line in told:
        assert line in shown
        name, _, text = line.partition(" ")
        assert text.partition(" ")[2] in to_markdown(result(backpressure=CREDIT)), name
    assert "Pauses" not in shown
    assert "Controller" not in shown


def test_hysteresis_has_pauses_and_no_bound(result: Callable[..., Result]) -> None:
    """What is not there has its reason."""
    shown = page(result(backpressure=HYSTERESIS | {"controller_died_second": 7.25}))
    assert "Policy hysteresis: producers pause above a committed lag of 20,000, resume below 5,000" in shown
    assert "Peak 25,123 messages outstanding at 2.50 s (exact) Pauses 8 pauses, 32.0 s in all" in shown
    assert "Throttle wait the load has no schedule" in shown
    assert "Controller died at 7.25 s; no decisions after that" in shown
    assert "bound" not in shown
    assert "Credits" not in shown
    assert "never sent" not in shown


@pytest.mark.parametrize(
    ("changes", "said", "tone"),
    [
        ({"within_limit": True}, "limit respected", "good"),
        (
            {"within_limit": False, "credits_used_max": 5_001},
            "5,001 of 5,000 credits in use at most: limit exceeded",
            "bad",
        ),
        ({"within_limit": None, "credits_used_max": None}, "- of 5,000 credits", "doubt"),
    ],
)
def test_a_bound_is_judged(result: Callable[..., Result], changes: Row, said: str, tone: str) -> None:
    """In colour; what is not known is no success."""
    peak = next(fact for fact in pressure.policy(result(backpressure=CREDIT | changes)) if fact.name == "Peak")
    assert said in peak.text
    assert peak.tone == tone
    assert f'<td class="long {tone}">{peak.text}</td>' in to_html(result(backpressure=CREDIT | changes), [])


def test_lags_are_a_table(result: Callable[..., Result]) -> None:
    """Of every group where there are several; how they were sampled is told below."""
    shown = page(result(lag=LAG))
    assert "lag largest at second mean at the end" in shown
    assert "committed lag 12,177 5.00 9,000 1,828 position lag 700 6.00 300 0 outstanding 4,990 2.50 4,800 0" in shown
    assert "time lag 2.08 s 5.50 900 ms -" in shown
    assert "Lag was sampled: 24 samples, one every 500 ms, 1 failed (4.2 %), 0.02 cores" in shown
    assert "24 samples, 1 failed" in page(result(lag=LAG | {"every_ms": None}))
    groups = [{name: LAG[name] for name in ("committed", "position", "outstanding", "time_lag")} | {"group": "slow"}]
    groups.append(dict.fromkeys(groups[0]) | {"group": "none", "committed": LAG["committed"]})
    assert [row[:2] for row in pressure.lags(result(lag=LAG | {"groups": groups}))] == [
        ("slow", "committed lag"), ("slow", "position lag"), ("slow", "outstanding"), ("slow", "time lag"),
        ("none", "committed lag"),
    ]  # fmt: skip


def test_recoveries_are_scorecards(result: Callable[..., Result]) -> None:
    """One row for each cause and quantity; what was not drained says so."""
    first, second, third = pressure.recoveries(result(recovery=RECOVERY))
    assert dict(zip(pressure.RECOVERY_HEADS, first, strict=True)) == {
        "cause": "pause 4ms", "of": "consumers", "judged by": "outstanding of g", "detected": "0.250 s",
        "peak": "20,123 at 5.25 s", "time to drain": "2.25 s", "drain rate": "8,889/s", "p99 before": "6.00 ms",
        "during": "1.99 s", "after": "7.00 ms", "latency debt, ms x s": "3,210",
    }  # fmt: skip
    assert second[2] == "committed lag"
    assert (third[3], third[5], third[6]) == ("-", "not drained", "-")
    shown = page(result(recovery=RECOVERY))
    assert "pause 4ms consumers outstanding of g 0.250 s 20,123 at 5.25 s 2.25 s 8,889/s 6.00 ms 1.99 s" in shown
    assert "not drained" in shown


def test_faults_are_listed(result: Callable[..., Result]) -> None:
    """With what could not be done; very many are counted."""
    shown = page(result(faults=FAULTS))
    assert "3.00 pause consumer-0 begin 5.00 pause consumer-0 end 7.00 kill consumer-1 begin" in shown
    assert "8.00 pause broker-1 begin no such process" in shown
    assert "more are in the table" not in shown
    many = result(faults=FAULTS * 30)
    assert len(pressure.faults(many)) == pressure.MOST_FAULTS
    assert "20 more are in the table faults." in page(many)


def test_the_screen_has_a_line_of_each(result: Callable[..., Result]) -> None:
    """And still fits on one."""
    lines = lines_of(result(lag=LAG, backpressure=CREDIT, faults=FAULTS, recovery=RECOVERY))
    assert lines[0].startswith("VALID")
    assert "Lag committed max 12,177 (commits every 5 s), last 1,828; outstanding max 4,990, last 0" in lines
    assert "Backpressure credit 5,000: at most 4,992 in use, limit respected; admitted 2,400/s of 10,000/s" in lines
    assert "Faults 1 x pause, 1 x kill, 1 could not be injected" in lines
    recovery = (
        "Recovery pause of consumers: drained in 2.25 s, peak 20,123; kill of consumer-1: not drained, peak 20,123"
    )
    assert recovery in " ".join(lines)
    assert len(lines) <= 24


@pytest.mark.parametrize(
    ("outstanding", "trust", "every_ms", "note"),
    [
        (4_990, {}, 5_000.0, " (commits every 5 s)"),
        (4_990, {}, 250.0, " (commits every 0.25 s)"),
        (4_990, {}, None, " (between commits)"),
        (6_088, {}, None, " (between commits)"),
        (6_089, {}, None, ""),
        (12_177, {}, 5_000.0, ""),
        (None, {}, 5_000.0, ""),
        (4_990, {"trust": "believed", "high": 4_995.0}, 5_000.0, " (commits every 5 s)"),
        (4_990, {"trust": "bounded", "high": 6_000.0}, 5_000.0, " (commits every 5 s)"),
        (4_990, {"trust": "bounded", "high": 6_100.0}, 5_000.0, ""),
        (4_990, {"trust": "bounded", "high": None}, 5_000.0, ""),
        (4_990, {"trust": "not_believed", "high": 6_000.0}, 5_000.0, ""),
    ],
)
def test_a_committed_lag_is_that_of_the_commits_only_where_less_is_outstanding(
    result: Callable[..., Result], outstanding: int | None, trust: Row, every_ms: float | None, note: str
) -> None:
    """Where half of it or more waits to be processed, it is backlog; the most that can have been outstanding counts."""
    told = result(lag=LAG | {"outstanding": LAG["outstanding"] | {"max": outstanding}}).document()
    told["run"]["profile"]["consume"]["commit_every_ms"] = every_ms
    figure = {"value": outstanding, "low": 59, "because": [], **trust}
    told["trust"] = {"lag.outstanding.max": figure} if trust else {}

    assert pressure.in_short(result_of(told))["Lag"].startswith(f"committed max 12,177{note}, last 1,828")


def test_the_files_stand_below_the_rest(result: Callable[..., Result]) -> None:
    """Whatever the longest name is."""
    for sections, files in (({}, "Files        "), ({"backpressure": CREDIT}, "Files         ")):
        assert summary(result(**sections), Path("there"), colour=False).splitlines()[-1] == f"{files}there"


def test_tables_have_no_empty_columns(result: Callable[..., Result]) -> None:
    """One group needs no name, and what could be done has no error; numbers stay at the right."""
    text = to_html(result(lag=LAG, faults=FAULTS[:3]), [])
    assert '<thead><tr><th scope="col">lag</th><th scope="col" class="n">largest</th>' in text
    assert '<th scope="col">error</th>' not in text
    assert '<th scope="col">error</th>' in to_html(result(faults=FAULTS), [])


def test_pauses_and_a_dead_controller_are_on_the_screen(result: Callable[..., Result]) -> None:
    """In one sentence."""
    told = pressure.in_short(result(backpressure=HYSTERESIS | {"controller_died_second": 7.25}))["Backpressure"]
    assert told == (
        "hysteresis 20,000/5,000: at most 25,123 outstanding; 8 pauses, 32.0 s in all; admitted 2,400/s of 10,000/s; "
        "the controller died at 7.25 s"
    )
    once = pressure.in_short(result(backpressure=HYSTERESIS | {"pauses": 1}))["Backpressure"]
    assert "; 1 pause, 32.0 s in all; " in once
    broken = pressure.in_short(result(backpressure=CREDIT | {"within_limit": False}))["Backpressure"]
    assert "limit exceeded" in broken


def test_many_recoveries_are_cut_short_on_the_screen(result: Callable[..., Result]) -> None:
    """The report has them all."""
    told = pressure.in_short(result(recovery=RECOVERY[:1] * 5))["Recovery"]
    assert told.count("drained in") == 3
    assert told.endswith("; 2 more in the report")


def test_a_summary_has_tables(result: Callable[..., Result]) -> None:
    """Of lags and recoveries."""
    text = to_markdown(result(lag=LAG, backpressure=CREDIT, faults=FAULTS, recovery=RECOVERY))
    assert "### Lag and backpressure\n\n- Policy: credit: at most 5,000 messages" in text
    # A column that is empty is left out: there is one group.
    assert "| lag | largest | at second | mean | at the end |\n| --- | ---: | ---: | ---: | ---: |\n" in text
    assert "| committed lag | 12,177 | 5.00 | 9,000 | 1,828 |" in text
    assert "Faults: 1 x pause, 1 x kill, 1 could not be injected." in text
    assert "| kill | consumer-1 | outstanding" in text


def censored(result: Result) -> Result:
    """Of three messages in four nobody knows more than that they took longer."""
    document = result.document()
    response = document["latency"]["end_to_end"]["response"]
    response |= {"censored": 300_000, "p50_ms": 31_000.0, "p50_hi_ms": None, "p99_ms": 35_200.0, "p99_hi_ms": None}
    response["delivered"] = {"p50_ms": 1_584.0, "p95_ms": 3_000.0, "p99_ms": 3_810.0, "p99_9_ms": None}
    return result_of(document)


def test_percentiles_of_what_was_delivered_stand_beside_those_of_all(result: Callable[..., Result]) -> None:
    """With one sentence that says which of them is the honest one; on the screen the name has to do."""
    made = censored(result())
    (line,) = [line for line in words.latency_lines(made.latency, made.trust) if line.kind == words.DELIVERED_ONLY]
    assert (line.path, line.figures) == ("end-to-end", ("1,584", "-", "3,000", "3,810", "-", "-", "18.0", "2.00"))
    shown = lines_of(made)
    place = next(at for at, line in enumerate(shown) if line.startswith("end-to-end response"))
    assert shown[place] == "end-to-end response > 31,000 4.50 > 35,200 7.50 18.0 2.00"
    assert shown[place + 1] == "delivered only 1,584 - 3,810 - 18.0 2.00"
    assert "| end-to-end | delivered only | 1,584 | - | 3,810 | - | 18.0 | 2.00 |" in to_markdown(made)
    assert to_markdown(made).count(words.WHY_CENSORED) == 1
    assert page(made).count("delivered only omits them") == 1
    for text in (to_markdown(result()), page(result())):
        assert "delivered only" not in text


def evil(result: Result) -> Result:
    text = result.text()
    for name in ("consumer-0", "consumers", "no such process", "4ms"):
        text = text.replace(f': "{name}"', f": {json.dumps(EVIL)}")
    return parse_result(text.encode())


def test_all_that_came_from_outside_is_escaped(result: Callable[..., Result]) -> None:
    """Names of groups and processes, details and errors."""
    lag = LAG | {"groups": [LAG | {"group": EVIL}, LAG | {"group": "b"}]}
    made = evil(result(lag=lag, backpressure=CREDIT, faults=FAULTS, recovery=RECOVERY))
    shown = Page(to_html(made, []))
    assert shown.tags.count("script") == Page(to_html(result(), [])).tags.count("script")
    assert shown.text.count("{{7*7}}") >= 6
    assert not re.search(r"(?<!\\)<script", to_markdown(made))


@pytest.mark.parametrize("change", [credited, hysteresis, faulty])
def test_a_folder_of_such_a_run_can_be_reported(make: Make, change: Any) -> None:
    """Whatever of it the result has."""
    made = assemble(make(change))
    assert Page(to_html(made, [])).text.startswith("VALID")
    assert to_markdown(made)
    assert summary(made, colour=False, width=80)
