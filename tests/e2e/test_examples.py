"""The shell scripts that documents show, as they are: with recorded runs, and on the suite's broker."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from tests.report.conftest import Row, Tables, changed

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord, RecordedRun, RecordedVariant
from streamgauge.report.assemble.result import write_result
from streamgauge.report.compare.pages import comparison_markdown
from streamgauge.runs.experiment.folder import write_record
from streamgauge.runs.experiment.judge import answered

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
PROGRAM = shlex.join([sys.executable, "-m", "streamgauge"])
BRIEFLY = shlex.join([sys.executable, str(Path(__file__).with_name("program.py"))])
"""Which measures with a short warm-up of its broker."""
P99 = "latency.end_to_end.response.p99_ms"
SCENARIO = {"name": "gate", "load": {"rate": "500/s"}, "phases": {"warmup": "500ms", "measure": "1500ms"}}
PATIENCE_SECONDS = 300


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    def nothing(_facts: Row, _tables: Tables) -> None:
        """A healthy run."""

    return dict(write_result(changed(tmp_path_factory.mktemp("template") / "run", nothing)).document())


def recorded(root: Path, template: Mapping[str, Any], rounds: int, by: float = 1.0) -> Path:
    """An experiment of one variant whose p99 is about so many times 10 ms."""
    folder, runs = ExperimentFolder(root), []
    for number in range(rounds):
        value = 10 * by * (1 + 0.01 * (number % 3))
        trust = template["trust"] | {P99: template["trust"][P99] | {"value": value, "low": value, "high": value}}
        about = template["run"] | {"created": f"2026-01-01T00:{number:02}:00Z"}
        run = folder.runs / str(number)
        run.mkdir(parents=True)
        (run / "result.json").write_text(json.dumps({**template, "trust": trust, "run": about}), encoding="utf-8")
        runs.append(RecordedRun(round=number + 1, variant=0, begun="", outcome="measured", folder=str(number)))
    record = ExperimentRecord(
        id="x", name="x", created="", command=[], asked={}, variants=[RecordedVariant(name="gate", settings={})],
        order="interleaved", seed=1, repeat=rounds, runs=runs, ending="finished",
    )  # fmt: skip
    write_record(folder, record)
    found = answered(folder, record)
    assert found is not None
    folder.summary.write_text(comparison_markdown(found), encoding="utf-8")
    return root


class Shell:
    """Runs scripts in a folder of their own, in which programs are called as it says."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.summary = folder, folder / "step-summary.md"
        (folder / "bin").mkdir()

    def program(self, name: str, text: str) -> None:
        """A program that scripts find by its name; what it does not do itself, the real one does."""
        path = self.folder / "bin" / name
        path.write_text(f'#!/bin/sh\n{text}\nexec {PROGRAM} "$@"\n')
        path.chmod(0o755)

    def run(self, script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """As a step of GitHub Actions."""
        environment = {
            **os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(self.summary), "NO_COLOR": "1", "COLUMNS": "200",
        }  # fmt: skip
        return subprocess.run(
            ["bash", str(EXAMPLES / script), *arguments],
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip

    def written(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def counts(self, name: str) -> dict[str, int]:
        """Of a JUnit file."""
        suite = ET.fromstring(self.written(name))
        return {each: int(suite.get(each, "-1")) for each in ("tests", "failures", "errors")}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def of(experiment: Path, code: int = 0) -> str:
    """A program whose experiment is one that was recorded, and ends with this code."""
    copied = f'cp -R {shlex.quote(str(experiment))} "$4/20260101-120000-gate"'
    return f'if [ "$1" = experiment ]; then mkdir -p "$4"; {copied}; exit {code}; fi'


GATE = ("gate-runs.yaml", "baseline.json", "artefacts")
Recorded = Callable[[int, float], Path]


@pytest.mark.parametrize(
    ("rounds", "by", "code", "counts", "says"),
    [
        pytest.param(6, 1.0, 0, {"tests": 1, "failures": 0, "errors": 0}, "passed", id="within"),
        pytest.param(6, 1.5, 3, {"tests": 1, "failures": 1, "errors": 0}, "WORSE", id="worse"),
        pytest.param(1, 1.5, 4, {"tests": 1, "failures": 0, "errors": 1}, "not known", id="one run tells nothing"),
    ],
)
def test_the_gate_ends_as_the_check_does(
    shell: Shell, template: dict[str, Any], rounds: int, by: float, code: int, counts: dict[str, int], says: str
) -> None:
    """The first call saves the baseline, the second is compared with it."""
    before = recorded(shell.folder / "before", template, 6)
    shell.program("streamgauge", of(before))
    saved = shell.run("gate.sh", *GATE)
    assert (saved.returncode, saved.stderr) == (0, "")
    assert len(json.loads(shell.written("baseline.json"))["runs"]) == 6
    assert shell.written("step-summary.md") == shell.written("before/summary.md")
    assert not (shell.folder / "artefacts" / "junit.xml").exists()

    (shell.folder / "artefacts").rename(shell.folder / "earlier")
    shell.program("streamgauge", of(recorded(shell.folder / "now", template, rounds, by)))
    done = shell.run("gate.sh", *GATE)
    assert (done.returncode, done.stderr) == (code, "")
    assert shell.counts("artefacts/junit.xml") == counts
    summary = shell.written("step-summary.md").removeprefix(shell.written("before/summary.md"))
    assert summary.startswith(shell.written("now/summary.md"))
    assert f"| {says} |" in summary.replace("**", "")
    assert ("::error title=streamgauge check::" in done.stdout) is (code == 3)


@pytest.mark.parametrize(("code", "saved"), [(1, False), (3, False), (4, False), (0, True)])
def test_what_failed_or_is_not_believed_becomes_no_baseline(
    shell: Shell, template: dict[str, Any], code: int, saved: bool
) -> None:
    """3 is an expectation of the experiment that is broken: it is told without a baseline, too."""
    shell.program("streamgauge", of(recorded(shell.folder / "before", template, 6), code))
    assert shell.run("gate.sh", *GATE).returncode == code
    assert (shell.folder / "baseline.json").exists() is saved
    assert shell.written("step-summary.md") == shell.written("before/summary.md")


def test_a_gate_with_a_wrong_file_ends_as_bad_input(shell: Shell) -> None:
    shell.program("streamgauge", "")
    (shell.folder / "summary.md").write_text("of something else")
    done = shell.run("gate.sh", "nothing.yaml", "baseline.json", "artefacts")
    assert (done.returncode, done.stderr.startswith("error: nothing.yaml: cannot be read")) == (2, True), done.stderr
    assert not shell.summary.exists()


@pytest.mark.parametrize(
    ("codes", "code", "runs"), [((0,), 0, 1), ((4, 0), 0, 2), ((4, 4), 4, 2), ((3,), 3, 1), ((1,), 1, 1)]
)
def test_a_run_is_tried_again_once_where_the_machine_was_not_fit(
    shell: Shell, codes: Sequence[int], code: int, runs: int
) -> None:
    shell.program(
        "streamgauge",
        f"set -- {shlex.join(map(str, codes))}\nshift $(ls -d artefacts/* 2>/dev/null | wc -l)\n"
        "mkdir -p artefacts/$#; echo made > artefacts/$#/summary.md; exit $1",
    )
    done = shell.run("retry.sh", "gate.yaml", "artefacts")
    assert (done.returncode, done.stdout.count("made\n")) == (code, runs)


@pytest.mark.parametrize(("by", "code"), [(1.0, 0), (1.5, 3)])
def test_two_programs_take_turns(shell: Shell, template: dict[str, Any], by: float, code: int) -> None:
    """Every other round begins with the other one, as an experiment of two variants would."""
    for name, factor in (("old", 1.0), ("new", by)):
        experiment = recorded(shell.folder / "made" / name, template, 6, factor)
        first = f'[ "$2" = --resume ] || {{ mkdir -p {name}; cp -R {shlex.quote(str(experiment))} {name}/1; }}'
        shell.program(name, f'{first}; echo "{name} $*" >> calls; exit 0')
    shell.program("streamgauge", "")
    done = shell.run("take-turns.sh", "codecs.yaml", "6")
    assert (done.returncode, done.stderr) == (code, "")
    calls = [line.split() for line in shell.written("calls").splitlines()]
    assert [(words[0], words[-1]) for words in calls[2:]] == [
        (name, str(number))
        for number in range(2, 7)
        for name in (("new", "old") if number % 2 == 0 else ("old", "new"))
    ]
    assert calls[0] == ["old", "experiment", "codecs.yaml", "--repeat", "1", "--out", "old"]
    assert all(words[1:4] == ["experiment", "--resume", f"{words[0]}/1"] for words in calls[2:])
    assert shell.counts("junit.xml")["failures"] == (code == 3)


@pytest.fixture
def measuring(shell: Shell, broker: EmbeddedBroker) -> Shell:
    """The program as it is, on the suite's broker, with the files that the guide shows; shortened."""
    at = f'case "$1" in run|experiment) exec {BRIEFLY} "$@" --bootstrap {broker.bootstrap};; esac'
    shell.program("streamgauge", at)
    runs = {"name": "gate-runs", "scenario": "gate.yaml", "repeat": 1, "settle": "0s"}
    for name, document in (("gate.yaml", SCENARIO), ("gate-runs.yaml", runs)):
        (shell.folder / name).write_text(yaml.safe_dump(document))
    return shell


@pytest.mark.kafka
@pytest.mark.spark
def test_the_gate_measures_and_one_run_beside_one_run_is_not_enough(measuring: Shell) -> None:
    first = measuring.run("gate.sh", *GATE)
    # So short a run may be no measurement, and is no baseline then.
    assert first.returncode in {0, 4}, first.stderr
    (experiment,) = map(ExperimentFolder, (measuring.folder / "artefacts").iterdir())
    assert measuring.written("step-summary.md") == experiment.summary.read_text(encoding="utf-8")
    if first.returncode == 4:
        assert not (measuring.folder / "baseline.json").exists()
        (run,) = experiment.runs.iterdir()
        (measuring.folder / "baseline.json").write_bytes((run / "result.json").read_bytes())

    done = measuring.run("gate.sh", *GATE, "p50=50%", "received=50%")
    assert done.returncode == 4, done.stderr
    assert measuring.counts("artefacts/junit.xml") == {"tests": 2, "failures": 0, "errors": 2}
    assert "::warning title=streamgauge check::" in done.stdout
    assert len(list((measuring.folder / "artefacts").glob("*/experiment.json"))) == 2


@pytest.mark.kafka
@pytest.mark.spark
def test_the_retry_measures_and_prints_the_summary(measuring: Shell) -> None:
    done = measuring.run("retry.sh", "gate.yaml", "artefacts")
    assert done.returncode in {0, 4}, done.stderr
    runs = list((measuring.folder / "artefacts").iterdir())
    assert len(runs) == 1 + done.stdout.startswith("not valid, retrying once\n")
    assert all((run / "summary.md").read_text(encoding="utf-8") in done.stdout for run in runs)
    assert json.loads(measuring.written("result.json"))["run"]["name"] == "gate"
