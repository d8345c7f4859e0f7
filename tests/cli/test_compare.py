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

        (tmp_path / name).parent.mkdir(exist_ok=True)
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


def test_single_runs_and_folders_can_be_given_together(made: Made) -> None:
    before, after = made("before", 512), made("after/1", 512).parent
    assert said(before, after, before).startswith("2 variants, 2 runs; compared with before\n")


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


def test_a_comparison_is_also_a_page(made: Made, tmp_path: Path) -> None:
    page = tmp_path / "sizes.html"
    said(made("a/1", 512), made("b/1", 64), "--html", page)
    assert "<title>Comparison: sizes - Streamgauge</title>" in page.read_text()
    assert "--html" in refused(tmp_path / "a/1", tmp_path / "b/1", "--html", tmp_path)
