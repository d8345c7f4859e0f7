"""What may be believed, in words."""

import re

import pytest
from tests.verdict.test_companions import companions

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.numbers import milliseconds
from streamgauge.report.assemble.result import assemble
from streamgauge.report.pages import belief
from streamgauge.report.pages.notebook import notebook
from streamgauge.result import Result
from streamgauge.result.model.run import RunSection
from streamgauge.result.model.trust import FigureTrust, Trust
from streamgauge.result.model.verdict import VerdictSection


def figure(trust: Trust, *because: str, low: float | None = 2.0, high: float | None = 3.0) -> FigureTrust:
    return FigureTrust(value=3.0, low=low, high=high, trust=trust, because=list(because))


def result(trust: dict[str, FigureTrust], **verdict: object) -> Result:
    judged = VerdictSection.model_construct(None, **{"valid": True, "judge_by": [], "state": None, **verdict})
    return Result.model_construct(trust=trust, verdict=judged)


RESPONSE = "latency.end_to_end.response"
TAIL = ("p50", "p75", "p90", "p95", "p99", "p99_5", "p99_9", "max")


def test_percentiles_that_follow_each_other_are_a_range() -> None:
    trust = {f"{RESPONSE}.{name}_ms": figure("believed") for name in TAIL[:5]}
    trust |= {f"{RESPONSE}.{name}_ms": figure("not_believed", "polls were late") for name in TAIL[5:]}
    trust |= {"throughput.sent_per_second": figure("believed"), "delivery.measure.lost": figure("believed")}
    trust |= {"delivery.lost": figure("believed"), "lag.committed.max": figure("not_believed", "samples were late")}

    assert belief.parts(result(trust)) == {
        "Believe": "rates; end-to-end response p50 to p99; delivery",
        "Not": "end-to-end response p99.5 to max; lag",
        "Because": "polls were late; samples were late",
    }


def both_times(path: str, *names: str, trust: Trust = "believed") -> dict[str, FigureTrust]:
    return {
        f"latency.{path}.{time}.{name}_ms": figure(trust, "late") for time in ("response", "service") for name in names
    }


@pytest.mark.parametrize(
    ("trust", "believe", "doubt"),
    [
        pytest.param(
            both_times("end_to_end", "p50", "p99", "max")
            | both_times("end_to_end", "stddev", trust="not_believed")
            | both_times("ack", "p50", "p99", "max")
            | both_times("ack", "stddev", trust="not_believed"),
            "end-to-end and ack latency p50 to max",
            "end-to-end and ack latency stddev",
            id="both paths",
        ),
        pytest.param(
            both_times("end_to_end", "p50", "p99") | both_times("ack", "p50", trust="not_believed"),
            "end-to-end latency",
            "ack latency",
            id="one path",
        ),
        pytest.param(
            both_times("ack", "p50", "mean", "min")
            | {"latency.ack.service.mean_ms": figure("not_believed", "late")}
            | {"latency.ack.service.min_ms": figure("not_believed", "late")},
            "ack response; ack service p50",
            "ack service mean and min",
            id="one time",
        ),
        pytest.param(
            both_times("ack", "p50", "p90", "p99", "mean") | both_times("ack", "mad", trust="not_believed"),
            "ack latency p50 to p99 and mean",
            "ack latency mad",
            id="percentiles and others",
        ),
        pytest.param(
            both_times("ack", "p50", "p75", "p90", "p99_5", "p99_9", "max")
            | both_times("ack", "p99", trust="not_believed"),
            "ack latency p50 to p90 and p99.5 to max",
            "ack latency p99",
            id="a gap",
        ),
    ],
)
def test_latencies_of_which_the_same_is_told_are_told_together(
    trust: dict[str, FigureTrust], believe: str, doubt: str
) -> None:
    parts = belief.parts(result(trust))

    assert (parts["Believe"], parts["Not"]) == (believe, doubt)


def test_figures_of_one_thing_are_told_by_its_name() -> None:
    """Where all of them are."""
    lags = {
        f"lag.{thing}.{name}": figure("believed") for thing in ("committed", "position") for name in ("max", "mean")
    }
    trust = lags | {"lag.position.max": figure("not_believed", "late"), "lag.time_lag.max_ms": figure("bounded")}

    parts = belief.parts(result(trust))

    assert (parts["Believe"], parts["Not"]) == ("lag committed, position mean and time lag", "lag position max")


@pytest.mark.parametrize(("place", "because"), [(None, "x waited: slow; late"), ("y ran; x waited: both slow", "late")])
def test_what_is_told_of_this_machine_is_no_reason_once_more(place: str | None, because: str) -> None:
    trust = {"delivery.lost": figure("believed"), "lag.committed.max": figure("not_believed", "x waited: slow", "late")}

    assert belief.parts(result(trust, place=place))["Because"] == because


def test_where_all_or_nothing_is_believed_there_are_no_parts() -> None:
    assert belief.parts(result({"delivery.lost": figure("bounded")})) == {}
    assert belief.parts(result({"delivery.lost": figure("not_believed", "rows were lost")})) == {}


def test_whatever_is_not_believed_is_named() -> None:
    """Every figure belongs to a family."""
    believed = {"throughput.sent_per_second": figure("believed"), "delivery.lost": figure("believed")}

    for path in sorted({*companions(), "steps.0.response.p99_ms", "redelivery.delay_p99_ms"}):
        parts = belief.parts(result(believed | {path: figure("not_believed", "late")}))
        assert parts["Not"], path


