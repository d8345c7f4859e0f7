"""An experiment on a broker of its own: interrupted or killed within a run, and gone on with to its end."""

import json
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.marked import left_of
from tests.waiting import until

from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns, sleep_seconds
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.runs.experiment.folder import read_record

pytestmark = [pytest.mark.e2e, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]

PROGRAM = Path(__file__).with_name("program.py")
PATIENCE_SECONDS = 240
EXPERIMENT = """
name: sizes
scenario: baseline
set: {phases.warmup: 0, phases.measure: 4s, load.rate: 2k/s}
vary: {load.size: [64, 256]}
repeat: 1
settle: 0s
"""
"""Other tests keep the machine busy: nobody waits for it to be quiet."""
P99 = "latency.end_to_end.response.p99_ms"


def program(mark: dict[str, str], *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **mark},
    )


def has_received(out: Path, run: int) -> bool:
    """Whether rows of received messages are in the folder of this run."""
    folders = sorted(out.glob("*/runs/*"))
    return len(folders) > run and any(
        part.stat().st_size > 50_000 for part in folders[run].glob("events/received/*/_open-0")
    )


def ended_by(number: signal.Signals, mark: dict[str, str], folder: Path) -> tuple[int, str, str]:
    """Exit code and output of an experiment that gets a signal within its second run."""
    (folder / "sizes.yaml").write_text(EXPERIMENT)
    out_folder = folder / "experiments"
    asked = ("experiment", str(folder / "sizes.yaml"), "--json-lines", "--out", str(out_folder))
    with program(mark, *asked) as process:
        limit_ns = monotonic_ns() + PATIENCE_SECONDS * NS_PER_SECOND
        while not has_received(out_folder, 1) and process.poll() is None and monotonic_ns() < limit_ns:
            sleep_seconds(0.05)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, out, err


def test_it_is_interrupted_and_goes_on(tmp_path: Path) -> None:
    mark = {"STREAMGAUGE_TEST_MARK": secrets.token_hex(8)}
    out_folder = tmp_path / "experiments"
    code, out, err = ended_by(signal.SIGINT, mark, tmp_path)
    assert code == 130, err
    assert [json.loads(line)["outcome"] for line in out.splitlines()][1:] == ["interrupted"], err
    folder = ExperimentFolder(next(out_folder.iterdir()))
    assert "streamgauge experiment --resume" in read_record(folder).reasons[0]
    assert left_of(mark) == []

    with program(mark, "experiment", "--resume", str(folder.root), "--json") as process:
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode in {0, 4}, err
    found = json.loads(out)
    runs = found["experiment"]["runs"]
    assert len([each for each in runs if each["outcome"] in {"measured", "not_believed"}]) == 2
    assert found["experiment"]["ending"] == "finished"
    assert [each["name"] for each in found["answer"]["variants"]] == ["size=64", "size=256"]
    assert {each["path"] for each in found["answer"]["metrics"]} >= {P99, "throughput.received_per_second"}
    assert sorted(path.stem for path in folder.tables.iterdir()) == ["metrics", "pairs", "runs", "variants"]
    assert not list(folder.root.glob("broker-*"))
    assert not list(folder.root.glob("runs/*/report.html"))
    assert left_of(mark) == []


def test_it_is_killed_and_goes_on(tmp_path: Path) -> None:
    """kill -9 of the program: no process is left, what was measured is not done twice, what was cut off is kept."""
    mark = {"STREAMGAUGE_TEST_MARK": secrets.token_hex(8)}
    code, out, err = ended_by(signal.SIGKILL, mark, tmp_path)
    assert code == -signal.SIGKILL, err
    until(lambda: left_of(mark) == [], 30)
    folder = ExperimentFolder(next((tmp_path / "experiments").iterdir()))
    before = read_record(folder)
    assert before.ending is None
    # Too little time was measured on a machine that others keep busy for all figures to be believed in any case.
    assert [run.outcome for run in before.runs] in (["measured", "under_way"], ["not_believed", "under_way"])
    (done,) = (json.loads(line) for line in out.splitlines())
    cut_off = next(path for path in folder.runs.iterdir() if path.name != done["folder"])
    of_done = RunFolder(folder.runs / done["folder"]).result.read_bytes()

    with program(mark, "experiment", "--resume", str(folder.root), "--json") as process:
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode in {0, 4}, err

    found = json.loads(out)["experiment"]
    first, killed, last = found["runs"]
    assert (first["folder"], first["value"]) == (before.runs[0].folder, before.runs[0].value)
    assert RunFolder(folder.runs / done["folder"]).result.read_bytes() == of_done
    assert (killed["outcome"], killed["folder"], killed["reasons"]) == (
        "interrupted", cut_off.name, ["the experiment was killed"],
    )  # fmt: skip
    assert list(cut_off.glob("events/received/*/*"))
    assert last["variant"] == killed["variant"] != first["variant"]
    assert (found["ending"], last["outcome"] in {"measured", "not_believed"}) == ("finished", True)
    assert len(list(folder.runs.iterdir())) == 3
    assert not list(folder.root.glob("broker-*"))
    assert left_of(mark) == []
