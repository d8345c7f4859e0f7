"""The page of a search: its answer, its runs, its figures, and that nothing from outside means anything in it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.searching import record_of

from streamgauge.experiments.search.record import SearchRecord, SearchStep
from streamgauge.report.search.figures import arrival_figure, objective_figure, search_figures, way_figure
from streamgauge.report.search.html import search_html
from streamgauge.report.search.markdown import search_markdown
from streamgauge.report.search.runs import run_table

EVIL = "</script><script>window.evil = 1</script><img src=x onerror='window.evil = 2'>"


@pytest.fixture
def record() -> SearchRecord:
    """A probe, a way up with a doubtful value, one that was interrupted, and a way down."""
    found = record_of((1000, "h"), (2000, "b"), (1414, "H"), (1414, "Bh"), (1500, "bb"), down="h", ending="narrow")
    for each in found.steps:
        each.target_per_second = each.acked_per_second = each.value
        each.received_per_second = (each.value or 0) * (0.9 if each.value == 2000 else 1.0)
        each.folder = f"run-{each.value:.0f}"
    probe = SearchStep(begun="", phase="probe", value=None, outcome="done", acked_per_second=2100.0, folder="probe")
    found.steps.insert(0, probe)
    found.steps.append(SearchStep(begun="", phase="down", value=1400.0, outcome="interrupted", reasons=["stopped"]))
    return found


def test_every_run_that_counts_is_a_point(record: SearchRecord) -> None:
    rows = objective_figure(record, 0).data["search_objective_1"]
    assert [(row["value"], row["series"], row["figure"], row["phase"]) for row in rows] == [
        (1000, "held", 10, "way up"),
        (2000, "did not hold", 50, "way up"),
        (1414, "held, doubtful", 10, "way up"),
        (1414, "did not hold, doubtful", 50, "way up"),
        (1414, "held", 10, "way up"),
        (1500, "did not hold", 50, "way up"),
        (1500, "did not hold", 50, "way up"),
        (1500, "held", 10, "way down"),
    ]
    # The probe was the first run.
    assert [row["number"] for row in rows] == list(range(2, 10))
    assert [row["tried"] for row in way_figure(record).data["search_way"]][:2] == ["1,000/s", "2,000/s"]


def test_the_bound_and_what_the_answer_lies_between_are_drawn(record: SearchRecord) -> None:
    figure = objective_figure(record, 0)
    assert figure.data["search_objective_1_bound"] == [{"limit": 20.0, "what": "p99 <= 20 ms", "concept": "target"}]
    # All runs of 1,000 held; one of 1,414 did not, and one of 1,500 held.
    assert figure.data["search_between"] == [{"from": 1000.0, "to": 2000.0}]
    assert "shaded" in figure.about


def test_what_cannot_be_told_is_no_end_of_the_answer() -> None:
    figure = objective_figure(record_of((1000, "h"), (1040, "UU"), (2000, "b")), 0)
    assert figure.data["search_between"] == [{"from": 1000.0, "to": 2000.0}]


@pytest.mark.parametrize("last", ["h", "UU"])
def test_without_an_upper_end_nothing_is_shaded(last: str) -> None:
    figure = objective_figure(record_of((1000, "h"), (2000, last)), 0)
    assert list(figure.data) == ["search_objective_1", "search_objective_1_bound"]
    assert "shaded" not in figure.about


def test_what_never_arrived_has_no_point_and_is_told(record: SearchRecord) -> None:
    record.steps[2].figures["p99 <= 20 ms"] = None
    figure = objective_figure(record, 0)
    assert len(figure.data["search_objective_1"]) == 7
    assert "1 run whose figure is infinite" in figure.about


@pytest.mark.parametrize(
    ("consume", "title"),
    [
        ({"consume": "off"}, "ack response p99, ms"),
        ({"consume": False}, "ack response p99, ms"),
        ({"consume": {"consumers": 2}}, "end-to-end response p99, ms"),
        ({}, "end-to-end response p99, ms"),
    ],
)
def test_a_percentile_alone_is_of_what_the_scenario_can_measure(consume: dict[str, Any], title: str) -> None:
    figure = objective_figure(record_of((1000, "h"), (2000, "b"), scenario={"name": "x", **consume}), 0)
    assert figure.spec()["layer"][-1]["encoding"]["y"]["title"] == title


@pytest.mark.parametrize(
    ("counts", "bound", "scale"),
    [([0, 0], 0, "linear"), ([0, 3], 0, "linear"), ([1, 3], 0, "linear"), ([1, 3], 2, "log")],
)
def test_figures_of_zero_are_points_too(counts: list[int], bound: int, scale: str) -> None:
    record = record_of((1000, "h"), (2000, "b"), objectives=[f"delivery.duplicate_consumer <= {bound}"])
    for each, count in zip(record.steps, counts, strict=True):
        each.figures = {record.objectives[0]: float(count)}
    figure = objective_figure(record, 0)
    assert [row["figure"] for row in figure.data["search_objective_1"]] == counts
    assert figure.spec()["layer"][-1]["encoding"]["y"]["scale"].get("type", "linear") == scale


def test_the_share_that_arrived_is_the_lesser_one(record: SearchRecord) -> None:
    rows = arrival_figure(record).data["search_arrived"]
    assert [row["share"] for row in rows] == [100, 90, *[100] * 6]


@pytest.mark.parametrize("place", range(3))
def test_a_search_without_runs_has_no_figures(place: int) -> None:
    figures = search_figures(record_of())
    assert len(figures) == 3
    assert figures[place].chart is None
    assert figures[place].missing


def test_each_objective_has_a_figure_and_a_column(record: SearchRecord) -> None:
    record.objectives.append("throughput.acked_per_second >= 500")
    for each in record.steps[1:]:
        each.figures["throughput.acked_per_second >= 500"] = each.acked_per_second or 0
    names = [each.name for each in search_figures(record)]
    assert names == ["search-objective-1", "search-objective-2", "search-way", "search-arrived"]
    assert objective_figure(record, 1).spec()["layer"][-1]["encoding"]["y"]["title"] == "acked rate, /s"
    heads, rows = run_table(record)
    assert heads[4:7] == ["load.rate", "p99 <= 20 ms", "throughput.acked_per_second >= 500"]
    assert rows[1] == ["run-1000", "way up", "held", "", "1,000/s", "10.0", "1,000", "1,000/s", "1,000/s"]


def test_every_run_is_a_line_of_the_table(record: SearchRecord) -> None:
    rows = run_table(record)[1]
    assert rows[0] == ["probe", "unthrottled", "", "", "", "", "2,100/s", ""]
    assert rows[-1][:5] == ["", "way down", "interrupted", "stopped", "1,400/s"]
    assert len(rows) == len(record.steps)


def test_the_page_says_what_was_found_and_asked(record: SearchRecord) -> None:
    page = search_html(record)
    for text in (
        "Highest load.rate that held: 1,414/s", "Lowest that did not: 1,500/s", "run-1414", "10 runs of 10 s or longer",
        "streamgauge search", "name: x",
    ):  # fmt: skip
        assert text in page


def test_a_staircase_has_a_page() -> None:
    found = record_of(staircase={})
    for share in (5, 6):
        each = SearchStep(begun="", phase="step", value=100.0 * share, outcome="done", held=share < 6, reached=True)
        each.objectives, each.figures = {"p99 <= 20 ms": share < 6}, {"p99 <= 20 ms": 10.0 * share}
        found.steps.append(each)
    assert len(objective_figure(found, 0).data["search_objective_1"]) == 2
    assert "The high bound is not known yet." in search_html(found)


def test_what_comes_from_outside_is_text(record: SearchRecord) -> None:
    record.name, record.command, record.steps[1].reasons = EVIL, [EVIL], [EVIL]
    record.scenario["name"] = EVIL
    page = search_html(record)
    assert "<img src=x" not in page
    assert "<script>window.evil" not in page
    assert r"</script>\<img" in search_markdown(record)
    assert "<script>" not in search_markdown(record).replace(r"\<", "")


def test_markdown_has_the_answer_and_every_run(record: SearchRecord) -> None:
    text = search_markdown(record)
    answer = "- **Highest load.rate that held: 1,414/s (p99 \\<= 20 ms)**"
    assert text.startswith(f"## Search: search-x\n\n{answer}")
    assert len([line for line in text.splitlines() if line.startswith("| ")]) == len(record.steps) + 2


@pytest.mark.e2e
def test_a_browser_draws_every_figure_and_asks_nobody(
    record: SearchRecord, tmp_path: Path, see: Callable[..., Any]
) -> None:
    path = tmp_path / "report.html"
    record.name = EVIL
    path.write_text(search_html(record), encoding="utf-8")
    for width in (1100, 390):
        seen = see(path, width=width)
        assert seen.complaints == []
        assert seen.requests == [path.as_uri()]
        assert seen.ask("document.documentElement.dataset.figures") == "drawn"
        assert seen.ask("window.evil") is None
        assert seen.ask("document.documentElement.scrollWidth") <= width
        drawn = seen.ask("[...document.querySelectorAll('[data-figure]')].map(each => each.dataset.figure)")
        assert drawn == ["search-objective-1", "search-way", "search-arrived"]
