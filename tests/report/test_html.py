"""The report as text: verdict first, everything that came from outside escaped, no network, whatever is missing."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.report.conftest import transacting

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble.result import assemble
from streamgauge.report.figures.catalogue import figures
from streamgauge.report.figures.drawing.figure import Figure
from streamgauge.report.pages import html, words
from streamgauge.report.pages.html import cards, to_html
from streamgauge.report.pages.html.charts import columns
from streamgauge.report.pages.html.tables import lacking
from streamgauge.report.publish import tables_of
from streamgauge.result.model.verdict import CheckResult

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Make = Callable[..., RunFolder]

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{7*7}}"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The charting library takes seconds to bundle and a megabyte to read; the browser's tests have it."""
    monkeypatch.setattr(html, "bundle", lambda: "/* bundle */")


class Page(HTMLParser):
    """What a browser would make of the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        last = self.tags[-1] if self.tags else ""
        {"script": self.scripts, "style": []}.get(last, self.words).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def plain(healthy: RunFolder) -> str:
    """The report of a healthy run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "bundle", lambda: "/* bundle */")
        return report(healthy)


def report(folder: RunFolder) -> str:
    result = assemble(folder)
    return to_html(result, figures(result, tables_of(folder, print)))


def test_the_verdict_comes_first_then_the_summary_then_figures_then_how_to_repeat_it(plain: str) -> None:
    """In the order in which they are read; the checks that did not pass stand below the verdict."""
    order = ["verdict", "summary", "overview", "latencies", "backpressure", "delivery", "diagnostics"]
    order += ["checks", "configuration", "machine", "repeat"]
    assert re.findall(r'<(?:section|header) id="(\w+)"', plain) == order
    text = Page(plain).text
    words = ["VALID baseline", "checks: ", "Throughput, received", "Latency, ms", "Rates over time", "delivered once."]
    words += ["Check of status", "partitions: 12", "3.11.7", "The command of this run: streamgauge run baseline"]
    found = [text.index(word) for word in words]
    assert found == sorted(found)


def evil(facts: Row, tables: Tables) -> None:
    facts |= {"name": EVIL, "reasons": [EVIL], "command": [EVIL], "ending": "failed"}
    facts["scenario"] |= {"name": EVIL, "about": EVIL, EVIL: {EVIL: EVIL}, "expect": {EVIL: 0}}
    facts |= {"machine": {EVIL: EVIL}, "versions": {EVIL: EVIL}}
    facts["broker"] |= {"bootstrap": EVIL, "embedded": False, "version": EVIL}
    facts["topics"] = [{"id": number, "name": EVIL} for number in (0, 1)]
    facts["groups"][0]["name"] = EVIL
    for row in (*tables["resources"], *tables["gc"]):
        row["process"] = EVIL


def test_all_that_came_from_outside_is_escaped(make: Make, plain: str) -> None:
    """Names, reasons, commands, topics, processes: as text, never as markup, and not as a template either."""
    ours, page = Page(plain), Page(report(make(evil)))
    assert page.tags.count("script") == ours.tags.count("script")
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "{{7*7}}" in page.text
    assert page.text.count("alert(1)") > 10
    data = [script for script in page.scripts if script.startswith("{")]
    assert len(data) == 2
    assert not any("<" in script for script in data)
    assert any(EVIL in json.dumps(json.loads(script), ensure_ascii=False).replace('\\"', '"') for script in data)


def test_nothing_is_asked_of_any_network(plain: str) -> None:
    """No address is loaded, and a policy in the page forbids it besides."""
    page = Page(plain)
    assert not [value for name, value in page.attributes if name in {"src", "srcset"}]
    assert {(value or "")[:1] for name, value in page.attributes if name == "href"} == {"#", "d"}
    policy = next(value or "" for name, value in page.attributes if (value or "").startswith("default-src"))
    assert policy.startswith("default-src 'none';")


def test_data_are_in_the_page_once(plain: str) -> None:
    """However many figures are drawn from them, column by column."""
    specs, data = (json.loads(script) for script in Page(plain).scripts if script.startswith("{"))
    sharing = [name for name, drawing in specs["figures"].items() if "timeline" in drawing["names"]]
    assert len(sharing) > 3
    assert data["timeline"]["s"] == list(range(-2, 10))
    assert all("datasets" not in drawing["spec"] for drawing in specs["figures"].values())


