"""The Python API hands every option of a run on, as the command line does."""

import json
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
import typer
from tests.foreign.specs.samples import OMB, PERF

import streamgauge
from streamgauge.cli.main import app
from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.runs import api
from streamgauge.runs.request import options

OF_THE_TERMINAL: Final = {"as_json", "quiet", "dry_run"}
"""Options that say how the command line answers, and nothing about the run."""
OTHERWISE_NAMED: Final = {"settings": "set"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What a run was called with, which is not carried out."""
    calls: dict[str, Any] = {}

    def run(request: object, _display: object, **more: object) -> SimpleNamespace:
        calls.update(more, request=request)
        return SimpleNamespace(folder=RunFolder(tmp_path / "run"))

    monkeypatch.setattr(api, "run_request", run)
    monkeypatch.setattr(options, "find_java", lambda _: SimpleNamespace(path=tmp_path / "bin" / "java"))
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.chdir(tmp_path)
    return calls


def test_every_option_of_a_run_is_an_argument() -> None:
    command: Any = typer.main.get_command(app)
    known = {each.name for each in command.commands["run"].params if each.name != "help"}

    assert {OTHERWISE_NAMED.get(name, name) for name in known - OF_THE_TERMINAL} <= {
        *signature(streamgauge.run).parameters
    }


def test_options_reach_the_run(asked: dict[str, Any]) -> None:
    run = streamgauge.run(
        "baseline", set={"load.rate": "1k/s"}, keep_broker=True, figures=True, percentiles="p50,p99.9",
        metrics_port=0, metrics_address="127.0.0.2", metrics_names="streamgauge", prepare=True,
    )  # fmt: skip

    assert run.folder.root.name == "run"
    request, metrics = asked["request"], asked["metrics"]
    assert (request.keep_broker, request.target_per_second) == (True, 1000)
    assert (asked["figures"], asked["percentiles"], asked["prepare"]) == (True, ("p50", "p99_9"), True)
    assert (metrics.address, metrics.port) == ("127.0.0.2", 0)


def test_a_run_may_be_recorded_only(asked: dict[str, Any]) -> None:
    streamgauge.run("baseline", record_only=True)
    assert asked["record_only"]
    with pytest.raises(BadInput, match=r"(?s)figures: cannot be combined with record_only.*percentiles: cannot"):
        streamgauge.run("baseline", record_only=True, figures=True, percentiles="p50")


def test_nothing_more_is_done_than_was_asked_for(asked: dict[str, Any]) -> None:
    streamgauge.run("baseline")

    assert [asked[name] for name in ("figures", "percentiles", "metrics", "prepare")] == [False, None, None, False]


def test_any_character_may_be_set(asked: dict[str, Any]) -> None:
    """Also one that JSON would write as two."""
    streamgauge.run("baseline", set={"about": "\U0001d11e \u00e9"})

    assert asked["request"].scenario.about == "\U0001d11e \u00e9"
    assert asked["request"].scenario.model_dump_json()


def test_what_became_of_a_specification_is_told(asked: dict[str, Any]) -> None:
    said: list[str] = []
    Path("spec.sh").write_text(PERF, encoding="utf-8")
    streamgauge.run("spec.sh", progress=said.append)

    assert said[0].startswith("Converted from Kafka's tools")
    assert any(note.startswith("record-size: ") for note in said)


def test_a_specification_that_asks_for_the_highest_rate_is_no_run(asked: dict[str, Any]) -> None:
    """As on the command line."""
    Path("omb.yaml").write_text(json.dumps({**OMB, "producerRate": 0}), encoding="utf-8")

    with pytest.raises(BadInput, match=r"omb.yaml: asks for the highest rate. Use: streamgauge search omb.yaml"):
        streamgauge.run("omb.yaml")
    assert not asked


@pytest.mark.parametrize(
    ("wrong", "where"),
    [({"percentiles": "p42"}, "--percentiles"), ({"keep_broker": True, "bootstrap": "h:1"}, "--keep-broker")],
)
def test_a_wrong_option_is_refused_before_anything_starts(
    wrong: dict[str, Any], where: str, asked: dict[str, Any]
) -> None:
    with pytest.raises(BadInput) as caught:
        streamgauge.run("baseline", **wrong)

    assert [fault.where for fault in caught.value.faults] == [where]
    assert not asked


@pytest.mark.parametrize("count", [1, 3])
def test_rows_that_are_left_out_are_told(tmp_path: Path, count: int) -> None:
    """They are missing in what is returned; a part of another kind is nobody's business."""
    for number in range(1, count + 1):
        part = tmp_path / "events" / "sent" / "worker=producer-0" / f"part-{number}.parquet"
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(b"nothing")
    run = api.Run(tmp_path)

    with pytest.warns(
        UserWarning, match="rows of events/sent/worker=producer-0/part-1.parquet are left out: cannot be"
    ) as told:
        assert len(run.events("sent")) == 0
    assert ("of 2 other parts" in str(told[0].message)) == (count == 3)
    assert told[0].filename == __file__
    assert len(run.events("received")) == 0
