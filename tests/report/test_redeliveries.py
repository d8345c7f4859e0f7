"""Deliveries that are acknowledged one by one: in the result, and in words."""

from typing import Any

import pytest
import vl_convert
from tests.report.conftest import Make, Row, Tables, figure_of, told

from streamgauge.domain.tables.delivery import REDELIVERY
from streamgauge.report.assemble.nulls import OLDER
from streamgauge.report.assemble.result import assemble
from streamgauge.report.figures.diagnostics.redeliveries import MOST_NUMBERS, deliveries
from streamgauge.report.pages import html
from streamgauge.report.pages.belief import Doubted
from streamgauge.report.pages.html import to_html
from streamgauge.report.pages.markdown import to_markdown
from streamgauge.report.pages.pressure import redeliveries
from streamgauge.report.pages.terminal import summary

COUNTS = {
    "messages": 1_000, "succeeded": 930, "dead": 70, "dead_after_success": 2, "archived": 0, "open": 0,
    "deliveries": 1_880, "accepted": 935, "rejected": 70, "released": 870, "timed_out": 0, "unanswered": 5,
    "reread": 0, "duplicates": 3, "early": 0, "overtaken": 40,
}  # fmt: skip
TIMES = {
    f"{name}_{each}_ms": float(number * 10 + place)
    for number, name in enumerate(("delay", "answer", "success"), 1)
    for place, each in enumerate(("p50", "p90", "p99", "max"))
}
NUMBERED = {"accepted": 0, "rejected": 0, "released": 0, "timed_out": 0, "unanswered": 0, "dead_letter": 0}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The charting library takes seconds to bundle; the browser's tests have it."""
    monkeypatch.setattr(html, "bundle", lambda: "/* bundle */")


def redelivered(_facts: Row, tables: Tables) -> None:
    """Half of the deliveries failed; a second group received nothing."""
    tables["redelivery"] = [
        {**dict.fromkeys(REDELIVERY.names), **dict.fromkeys(COUNTS, 0), "group": 1},
        {**COUNTS, **TIMES, "group": 0, "expected_dead_share": 0.0625},
    ]
    tables["deliveries_by_number"] = [
        {**NUMBERED, "group": 0, "number": 1, "deliveries": 1_000, "released": 500, "expected": 1_000.0},
        {**NUMBERED, "group": 0, "number": 2, "deliveries": 880, "rejected": 70, "dead_letter": 70, "expected": 875.0},
    ]


def unexpected(facts: Row, tables: Tables) -> None:
    """Something else decides over deliveries, too; some messages are open, and nothing was redelivered."""
    redelivered(facts, tables)
    tables["redelivery"][1] |= {"expected_dead_share": None, "open": 4, "early": 1, "dead": 0, "delay_p99_ms": None}
    for row in tables["deliveries_by_number"]:
        row["expected"] = None


def test_the_section_has_counts_shares_and_what_is_expected(make: Make) -> None:
    """Of the first group."""
    found = told(make(redelivered))["redelivery"]

    assert {name: found[name] for name in COUNTS} == COUNTS
    assert (found["deliveries_per_message"], found["expected_per_message"]) == (1.88, 1.875)
    assert (found["dead_share"], found["expected_dead_share"]) == (0.07, 0.0625)
    assert {name: found[name] for name in TIMES} == TIMES
    assert [(each["number"], each["deliveries"], each["expected"]) for each in found["by_number"]] == [
        (1, 1_000, 1_000.0), (2, 880, 875.0),
    ]  # fmt: skip
    assert found["reasons"] == {}


def test_what_is_not_expected_has_a_reason(make: Make) -> None:
    found = told(make(unexpected))["redelivery"]
    assert (found["expected_per_message"], found["expected_dead_share"]) == (None, None)
    assert found["reasons"]["expected_per_message"] == found["reasons"]["expected_dead_share"]
    assert "the scenario's shares alone" in found["reasons"]["expected_dead_share"]


def test_an_older_analysis_does_not_tell_of_order(make: Make) -> None:
    def older(facts: Row, tables: Tables) -> None:
        redelivered(facts, tables)
        for row in tables["redelivery"]:
            del row["overtaken"]

    found = told(make(older))["redelivery"]
    assert (found["overtaken"], found["reasons"]) == (None, {"overtaken": OLDER})


def test_a_run_that_commits_offsets_has_none(make: Make) -> None:
    document = told(make())
    assert document["redelivery"] is None
    assert document["reasons"]["redelivery"].startswith("offsets are committed")


