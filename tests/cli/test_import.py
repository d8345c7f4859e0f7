"""`streamgauge import` and `export`, as a user calls them."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.foreign.results.given import SAMPLES
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.cli.results.imported import import_files
from streamgauge.domain.errors import BadInput

RUNNER = CliRunner()


def test_a_result_becomes_a_run_and_goes_out_again(tmp_path: Path) -> None:
    """The run folder has all that a run has, and the file that it is of."""
    sample = SAMPLES / "omb.json"
    given = RUNNER.invoke(app, ["import", str(sample), "--out", str(tmp_path / "runs"), "--json", "--quiet"])
    [told] = json.loads(given.stdout)
    run = Path(told["run"])

    assert (given.exit_code, told["verdict"]) == (0, "IMPORTED, NOT JUDGED")
    assert {"run.json", "result.json", "report.html", "summary.md", "tables", "csv"} <= {p.name for p in run.iterdir()}
    assert (run / "imported" / "omb.json").read_bytes() == sample.read_bytes()

    given = RUNNER.invoke(app, ["export", str(run), "--as", "omb", "--out", str(tmp_path / "out"), "--quiet"])
    assert given.exit_code == 0
    assert json.loads(Path(given.stdout.strip()).read_text())["publishRate"] == [9990.0, 10010.0, 10000.0]

    listed = RUNNER.invoke(app, ["runs", str(tmp_path / "runs"), "--json"])
    assert json.loads(listed.stdout)[0]["verdict"] == "IMPORTED, NOT JUDGED"


def test_an_imported_run_has_no_rows_to_analyse(tmp_path: Path) -> None:
    RUNNER.invoke(app, ["import", str(SAMPLES / "e2e.log"), "--out", str(tmp_path), "--quiet"])
    [run] = tmp_path.iterdir()

    given = RUNNER.invoke(app, ["analyse", str(run)])

    assert isinstance(given.exception, BadInput)
    assert "has no recorded rows to analyse" in str(given.exception)


def test_nothing_is_left_where_it_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the run whose report fails, nor the one before it."""

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("streamgauge.runs.foreign.imported.publish", fail)

    given = RUNNER.invoke(app, ["import", str(SAMPLES / "e2e.log"), "--out", str(tmp_path / "runs"), "--quiet"])

    assert isinstance(given.exception, OSError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"), [(["--as", "jmeter"], "no such format"), (["--as", "omb", "--out", "{}"], "is a file")]
)
def test_what_cannot_be_exported(options: list[str], said: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    given = RUNNER.invoke(app, ["export", str(tmp_path), *(each.format(file) for each in options)])

    assert isinstance(given.exception, BadInput)
    assert said in str(given.exception)


def test_folders_are_read_with_those_below(tmp_path: Path) -> None:
    """Links to other folders are not followed: they may lead around in a circle."""
    deep = tmp_path / "results" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "e2e.log").write_bytes((SAMPLES / "e2e.log").read_bytes())
    (tmp_path / "results" / "omb.json").write_bytes((SAMPLES / "omb.json").read_bytes())
    (deep / "again").symlink_to(tmp_path / "results")

    given = RUNNER.invoke(
        app, ["import", str(tmp_path / "results"), "--out", str(tmp_path / "runs"), "--json", "--quiet"]
    )

    assert sorted(told["tool"] for told in json.loads(given.stdout)) == ["OpenMessaging Benchmark", "kafka-e2e-latency"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"form": "jmeter"}, "no such format"),
        ({"unit": "fortnights"}, "no unit"),
        ({"latency": "ack"}, "no latency"),
        ({"latency": "poll.service"}, "no latency"),
    ],
)
def test_bad_options(asked: dict[str, str], said: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"form": None, "unit": None, "latency": None} | asked

    with pytest.raises(BadInput, match=said):
        import_files([], tmp_path, **options, as_json=False, command=[], progress=print, out=print)
