"""Figures over time in a browser: one crosshair and one zoom for all of them, and a tooltip wherever one points."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import Make, changed, faulty
from tests.report.seen import See, Seen, phased, report

pytestmark = pytest.mark.e2e

OVER_TIME = ["rates", "latency", "lag", "cpu"]


@pytest.fixture(scope="module", name="path")
def _path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with faults."""
    return report(changed(tmp_path_factory.mktemp("time") / "run", faulty, phased))


def crosses(seen: Seen) -> dict[str, float]:
    """How far from the left each crosshair is that can be seen."""
    found: dict[str, float] = seen.ask(
        """Object.fromEntries([...document.querySelectorAll(".cross")].filter(each => each.checkVisibility())
           .map(each => [each.closest("figure").id, each.getBoundingClientRect().left]))"""
    )
    return found


def tip(seen: Seen) -> str:
    """What the tooltip says; empty where there is none."""
    return str(
        seen.ask("document.querySelector('#tip').checkVisibility() ? document.querySelector('#tip').innerText : ''")
    )


def domains(seen: Seen) -> dict[str, Any]:
    """The least and the largest label of each time axis that has labels."""
    seconds = "seconds since the start"
    found: dict[str, Any] = seen.ask(
        f"""Object.fromEntries([...document.querySelectorAll("figure:has([data-drawn])")]
            .filter(each => each.querySelector("svg.marks").textContent.includes("{seconds}"))
            .map(each => {{
              const labels = [...each.querySelectorAll(".role-axis-label")][0].querySelectorAll("text");
              const shown = [...labels].filter(label => label.style.opacity !== "0" && label.textContent);
              const seconds = shown.map(label => Number(label.textContent.replace("\u2212", "-")));
              return [each.id, [Math.min(...seconds), Math.max(...seconds)]];
            }}))"""
    )
    return found


def test_a_crosshair_moves_in_all_figures_at_once(path: Path, see: See) -> None:
    """At the same second, at the same place of figures below each other; it goes when the pointer goes."""
    seen = see(path)
    seen.point("rates", 0.5)
    first = crosses(seen)
    assert set(first) >= set(OVER_TIME)
    assert len({round(first[name]) for name in OVER_TIME}) == 1
    seen.point("rates", 0.8)
    second = crosses(seen)
    assert all(second[name] > first[name] + 50 for name in OVER_TIME)
    seen.page.mouse.move(5, 5)
    assert crosses(seen) == {}
    assert tip(seen) == ""


@pytest.mark.parametrize("down", [0.02, 0.5, 0.98])
def test_a_tooltip_is_there_wherever_one_points(path: Path, see: See, down: float) -> None:
    """It snaps to the nearest second, and tells every series with its unit, and what was done."""
    seen = see(path)
    # The run lasts from -2 to 10: this is at second 4.4.
    seen.point("rates", 6.4 / 12, down)
    text = tip(seen).split("\n")
    assert text[0] == "second 4"
    assert "sent\t0\t%" in tip(seen)
    assert "received\t0\t%" in tip(seen)
    assert text[-1] == "pause consumer-0 and consumer-1"
    seen.point("rates", 0.02, down)
    assert tip(seen).startswith("second -2")


def test_a_tooltip_tells_what_is_not_known(path: Path, see: See) -> None:
    """With a dash, and never with the value of another second."""
    seen = see(path)
    # One lag sample of second 0.5 failed.
    seen.point("lag", 2.5 / 12)
    assert tip(seen).startswith("second 0.5\n")
    assert "committed lag\t-" in tip(seen)
    assert "outstanding\t" in tip(seen)


def test_what_is_dragged_over_is_shown_in_all_figures(path: Path, see: See) -> None:
    """The time axes of all, also of those that are drawn later; a double click shows the whole run again."""
    seen = see(path)
    before = domains(seen)
    assert before["ack-latency"] == [-2, 10]
    seen.drag("rates", 4 / 12, 9 / 12)
    seen.wait("document.documentElement.dataset.zoom")
    assert domains(seen)["ack-latency"] == [2, 7]
    assert seen.page.locator("#zoomed").inner_text().startswith("Seconds 2 to 7")
    seen.unfold()
    assert domains(seen)["schedule_delay"] == [2, 7]
    box = seen.plot("latency")
    seen.page.mouse.dblclick(box["x"] + 100, box["y"] + 50)
    seen.wait("!document.documentElement.dataset.zoom")
    assert domains(seen)["ack-latency"] == [-2, 10]
    assert not seen.page.locator("#zoomed").is_visible()


def test_nothing_is_drawn_outside_of_a_zoomed_plot(path: Path, see: See) -> None:
    """Lines and shades end at its edges."""
    seen = see(path)
    seen.drag("rates", 4 / 12, 9 / 12)
    seen.wait("document.documentElement.dataset.zoom")
    assert seen.ask("document.querySelectorAll('#rates svg [clip-path]').length") > 0


def test_keys_do_what_a_pointer_does(path: Path, see: See) -> None:
    """Arrows move, Enter begins and ends a zoom, Escape ends it; what is there is said to screen readers."""
    seen = see(path)
    chart = seen.page.locator("#rates .chart")
    chart.focus()
    for key in ("Home", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "ArrowLeft"):
        chart.press(key)
    said = seen.page.locator("#spoken").inner_text()
    assert said.startswith("second 8; sent 0 %; acked 0 %")
    assert set(crosses(seen)) >= set(OVER_TIME)
    chart.press("Home")
    for key in ("ArrowRight", "ArrowRight", "Enter", "ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        chart.press(key)
    seen.wait("document.documentElement.dataset.zoom")
    assert seen.ask("document.documentElement.dataset.zoom") == "0 3"
    chart.press("Escape")
    seen.wait("!document.documentElement.dataset.zoom")
    assert seen.complaints == []


def test_phases_are_named_and_the_plots_begin_below_each_other(make: Make, see: See) -> None:
    """Warm-up and drain by their names, above the plot, also where only a part of them is shown."""

    seen = see(report(make(faulty, partial(phased, drain_s=2))))
    texts = seen.ask("document.querySelector('#rates svg.marks').textContent")
    assert "warm-up" in texts
    assert "drain" in texts
    lefts = [round(seen.plot(name)["x"]) for name in OVER_TIME]
    assert len(set(lefts)) == 1
    rights = [round(seen.plot(name)["x"] + seen.plot(name)["width"]) for name in OVER_TIME]
    assert len(set(rights)) == 1


@pytest.mark.parametrize(("figure", "text"), [("percentiles", "ack response"), ("partition-load", "messages")])
def test_other_figures_have_tooltips_as_well(path: Path, see: See, figure: str, text: str) -> None:
    """By percentile, by partition: at what is nearest."""
    seen = see(path)
    seen.unfold()
    seen.point(figure, 0.4, 0.9)
    assert text in tip(seen)


def test_a_heat_map_tells_its_cells(path: Path, see: See) -> None:
    """Where one points at one; and the crosshair is there all the same."""
    seen = see(path)
    seen.point("heat", 0.5, 0.02)
    assert "share, %" in tip(seen)
    assert "rates" in crosses(seen)