def test_a_line_tells_what_matters(make: Make) -> None:
    line = redeliveries.in_short(assemble(make(redelivered)))["Redelivery"]
    assert line == (
        "1,880 deliveries, 1.88 a message (expected 1.88); 930 of 1,000 messages acknowledged; "
        "70 dead letters (7.0 %); 40 out of order; "
        "3 delivered again after success; redelivered 10.0 ms after the deadline, p99 12.0 ms"
    )
    other = redeliveries.in_short(assemble(make(unexpected)))["Redelivery"]
    assert "expected" not in other
    assert "dead letter" not in other
    assert "4 open at the end" in other
    assert "1 delivered before the deadline" in other
    assert redeliveries.in_short(assemble(make())) == {}
    assert redeliveries.rows(assemble(make())) == redeliveries.times(assemble(make())) == []


def test_a_row_tells_all_that_failed_whether_it_came_again_or_not(make: Make) -> None:
    """What was too late, and what nobody answered, stand by themselves."""

    def late(facts: Row, tables: Tables) -> None:
        redelivered(facts, tables)
        tables["deliveries_by_number"][1] |= {"accepted": 800, "released": 4, "timed_out": 5, "unanswered": 1}

    told_of = dict(zip(redeliveries.HEADS, redeliveries.rows(assemble(make(late)))[1], strict=True))
    assert told_of == {
        "delivery": "2", "deliveries": "880", "expected": "875", "accepted": "800", "failed": "74", "too late": "5",
        "not answered": "1", "dead letters": "70",
    }  # fmt: skip


@pytest.mark.parametrize("write", [summary, to_markdown, lambda result: to_html(result, [])])
def test_every_report_tells_it(make: Make, write: Any) -> None:
    """Where offsets are committed, none does."""
    assert "930 of 1,000" in " ".join(write(assemble(make(redelivered))).split())
    assert "Redelivery" not in write(assemble(make()))


@pytest.mark.parametrize("write", [to_markdown, lambda result: to_html(result, [])])
def test_tables_have_a_row_for_each_delivery_and_each_time(make: Make, write: Any) -> None:
    text = write(assemble(make(redelivered)))
    for words in ("from due to acknowledged", "from the deadline to the next delivery", "dead letters", "875"):
        assert words in text
    assert "expected" not in write(assemble(make(unexpected))).partition("from due to processed")[0][-600:]


def test_the_figure_has_a_bar_for_each_delivery_and_a_line_where_it_should_end(make: Make) -> None:
    """Of the first group; without what is expected, there is no line."""
    figure = figure_of(make(redelivered), deliveries)
    bars = [(row["number"], row["series"], row["count"]) for row in figure.data["deliveries"]]
    assert bars == [(1, "failed", 500), (2, "failed for good", 70)]
    lines = [(row["number"], row["count"]) for row in figure.data["expected_deliveries"]]
    assert lines == [(1, 1_000.0), (2, 875.0)]
    assert vl_convert.vegalite_to_svg(figure.whole_spec())

    other = figure_of(make(unexpected), deliveries)
    assert set(other.data) == {"deliveries"}
    assert figure_of(make(), deliveries).missing == "messages are not acknowledged one by one"


def test_many_deliveries_are_cut_and_told(make: Make) -> None:
    def many(facts: Row, tables: Tables) -> None:
        redelivered(facts, tables)
        first = tables["deliveries_by_number"][0]
        tables["deliveries_by_number"] = [{**first, "number": number} for number in range(1, 51)]

    figure = figure_of(make(many), deliveries)
    assert {row["number"] for row in figure.data["deliveries"]} == set(range(1, MOST_NUMBERS + 1))
    assert "The first 30 of 50 are shown" in figure.about


def test_times_are_not_believed_where_those_of_the_run_are_not(make: Make) -> None:
    """They end by the same steps. Reports strike them out, with the reason of the latency; counts stay."""

    def without_bounds(_facts: Row, tables: Tables) -> None:
        for row in tables["bounds"]:
            row["known"] = False

    good, bad = assemble(make(redelivered)), assemble(make(redelivered, without_bounds))
    whole = bad.trust["latency.end_to_end.response.p99_ms"]
    times = {path: each for path, each in bad.trust.items() if path.startswith("redelivery.")}

    assert len(times) == len(TIMES)
    assert {(each.trust, each.low, *each.because) for each in times.values()} == {
        ("not_believed", None, *whole.because)
    }
    assert not any(path.startswith("redelivery.") for path in good.trust)
    assert "(12.0 ms, not believed)" in redeliveries.in_short(bad)["Redelivery"]
    assert all(isinstance(each, Doubted) for row in redeliveries.times(bad) for each in row[1:])
    assert not any(isinstance(each, Doubted) for row in redeliveries.times(good) for each in row[1:])
