"""The command `convert`, and specifications where `run` takes a scenario."""

import json
import shlex
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from streamgauge.cli.loads.convert import tell_conversion
from streamgauge.cli.main import app, main
from streamgauge.domain.errors import BadInput
from streamgauge.runs.request.scenario_file import conversion_notes
from streamgauge.scenario import parse

PERF = "kafka-producer-perf-test --topic t --num-records 9 --record-size 9 --throughput 9"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("spec.sh").write_text(PERF)
    Path("search.sh").write_text("java -jar kafka-benchmark.jar producers=1 --runner StepRater")


def _said(line: str) -> str:
    result = CliRunner().invoke(app, shlex.split(line), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_it_prints_a_scenario() -> None:
    out = _said("convert spec.sh")

    assert out.startswith("# Converted from Kafka's tools: kafka-producer-perf-test.\n")
    assert parse(yaml.safe_load(out)).topic_name == "t"


def test_it_writes_a_file() -> None:
    """Which says by its own name how it is run."""
    assert _said("convert spec.sh -o mine.yaml") == ""
    text = Path("mine.yaml").read_text()
    assert "# Run it with: streamgauge run mine.yaml" in text
    assert parse(yaml.safe_load(text)).topic_name == "t"


def test_rates_are_rounded_where_that_is_asked() -> None:
    spec = {
        "class": "ProduceBenchSpec",
        "durationMs": 1000,
        "maxMessages": 5,
        "targetMessagesPerSec": 99,
        "activeTopics": {"t": {}},
    }
    Path("spec.json").write_text(json.dumps(spec))

    assert "rate: 99/s" in _said("convert spec.json")
    assert "{messages: 9, window: 100ms}" in _said("convert spec.json --floor")


def test_a_run_tells_what_became_of_a_specification() -> None:
    notes = conversion_notes("spec.sh")

    assert notes[0] == "Converted from Kafka's tools: kafka-producer-perf-test"
    assert any(note.startswith("record-size: ") for note in notes)
    assert conversion_notes("baseline") == []
    assert conversion_notes("gone.yaml") == []


def test_a_search_tells_what_became_of_a_specification() -> None:
    said: list[str] = []
    tell_conversion("search.sh", said.append, is_search=True)
    tell_conversion(None, said.append)

    assert said[0] == "Converted from tussle: StepRater"
    assert any(note.startswith("conforming_rate: ") for note in said)


def test_an_experiment_tells_what_became_of_a_specification() -> None:
    """Where it starts nothing, too."""
    Path("loops.sh").write_text("./run.sh sweep-acks")
    result = CliRunner().invoke(app, ["experiment", "loops.sh", "--dry-run"], catch_exceptions=False)

    assert result.exit_code == 0
    assert "Converted from SSP_kafka: run.sh sweep-acks" in result.stderr
    assert "acks=all" in result.stdout


def test_a_sweep_tells_what_became_of_a_specification() -> None:
    """And does not take a search for a run either."""
    line = ["--vary", "load.size=64,128", "--dry-run"]
    result = CliRunner().invoke(app, ["sweep", "spec.sh", *line], catch_exceptions=False)

    assert "Converted from Kafka's tools: kafka-producer-perf-test" in result.stderr
    with pytest.raises(BadInput, match="asks for the highest rate"):
        CliRunner().invoke(app, ["sweep", "search.sh", *line], catch_exceptions=False)


def test_a_run_does_not_take_a_search_for_one() -> None:
    with pytest.raises(
        BadInput, match=r"search.sh: asks for the highest rate. Use: streamgauge search search.sh --obj"
    ):
        conversion_notes("search.sh")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("convert gone.json", "error: gone.json: cannot be read"),
        ("convert spec.sh --as nothing", "error: --as nothing: not a tool that is known"),
        ("convert spec.sh --as mqperf", "error: spec.sh: not"),
        ("convert spec.sh -o gone/x.yaml", "error: --output gone/x.yaml: cannot be written"),
        ("convert baseline", "error: baseline: cannot be read"),
        ("run search.sh", "error: search.sh: asks for the highest rate"),
    ],
)
def test_bad_input_is_one_message_and_code_2(
    line: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["streamgauge", *shlex.split(line)])
    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(expected)
    assert err.count("error: ") == 1
