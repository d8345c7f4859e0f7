"""The report in a real browser: figures are there, nothing is asked of anybody, and it fits a phone."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from tests.report.conftest import credited, fault, faulty, hysteresis, scored
from tests.report.seen import See, report

from streamgauge.domain.folder.facts import RunFolder

pytestmark = pytest.mark.e2e

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Make = Callable[..., RunFolder]

HALF_AN_HOUR = 1800
MOST_BYTES = 4_000_000
EVIL = "</script><script>window.evil = 1</script><img src=x onerror='window.evil = 2'>"


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


DRAWN = """[...document.querySelectorAll("[data-figure]")].map(place => ({
  name: place.dataset.figure,
  drawn: place.dataset.drawn,
  marks: [...place.querySelectorAll(".role-mark path, .role-mark line, .role-mark rect")]
    .filter(mark => { const box = mark.getBBox(); return box.width + box.height > 5; }).length,
  share: (place.querySelector("svg.marks")?.getBoundingClientRect().width ?? 0) / place.getBoundingClientRect().width,
}))"""


@pytest.mark.parametrize(("width", "dark"), [(1100, False), (390, True)])
def test_half_an_hour_is_drawn_and_fits(make: Make, see: See, width: int, dark: bool) -> None:
    """Every figure has marks, no complaint is made, nothing else is loaded, nothing is wider than the screen."""
    path = report(make(half_an_hour))
    assert path.stat().st_size <= MOST_BYTES
    seen = see(path, width=width, dark=dark)
    assert seen.ask("document.documentElement.dataset.figures") == "drawn"
    seen.unfold()
    figures = seen.ask(DRAWN)
    given = seen.ask("Object.keys(JSON.parse(document.querySelector('#specs').textContent).figures)")
    assert {figure["name"] for figure in figures} == set(given)
    for figure in figures:
        assert figure["drawn"] == "yes", figure
        assert figure["marks"] > 0, figure
        assert figure["share"] > 0.95, figure
    assert seen.complaints == []
    assert seen.requests == [path.as_uri()]
    assert seen.ask("document.documentElement.scrollWidth") <= width


def pressed(policy: Callable[[Row, Tables], None]) -> Callable[[Row, Tables], None]:
    """Half an hour under a policy, with faults; lag was sampled twice a second."""

    def change(facts: Row, tables: Tables) -> None:
        half_an_hour(facts, tables)
        scored(facts, tables)
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


NEW = ["admission", "lag", "backlog", "recovery", "outages", "followers", "time-lag", "partition-lag"]
PANELS = {"recovery"}
"""Their axes take more or less room than was left for them."""


@pytest.mark.parametrize(("policy", "width", "dark"), [(credited, 1100, False), (hysteresis, 390, True)])
def test_lag_backpressure_and_recovery_are_drawn(make: Make, see: See, policy: Any, width: int, dark: bool) -> None:
    """Every figure has marks, limits and faults have names, and the page keeps to its size and to its screen."""
    path = report(make(pressed(policy)))
    assert path.stat().st_size <= MOST_BYTES
    seen = see(path, width=width, dark=dark)
    assert seen.ask("document.documentElement.dataset.figures") == "drawn"
    seen.unfold()
    figures = {figure["name"]: figure for figure in seen.ask(DRAWN)}
    for name in (*NEW, "rates", "latency"):
        figure = figures[name]
        assert figure["drawn"] == "yes", figure
        assert figure["marks"] > 0, figure
        assert figure["share"] <= 1, figure
        assert figure["share"] > (0.85 if name in PANELS else 0.95), figure
    texts = {
        name: seen.ask(f"document.querySelector('#{name} svg.marks').textContent")
        for name in ("lag", "rates", "latency")
    }
    assert ("limit 5,000" in texts["lag"]) == (policy is credited)
    assert ("max_lag 3,000" in texts["lag"]) == (policy is hysteresis)
    assert all("pause consumer-0 and consumer-1" in text for text in texts.values())
    assert "not drained by the end" in seen.ask("document.querySelector('#recovery svg.marks').textContent")
    assert seen.ask("window.evil") is None
    assert seen.complaints == []
    assert seen.requests == [path.as_uri()]
    assert seen.ask("document.documentElement.scrollWidth") <= width


def test_panels_are_as_wide_as_the_window_lets_them_be(make: Make, see: See) -> None:
    """Made smaller as a picture, their text could not be read; they are drawn again."""
    shrunk = """(() => {
        const drawing = document.querySelector("#recovery svg.marks");
        return drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
    })()"""
    seen = see(report(make(faulty)), width=1400)
    assert seen.ask(
        "Object.keys(JSON.parse(document.querySelector('#specs').textContent).figures.recovery.spec)"
    ).count("vconcat")
    assert seen.ask(shrunk) > 0.95
    seen.page.set_viewport_size({"width": 390, "height": 900})
    # Names at marks stand out to the right, and are given room.
    seen.wait(f"{shrunk} > 0.99")
    assert seen.complaints == []


def test_light_dark_and_print_have_their_colours(make: Make, see: See) -> None:
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


def test_every_figure_has_its_data_as_a_table(make: Make, see: See) -> None:
    """Made when somebody opens it, once."""
    seen = see(report(make()))
    button = seen.page.get_by_role("button", name="Table of Rates over time")
    assert seen.ask("document.querySelectorAll('#rates table').length") == 0
    for _ in range(3):
        button.click()
    assert seen.ask("document.querySelectorAll('#rates table').length") == 1
    rows = seen.ask("[...document.querySelectorAll('#rates tr')].map(row => row.innerText.split('\\t').slice(0, 3))")
    assert rows[:2] == [["s", "difference sent", "difference acked"], ["-2", "0", "0"]]
    assert len(rows) == 13


def evil(facts: Row, tables: Tables) -> None:
    facts |= {"name": EVIL, "reasons": [EVIL], "command": [EVIL], "versions": {EVIL: EVIL}, "machine": {EVIL: EVIL}}
    facts["topics"] = [{"id": number, "name": EVIL} for number in (0, 1)]
    facts["broker"] |= {"bootstrap": EVIL, "embedded": False}
    for row in (*tables["resources"], *tables["gc"]):
        row["process"] = EVIL


def test_nothing_that_came_from_outside_runs(make: Make, see: See) -> None:
    """Neither in the page nor in figures and their tables."""
    path = report(make(evil))
    seen = see(path)
    seen.unfold()
    for button in seen.page.get_by_role("button", name="Table of").all():
        button.click()
    assert seen.ask("document.querySelectorAll('td').length") > 100
    assert EVIL in seen.ask("document.querySelector('#gc table').innerText")
    assert seen.ask("window.evil") is None
    assert seen.requests == [path.as_uri()]
    assert seen.complaints == []
