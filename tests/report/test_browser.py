"""The report in a real browser: figures are there, nothing is asked of anybody, and it fits a phone."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.report.conftest import credited, fault, faulty, hysteresis
from tools.browser import browser

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble.result import write_result
from streamgauge.report.publish import publish

pytestmark = pytest.mark.e2e

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Make = Callable[..., RunFolder]

HALF_AN_HOUR = 1800
MOST_BYTES = 4_000_000
EVIL = "</script><script>window.evil = 1</script><img src=x onerror='window.evil = 2'>"


@pytest.fixture(scope="module", name="browser")
def _browser() -> Iterator[Browser]:
    """Debian's chromium, or what is like it."""
    with browser() as started:
        yield started


class Seen:
    """A page, and whatever it complained about or asked for."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_function("document.documentElement.dataset.figures")

    def ask(self, script: str) -> Any:
        return self.page.evaluate(script)


@pytest.fixture
def see(browser: Browser) -> Iterator[Callable[..., Seen]]:
    """Opens a report at a width, in light or dark."""
    pages: list[Page] = []

    def open_page(path: Path, *, width: int = 1100, dark: bool = False) -> Seen:
        scheme: Any = "dark" if dark else "light"
        pages.append(browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme))
        return Seen(pages[-1], path)

    yield open_page
    for page in pages:
        page.close()


def half_an_hour(_facts: Row, tables: Tables) -> None:
    """Thirty minutes of what one second is, with a slow wave through it."""
    for name in ("throughput", "latency"):
        windows = [row for row in tables[name] if row["scope"] == "window" and row["second"] == 0]
        tables[name] = [row for row in tables[name] if row["scope"] != "window"]
        tables[name] += [_wave(row, second) for row in windows for second in range(HALF_AN_HOUR)]
    looks = [row for row in tables["resources"] if row["scope"] == "interval" and row["second"] == 1.0]
    tables["resources"] += [{**row, "second": float(second)} for row in looks for second in range(2, HALF_AN_HOUR)]
    cells = [row for row in tables["heat"] if row["from_second"] == 0]
    tables["heat"] = [
        {
            **row,
            "from_second": at,
            "to_second": at + 15,
            "above_ms": 10 ** (step / 10),
            "le_ms": 10 ** ((step + 1) / 10),
        }
        for row in cells[::2]
        for at in range(0, HALF_AN_HOUR, 15)
        for step in range(40)
    ]


def _wave(row: Row, second: int) -> Row:
    height = 1.5 + math.sin(second / 60)
    return {
        name: value * height if isinstance(value, float) and name.endswith("_ms") else value
        for name, value in {**row, "second": second}.items()
    }


def report(folder: RunFolder) -> Path:
    publish(folder, write_result(folder), lambda _: None)
    return folder.report


DRAWN = """[...document.querySelectorAll("[data-figure]")].map(place => ({
  name: place.dataset.figure,
  drawn: place.dataset.drawn,
  marks: [...place.querySelectorAll(".role-mark path, .role-mark line, .role-mark rect")]
    .filter(mark => { const box = mark.getBBox(); return box.width + box.height > 5; }).length,
  width: place.querySelector("svg")?.getBoundingClientRect().width ?? 0,
}))"""


@pytest.mark.parametrize(("width", "dark"), [(1100, False), (390, True)])
def test_half_an_hour_is_drawn_and_fits(make: Make, see: Callable[..., Seen], width: int, dark: bool) -> None:
    """Every figure has marks, no complaint is made, nothing else is loaded, nothing is wider than the screen."""
    path = report(make(half_an_hour))
    assert path.stat().st_size <= MOST_BYTES
    seen = see(path, width=width, dark=dark)
    assert seen.ask("document.documentElement.dataset.figures") == "drawn"
    figures = seen.ask(DRAWN)
    assert len(figures) == 13
    for figure in figures:
        assert figure["drawn"] == "yes", figure
        assert figure["marks"] > 0, figure
        assert width * 0.8 < figure["width"] <= width, figure
    assert seen.complaints == []
    assert seen.requests == [path.as_uri()]
    assert seen.ask("document.documentElement.scrollWidth") <= width


def pressed(policy: Callable[[Row, Tables], None]) -> Callable[[Row, Tables], None]:
    """Half an hour under a policy, with faults; lag was sampled twice a second."""

    def change(facts: Row, tables: Tables) -> None:
        half_an_hour(facts, tables)
        faulty(facts, tables)
        policy(facts, tables)
        for name in ("lag", "outstanding"):
            row = next(row for row in tables[name] if row["second"] == 2.0)
            tables[name] += [_moved(row, at / 2) for at in range(21, 2 * HALF_AN_HOUR)]
        tables["faults"].append(fault(900.0, "delay", "consumers", detail=EVIL))

    return change


def _moved(row: Row, second: float) -> Row:
    counts: Row = {
        name: row[name] + round(second) * 100 for name in ("due", "admitted", "sent", "processed") if name in row
    }
    return {**row, **counts, "second": second}


NEW = ["admission", "lag", "backlog", "recovery", "time-lag", "partition-lag"]
PANELS = {"recovery"}
"""They have a width of their own, and shrink where that is too wide."""


@pytest.mark.parametrize(("policy", "width", "dark"), [(credited, 1100, False), (hysteresis, 390, True)])
def test_lag_backpressure_and_recovery_are_drawn(
    make: Make, see: Callable[..., Seen], policy: Any, width: int, dark: bool
) -> None:
    """Every figure has marks, limits and faults have names, and the page keeps to its size and to its screen."""
    path = report(make(pressed(policy)))
    assert path.stat().st_size <= MOST_BYTES
    seen = see(path, width=width, dark=dark)
    assert seen.ask("document.documentElement.dataset.figures") == "drawn"
    figures = {figure["name"]: figure for figure in seen.ask(DRAWN)}
    assert len(figures) == 13 + len(NEW) + (policy is credited)
    for name in (*NEW, "rates", "latency"):
        figure = figures[name]
        assert figure["drawn"] == "yes", figure
        assert figure["marks"] > 0, figure
        assert figure["width"] <= width, figure
        assert name in PANELS or figure["width"] > width * 0.8, figure
    texts = {
        name: seen.ask(f"document.querySelector('#{name} svg').textContent") for name in ("lag", "rates", "latency")
    }
    assert ("limit 5,000" in texts["lag"]) == (policy is credited)
    assert ("max_lag 3,000" in texts["lag"]) == (policy is hysteresis)
    assert all("pause consumer-0 and consumer-1" in text for text in texts.values())
    assert "not drained by the end" in seen.ask("document.querySelector('#recovery svg').textContent")
    assert seen.ask("window.evil") is None
    assert seen.complaints == []
    assert seen.requests == [path.as_uri()]
    assert seen.ask("document.documentElement.scrollWidth") <= width


def test_light_dark_and_print_have_their_colours(make: Make, see: Callable[..., Seen]) -> None:
    """Ink and paper differ in each, and the figures' ink follows without being drawn again."""
    path = report(make())
    ink = "getComputedStyle(document.querySelector('[data-figure] .role-axis-title text')).fill"
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = see(path), see(path, dark=True)
    assert light.ask(paper) == "rgb(255, 255, 255)"
    assert dark.ask(paper) == "rgb(20, 23, 27)"
    assert light.ask(ink) == "rgb(28, 31, 36)"
    assert dark.ask(ink) == "rgb(232, 234, 237)"
    dark.page.emulate_media(media="print")
    assert dark.ask(paper) == "rgb(255, 255, 255)"
    assert dark.ask(ink) == "rgb(0, 0, 0)"


