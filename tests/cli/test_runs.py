"""The command `runs`: which folders count, and what is said where there is nothing to be listed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.domain.errors import BadInput

FACTS: dict[str, Any] = {
    "format": 1, "id": "r", "name": "smoke", "tag": 1, "created": "2026-01-01T00:00:00Z", "wall_ns": 1,
    "monotonic_ns": 2, "command": [], "scenario": {}, "versions": {}, "machine": {},
    "broker": {"embedded": True, "bootstrap": "127.0.0.1:9"}, "topics": [], "groups": [], "ending": "finished",
}  # fmt: skip


def said(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["runs", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refused(*arguments: str | Path) -> str:
    with pytest.raises(BadInput) as caught:
        CliRunner().invoke(app, ["runs", *map(str, arguments)], catch_exceptions=False)
    return str(caught.value)


def run(root: Path, name: str, **facts: Any) -> Path:
    folder = root / name
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(FACTS | facts), encoding="utf-8")
    return folder


def test_runs_are_listed_the_newest_last(tmp_path: Path) -> None:
    days = {"e": 1, "a": 2, "d": 3, "b": 4, "c": 5}
    for name in "abcde":
        run(tmp_path, name, created=f"2026-01-0{days[name]}T00:00:00Z")

    rows = json.loads(said(tmp_path, "--json"))

    assert [row["id"] for row in rows] == list(days)
    assert {(row["scenario"], row["verdict"]) for row in rows} == {("smoke", "not analysed")}
    assert [line.split()[0] for line in said(tmp_path).splitlines()[1::2]] == list(days)


def test_what_is_no_run_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    for record in ("experiment.json", "search.json"):
        (tmp_path / record).mkdir()
        for name in (record, "result.json"):
            (tmp_path / record / name).write_text("{}", encoding="utf-8")
    run(tmp_path, "a")

    assert [row["id"] for row in json.loads(said(tmp_path, "--json"))] == ["a"]


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda folder: (folder / "events").mkdir(), "run.json is missing"),
        (lambda folder: (folder / "run.json").mkdir(), "run.json has unexpected content: it is empty"),
        (
            lambda folder: (folder / "run.json").write_bytes(b"{"),
            "run.json has unexpected content: it is not JSON",
        ),
    ],
)
def test_a_run_whose_files_are_damaged_is_listed(tmp_path: Path, make: Callable[[Path], object], fault: str) -> None:
    """It was made by a run, and somebody looks for it."""
    (tmp_path / "damaged").mkdir()
    make(tmp_path / "damaged")

    assert [row["faults"] for row in json.loads(said(tmp_path, "--json"))] == [[fault]]
    assert fault in said(tmp_path)


def test_a_folder_without_runs_is_no_fault(tmp_path: Path) -> None:
    assert said(tmp_path) == f"no runs in {tmp_path}\n"
    assert json.loads(said(tmp_path, "--json")) == []


def test_a_folder_that_is_not_there_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert refused(tmp_path / "none") == (
        f"DIR {tmp_path / 'none'}: there is no such folder. "
        "Name the folder with the runs, or create a first run: `streamgauge run baseline`"
    )
    assert refused(tmp_path / "file").startswith(f"DIR {tmp_path / 'file'}: cannot be read: Not a directory.")


def test_the_folder_that_run_uses_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused().startswith("DIR runs: there is no such folder.")
    (tmp_path / "runs").mkdir()
    run(tmp_path / "runs", "a")

    assert "smoke" in said()


def test_help_teaches_with_an_example() -> None:
    assert "Example: streamgauge runs" in said("--help")
