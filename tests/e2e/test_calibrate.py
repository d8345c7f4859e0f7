"""`calibrate` as a user meets it: every planted fault found, errors kept, nothing left behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.e2e.conftest import Call
from tests.waiting import until

from streamgauge.engine.supervise.local import memory_folder
from streamgauge.record.calibrations import read_calibrations
from streamgauge.runs.machine.calibrate.compared import PLANTED
from streamgauge.runs.machine.calibrate.planned import PRODUCERS

pytestmark = pytest.mark.e2e


def memory_of(pid: int) -> list[Path]:
    """Files in memory that a process has open."""
    return [Path(each.path) for each in psutil.Process(pid).open_files() if Path(each.path).parent == memory_folder()]


@pytest.mark.spark
def test_every_planted_fault_is_found(
    call: Call, warm_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By real workers, rows and analysis. Errors of latency depend on who else uses the machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()

    done = call("calibrate", "--quick", "--json")

    assert done.code == 0, done.err
    (told,) = json.loads(done.out)["rates"]
    assert told["planted"]["counts"] == told["measured"]["counts"]
    assert all(told["planted"]["counts"][name] for name in PLANTED)
    assert (told["unsent"], told["miscounted"]) == (0, [])
    assert {"ack.response.p50", "end_to_end.service.max"} <= set(told["errors_ms"])
    (kept,) = read_calibrations(tmp_path / "state" / "streamgauge" / "calibrations.json")
    assert (kept.rate, kept.errors_ms) == (1_000, told["errors_ms"])
    assert list((tmp_path / "temporary").iterdir()) == []
    assert "draining" in done.err


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    """No process (the sampler of resources is one), no memory, no folder, and nothing that is kept."""
    temporary, log = tmp_path / "temporary", tmp_path / "log"
    temporary.mkdir()
    environ = {**os.environ, "TMPDIR": str(temporary), "XDG_STATE_HOME": str(tmp_path / "state")}
    with log.open("wb") as errors:
        program = subprocess.Popen(
            [sys.executable, "-m", "streamgauge", "calibrate", "--quick"], stderr=errors, env=environ
        )
    try:
        until(lambda: b"warm-up" in log.read_bytes())
        (server,), memory = psutil.Process(program.pid).children(), memory_of(program.pid)
        workers = server.children()
        program.send_signal(signal.SIGINT)
        assert program.wait(60) == 130
    finally:
        program.kill()
        program.wait()

    assert len(workers) == 2 * PRODUCERS + 1
    assert b"interrupted; nothing was kept" in log.read_bytes()
    assert not any(each.is_running() for each in (server, *workers))
    assert memory
    assert not any(file.exists() for file in memory)
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "state").exists()
