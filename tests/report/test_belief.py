"""What may be believed, in words."""

import pytest
from tests.verdict.test_companions import companions

from streamgauge.report.pages import belief
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
        "Not": "end-to-end response p99.5, p99.9 and max; lag",
        "Because": "polls were late; samples were late",
    }


def test_where_all_or_nothing_is_believed_there_are_no_parts() -> None:
    assert belief.parts(result({"delivery.lost": figure("bounded")})) == {}
    assert belief.parts(result({"delivery.lost": figure("not_believed", "rows were lost")})) == {}


def test_whatever_is_not_believed_is_named() -> None:
    """Every figure belongs to a family."""
    believed = {"throughput.sent_per_second": figure("believed"), "delivery.lost": figure("believed")}

    for path in sorted(companions()):
        parts = belief.parts(result(believed | {path: figure("not_believed", "late")}))
        assert parts["Not"], path


def test_a_verdict_that_was_narrowed_says_so() -> None:
    trust = {"delivery.lost": figure("believed"), "lag.committed.max": figure("not_believed", "late")}

    assert belief.parts(result(trust, judge_by=["delivery"]))["Judged by"] == "delivery"
    assert belief.parts(result({}, judge_by=["delivery", "throughput"])) == {"Judged by": "delivery and throughput"}


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


def test_a_figure_that_is_not_believed_carries_its_reason() -> None:
    doubted = belief.cell(3, figure("not_believed", "it was late"), mark="> ")

    assert isinstance(doubted, belief.Doubted)
    assert (doubted, doubted.because) == ("> 3.00", "it was late")
