"""The page around the figures: contents, switches, colours, files to save, folded parts, and who can use all that."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.report.conftest import Make, changed, faulty, paused_in_three, stepping
from tests.report.seen import See, Seen, phased, report

from streamgauge.report.figures.drawing.figure import Figure
from streamgauge.report.figures.drawing.theme import color_of

pytestmark = pytest.mark.e2e

WCAG = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}
LINES = "[...document.querySelectorAll('#latency .canvas .mark-line path')]"
SERIES = f"{LINES}.filter(each => each.getBBox().width > 50).length"


def folding(figure: Figure) -> Figure:
    """A run in which one figure would say nothing."""
    return replace(figure, nothing_new="every partition had the same") if figure.name == "partition-load" else figure


@pytest.fixture(scope="module", name="path")
def _path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with faults."""
    return report(changed(tmp_path_factory.mktemp("page") / "run", faulty, phased), folding)


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_accessible(path: Path, see: See, dark: bool) -> None:
    """No rule of WCAG 2.2 AA is violated, folded parts, tables and tooltips included."""
    seen = see(path, dark=dark)
    seen.unfold()
    seen.page.get_by_role("button", name="Table of Rates").click()
    seen.page.locator("#latency .chart").focus()
    seen.page.keyboard.press("Home")
    # What is drawn is hidden from readers: tables and tooltips say it.
    found = Axe().run(seen.page, context={"exclude": [[".canvas"]]}, options=WCAG)
    assert found.violations_count == 0, found.generate_report()


def test_all_can_be_reached_by_keys(path: Path, see: See) -> None:
    """Each link, switch, entry of a legend, figure and button is in the order of the Tab key, and shows its focus."""
    seen = see(path)
    reached: set[str] = set()
    for _ in range(80):
        seen.page.keyboard.press("Tab")
        reached.add(seen.ask("document.activeElement.className || document.activeElement.tagName"))
    assert {"A", "INPUT", "chart", "BUTTON", "entry", "anchor", "skip"} <= reached


def test_contents_stay_in_sight_and_lead_to_their_parts(path: Path, see: See) -> None:
    """Each link has its part; the part that is read is marked."""
    seen = see(path)
    targets = seen.ask("[...document.querySelectorAll('.side nav a')].map(each => each.hash.slice(1))")
    assert targets[0] == "verdict"
    assert {"overview", "latencies", "diagnostics", "configuration", "repeat"} <= set(targets)
    assert all(seen.ask(f"document.getElementById('{target}') !== null") for target in targets)
    seen.page.locator(".side nav a", has_text="Latency").click()
    seen.wait("document.querySelector('.side [aria-current]')?.hash === '#latencies'")
    assert seen.page.locator(".side nav").is_visible()
    box = seen.page.locator(".side nav").bounding_box()
    assert box is not None
    assert box["y"] >= 0


def test_contents_are_a_bar_on_a_phone(path: Path, see: See) -> None:
    """At the top of the screen, wherever one reads."""
    seen = see(path, width=390)
    seen.ask("scrollTo(0, 3000)")
    box = seen.page.locator(".side nav").bounding_box()
    assert box is not None
    assert box["y"] == pytest.approx(0, abs=1)
    assert box["height"] < 60
    assert seen.ask("document.documentElement.scrollWidth") <= 390


def test_each_part_and_each_figure_has_a_link_to_itself(path: Path, see: See) -> None:
    """Which opens what it is folded into."""
    seen = see(path)
    seen.unfold()
    missing = seen.ask(
        """[...document.querySelectorAll("main > section:has(h2), main figure[id]")]
           .filter(each => !each.querySelector(`a[href="#${each.id}"]`)).map(each => each.id)"""
    )
    assert missing == []
    again = see(path)
    again.ask("location.hash = '#schedule_delay'")
    again.wait("document.querySelector('#schedule_delay [data-drawn]')")
    assert again.page.locator("#schedule_delay svg.marks").is_visible()


def choose(seen: Seen, within: str, option: str) -> None:
    seen.page.locator(within).get_by_role("radio", name=option, exact=True).check()


def test_switches_choose_series_of_one_figure_and_of_all(path: Path, see: See) -> None:
    """Response or service time; what is chosen for all replaces what was chosen for one."""
    seen = see(path)
    assert seen.ask(SERIES) == 6
    choose(seen, "#latency .switches", "service")
    seen.wait(f"{SERIES} === 3")
    assert "response p50" in seen.page.locator("#latency .entry.off").all_inner_texts()
    choose(seen, "#controls", "response")
    seen.wait("document.querySelectorAll('#percentiles .entry.off').length === 2")
    assert seen.page.locator("#latency .entry.off").all_inner_texts() == ["service p50", "service p99", "service max"]
    assert seen.complaints == []