def expecting(facts: Row, _tables: Tables) -> None:
    facts["scenario"]["expect"] = {
        "latency.end_to_end.response.p99_ms": "<= 50",
        "latency.ack.response.p99_ms": "<= 10",
        "throughput.received_per_second": ">= 9900",
    }


def test_each_figure_has_its_own_limits_and_causes(make: Make) -> None:
    """What is expected of a rate is drawn over no latency; nobody acknowledges later for a rebalance."""

    def change(facts: Row, tables: Tables) -> None:
        expecting(facts, tables)
        tables["rebalances"] = [{"second": 2, "group": 0, "partitions": 1}]

    specs, data = (json.loads(script) for script in Page(report(make(change))).scripts if script.startswith("{"))
    limits = {name: data[f"{name}_thresholds"]["limit"] for name in ("rates", "latency", "ack-latency")}
    assert limits == {"rates": [-1.0], "latency": [50], "ack-latency": [10]}
    causes = {name: set(data[f"{name}_causes"]["cause"]) for name in ("latency", "ack-latency")}
    assert causes == {"latency": {"GC pause", "rebalance"}, "ack-latency": {"GC pause"}}
    for name, values in limits.items():
        shown = f"{name}_thresholds"
        assert specs["figures"][name]["names"][shown]
        assert json.dumps({"name": shown}) in json.dumps(specs["figures"][name]["spec"]), values


def test_data_of_one_name_are_the_same_in_all_figures() -> None:
    """Else a figure would be drawn from those of another one; columns may differ."""
    one, two, other = (
        Figure(name, "", "", data={"timeline": rows})
        for name, rows in {
            "one": [{"s": 1, "sent": 5}],
            "two": [{"s": 1, "acked": 6}],
            "other": [{"s": 1, "sent": 6}],
        }.items()
    )
    assert json.loads(columns([one, two])) == {"timeline": {"s": [1], "sent": [5], "acked": [6]}}
    with pytest.raises(ValueError, match="figure other has other values in column sent of timeline"):
        columns([one, two, other])


