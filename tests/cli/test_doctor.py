"""The command `doctor`: what it joins, what it prints, and how it ends."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from streamgauge.cli.machine.doctor import doctor
from streamgauge.cli.main import app
from streamgauge.domain.errors import BadInput
from streamgauge.processes.jvm.java import Java
from streamgauge.verdict.exits import Exit
from streamgauge.verdict.fitness import RULES, Machine

GIB = 1 << 30
GOOD = Machine(
    python="3.12.4",
    cores=8,
    cpu_limit_cores=math.inf,
    memory_available_bytes=12 * GIB,
    memory_limit_bytes=math.inf,
    disk_free_bytes=100 * GIB,
    open_files=4096,
)


@pytest.fixture(autouse=True)
def _has_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(
        "streamgauge.runs.machine.examine.find_java", lambda _: Java(Path("/jdk/bin/java"), "21.0.1", 21)
    )


def said(*, as_json: bool, machine: Machine = GOOD) -> tuple[Exit, str]:
    lines: list[str] = []
    code = doctor(Path("runs"), as_json=as_json, out=lines.append, look=lambda _: machine)
    (text,) = lines
    return code, text


def test_a_machine_with_warnings_is_ready() -> None:
    code, text = said(as_json=False)

    assert code == Exit.DONE
    assert text.startswith("READY  to measure on this machine; 2 warn, ")
    assert "streamgauge calibrate" in text
    assert "21.0.1, /jdk/bin/java" in text


def test_json_has_every_finding() -> None:
    code, text = said(as_json=True)
    told = json.loads(text)

    assert (code, told["ready"]) == (Exit.DONE, True)
    assert len(told["findings"]) == len(RULES)
    assert told["findings"][0] == {
        "name": "java",
        "status": "ok",
        "found": "21.0.1, /jdk/bin/java",
        "meaning": "The embedded broker and Spark run on it.",
        "remedy": "",
    }


@pytest.mark.parametrize("as_json", [True, False])
def test_without_java_the_machine_is_not_ready(monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    """It is a finding, not an error: everything else is told too."""

    def find_java(_: object) -> Java:
        raise BadInput.single("Java", "version 17 or newer is needed, but found none", "Install one")

    monkeypatch.setattr("streamgauge.runs.machine.examine.find_java", find_java)
    code, text = said(as_json=as_json)

    assert code == Exit.FAILED
    assert "version 17 or newer is needed, but found none" in text
    assert "apt install" in text
    assert "cores" in text


def test_jars_are_counted_in_the_cache(tmp_path: Path) -> None:
    def jars() -> Any:
        told = json.loads(said(as_json=True)[1])
        return next(each for each in told["findings"] if each["name"] == "jars")

    missing = jars()
    count = int(missing["found"].split()[0])
    folder = tmp_path / "cache" / "streamgauge" / "jars"
    folder.mkdir(parents=True)
    (folder / "kafka-tools-4.3.1.jar").touch()

    assert missing["status"] == "warn"
    assert str(folder) in missing["found"]
    assert jars()["found"].startswith(f"{count - 1} to be downloaded")


@pytest.mark.parametrize("ready", [True, False])
def test_the_command_prints_and_ends_with_the_code(monkeypatch: pytest.MonkeyPatch, ready: bool) -> None:
    machine = GOOD if ready else Machine(disk_free_bytes=0)
    monkeypatch.setattr("streamgauge.cli.machine.doctor.doctor.__kwdefaults__", {"look": lambda _: machine})

    result = CliRunner().invoke(app, ["doctor", "--json"], catch_exceptions=False)

    assert result.exit_code == (0 if ready else 1)
    assert json.loads(result.stdout)["ready"] is ready


def test_help_teaches_with_an_example() -> None:
    assert "Example: streamgauge doctor" in CliRunner().invoke(app, ["doctor", "--help"]).stdout