def test_a_verdict_that_was_narrowed_says_so() -> None:
    trust = {"delivery.lost": figure("believed"), "lag.committed.max": figure("not_believed", "late")}

    assert belief.parts(result(trust, judge_by=["delivery"]))["Judged by"] == "delivery"
    assert belief.parts(result({}, judge_by=["delivery", "throughput"])) == {"Judged by": "delivery and throughput"}


def test_a_verdict_that_was_narrowed_to_what_is_not_there_says_so() -> None:
    """That is why the run is not valid."""
    trust = {"delivery.lost": figure("believed")}

    assert belief.parts(result(trust, judge_by=["throughputs"])) == {
        "Judged by": "throughputs; the run has no figure of this name, so it is not valid: throughputs"
    }
    judged = belief.parts(result(trust, judge_by=["lags", "delivery", "rates"]))["Judged by"]
    assert judged.endswith("the run has no figures of these names, so it is not valid: lags and rates")


@pytest.mark.parametrize(
    ("valid", "state", "said"),
    [
        (True, "valid", "VALID"),
        (True, "in_part", "VALID IN PART"),
        (False, "not_valid", "NOT VALID"),
        (None, None, "NOT JUDGED"),
        (True, None, "VALID"),
    ],
)
def test_the_verdict_in_capitals(valid: bool | None, state: str | None, said: str) -> None:
    """A result of an older version has no state."""
    verdict = VerdictSection.model_construct(valid=valid, state=state)
    run = RunSection.model_construct(imported=None)

    assert belief.judgement(Result.model_construct(verdict=verdict, run=run)) == said


def test_an_imported_run_is_not_judged() -> None:
    verdict, run = VerdictSection.model_construct(valid=None), RunSection.model_construct(imported="k6")

    assert belief.judgement(Result.model_construct(verdict=verdict, run=run)) == "IMPORTED, NOT JUDGED"


def test_a_bounded_figure_is_shown_as_its_interval() -> None:
    assert belief.cell(3, figure("bounded")) == "2.00 to 3.00"
    assert belief.cell(3, figure("believed")) == belief.cell(3, None) == "3.00"
    assert belief.cell(3, figure("bounded", low=None)) == "3.00"
    assert belief.cell(3, figure("bounded", high=None), mark="> ") == "> >= 2.00"


@pytest.mark.parametrize(("high", "shown"), [(3.0, "2.00 to 3.00 ms"), (3_000_000.0, "2.00 ms to 3,000 s")])
def test_a_unit_of_both_ends_is_told_once(high: float, shown: str) -> None:
    def words(ms: float | None) -> str:
        return f"{(ms or 0) / 1000:,.0f} s" if (ms or 0) > 1000 else f"{ms:.2f} ms"

    assert belief.cell(3, figure("bounded", high=high), words) == shown


def test_recoveries_are_told_together() -> None:
    """By their figures: numbers of causes tell nobody anything."""
    trust = {f"recovery.{number}.{name}": figure("believed") for number in (0, 1) for name in ("floor", "detected_s")}
    trust |= {f"recovery.{number}.latency_debt_ms_s": figure("believed") for number in (0, 1)}
    trust |= {"recovery.0.peak_slope_per_second": figure("believed"), "recovery.1.floor": figure("not_believed", "x")}

    assert belief.parts(result(trust)) == {
        "Believe": "recovery detected, latency debt and peak slope", "Not": "recovery floor", "Because": "x",
    }  # fmt: skip


def test_only_what_a_chart_shows_is_doubted_of_it() -> None:
    """A deviation that is not believed says nothing against percentiles."""
    trust = {f"{RESPONSE}.{name}_ms": figure("believed") for name in ("p50", "p99", "max")}
    trust |= {f"{RESPONSE}.stddev_ms": figure("not_believed", "late"), "lag.groups.0.committed.max": figure("bounded")}
    shown = re.compile(r"latency\.end_to_end\.\w+\.(p50|p99|max)_ms")
    assert belief.doubted(trust, shown) == ""
    trust |= {
        f"{RESPONSE}.p99_ms": figure("not_believed", "late"),
        f"{RESPONSE}.max_ms": figure("not_believed", "late"),
    }
    assert belief.doubted(trust, shown) == "end-to-end response p99 and max"
    trust["lag.groups.0.committed.max"] = figure("not_believed", "late")
    assert belief.doubted(trust, re.compile(r"lag\.committed\.\w+")) == "lag"


def test_a_figure_that_is_not_believed_carries_its_reason() -> None:
    doubted = belief.cell(3, figure("not_believed", "it was late"), mark="> ")

    assert isinstance(doubted, belief.Doubted)
    assert (doubted, doubted.because) == ("> 3.00", "it was late")


def test_a_notebook_strikes_out_what_is_not_believed(healthy: RunFolder) -> None:
    """With its reason; what is believed stands as it is."""
    told = assemble(healthy)
    p99 = told.latency.end_to_end.response.p99_ms if told.latency.end_to_end.response else None
    assert "<s " not in notebook(told, healthy.root)
    late = figure("not_believed", "polls were <late>")
    doubted = told.model_copy(update={"trust": dict(told.trust) | {f"{RESPONSE}.p99_ms": late}})

    struck = f'<s title="not believed: polls were &lt;late&gt;">{milliseconds(p99)}</s>'
    assert struck in notebook(doubted, healthy.root)
