"""The command `compare`: which folders it takes, and what it says where there is nothing to be compared."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.report.conftest import Row, Tables, changed
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.domain.errors import BadInput
from streamgauge.report.assemble.result import write_result

Made = Callable[[str, int], Path]


def said(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["compare", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refused(*arguments: str | Path) -> str:
    with pytest.raises(BadInput) as caught:
        CliRunner().invoke(app, ["compare", *map(str, arguments)], catch_exceptions=False)
    return str(caught.value)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A maker of analysed runs of so many bytes a message: `made("a/1", 512)`."""

    def make(name: str, size: int) -> Path:
        def sized(facts: Row, _tables: Tables) -> None:
            facts["id"] = name.replace("/", "-")
            facts["scenario"]["load"]["size"] = size

        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write_result(changed(tmp_path / name, sized))
        return tmp_path / name

    return make


def test_runs_of_a_folder_are_compared_by_their_settings(made: Made, tmp_path: Path) -> None:
    for number in range(2):
        made(f"runs/{number}", 512)
        made(f"runs/{number + 2}", 64)
    (tmp_path / "runs" / "notes").mkdir()

    found = json.loads(said(tmp_path / "runs", "--json"))
    assert [(each["name"], len(each["runs"])) for each in found["variants"]] == [("size=512", 2), ("size=64", 2)]
    assert "too few runs for a verdict: 3 more of each" in found["metrics"][0]["comparisons"][0]["because"]
    assert said(tmp_path / "runs").startswith("2 variants, 4 runs; compared with size=512\n")
    assert said(tmp_path / "runs", "--markdown").startswith("**2 variants, 4 runs; compared with size=512**\n")


def test_runs_of_a_search_are_compared_by_its_folder(made: Made, tmp_path: Path) -> None:
    made("search/runs/1", 512)
    made("search/runs/2", 64)
    (tmp_path / "search" / "search.json").write_text("{}")
    (tmp_path / "search" / "result.json").write_text('{"search": {}}')
    assert said(tmp_path / "search").startswith("2 variants, 2 runs; ")


def test_single_runs_and_folders_can_be_given_together(made: Made) -> None:
    before, after = made("before", 512), made("after/1", 512).parent
    assert said(before, after, before).startswith("2 variants, 2 runs; compared with before\n")


def test_folders_of_the_same_name_are_two_variants(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("old", "new"):
        (tmp_path / place).mkdir()
        made(f"{place}/run", 512)
    found = json.loads(said(tmp_path / "old/run", tmp_path / "new/run", "--json"))
    assert [each["name"] for each in found["variants"]] == ["old/run", "new/run"]
    monkeypatch.chdir(tmp_path / "old")
    found = json.loads(said(".", "../new", "--json"))
    assert [each["name"] for each in found["variants"]] == ["old", "new"]


def test_all_that_is_wrong_is_said_at_once(made: Made, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    broken = made("broken", 512)
    (broken / "result.json").write_text("{", encoding="utf-8")
    text = refused(tmp_path / "missing", tmp_path / "empty", broken)
    assert "missing: there is no such folder" in text
    assert "empty: there is no analysed run in it. Name a run folder" in text
    assert "result.json: " in text


def test_a_run_that_was_not_analysed_says_what_to_do(made: Made) -> None:
    run = made("run", 512)
    (run / "result.json").unlink()
    assert refused(run, run).endswith("Analyse the run again")


@pytest.mark.parametrize("count", [1, 2])
def test_runs_of_one_variant_are_nothing_to_compare(made: Made, tmp_path: Path, count: int) -> None:
    for number in range(count):
        made(f"runs/{number}", 512)
    assert "measured alike, so there is nothing to compare" in refused(tmp_path / "runs")


def test_a_figure_that_no_run_has_is_refused_and_one_that_is_named(made: Made) -> None:
    runs = [made("a", 512), made("b", 64)]
    text = refused(*runs, "--metric", "latency.p99")
    assert text == (
        "--metric latency.p99: no run has this figure. Use a number of result.json, as in: --metric "
        "latency.end_to_end.response.p99_ms"
    )
    found = json.loads(said(*runs, "--metric", "throughput.sent_per_second", "--json"))
    assert [each["path"] for each in found["metrics"] if each["is_primary"]] == ["throughput.sent_per_second"]


def test_it_is_json_or_markdown(made: Made) -> None:
    assert refused(made("a", 1), "--json", "--markdown").startswith("--json: cannot be combined with --markdown")


def test_the_table_of_another_tool_is_also_that_of_a_single_variant(made: Made, tmp_path: Path) -> None:
    head, first = said(made("=a/1", 64).parent, "--table", "mqperf", "--csv").splitlines()
    assert head == (
        'threads,sender nodes,receiver nodes,send msgs/s,receive msgs/s,"processing p95, ms",'
        '"send p95, ms","processing p95 in buckets, ms","send p95 in buckets, ms",batch,runs,variant'
    )
    assert first.endswith(",1,'=a")
    assert said(made("b", 64), "--table", "mqperf").splitlines()[-1].endswith("  -      1")
    assert said(tmp_path / "=a", tmp_path / "b", "--table", "mqperf").splitlines()[-1].endswith(" b")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--table", "kmq"), "--table kmq: no such table. Known: mqperf"),
        (("--csv",), "--csv: is a form of --table. Add --table mqperf"),
        (("--table", "mqperf", "--json"), "--json: cannot be combined with --table. Use one of them"),
    ],
)
def test_a_table_has_its_own_forms(made: Made, options: tuple[str, ...], expected: str) -> None:
    assert refused(made("a", 64), *options) == expected


def test_a_comparison_is_also_a_page(made: Made, tmp_path: Path) -> None:
    page = tmp_path / "sizes.html"
    said(made("a/1", 512), made("b/1", 64), "--html", page)
    assert "<title>Comparison: sizes - Streamgauge</title>" in page.read_text()
    assert "--html" in refused(tmp_path / "a/1", tmp_path / "b/1", "--html", tmp_path)


def test_compression_ratios_are_drawn_in_the_page(made: Made, tmp_path: Path) -> None:
    page, ratios = tmp_path / "page.html", tmp_path / "ratios.json"
    runs = [made("a/1", 512), made("b/1", 64)]
    ratios.write_text(json.dumps([{"payload": "json", "codecs": [{"codec": "lz4", "batch_ratio": 14.6}]}]))
    said(*runs, "--html", page, "--compression", ratios)
    assert "Compression by payload" in page.read_text()
    assert refused(*runs, "--compression", ratios) == "--compression: is drawn in the page only. Add --html FILE"
    ratios.write_text("[1]")
    assert "has no compression ratios. Write it with" in refused(*runs, "--html", page, "--compression", ratios)


def test_a_latex_table_is_also_that_of_a_single_variant(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "my sizes.tex"
    said(made("a/1", 512).parent, "--latex", file)
    assert "\\label{tab:my-sizes}" in file.read_text()
    assert "--latex" in refused(tmp_path / "a", "--latex", tmp_path)
