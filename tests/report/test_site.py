"""A page of all runs: which belong together, what is told of them, and that nothing from outside means anything."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.report.conftest import Make
from tests.report.test_moving import with_buckets

from streamgauge.domain.errors import BadInput
from streamgauge.report.runs import RunRow, read_run
from streamgauge.report.site.categories import categories
from streamgauge.report.site.found import FoundMany, FoundRun, groups_of
from streamgauge.report.site.moving import MovingLatency, moving_latency
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


def test_imported_runs_are_told_by_their_settings(made: Made) -> None:
    """Their scenarios have settings of a load, their profiles have none."""
    runs = [result(made(size, size=size)).run for size in (64, 128)]
    imported = [run.model_copy(update={"profile": run.profile.model_copy(update={"load": None})}) for run in runs]

    assert categories(imported) == ["message-size", "message-size"]


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


def moving(*p99: float | None) -> MovingLatency:
    seconds = range(9, 9 + len(p99))
    return MovingLatency("end-to-end response", seconds, {"p50": p99, "p99": p99, "p99_9": [None] * len(p99)})


def test_a_run_has_a_script_with_its_percentiles_over_time(made: Made) -> None:
    """Plain JSON beside its path, which is loaded when somebody looks at the run."""
    run, bare = made(1), made(2)
    site = site_of(FOLDER, [replace(run, path=EVIL, moving=moving(5.0, None)), bare])

    ((name, text),) = [(name, text) for name, text in site.texts.items() if name.endswith("moving.js")]
    assert name == f"runs/{EVIL}/moving.js"
    assert text == (
        f'site.moving[{json.dumps(EVIL)}] = {{"label":"end-to-end response","s":[9,10],"p50":[5.0,null],'
        '"p99":[5.0,null],"p99_9":[null,null]};\n'
    )
    found = {run["path"]: run["moving"] for run in data_of(site)["runs"]}
    assert found == {EVIL: f"runs/{quote(EVIL)}/moving.js", "e/run-2": None}
    assert data_of(site)["moving"] == {}


def test_the_moving_window_is_that_of_the_report(make: Make) -> None:
    """A run without a full window has none, nor has one whose table cannot be read."""
    found = moving_latency(make(with_buckets))
    assert found is not None
    assert (found.label, list(found.seconds)) == ("end-to-end response", [9, 10, 11])
    assert list(found.ms["p99"]) == [
        pytest.approx(50, rel=0.005),
        pytest.approx(50, rel=0.005),
        pytest.approx(5, rel=0.005),
    ]
    # A window has too few messages for it.
    assert found.ms["p99_9"] == [None] * 3

    folder = make()
    assert moving_latency(folder) is None
    folder.table("latency_buckets").write_bytes(b"")
    assert moving_latency(folder) is None


def test_of_a_long_run_a_point_is_the_worst_of_several_seconds(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour of seconds is more than a small figure shows."""
    rows = [
        {"metric": "ack_service", "second": second, "count": 10_000, "p50": 1.0, "p99": float(second), "p99_9": None}
        for second in range(9, 3_600)
    ]
    monkeypatch.setattr("streamgauge.report.site.moving.moving_rows_of", lambda _: rows)
    found = moving_latency(make(with_buckets))
    assert found is not None
    assert (found.label, list(found.seconds)[:3], len(found.seconds)) == ("ack service", [9, 15, 21], 599)
    assert found.ms["p99"][:2] == [14.0, 20.0]
    assert found.ms["p99"][-1] == 3_599.0


def test_experiments_are_listed_with_their_reports(made: Made) -> None:
    run = made(1)
    many = FoundMany("e#1", "search", (run.path,), ("report.html", "summary.md"))
    site = site_of(FOLDER, [run, made(2)], experiments=[many])

    index = site.texts["index.html"]
    assert '<td>e#1</td><td>search</td><td class="n">1</td>' in index
    assert '<a href="experiments/e%231/report.html">report.html</a>' in index
    assert '<a href="experiments/e%231/summary.md">summary.md</a>' in index
    found = {run["path"]: run["around"] for run in data_of(site)["runs"]}
    assert found == {
        "e/run-1": {"name": "report of the search", "address": "experiments/e%231/report.html"}, "e/run-2": None,
    }  # fmt: skip
    assert 'id="experiments"' not in site_of(FOLDER, [run]).texts["index.html"]


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
    assert seen.ask("document.querySelectorAll('#drawn .lines').length") == 2
    for path in (index, trends):
        seen = see(path, width=390)
        seen.unfold()
        assert seen.ask("[window.evil ?? null, document.documentElement.scrollWidth <= 390]") == [None, True]
        assert seen.ask("document.documentElement.dataset.figures") == "drawn"
        assert seen.complaints == []


@pytest.mark.e2e
def test_ticked_runs_are_drawn_over_each_other(made: Made, tmp_path: Path, see: Callable[..., Any]) -> None:
    """What a run's own script has is loaded when it is ticked, and once; also on a phone."""
    name = "odd #1 %/run"
    runs = [
        replace(made(1, p99=10.0), path=name, moving=moving(5.0, 6.0, None, 9.0)),
        replace(made(2, p99=20.0, trust="not_believed"), moving=moving(7.0)), made(3),
    ]  # fmt: skip
    write_site(tmp_path, site_of(FOLDER, runs).texts, {})
    index = tmp_path / "index.html"
    for width in (1280, 390):
        seen = see(index, width=width)
        assert seen.ask("document.querySelectorAll('#drawn > *').length") == 0
        for each in (name, "e/run-2", "e/run-3"):
            seen.page.get_by_role("checkbox", name=f"Tick {each}").check()
        seen.wait("Object.keys(site.moving).length === 2")
        seen.page.get_by_role("checkbox", name=f"Tick {name}").uncheck()
        seen.page.get_by_role("checkbox", name=f"Tick {name}").check()
        texts = seen.ask("[...document.querySelectorAll('#drawn figure')].map(each => each.innerText)")
        assert "Percentiles, end-to-end response, ms" in texts[0]
        assert f"{name}, end-to-end response: 5 to 9 ms" in texts[1]
        assert "e/run-2, end-to-end response: 7 ms" in texts[1]
        assert "e/run-3: not known" in texts[1]
        # A line that is broken where nothing is known; a single point is a mark.
        lines = "[...document.querySelectorAll('#drawn figure:last-child > svg .drawn')]"
        steps = seen.ask(f"{lines}.map(each => each.getAttribute('d').replace(/[^ML]/g, ''))")
        assert sorted(steps) == ["", "M", "MLM"]
        assert seen.ask("document.querySelectorAll('#drawn figure:last-child > svg circle').length") == 2
        assert seen.ask("document.querySelectorAll('#drawn figure:first-child circle.hollow').length") == 1
        seen.page.get_by_label("Percentile in the moving window").select_option("p99.9")
        assert "e/run-2, end-to-end response: not known" in seen.page.locator("#drawn").inner_text()
        assert seen.ask("document.activeElement.value") == "p99_9"
        assert seen.ask("document.documentElement.scrollWidth") <= width
        scripts = [f"runs/{quote(each)}/moving.js" for each in (name, "e/run-2")]
        assert seen.requests == [f"{tmp_path.as_uri()}/{each}" for each in ("index.html", "data.js", *scripts)]
        assert seen.complaints == []
        seen.page.get_by_role("button", name="Untick all").click()
        assert seen.ask("document.querySelectorAll('#drawn > *').length") == 0
