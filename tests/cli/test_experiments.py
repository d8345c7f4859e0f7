"""The commands `experiment` and `sweep`: what is refused, what a dry run tells, and what is printed of runs."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.report.conftest import changed
from tests.report.conftest import told as told_by
from typer.testing import CliRunner

import streamgauge
from streamgauge.cli.experiments.printed import print_ended, step_document
from streamgauge.cli.main import app
from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.bars import Signs, signs_of
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord, RecordedRun, RecordedVariant
from streamgauge.experiments.search.staircase import Staircase
from streamgauge.runs.experiment.folder import write_record
from streamgauge.runs.experiment.judge import answered
from streamgauge.runs.experiment.lines import step_text
from streamgauge.runs.experiment.request import shipped_experiments
from streamgauge.runs.experiment.search.shipped import shipped_documents
from streamgauge.runs.experiment.told import ExperimentEnded, ExperimentStep
from streamgauge.verdict.exits import Exit

P99 = "latency.end_to_end.response.p99_ms"
SWEEP = ("sweep", "baseline", "--vary", "load.size=64,256", "--set", "phases.measure=5s")


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refused(*arguments: str) -> list[str]:
    with pytest.raises(BadInput) as caught:
        CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_what_no_run_could_be_done_with_is_refused_before_the_first(tmp_path: Path, more: tuple[str, ...]) -> None:
    out, kill = tmp_path / "out", "faults=[{kind: kill, target: broker-1, at: 1s, for: 1s}]"

    lines = refused(*SWEEP, "--bootstrap", "127.0.0.1:1", "--set", kill, "--out", str(out), *more)

    assert lines[0].startswith("faults.0.target: is done to the cluster")
    assert not out.exists()


def test_a_dry_run_tells_the_runs_in_their_order_and_starts_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    lines = said(*SWEEP, "--repeat", "2", "--dry-run", "--out", str(out)).splitlines()
    assert lines[0] == "Dry run: nothing was started. 4 runs of 2 variants, interleaved."
    assert lines[1].startswith("Duration: about ")
    assert "MB" in lines[2]
    assert [line.split()[:3] for line in lines[3:]] == [[str(n), "round", str((n + 1) // 2)] for n in range(1, 5)]
    assert not out.exists()


def test_a_search_needs_a_scenario_or_a_folder(tmp_path: Path) -> None:
    assert refused("search")[0].startswith("SCENARIO: is missing")
    assert "not the folder of a search" in refused("search", "--resume", str(tmp_path))[0]


def test_the_plan_as_json_says_the_same() -> None:
    found = json.loads(said(*SWEEP, "--repeat", "3", "--dry-run", "--json"))
    assert [each["settings"] for each in found["variants"]] == [{"load.size": 64}, {"load.size": 256}]
    assert [each["round"] for each in found["runs"]] == [1, 1, 2, 2, 3, 3]
    # Warm-up and measure phase of a run, and what it takes beside them.
    assert found["seconds"] > 6 * 5
    assert found["bytes_written"] > 0


def test_of_a_long_plan_the_begin_is_shown() -> None:
    assert said(*SWEEP, "--repeat", "50", "--dry-run").splitlines()[-1] == "      and 60 more runs"


def test_a_file_says_the_same_as_a_sweep_and_options_replace_its_keys(tmp_path: Path) -> None:
    path = tmp_path / "sizes.yaml"
    path.write_text(
        yaml.safe_dump({"name": "sizes", "scenario": "baseline", "vary": {"load.size": [64, 256]}, "repeat": 9})
    )
    plan = said("experiment", str(path), "--repeat", "2", "--set", "phases.measure=5s", "--dry-run", "--json")
    assert json.loads(plan) == json.loads(said(*SWEEP, "--repeat", "2", "--dry-run", "--json"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("sweep", "baseline"), "--vary: nothing is varied"),
        (("sweep", "baseline", "--vary", "load.szie=1,2"), "load.szie: no such key"),
        ((*SWEEP, "--order", "random"), "order: 'random': "),
        ((*SWEEP, "--json", "--json-lines"), "--json: cannot be combined with --json-lines"),
        (("experiment", "sweep-ack"), "sweep-ack: no experiment of this name. Did you mean `sweep-acks`?"),
        (("experiment", "nothing.yaml"), "nothing.yaml: cannot be read"),
        (("experiment", "--resume", "nothing"), "nothing: not the folder of an experiment"),
        (("experiment", "--resume", "nothing", "--dry-run"), "--dry-run: cannot be combined with --resume"),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_starts(arguments: tuple[str, ...], expected: str) -> None:
    assert [text for text in refused(*arguments) if text.startswith(expected)]


def record(*runs: RecordedRun, **more: Any) -> ExperimentRecord:
    variants = [RecordedVariant(name=f"size={size}", settings={"load.size": size}) for size in (64, 256)]
    return ExperimentRecord(
        id="x", name="sizes", created="", command=[], asked={}, metric=P99, variants=variants, order="interleaved",
        seed=1, repeat=2, runs=list(runs), **more,
    )  # fmt: skip


def run(outcome: Any, **more: Any) -> RecordedRun:
    return RecordedRun(**{"round": 1, "variant": 1, "begun": "2026-01-01T00:00:00Z", "outcome": outcome, **more})


UNICODE = signs_of(terminal=True, term="xterm", encoding="utf-8")


@pytest.mark.parametrize(
    ("runs", "signs", "expected"),
    [
        ([run("under_way")], None, "run 2 of 4: round 1, size=256; about 2 min left"),
        ([run("measured", value=12.345)], None, "run 2 of 4: size=256, end-to-end response p99 12.3 ms"),
        (
            [run("not_believed", reasons=["p99 is not believed"])],
            None,
            "run 2 of 4: size=256, not believed: p99 is not believed",
        ),
        ([run("failed")], None, "run 2 of 4: size=256, failed"),
        (
            [run("measured", value=4.0), run("failed", round=2)],
            None,
            "run 2 of 4: size=256, failed; median of 1 run so far 4.00 ms",
        ),
        (
            [run("measured", value=value, round=place) for place, value in enumerate((1.0, 4.0, 9.0), 1)],
            UNICODE,
            "run 2 of 4: size=256, end-to-end response p99 9.00 ms; median of 3 runs so far 4.00 ms  ▁▄█",
        ),
        (
            [run("measured", value=8.0, variant=0), run("measured", value=2.0), run("measured", value=4.0, round=2)],
            None,
            "run 2 of 4: size=256, end-to-end response p99 4.00 ms; median of 2 runs so far 3.00 ms",
        ),
    ],
)
def test_each_run_is_a_line_of_progress(runs: list[RecordedRun], signs: Signs | None, expected: str) -> None:
    assert step_text(ExperimentStep(2, 4, runs[-1], record(*runs), 90.0), signs) == expected


def test_a_run_is_a_line_of_json() -> None:
    last = run("measured", value=3.5, seconds=9.0, folder="r")
    found = step_document(ExperimentStep(2, 4, last, record(last), 12.34))
    assert json.loads(json.dumps(found)) == {
        "run": 2, "of": 4, "variant": "size=256", "settings": {"load.size": 256}, "round": 1, "outcome": "measured",
        "begun": "2026-01-01T00:00:00Z", "folder": "r", "seconds": 9.0, "value": 3.5, "reasons": [], "metric": P99,
        "left_seconds": 12.3,
    }  # fmt: skip


@pytest.fixture
def ended(tmp_path: Path) -> ExperimentEnded:
    """An experiment of two rounds whose last run is not believed."""
    folder = ExperimentFolder(tmp_path / "sizes")
    folder.runs.mkdir(parents=True)
    healthy = told_by(changed(tmp_path / "healthy"))
    runs = []
    for number, variant in enumerate((0, 1, 1, 0)):
        document = deepcopy(healthy)
        document["run"]["scenario"]["load"]["size"] = (64, 256)[variant]
        document["trust"][P99]["trust"] = "not_believed" if number == 3 else "believed"
        (folder.runs / f"run-{number}").mkdir()
        (folder.runs / f"run-{number}" / "result.json").write_text(json.dumps(document))
        outcome = "not_believed" if number == 3 else "measured"
        runs.append(run(outcome, round=number // 2 + 1, variant=variant, folder=f"run-{number}", value=6.0))
    made = record(*runs, ending="finished")
    write_record(folder, made)
    return ExperimentEnded(folder, made, answered(folder, made), Exit.DONE)


def test_the_answer_is_that_of_the_runs_and_says_what_was_left_out(ended: ExperimentEnded) -> None:
    out: list[str] = []
    print_ended(ended, as_json=False, out=out.append)
    assert out[0].startswith("2 variants, 4 runs; compared with size=64\n")
    assert out[1] == f"3 runs measured; 1 failed or not believed, and left out.\nFolder: {ended.folder.root}"


def test_the_answer_as_json_has_the_record_and_no_secret_place(ended: ExperimentEnded) -> None:
    out: list[str] = []
    print_ended(ended, as_json=True, out=out.append)
    found = json.loads(out[0])
    assert found["experiment"]["runs"][3]["outcome"] == "not_believed"
    assert [each["name"] for each in found["answer"]["variants"]] == ["size=64", "size=256"]
    assert "asked" not in found["experiment"]


def test_compare_answers_an_experiment_by_its_rounds(ended: ExperimentEnded) -> None:
    found = json.loads(said("compare", str(ended.folder.root), "--json"))
    assert found["metrics"][0]["comparisons"][0]["pairs"] == 1
    assert found["metrics"][0]["left_out"] == [1, 0]


def test_compare_takes_the_runs_of_an_experiment_beside_others(ended: ExperimentEnded, tmp_path: Path) -> None:
    found = json.loads(said("compare", str(ended.folder.root), str(ended.folder.runs / "run-0"), "--json"))
    assert [len(each["runs"]) for each in found["variants"]] == [3, 2]
    assert "no run has this figure" in refused("compare", str(ended.folder.root), "--metric", "x")[0]
    (tmp_path / "empty" / "runs").mkdir(parents=True)
    write_record(ExperimentFolder(tmp_path / "empty"), record())
    assert "no run of it has a result" in refused("compare", str(tmp_path / "empty"))[0]


def test_an_experiment_is_no_run(ended: ExperimentEnded) -> None:
    ended.folder.result.write_text("{}")
    assert "sizes" not in said("runs", str(ended.folder.root.parent))


def test_shipped_experiments_are_listed_in_lines_that_fit() -> None:
    lines = said("experiment").splitlines()
    searches = shipped_documents(searches=True)
    assert [line.split()[0] for line in lines] == sorted([*shipped_experiments(), *searches])
    assert list(searches) == ["steprater"]
    assert max(map(len, lines)) <= 80
    rows = json.loads(said("experiment", "--json"))
    assert [row["name"] for row in rows] == [line.split()[0] for line in lines]
    assert {row["name"] for row in rows if row["kind"] == "search"} == {*searches}
    assert all(row["about"] == {**shipped_experiments(), **searches}[row["name"]]["about"] for row in rows)


@pytest.mark.parametrize("name", sorted(shipped_experiments()))
def test_a_shipped_experiment_can_be_planned(name: str) -> None:
    found = json.loads(said("experiment", name, "--dry-run", "--json"))
    assert len(found["runs"]) == shipped_experiments()[name].get("repeat", 5) * len(found["variants"])
    assert shipped_experiments()[name]["name"] == name


@pytest.mark.parametrize("command", ["experiment", "search"])
def test_the_shipped_search_can_be_planned(command: str) -> None:
    """StepRater's steps, and the service levels of its README that are known in minutes."""
    lines = said(command, "steprater", "--dry-run").splitlines()
    assert lines[0] == "Dry run: nothing was started. Up to 62 runs of azul-10k."
    assert lines[1] == "Objectives: p99 <= 20 ms over 10s; p99.9 <= 50 ms over 1m"
    assert lines[2].endswith("steps from 50 % to 110 % of it by 1.0 %, each repeated at most 2 times")
    found = json.loads(said(command, "steprater", "--dry-run", "--json", "--set", "load.size=64"))
    assert (found["most_runs"], found["step_seconds"], found["scenario"]["load"]["size"]) == (62, 60, 64)
    assert found["run_seconds"] > 3 * 60
    assert found["staircase"] == Staircase().document()


def test_a_bisection_can_be_planned() -> None:
    asked = ("--objective", "p99.9 <= 20 ms over 10s", "--start", "500", "--most", "9k")
    lines = said("search", "baseline", *asked, "--dry-run").splitlines()
    assert lines[0] == "Dry run: nothing was started. Up to 40 runs of baseline."
    assert lines[2] == "load.rate: from 500/s on, within 1.00/s and 9,000/s, until known to 5.0 %"
    assert "at 500/s a window has 5,000 messages" in lines[-1]


def test_a_shipped_search_has_no_variants(tmp_path: Path) -> None:
    wrong = refused("experiment", "steprater", "--vary", "load.size=1,2", "--repeat", "3", "--dry-run")
    assert [line.partition(":")[0] for line in wrong] == ["--vary", "--repeat"]
    assert "cannot be combined with --resume" in refused("search", "--resume", str(tmp_path), "--dry-run")[0]
    with pytest.raises(BadInput, match="Use streamgauge search steprater"):
        streamgauge.experiment("steprater")