def test_the_page_has_every_figure_of_a_latency(plain: str) -> None:
    """Where there is room, there is no reason to leave out p95 and p99.99."""
    heads = re.findall(r"<th[^>]*>([^<]*)</th>", plain[plain.index("Latency, ms") :])
    assert [head for head in heads if head][:8] == ["p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "mean"]


def test_a_figure_is_given_the_columns_that_it_shows(plain: str) -> None:
    """Of data that figures share; a browser would take long to copy the others for every point."""
    specs, data = (json.loads(script) for script in Page(plain).scripts if script.startswith("{"))
    given = {name: drawing["names"].get("timeline") for name, drawing in specs["figures"].items()}
    assert given["rates"] == ["s", "difference sent", "difference acked", "difference received"]
    assert given["latency"] is not None
    assert "outstanding" not in given["latency"]
    assert given["cpu"] is None
    assert all(set(columns or ()) <= set(data["timeline"]) for columns in given.values())


def test_marks_have_no_names_of_their_own(plain: str) -> None:
    """A figure is named as a whole and its data are a table; a name for every point would take long to draw."""
    specs = next(json.loads(script) for script in Page(plain).scripts if script.startswith("{"))
    assert specs["look"]["aria"] is False
    assert all("config" not in drawing["spec"] for drawing in specs["figures"].values())


def failing(_facts: Row, tables: Tables) -> None:
    for row in tables["delivery"]:
        row["lost"] = 7


def unjudged(_facts: Row, tables: Tables) -> None:
    kept = {"scope", "group", "negative_latencies"}
    tables["delivery"] = [{name: row[name] if name in kept else None for name in row} for row in tables["delivery"]]


def censored(_facts: Row, tables: Tables) -> None:
    for row in tables["latency"]:
        row |= {"censored": 5, "p99_censored": True, "p99_hi_ms": None}


def unscheduled(_facts: Row, tables: Tables) -> None:
    for row in tables["latency"]:
        if row["metric"].endswith("response"):
            row |= {"p50_ms": None, "p99_ms": None, "reason": "the load has no schedule"}


@pytest.mark.parametrize(
    ("change", "name", "value", "tone"),
    [
        (None, "Throughput, received", "10,000/s", ""),
        (None, "End-to-end p99", "6.00 ms", ""),
        (None, "Delivery", "none lost", "good"),
        (None, "Expectations", "2 of 2 passed", "good"),
        (failing, "Delivery", "7 lost", "bad"),
        (failing, "Expectations", "1 of 2 passed", "bad"),
        (unjudged, "Delivery", "-", "doubt"),
        (censored, "End-to-end p99", "> 6.00 ms", ""),
        (unscheduled, "Acknowledgement p99", "6.00 ms", ""),
    ],
)
def test_a_card_says_the_same_as_the_result(make: Make, change: Any, name: str, value: str, tone: str) -> None:
    """And whether that is good."""
    (card,) = [card for card in cards(assemble(make(change) if change else make())) if card.name == name]
    assert (card.value, card.tone) == (value, tone)


@pytest.mark.parametrize(
    "missing", ["verdict", "latency", "throughput", "delivery", "resources", "cdf", "schedule_delay"]
)
@pytest.mark.slow
def test_a_table_that_is_missing_leaves_the_rest(make: Make, missing: str) -> None:
    """The report is still one, and says what it does not know."""
    folder = make()
    folder.table(missing).unlink()
    text = Page(report(folder)).text
    assert "baseline" in text
    assert ("NOT JUDGED" in text) == (missing == "verdict")


def test_checks_that_failed_are_told_before_the_figures(make: Make) -> None:
    """With what was seen and what to do."""

    def late(facts: Row, tables: Tables) -> None:
        facts["ending"] = "interrupted"
        tables["throughput"] = [{**row, "sent": row["sent"] // 2} for row in tables["throughput"]]

    text = Page(report(make(late))).text
    assert text.startswith("NOT VALID: baseline - Streamgauge")
    rate = re.search(r"fail Target rate reached rate, instrument (target 10,000/s, sent 5,000/s[^.]*)", text)
    assert rate
    assert rate.start() < text.index("Latency, ms")


def test_what_few_runs_have_stands_beside_the_rest(make: Make, plain: str) -> None:
    """How transactions ended; a run that has nothing of the kind has no such part."""
    assert "Transactions 900 committed, 100 aborted" in Page(report(make(transacting))).text
    assert 'id="also"' not in plain


def test_why_a_percentile_is_missing_is_told_once() -> None:
    """With all latencies that lack it; where all is missing no figure is named."""
    lines = [
        words.LatencyLine("ack", "response", ("-",), "the load has no schedule"),
        words.LatencyLine("ack", "service", ("1",), "needs 100 samples, has 9", "p99.9"),
        words.LatencyLine("end-to-end", "service", ("1",), "needs 100 samples, has 9", "p99.9"),
        words.LatencyLine("poll", "", ("1",)),
    ]
    assert lacking(lines) == [
        "ack response: the load has no schedule",
        "p99.9 of ack service and end-to-end service: needs 100 samples, has 9",
    ]


def test_one_is_not_several(make: Make) -> None:
    """The scenario in one line."""

    def single(facts: Row, _: Tables) -> None:
        facts["scenario"]["load"]["producers"] = 1
        facts["scenario"]["consume"]["consumers"] = 1

    assert words.what_was_run(assemble(make(single)).run) == (
        "1 producer, 10k/s, 512 bytes -> 12 partitions -> 1 consumer"
    )


def test_long_names_may_go_on_in_the_next_line() -> None:
    """After a dot or an underscore, but numbers are whole; what comes from outside is escaped."""
    shown = str(html.breakable("delivery.duplicate_consumer <b>1.5"))
    assert shown == "delivery.<wbr>duplicate_<wbr>consumer &lt;b&gt;1.5"


def doubted(_facts: Row, tables: Tables) -> None:
    for row in tables["bounds"]:
        row["p99_ms"] = row["p99_ms"] / 9


def test_a_figure_of_what_is_not_believed_says_so(make: Make, plain: str) -> None:
    """Above its chart; the verdict says why."""
    text = report(make(doubted))
    figure = text[text.index('<figure id="latency"') :].partition("</figure>")[0]
    assert "Not believed:</b> end-to-end latency p99" in figure
    assert 'class="is-doubted"' in figure
    assert "Not believed" not in Page(plain).text


@pytest.mark.parametrize(
    ("name", "status", "expected"), [("schedule", "warn", True), ("schedule", "pass", False), ("lost", "fail", False)]
)
def test_diagnostics_are_unfolded_by_their_own_checks(name: str, status: Any, expected: bool) -> None:
    """Whatever did not pass, as long as it is among what they show."""
    check = CheckResult(name=name, about="instrument", status=status, evidence="seen", advice="")
    assert html.is_diagnosed([check]) == expected
