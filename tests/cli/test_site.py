"""The command `site`: which runs it finds, what it copies, and what it refuses."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import changed
from tests.report.test_moving import with_buckets
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.domain.errors import BadInput
from streamgauge.report.assemble.result import write_result
from streamgauge.report.site.writing import is_site


def said(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["site", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refused(*arguments: str | Path) -> str:
    with pytest.raises(BadInput) as caught:
        CliRunner().invoke(app, ["site", *map(str, arguments)], catch_exceptions=False)
    return str(caught.value)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with a run that has report and CSV, one in an experiment, and one that is damaged."""
    root = tmp_path / "runs"
    for path in (root / "a", root / "exp" / "runs" / "b"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_result(changed(path))
    (root / "exp" / "experiment.json").write_text("{}")
    (root / "a" / "report.html").write_text("report")
    (root / "a" / "csv").mkdir()
    (root / "a" / "csv" / "latency.csv").write_text("s\n")
    (root / "c").mkdir()
    (root / "c" / "run.json").write_text("{")
    return root


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_runs_below_a_folder_are_found(runs: Path, tmp_path: Path) -> None:
    """Those of experiments, too; what cannot be read is told with its reason."""
    told: dict[str, Any] = json.loads(said(runs, "--out", tmp_path / "site", "--json"))

    assert (told["runs"], told["changes"]) == (3, [])
    assert told["not_readable"] == [{"run": "c", "faults": ["run.json has unexpected content: it is not JSON"]}]
    assert set(files(tmp_path / "site")) == {
        "index.html", "data.js", "trends.html", "site.json",
        "runs/a/result.json", "runs/a/report.html", "runs/exp/runs/b/result.json",
    }  # fmt: skip
    text = said(runs, "--out", tmp_path / "site")
    assert "not readable: c: run.json has unexpected content: it is not JSON" in text


def test_the_report_of_an_experiment_is_copied_and_linked(runs: Path, tmp_path: Path) -> None:
    """Of one that is met below the folder, and of the folder itself; the runs of another have nothing of it."""
    (runs / "exp" / "report.html").write_text("all runs together")

    said(runs, "--out", tmp_path / "site")
    found = files(tmp_path / "site")
    assert found["experiments/exp/report.html"] == b"all runs together"
    assert b'<a href="experiments/exp/report.html">report.html</a>' in found["index.html"]
    assert {run["path"]: run["around"] for run in data(tmp_path / "site")["runs"]} == {
        "a": None, "c": None,
        "exp/runs/b": {"name": "report of the experiment", "address": "experiments/exp/report.html"},
    }  # fmt: skip

    said(runs / "exp", "--out", tmp_path / "other")
    assert files(tmp_path / "other")["experiments/exp/report.html"] == b"all runs together"
    assert data(tmp_path / "other")["runs"][0]["around"]["address"] == "experiments/exp/report.html"


def data(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (folder / "data.js").read_text().removeprefix("const site = ").removesuffix(";\n")
    )
    return found


def test_percentiles_in_a_moving_window_are_a_script_of_each_run(runs: Path, tmp_path: Path) -> None:
    write_result(changed(runs / "long", with_buckets))

    said(runs, "--out", tmp_path / "site")

    found = files(tmp_path / "site")
    assert [name for name in found if name.endswith("moving.js")] == ["runs/long/moving.js"]
    assert found["runs/long/moving.js"].startswith(
        b'site.moving["long"] = {"label":"end-to-end response","s":[9,10,11]'
    )
    assert {run["path"]: run["moving"] for run in data(tmp_path / "site")["runs"]} == {
        "a": None, "c": None, "exp/runs/b": None, "long": "runs/long/moving.js",
    }  # fmt: skip


def test_the_runs_of_a_search_are_found_and_the_search_is_none(runs: Path, tmp_path: Path) -> None:
    """It has a result.json of its own, as an experiment has."""
    (runs / "exp" / "experiment.json").rename(runs / "exp" / "search.json")
    (runs / "exp" / "result.json").write_text('{"search": {}}')

    told: dict[str, Any] = json.loads(said(runs, "--out", tmp_path / "site", "--json"))

    assert [each["run"] for each in told["not_readable"]] == ["c"]
    assert "runs/exp/runs/b/result.json" in files(tmp_path / "site")


def test_the_same_runs_make_the_same_bytes_and_others_update_them(runs: Path, tmp_path: Path) -> None:
    """Also of a page that stands among its runs, whose copies are none."""
    out = runs / "site"
    said(runs, "--out", out)
    before = files(out)
    assert is_site(out)

    said(runs, "--out", out)
    assert files(out) == before

    (runs / "a" / "report.html").write_text("another report")
    said(runs, "--out", out, "--csv")
    assert files(out)["runs/a/report.html"] == b"another report"
    assert files(out)["runs/a/csv/latency.csv"] == b"s\n"


def test_a_single_run_is_a_page(runs: Path, tmp_path: Path) -> None:
    assert said(runs / "a", "--out", tmp_path / "site").startswith("1 run: ")
    assert "runs/a/report.html" in files(tmp_path / "site")


def test_a_folder_that_cannot_be_looked_into_is_told(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To root nothing is closed, so that the system is made to say it."""
    (runs / "closed").mkdir()
    scan = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert "not readable: closed: cannot be read: Permission denied" in said(runs, "--out", tmp_path / "site")


def test_what_cannot_be_used_is_refused_with_the_remedy(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert refused(tmp_path / "none").endswith("there is no such folder. Name a folder with runs")
    assert refused(tmp_path / "empty").endswith("there is no run in it. Name a folder with runs")
    assert "is not empty, and no page of runs" in refused(runs, "--out", runs / "exp")
    assert "no run has this figure" in refused(runs, "--out", tmp_path / "site", "--metric", "latency.none")
    assert not (tmp_path / "site").exists()