def test_the_latency_over_time_is_that_of_another_path_at_a_switch(path: Path, see: See) -> None:
    """From the moment a message is due to its acknowledgement, in place of its delivery."""
    seen = see(path)
    button = seen.page.locator("#latency .saving").get_by_role("button", name="CSV: save")
    seen.page.get_by_role("button", name="Table of End-to-end latency over time").click()
    heads = "document.querySelector('#latency [data-rows=timeline] tr').textContent"
    assert "end-to-end response p99" in seen.ask(heads)
    choose(seen, "#latency .switches", "ack")
    seen.wait("document.querySelectorAll('#latency .canvas').length === 1")
    with seen.page.expect_download() as download:
        button.click()
    assert download.value.suggested_filename == "ack-latency.csv"
    assert "ack response p99" in seen.ask(heads)
    assert "end-to-end" not in seen.ask(heads)
    assert seen.page.locator("#latency h3").inner_text().startswith("Acknowledgement latency over time")
    assert seen.page.locator("#latency").get_by_role("application").get_attribute("aria-label") == (
        "Acknowledgement latency over time"
    )


def test_what_is_not_believed_is_said_of_the_path_that_is_shown(make: Make, see: See) -> None:
    """Of the other path something else is not believed, or all is."""
    seen = see(report(make(doubted)))
    words = seen.page.locator("#latency .doubted")
    assert words.inner_text() == "Not believed: end-to-end latency p99; see the verdict"
    choose(seen, "#latency .switches", "ack")
    seen.wait("document.querySelector('#latency .doubted') === null")
    assert not seen.ask("document.querySelector('#latency').classList.contains('is-doubted')")
    choose(seen, "#latency .switches", "end to end")
    words.wait_for()
    assert seen.ask("document.querySelector('#latency').classList.contains('is-doubted')")


def test_points_of_a_step_that_did_not_hold_are_pale(make: Make, see: See) -> None:
    """What depends on the data is drawn as the figure says; the rest is as it was chosen in the legend."""
    seen = see(report(make(stepping)))
    points = "document.querySelectorAll('#latency-by-step .mark-symbol path')"
    assert set(seen.ask(f"[...{points}].map(each => each.getAttribute('opacity'))")) == {"0.35", "1"}
    assert seen.complaints == []


def test_scales_are_linear_or_logarithmic(path: Path, see: See) -> None:
    """The same values lie elsewhere; a figure of bars has no such switch."""
    seen = see(path)
    labels = "document.querySelector('#latency svg.marks').textContent"
    before = seen.ask(labels)
    choose(seen, "#latency .switches", "linear")
    seen.wait(f"{labels} !== {before!r}")
    assert "0" in seen.ask(
        "[...document.querySelectorAll('#latency .role-axis-label text')].map(each => each.textContent)"
    )
    seen.unfold()
    assert seen.page.locator("#partition-load .switches").inner_text() == ""


def test_a_series_with_a_sign_is_isolated_too(make: Make, see: See) -> None:
    """Its sign has its colour."""
    seen = see(report(make(paused_in_three)))
    entry = seen.page.locator("#gc .legend").get_by_role("button", name="broker-2")
    orange = tuple(bytes.fromhex(color_of("broker")[1:]))
    assert entry.locator(".sign").text_content() == "■"
    assert entry.locator(".sign").evaluate("sign => getComputedStyle(sign).color") == f"rgb{orange}"
    marks = "[...document.querySelectorAll('#gc svg .mark-symbol path')].length"
    assert seen.ask(marks) == 3
    entry.click()
    seen.wait(f"{marks} == 1")
    assert seen.complaints == []


def test_a_click_into_the_legend_isolates_a_series(path: Path, see: See) -> None:
    """One more shows all again."""
    seen = see(path)
    entry = seen.page.locator("#latency .legend").get_by_role("button", name="response p99")
    entry.click()
    seen.wait(f"{SERIES} === 1")
    assert entry.get_attribute("aria-pressed") == "true"
    seen.page.locator("#latency .legend").get_by_role("button", name="service max").click(modifiers=["Shift"])
    seen.wait(f"{SERIES} === 2")
    entry.click()
    seen.wait(f"{SERIES} === 6")


def test_colours_are_chosen_in_the_page_alone(path: Path, see: See) -> None:
    """Light, dark, or as the system has them; nothing is stored."""
    seen = see(path)
    paper = "getComputedStyle(document.body).backgroundColor"
    assert seen.ask(paper) == "rgb(255, 255, 255)"
    choose(seen, "#controls", "dark")
    assert seen.ask(paper) == "rgb(20, 23, 27)"
    choose(seen, "#controls", "system")
    assert seen.ask(paper) == "rgb(255, 255, 255)"
    seen.page.emulate_media(color_scheme="dark")
    assert seen.ask(paper) == "rgb(20, 23, 27)"
    choose(seen, "#controls", "light")
    assert seen.ask(paper) == "rgb(255, 255, 255)"
    # The switches are made again where something is unfolded: they say what is.
    seen.unfold()
    seen.page.wait_for_timeout(100)
    assert seen.page.locator("#controls").get_by_role("radio", name="light", exact=True).is_checked()
    assert seen.ask("localStorage.length + sessionStorage.length") == 0


