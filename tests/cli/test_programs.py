"""`streamgauge run` with specifications that run programs, as a user calls it; and `import --pattern`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.foreign.specs.test_programs import BENCH, EXTERNAL, NO_OP
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.domain.errors import BadInput, RunFailed

RUNNER = CliRunner()
PYTHON = [sys.executable, "-S", "-c"]
TOLD = """
import json
told = json.loads(input())
print(json.dumps({"log": "begins"}))
print("no JSON")
print(json.dumps({"status": {"totalSent": told["workload"]["messages"] * 1000, "averageLatencyMs": 2.5,
                             "p50LatencyMs": 1, "p95LatencyMs": 4, "p99LatencyMs": 9}}))
"""


def external(code: str, **changed: Any) -> str:
    return json.dumps({**EXTERNAL, "command": [*PYTHON, code], **changed})


def run(*arguments: str, tmp_path: Path) -> Any:
    return RUNNER.invoke(app, ["run", *arguments, "--out", str(tmp_path / "runs"), "--json", "--quiet"])


def results(given: Any) -> list[dict[str, Any]]:
    return [json.loads((Path(each["run"]) / "result.json").read_text()) for each in json.loads(given.stdout)]


def test_an_external_command_becomes_a_run(tmp_path: Path) -> None:
    """Its last status is read as Trogdor's; what it wrote is kept."""
    given = run(external(TOLD), "--allow-code", tmp_path=tmp_path)

    assert given.exit_code == 0, given.output
    [result] = results(given)
    assert result["imported"]["tool"] == "Trogdor"
    assert (result["delivery"]["sent"], result["latency"]["ack"]["service"]["p99_ms"]) == (5000, 9.0)
    assert result["verdict"]["valid"] is None
    kept = Path(json.loads(given.stdout)[0]["run"]) / "imported"
    assert {path.name for path in kept.iterdir()} == {"status.json", "output.txt"}


def test_a_status_that_nobody_knows_is_kept_as_figures(tmp_path: Path) -> None:
    given = run(external('print(\'{"status": {"a": {"b": 7}, "c": "x"}}\')'), "--allow-code", tmp_path=tmp_path)

    assert results(given)[0]["imported"]["figures"] == {"a.b": 7.0, "c": "x"}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('print(\'{"error": "no broker"}\', flush=True); import time; time.sleep(60)', "no broker"),
        ("import sys; print('gone', file=sys.stderr); sys.exit(3)", "exited with return code 3: gone"),
    ],
)
def test_a_program_that_fails(code: str, said: str, tmp_path: Path) -> None:
    given = run(external(code), "--allow-code", tmp_path=tmp_path)

    assert isinstance(given.exception, RunFailed)
    assert said in str(given.exception)
    assert not (tmp_path / "runs").exists()


def test_one_that_cannot_be_started(tmp_path: Path) -> None:
    given = run(json.dumps({**EXTERNAL, "command": ["no-such-program"]}), "--allow-code", tmp_path=tmp_path)

    assert isinstance(given.exception, RunFailed)
    assert "no-such-program cannot be started" in str(given.exception)


def test_its_time_being_over_is_no_failure(tmp_path: Path) -> None:
    """As Trogdor ends a worker when `durationMs` is over."""
    code = 'print(\'{"status": {"n": 1}}\', flush=True); import time; time.sleep(60)'
    given = run(external(code, durationMs=700), "--allow-code", tmp_path=tmp_path)

    assert results(given)[0]["imported"]["figures"] == {"n": 1.0}


def test_nothing_is_done_and_nothing_is_measured(tmp_path: Path) -> None:
    given = run(json.dumps({**NO_OP, "durationMs": 10}), tmp_path=tmp_path)

    assert (given.exit_code, json.loads(given.stdout)) == (0, [])
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_a_program_needs_permission(options: list[str], tmp_path: Path) -> None:
    """Every one that would run is named."""
    file = tmp_path / "proc.yaml"
    file.write_text(json.dumps(BENCH))
    given = run(str(file), *options, tmp_path=tmp_path)

    assert isinstance(given.exception, BadInput)
    assert [fault.where.rpartition(": ")[2] for fault in given.exception.faults] == [
        "init.cmd", "reset.cmd", "run.cmd", "cleanup.cmd",
    ]  # fmt: skip
    assert "Use --allow-code" in str(given.exception)


