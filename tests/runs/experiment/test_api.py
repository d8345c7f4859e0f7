"""Experiments and searches in the Python API: the options of the commands as arguments, and what is returned."""

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

import streamgauge
from streamgauge.cli.main import app
from streamgauge.domain.errors import BadInput
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord, RecordedRun, RecordedVariant
from streamgauge.runs.experiment import api
from streamgauge.runs.experiment.folder import write_record

P50 = "latency.ack.response.p50_ms"
NOT_IN_PYTHON = {"as_json", "json_lines", "quiet", "dry_run", "help"}
OTHER_NAMES = {"settings": "set", "objective": "objectives"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What would be carried out; nothing is."""
    found: dict[str, Any] = {}

    def conduct(request: Any, _view: object, _command: object) -> SimpleNamespace:
        found["request"] = request
        return SimpleNamespace(folder=ExperimentFolder(tmp_path), record=None)

    monkeypatch.setattr(api, "conduct", conduct)
    monkeypatch.setattr(api, "carry_out_search", conduct)
    return found


@pytest.mark.parametrize("name", ["experiment", "sweep", "search"])
def test_every_option_of_a_command_is_an_argument(name: str) -> None:
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    options = {OTHER_NAMES.get(each.name, each.name) for each in command.params} - NOT_IN_PYTHON
    assert options <= set(inspect.signature(getattr(streamgauge, name)).parameters)


def test_arguments_of_a_sweep_reach_it(asked: dict[str, Any], tmp_path: Path) -> None:
    vary: dict[str, Any] = {"load.size": [64, 256], "load.rate": {"from": 1000, "to": 4000, "times": 2}}
    found = streamgauge.sweep("baseline", vary, set={"load.producers": 3}, repeat=7, out=tmp_path / "x", metric=P50)
    request = asked["request"]
    assert len(request.variants) == 6
    assert (request.experiment.repeat, request.experiment.metric) == (7, P50)
    assert {each.scenario.load.producers for each in request.requests} == {3}
    assert request.options.out == tmp_path / "x"
    assert found.folder.root == tmp_path


def test_values_may_have_any_character(asked: dict[str, Any]) -> None:
    streamgauge.sweep("baseline", {"about": ["\U0001d11e", "\u00e9"]})
    assert [each.scenario.about for each in asked["request"].requests] == ["\U0001d11e", "\u00e9"]


def test_an_experiment_may_be_a_mapping(asked: dict[str, Any]) -> None:
    streamgauge.experiment({"name": "x", "scenario": "baseline", "vary": {"load.size": [1, 2]}}, order="blocks")
    assert asked["request"].experiment.order == "blocks"


def test_what_an_experiment_varies_may_be_replaced(asked: dict[str, Any], tmp_path: Path) -> None:
    vary: dict[str, Any] = {"topic.partitions": {"from": 1, "to": 8, "times": 2}}
    streamgauge.experiment("kafkabench", vary=vary)
    assert len(asked["request"].variants) == 4 * 3
    with pytest.raises(BadInput, match="cannot be combined with resume"):
        streamgauge.experiment("kafkabench", vary=vary, resume=tmp_path)


def test_a_shipped_search_has_its_options_unless_others_are_stated(asked: dict[str, Any]) -> None:
    streamgauge.search("steprater", climb={"by": 0.05})
    request = asked["request"]
    assert [each.window_seconds for each in request.objectives] == [10, 60]
    assert (request.scenario, request.staircase.by, request.step_seconds) == ("azul-10k", 0.05, 60)


def test_arguments_of_a_search_reach_it(asked: dict[str, Any]) -> None:
    streamgauge.search("baseline", ["p99 <= 20 ms"], start=5000, width=0.02, most="1M", set={"load.size": 64})
    request = asked["request"]
    assert (request.start, request.width, request.most) == (5000, 0.02, 1_000_000)
    assert request.first.scenario.load.size == 64


def test_a_wrong_argument_is_refused_before_anything_starts(asked: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"load\.szie"):
        streamgauge.sweep("baseline", {"load.szie": [1, 2]})
    with pytest.raises(BadInput, match="--objective"):
        streamgauge.search("baseline", ["nothing"])
    assert asked == {}


def test_an_experiment_has_its_record_runs_and_tables(tmp_path: Path) -> None:
    folder = ExperimentFolder(tmp_path)
    folder.tables.mkdir()
    pq.write_table(pa.table({"run": ["a"]}), folder.tables / "runs.parquet")
    run = RecordedRun(round=1, variant=0, begun="", outcome="failed", folder="a")
    record = ExperimentRecord(
        id="x", name="x", created="", command=[], asked={}, variants=[RecordedVariant(name="v", settings={})],
        order="interleaved", seed=1, repeat=1, runs=[run],
    )  # fmt: skip
    write_record(folder, record)
    found = streamgauge.Experiment(tmp_path)
    assert found.record == record
    assert [each.folder.root for each in found.runs] == [tmp_path / "runs" / "a"]
    assert found.table("runs").to_pylist() == [{"run": "a"}]
    assert found.answer is None
    for name in ("pairs", "nothing"):
        with pytest.raises(BadInput, match="no table of this name"):
            found.table(name)
