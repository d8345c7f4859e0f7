"""A page of all runs: which belong together, what is told of them, and that nothing from outside means anything."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.report.runs import RunRow, read_run
from streamgauge.report.site.categories import categories
from streamgauge.report.site.found import FoundRun, groups_of
from streamgauge.report.site.pages import Site, site_of
from streamgauge.report.site.trends import change_sentence, trend_figure, trend_of
from streamgauge.report.site.writing import LIST, is_site, write_site
from streamgauge.result import Result

P99 = "latency.end_to_end.response.p99_ms"
EVIL = "</script><script>window.evil = 1</script><img src=x onerror='window.evil = 2'>"
FOLDER = Path("my runs")

Document = dict[str, Any]
Made = Callable[..., FoundRun]


@pytest.fixture
def made(healthy_result: Document) -> Made:
    """A maker of runs: `made(3, p99=12.0, size=64)`, where later numbers are later runs."""

    def make(number: int, **changes: Any) -> FoundRun:
        document = changed(healthy_result, number, **changes)
        content = json.dumps(document).encode()
        row, result = read_run("run", json.dumps(document["run"]).encode(), content)
        return FoundRun(f"e/run-{number}", row, result, changes.get("has_report", False))

    return make


def changed(original: Document, number: int, **changes: Any) -> Document:
    document = deepcopy(original)
    run, trust = document["run"], document["trust"]
    del run["profile"]
    run |= {"id": f"run-{number}", "created": f"2026-01-01T00:{number:02}:00Z", "name": changes.get("name", "baseline")}
    run["scenario"]["load"]["size"] = changes.get("size", 512)
    run["scenario"] |= changes.get("scenario", {})
    run["machine"] = {"processor": changes.get("processor", "P"), "usable_cores": 2}
    run["versions"]["streamgauge"] = changes.get("version", "1")
    value = changes.get("p99", 10.0 + number % 3)
    because = [] if changes.get("trust", "believed") == "believed" else ["it was late"]
    trust[P99] |= {
        "value": value, "low": changes.get("low", value), "high": value, "trust": changes.get("trust", "believed"),
        "because": because,
    }  # fmt: skip
    return document


def result(run: FoundRun) -> Result:
    assert run.result is not None
    return run.result


def data_of(site: Site) -> Document:
    text = site.texts["data.js"]
    assert text.startswith("const site = ")
    found: Document = json.loads(text.removeprefix("const site = ").removesuffix(";\n"))
    return found


def test_runs_of_equal_settings_and_machine_belong_together(made: Made) -> None:
    runs = [made(3), made(1), made(2, size=64), made(4, processor="Q"), made(5, name="a")]

    found = [(each.scenario, each.setting, each.machine, [run.path for run in each.runs]) for each in groups_of(runs)]

    assert found == [
        ("a", "", "P, 2 cores", ["e/run-5"]),
        ("baseline", "size=512", "P, 2 cores", ["e/run-1", "e/run-3"]),
        ("baseline", "size=64", "P, 2 cores", ["e/run-2"]),
        ("baseline", "size=512", "Q, 2 cores", ["e/run-4"]),
    ]


def test_settings_of_which_many_differ_are_named_by_what_few_have(made: Made) -> None:
    many = {"verify": "off", "lag": {"every": "3s"}, "topic": {"partitions": 3}, "seed": 5}
    runs = [made(1), made(2), made(3, scenario=many, size=64)]

    assert [each.setting for each in groups_of(runs)] == [
        "usual settings", "partitions=3, size=64, verify=off, 1 more",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("scenarios", "expected"),
    [
        ([{}], ["baseline"]),
        ([{"load": {"size": 64}}, {"load": {"size": 128}}], ["message-size", "message-size"]),
        ([{"load": {"size": 64, "client": {"acks": "1"}}}, {"load": {"size": 64}}], ["acks", "acks"]),
        ([{"load": {"rate": "max"}}], ["other"]),
        ([{"consume": "off"}], ["other"]),
        ([{"consume": {"processing": {"delay": "1ms"}}}], ["lag-recovery"]),
        ([{"load": {"rate": {"burst": {"base": "1k/s", "burst": "5k/s", "for": "1s", "every": "5s"}}}}], ["bursty"]),
        ([{"backpressure": {"credit": {"limit": 100}}}], ["backpressure"]),
    ],
)
def test_the_category_follows_from_what_a_run_does(made: Made, scenarios: list[Document], expected: list[str]) -> None:
    runs = [result(made(number, scenario=each)).run for number, each in enumerate(scenarios)]

    assert categories(runs) == expected


def series(made: Made, *, spoilt: int | None = None) -> list[FoundRun]:
    """Two levels of eight runs; the second came with a version."""
    low = [made(number) for number in range(8)]
    high = [made(number, p99=2 * (10.0 + number % 3), version="2") for number in range(8, 16)]
    runs = [*low, *high]
    if spoilt is not None:
        runs[spoilt] = made(spoilt, p99=900.0, trust="not_believed")
    return runs


def test_a_change_is_told_with_the_version_that_came_with_it(made: Made) -> None:
    trend = trend_of(groups_of(series(made))[0])

    assert trend is not None
    (change,) = trend.changes
    assert change_sentence(trend, change) == (
        "baseline: end-to-end response p99 from 10.8 to 21.9 ms, 2.02 times as much, from 2026-01-01 00:08:00 UTC on; "
        "new since the run before: Streamgauge 2"
    )
    figure = trend_figure(trend, "t")
    assert figure.nothing_new is None
    assert figure.data["t_versions"] == [{"at": 8.5, "version": "Streamgauge 2"}]
    assert [(each["from"], each["to"]) for each in figure.data["t_levels"]] == [(0.5, 8.5), (8.5, 16.5)]


def test_what_is_not_believed_takes_no_part_and_is_counted(made: Made) -> None:
    trend = trend_of(groups_of(series(made, spoilt=4))[0])

    assert trend is not None
    assert [each.first.run.id for each in trend.changes] == ["run-8"]
    figure = trend_figure(trend, "t")
    assert [row["run"] for row in figure.data["t"] if row["state"] == "left out"] == [5]
    assert "1 hollow: not believed or not finished" in figure.about


@pytest.mark.parametrize(
    ("count", "expected"),
    [(1, "1 run; a change is looked for from 12 on"), (11, "11 runs; a change is looked for from 12 on"),
     (12, "no change shown in 12 runs")],
)  # fmt: skip
def test_where_nothing_changed_the_figure_is_a_sentence(made: Made, count: int, expected: str) -> None:
    trend = trend_of(groups_of([made(number) for number in range(count)])[0])

    assert trend is not None
    figure = trend_figure(trend, "t")
    assert (figure.missing or figure.nothing_new) == expected


def test_the_data_have_value_interval_and_doubt_of_each_figure(made: Made) -> None:
    runs = [made(1, p99=6.4), made(2, p99=6.4, low=5.0, trust="bounded"), made(3, p99=6.4, trust="not_believed")]
    found = data_of(site_of(FOLDER, runs))["runs"]

    assert [run["path"] for run in found] == ["e/run-3", "e/run-2", "e/run-1"]
    assert [run["figures"][P99] for run in found] == [
        [6.4, "6.40", "", "it was late"], [6.4, "6.40", "5.00 to 6.40", None], [6.4, "6.40", "", None],
    ]  # fmt: skip


def test_a_run_without_report_says_how_to_write_it(made: Made) -> None:
    lost = FoundRun("a#b/c", RunRow("c", verdict="not readable", faults=("run.json is missing",)))
    bare = FoundRun("d", RunRow("d"))
    found = {
        run["path"]: run for run in data_of(site_of(FOLDER, [made(1), made(2, has_report=True), lost, bare]))["runs"]
    }

    assert found["e/run-1"]["hint"] == "streamgauge report 'my runs/e/run-1'"
    assert (found["e/run-2"]["hint"], found["e/run-2"]["report"]) == (None, "runs/e/run-2/report.html")
    assert (found["a#b/c"]["hint"], found["a#b/c"]["result"]) == (None, None)
    assert found["a#b/c"]["faults"] == ["run.json is missing"]
    assert found["d"]["hint"] == "streamgauge analyse 'my runs/d'"


def test_addresses_are_those_of_files(made: Made) -> None:
    run = made(1, has_report=True)
    odd = FoundRun("100%/a#b?\udcff", run.row, run.result, has_report=True)

    assert data_of(site_of(FOLDER, [odd]))["runs"][0]["report"] == "runs/100%25/a%23b%3F%FF/report.html"


def test_what_comes_from_outside_is_text(made: Made) -> None:
    runs = [
        FoundRun(EVIL, each.row, each.result) for each in (made(1, name=EVIL, processor=EVIL), made(2, version=EVIL))
    ]
    site = site_of(Path(EVIL), runs)

    for name in ("index.html", "trends.html"):
        assert "<img src=x" not in site.texts[name]
        assert "<script>window.evil" not in site.texts[name]


def test_the_same_runs_make_the_same_pages(made: Made) -> None:
    runs = series(made)

    assert site_of(FOLDER, runs) == site_of(FOLDER, list(runs))


def test_an_earlier_page_is_updated(tmp_path: Path) -> None:
    """What it had, and this one has not, goes; what nobody listed stays."""
    source = tmp_path / "report.html"
    source.write_text("one")
    out = tmp_path / "site"
    write_site(out, {"index.html": "a", "old.html": "b"}, {"runs/x/report.html": source})
    (out / "mine.txt").touch()
    assert is_site(out)

    write_site(out, {"index.html": "\ud800c"}, {"runs/y/report.html": source})

    left = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert left == ["index.html", "mine.txt", "runs/y/report.html", LIST]
    assert not (out / "runs" / "x").exists()
    assert (out / "index.html").read_text() == "?c"


@pytest.mark.parametrize("listed", ["{}", '{"site": 1, "files": ["../gone"]}', '{"site": 1, "files": ["/gone"]}', "["])
def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path, listed: str) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / LIST).write_text(listed)
    (tmp_path / "gone").touch()

    with pytest.raises(BadInput, match="is not empty, and no page of runs"):
        write_site(out, {"index.html": ""}, {})
    with pytest.raises(BadInput, match="is a file"):
        write_site(tmp_path / "gone", {"index.html": ""}, {})
    assert (tmp_path / "gone").exists()


@pytest.mark.e2e
def test_a_browser_filters_sorts_and_compares_from_disk(made: Made, tmp_path: Path, see: Callable[..., Any]) -> None:
    """Without a request for anything but the two files of the page, and also on a phone."""
    runs = [*series(made, spoilt=4), FoundRun(EVIL, RunRow("x", verdict="not readable", faults=(EVIL,)))]
    write_site(tmp_path, site_of(Path(EVIL), runs).texts, {})
    index, trends = tmp_path / "index.html", tmp_path / "trends.html"
    seen = see(index)
    rows = "[...document.querySelectorAll('#table tbody tr')].filter(row => !row.hidden)"
    shown = f"{rows}.map(row => row.cells[1].innerText)"
    assert len(seen.ask(shown)) == 17
    seen.page.get_by_label("verdict").select_option("VALID")
    assert seen.page.locator("#counted").inner_text() == f"{len(seen.ask(shown))} of 17 shown"
    seen.page.get_by_role("button", name="p99, ms").focus()
    seen.page.keyboard.press("Enter")
    assert seen.ask(shown)[:3] == ["e/run-6", "e/run-3", "e/run-0"]
    seen.page.get_by_role("checkbox", name="Tick e/run-0").check()
    seen.page.get_by_role("checkbox", name="Tick e/run-9").press("Space")
    beside = seen.page.locator("#ticked tr", has_text="end-to-end response p99, ms").inner_text()
    assert beside.split("\t")[1:] == ["10.0", "20.0\n2.00 x"]
    assert "streamgauge report" in seen.page.locator("#ticked").inner_text()
    assert (seen.complaints, seen.requests) == ([], [index.as_uri(), (tmp_path / "data.js").as_uri()])
    for path in (index, trends):
        seen = see(path, width=390)
        seen.unfold()
        assert seen.ask("[window.evil ?? null, document.documentElement.scrollWidth <= 390]") == [None, True]
        assert seen.ask("document.documentElement.dataset.figures") == "drawn"
        assert seen.complaints == []
