"""`streamgauge trogdor --exec`: Trogdor's words on standard output, and its exit codes 0 and 1."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_programs import TOLD, external
from tests.foreign.specs.samples import CONSUME, PRODUCE, STOP
from tests.foreign.specs.test_programs import NO_OP
from tests.report.conftest import changed
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.domain.errors import BrokerError
from streamgauge.report.assemble.result import assemble
from streamgauge.report.exports.trogdor import MillisecondBins
from streamgauge.runs.foreign import trogdor as tasks

RUNNER = CliRunner()


def execute(spec: str, tmp_path: Path, *options: str) -> Any:
    return RUNNER.invoke(app, ["trogdor", "--exec", spec, "--out", str(tmp_path / "runs"), "--quiet", *options])


def test_a_command_of_others_succeeds_with_its_status(tmp_path: Path) -> None:
    given = execute(external(TOLD), tmp_path, "--allow-code")

    assert given.exit_code == 0, given.output
    said, _, status = given.stdout.partition("Task succeeded with status ")
    assert said.startswith("Waiting for completion of task:{")
    assert json.loads(status)["totalSent"] == 5000
    assert len(list((tmp_path / "runs").iterdir())) == 1


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (json.dumps({**NO_OP, "durationMs": 10}), 0, 'Task succeeded with status "done"'),
        ("no specification", 1, "Unable to parse the supplied task spec. standard input: not a specification"),
        ("", 1, "Unable to parse the supplied task spec. standard input: not a specification"),
    ],
)
def test_a_specification_may_come_from_another_program(text: str, code: int, said: str, tmp_path: Path) -> None:
    given = RUNNER.invoke(app, ["trogdor", "--exec", "-", "--out", str(tmp_path / "runs"), "--quiet"], input=text)

    assert given.exit_code == code
    assert said in given.stdout


def test_nothing_is_done(tmp_path: Path) -> None:
    given = execute(json.dumps({**NO_OP, "durationMs": 10}), tmp_path)

    assert (given.exit_code, given.stdout.splitlines()[-1]) == (0, 'Task succeeded with status "done"')


@pytest.mark.parametrize(
    ("spec", "options", "said"),
    [
        (external("import sys; sys.exit(3)"), ["--allow-code"], "and error command exited with return code 3"),
        (external('print(\'{"status": 1, "error": "x"}\')'), ["--allow-code"], "failed with status 1 and error x"),
        (external(TOLD), [], "is a program that would run. Use --allow-code"),
        ("{", [], "Unable to parse the supplied task spec. SPEC:1:2: not JSON"),
        ('{"load": 1}', [], "Unable to parse the supplied task spec. SPEC: not a specification of Trogdor"),
        (json.dumps({**PRODUCE, "maxMessages": 0}), [], "maxMessages: 0 sends nothing"),
        (json.dumps(STOP), [], "a fault alone has nothing to disturb"),
        ("no-such-file.json", [], "Unable to parse the supplied task spec. no-such-file.json"),
    ],
)
def test_everything_else_is_exit_code_1(spec: str, options: list[str], said: str, tmp_path: Path) -> None:
    given = execute(spec, tmp_path, *options)

    assert given.exit_code == 1
    assert said in given.stdout


def test_a_workload_is_a_run_on_the_cluster_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status is made of the result; the bins are those of its record processor."""
    folder, asked = changed(tmp_path / "healthy"), []

    def conduct(request: Any, _display: Any, show: Any) -> None:
        asked.append(request)
        show(folder, assemble(folder))

    monkeypatch.setattr(tasks, "run_request", conduct)
    monkeypatch.setattr(tasks, "request_of", lambda _source, options: options)
    spec = json.dumps({**PRODUCE, "bootstrapServers": "kafka-1:9092"})

    given = execute(spec, tmp_path)

    assert given.exit_code == 0, given.output
    assert asked[0].bootstrap == "kafka-1:9092"
    assert execute(spec, tmp_path, "--bootstrap", "other:1").exit_code == 0
    assert asked[1].bootstrap == "other:1"
    status = json.loads(given.stdout.partition("Task succeeded with status ")[2])
    assert {"totalSent", "averageLatencyMs", "transactionsCommitted"} <= status.keys()


SECRET = "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='hunter2';"


def test_no_secret_of_a_specification_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BrokerError("no broker answers")

    monkeypatch.setattr(tasks, "request_of", fail)
    given = execute(json.dumps({**PRODUCE, "commonClientConf": {"sasl.jaas.config": SECRET}}), tmp_path)

    assert "Waiting for completion of task:" in given.stdout
    assert '"sasl.jaas.config": "***"' in given.stdout
    assert "hunter2" not in given.output


def test_no_secret_of_a_program_is_kept(tmp_path: Path) -> None:
    spec = json.loads(external(TOLD))
    spec["workload"]["sasl.jaas.config"] = SECRET
    given = execute(json.dumps(spec), tmp_path, "--allow-code")

    assert given.exit_code == 0, given.output
    assert "hunter2" not in given.output
    [status] = (tmp_path / "runs").rglob("status.json")
    assert json.loads(status.read_text(encoding="utf-8"))["spec"]["workload"]["sasl.jaas.config"] == "***"
    assert "hunter2" not in (status.parents[1] / "run.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, MillisecondBins()),
        ({"histogramMinMs": None, "histogramMaxMs": None, "histogramStepMs": None}, MillisecondBins()),
        ({"histogramMinMs": 5, "histogramMaxMs": 1000, "histogramStepMs": 3}, MillisecondBins(5, 1000, 3)),
    ],
)
def test_bins_of_a_record_processor(given: dict[str, Any], expected: MillisecondBins) -> None:
    """What is null is not given."""
    assert tasks._bins({"recordProcessor": {"type": "timestamp", **given}}) == expected


def test_a_run_that_fails_is_a_task_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BrokerError("no broker answers")

    monkeypatch.setattr(tasks, "request_of", fail)

    given = execute(json.dumps(CONSUME), tmp_path)

    assert given.exit_code == 1
    assert "Task failed with status null and error no broker answers" in given.stdout