def test_every_figure_has_its_data_as_a_table(make: Make, see: Callable[..., Seen]) -> None:
    """Made when somebody opens it, once."""
    seen = see(report(make()))
    summary = seen.page.locator("#rates details summary")
    assert seen.ask("document.querySelectorAll('#rates table').length") == 0
    for _ in range(3):
        summary.click()
    assert seen.ask("document.querySelectorAll('#rates table').length") == 1
    rows = seen.ask("[...document.querySelectorAll('#rates tr')].map(row => row.innerText.split('\\t').slice(0, 3))")
    assert rows[:2] == [["s", "target", "sent"], ["-2", "10000", "10000"]]
    assert len(rows) == 13


def evil(facts: Row, tables: Tables) -> None:
    facts |= {"name": EVIL, "reasons": [EVIL], "command": [EVIL], "versions": {EVIL: EVIL}, "machine": {EVIL: EVIL}}
    facts["topics"] = [{"id": number, "name": EVIL} for number in (0, 1)]
    facts["broker"] |= {"bootstrap": EVIL, "embedded": False}
    for row in (*tables["resources"], *tables["gc"]):
        row["process"] = EVIL


def test_nothing_that_came_from_outside_runs(make: Make, see: Callable[..., Seen]) -> None:
    """Neither in the page nor in figures and their tables."""
    path = report(make(evil))
    seen = see(path)
    for summary in seen.page.locator("summary").all():
        summary.click()
    assert seen.ask("document.querySelectorAll('td').length") > 100
    assert EVIL in seen.ask("document.querySelector('#gc table').innerText")
    assert seen.ask("window.evil") is None
    assert seen.requests == [path.as_uri()]
    assert seen.complaints == []