def test_a_dry_run_shows_the_command_and_starts_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    spec = json.dumps({**EXTERNAL, "command": ["touch", str(marker)]})
    given = RUNNER.invoke(app, ["run", spec, "--allow-code", "--dry-run"])

    assert given.exit_code == 0
    assert f"command: touch {marker}  (is ended after 30s)" in given.stdout
    assert not marker.exists()


def test_other_tools_are_runs_that_can_be_compared(tmp_path: Path) -> None:
    """Two steps of a program: files by their names, output by its pattern, rates in its arguments."""
    code = (
        "import sys, os, shutil; rate = int(sys.argv[1]); print('p99', rate / 1000, 'ms of', rate, 'messages');"
        " shutil.copy(os.environ['SAMPLE'], 'mine.hlog')"
    )
    sample = Path(__file__).parents[1] / "data" / "results"
    log = next(path for path in sorted(sample.rglob("*.hlog")))
    bench = {
        "name": "mine",
        "run": {"cmd": [*PYTHON, code, "{targetRate}"], "dir": "{home}/step-{runStep}", "env": ["SAMPLE={log}"]},
        "vars": {"home": str(tmp_path), "log": str(log)},
        "outputPatterns": [r"p99 (?<ack_service_p99_ms>\S+) ms of (?<sent>\d+)"],
        "scenario": [{"targetRate": "1k", "runTime": 1}, {"targetRate": "2k", "runTime": 1}],
        "runner": "ScenarioRunner",
    }
    file = tmp_path / "proc.yaml"
    file.write_text(json.dumps(bench))

    given = run(str(file), "--allow-code", tmp_path=tmp_path)

    assert given.exit_code == 0, given.output
    found = [each for each in results(given) if each["imported"]["format"] == "output, by a pattern"]
    assert [each["latency"]["ack"]["service"]["p99_ms"] for each in found] == [1.0, 2.0]
    assert [each["throughput"]["target_per_second"] for each in found] == [1000, 2000]
    assert len(results(given)) == 4
    folders = [each["run"] for each in json.loads(given.stdout) if each["format"] == "output, by a pattern"]
    compared = RUNNER.invoke(app, ["compare", *folders, "--metric", "latency.ack.service.p99_ms"])
    assert compared.exit_code == 0, compared.output


def test_a_pattern_without_a_match_fails(tmp_path: Path) -> None:
    file = tmp_path / "proc.yaml"
    file.write_text(json.dumps({"run": {"cmd": ["true"]}, "outputPatterns": ["(?<sent>x)"], "runTime": 1}))
    given = run(str(file), "--allow-code", tmp_path=tmp_path)

    assert isinstance(given.exception, RunFailed)
    assert "its output is empty" in str(given.exception)


def test_settings_of_a_scenario_change_no_program(tmp_path: Path) -> None:
    given = run(external(TOLD), "--allow-code", "--set", "load.rate=5", tmp_path=tmp_path)

    assert isinstance(given.exception, BadInput)
    assert "--set load.rate=5: changes a scenario" in str(given.exception)


@pytest.mark.parametrize("command", ["convert", "experiment", "search", "scenarios", "payload"])
def test_others_say_who_runs_it(command: str, tmp_path: Path) -> None:
    file = tmp_path / "spec.json"
    file.write_text(external(TOLD))
    given = RUNNER.invoke(app, [command, str(file)])

    assert isinstance(given.exception, BadInput), given.output
    assert f"Use: streamgauge run {str(file)[:20]}" in str(given.exception)


def test_any_text_is_imported_by_a_pattern(tmp_path: Path) -> None:
    log = tmp_path / "tool.log"
    log.write_text("rate 500 p99 7 ms\n")
    options = ["--out", str(tmp_path / "runs"), "--json", "--quiet"]
    pattern = r"rate (?P<sent_per_second>\d+) p99 (?P<p99_ms>\d+)"

    given = RUNNER.invoke(app, ["import", str(log), "--pattern", pattern, "--latency", "ack.service", *options])

    [result] = results(given)
    assert (result["throughput"]["sent_per_second"], result["latency"]["ack"]["service"]["p99_ms"]) == (500, 7.0)

    wrong = RUNNER.invoke(app, ["import", str(log), "--pattern", "(", "--unit", "weeks", *options])
    assert isinstance(wrong.exception, BadInput)
    assert len(wrong.exception.faults) == 2
