"""Specifications of other tools where scenarios are named: files, standard input, JSON, and files beside them."""

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.runs.experiment.request import experiment_of
from streamgauge.runs.request.options import RunOptions
from streamgauge.runs.request.scenario_file import home_of_scenario, mapping_of, read_scenario, translation_of
from streamgauge.runs.request.spec_files import converted
from streamgauge.runs.request.texts import LARGEST_BYTES

STRESS = {
    "class": "org.apache.kafka.trogdor.workload.ConnectionStressSpec",
    "durationMs": 1000,
    "targetConnectionsPerSec": 10,
}
PERF = "kafka-producer-perf-test --topic t --num-records 9 --record-size 9 --throughput 9"
LOOPS = "./run.sh sweep-acks"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def test_a_specification_is_read_as_a_scenario() -> None:
    """With `--set` on top."""
    Path("spec.json").write_text(f"// a comment\n{json.dumps(STRESS)}")
    scenario, faults = read_scenario("spec.json", ["connections.open=20/s"])

    assert not faults
    assert scenario is not None
    assert scenario.connections is not None
    assert scenario.connections.open == 20


def test_json_will_do_instead_of_a_file() -> None:
    """As Trogdor takes it; it has no folder, whatever slashes stand in it."""
    text = json.dumps({**STRESS, "clientNode": ["../../x"]})

    assert mapping_of(text)["connections"] == {"open": "10/s"}
    assert home_of_scenario(text) is None


def test_scenarios_are_what_they_were() -> None:
    """Also where their keys are those of other tools, of which the message tells the place."""
    misplaced = "producerRate: 5\nmessageSize: 5\ntopics: 1\npartitionsPerTopic: 5\n"
    Path("mine.yaml").write_text(f"name: mine\n{misplaced}load: {{rate: 5/s}}\n")

    assert translation_of("mine.yaml") is None
    assert translation_of("baseline") is None
    with pytest.raises(BadInput, match=r"load\.rate"):
        read_of("mine.yaml")


def read_of(name: str) -> None:
    _, faults = read_scenario(name)
    raise BadInput(faults)


def test_a_specification_of_several_runs_is_an_experiment(tmp_path: Path) -> None:
    Path("spec.sh").write_text(LOOPS)
    Path("one.sh").write_text(PERF)
    request = experiment_of("spec.sh", RunOptions(command=["x"], out=tmp_path), {})

    assert [each.name for each in request.variants] == ["acks=0", "acks=1", "acks=all"]
    with pytest.raises(
        BadInput, match=r"spec\.sh: is an experiment, of several runs\. Use: streamgauge experiment spec\.sh"
    ):
        mapping_of("spec.sh")
    with pytest.raises(BadInput, match=r"one\.sh: is a scenario, of one run\. Use: streamgauge run one\.sh"):
        mapping_of("one.sh", "experiment")


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(PERF.encode())))

    assert converted(["-"]).tool == "perf-test"
    with pytest.raises(BadInput, match="standard input is named twice"):
        converted(["-", "-"])


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * (LARGEST_BYTES + 1), b""])
def test_what_is_no_text_is_refused(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    Path("spec.json").write_bytes(content)

    for name, place in (("-", "standard input"), ("spec.json", "spec.json")):
        with pytest.raises(BadInput, match=f"^{place}: (cannot be read|is larger|is empty)"):
            converted([name])


@pytest.mark.parametrize("name", ["gone.json", ".", "", "a\x00b"])
def test_what_cannot_be_read_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        converted([name])


def test_files_beside_a_specification_are_read(tmp_path: Path) -> None:
    """Those in its folder and below, and in the current one; others may hold anything."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "p.properties").write_text("acks=0\n")
    (tmp_path / "secret.properties").write_text("acks=0\n")
    (tmp_path / "there" / "spec.sh").write_text(f"{PERF} --producer.config p.properties")
    (tmp_path / "there" / "far.sh").write_text(f"{PERF} --producer.config ../secret.properties")
    (tmp_path / "there" / "link.properties").symlink_to(tmp_path / "secret.properties")
    (tmp_path / "there" / "link.sh").write_text(f"{PERF} --producer.config link.properties")

    assert converted([str(tmp_path / "there" / "spec.sh")]).document["load"]["client"]["acks"] == 0
    for name in ("far.sh", "link.sh"):
        with pytest.raises(BadInput, match="is outside the specification's folder"):
            converted([str(tmp_path / "there" / name)])