def saved(seen: Seen, figure: str, kind: str) -> bytes:
    with seen.page.expect_download() as download:
        seen.page.locator(f"#{figure} .saving").get_by_role("button", name=f"{kind}: save").click()
    assert download.value.suggested_filename == f"{figure}.{kind.lower()}"
    return Path(download.value.path()).read_bytes()


def test_figures_are_saved_from_the_page(path: Path, see: See) -> None:
    """With title, legend and resolved colours; as the screen has them; nothing is loaded for it."""
    seen = see(path, dark=True)
    svg = saved(seen, "latency", "SVG").decode()
    assert "var(" not in svg
    assert "currentColor" not in svg
    assert "rgb(20, 23, 27)" in svg
    assert "End-to-end latency over time" in svg
    assert "response p99" in svg
    assert saved(seen, "rates", "PNG").startswith(b"\x89PNG\r\n")
    table = list(csv.DictReader(saved(seen, "rates", "CSV").decode().splitlines()))
    assert [row["s"] for row in table] == [str(second) for second in range(-2, 10)]
    assert table[2]["difference sent"] == "0"
    assert seen.complaints == []
    assert [url for url in seen.requests if not url.startswith("blob:")] == [path.as_uri()]


def test_what_is_saved_is_what_is_chosen(path: Path, see: See) -> None:
    """Only the series that are shown, in file and legend."""
    seen = see(path)
    choose(seen, "#latency .switches", "service")
    seen.wait(f"{SERIES} === 3")
    svg = saved(seen, "latency", "SVG").decode()
    assert "service p99" in svg
    assert "response p99" not in svg


def doubted(_facts: Any, tables: Any) -> None:
    for row in tables["bounds"]:
        if row["metric"].startswith("end_to_end"):
            row["p99_ms"] = row["p99_ms"] / 9


def busy(_facts: Any, tables: Any) -> None:
    tables["resources"] = [{**row, "idle_share": 0.0} for row in tables["resources"]]


@pytest.mark.parametrize("change", [None, busy])
def test_diagnostics_are_folded_unless_a_check_of_theirs_did_not_pass(make: Make, see: See, change: Any) -> None:
    """Nothing is drawn that is not seen."""
    seen = see(report(make(*filter(None, [change]))))
    is_open = seen.ask("document.querySelector('#diagnostics details').open")
    assert is_open == (change is busy)
    assert seen.ask("document.querySelector('#schedule_delay [data-figure]').dataset.drawn === 'yes'") == is_open


def test_a_figure_that_would_say_nothing_is_a_sentence(path: Path, see: See) -> None:
    """And is drawn for whoever wants to see it."""
    seen = see(path)
    seen.ask("document.querySelector('#diagnostics details').open = true")
    line = seen.page.locator("details#partition-load")
    assert line.inner_text().startswith("Load by partition: every partition had the same")
    line.locator("summary").click()
    seen.wait("document.querySelector('#partition-load [data-drawn]')")
    assert line.locator("svg.marks").is_visible()


def test_a_printed_page_has_figures_and_no_controls(path: Path, see: See) -> None:
    """In black on white, whatever the screen has."""
    seen = see(path, dark=True)
    choose(seen, "#controls", "dark")
    seen.page.emulate_media(media="print")
    assert seen.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not seen.page.locator(".side").is_visible()
    assert not seen.page.locator("#rates .saving").is_visible()
    assert seen.page.locator("#rates svg.marks").is_visible()
    assert seen.page.pdf().startswith(b"%PDF")


def test_the_command_can_be_copied(path: Path, see: See) -> None:
    """As it was given, quoted for a shell."""
    seen = see(path)
    assert seen.page.locator("#command").inner_text() == "streamgauge run baseline"
    seen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    seen.page.get_by_role("button", name="Copy").click()
    seen.page.get_by_text("Copied").wait_for()
    assert seen.ask("navigator.clipboard.readText()") == "streamgauge run baseline"


def test_where_nothing_may_be_copied_the_command_is_selected(path: Path, see: See) -> None:
    """A page that comes over plain HTTP has no clipboard."""
    seen = see(path)
    seen.ask("delete Navigator.prototype.clipboard")
    seen.page.get_by_role("button", name="Copy").click()
    seen.page.get_by_text("Selected").wait_for()
    assert seen.ask("getSelection().toString()") == "streamgauge run baseline"
    assert seen.complaints == []
