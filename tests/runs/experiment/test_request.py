"""Experiment files and sweeps as they are asked for: every fault of every variant before anything starts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.foreign.specs.samples import OMB

from streamgauge.domain.errors import BadInput
from streamgauge.runs.experiment.request import ExperimentRequest, experiment_of, sweep_of, varied
from streamgauge.runs.request.options import RunOptions

CODEC = "load.client.compression.type"

CODECS: dict[str, Any] = {
    "name": "codecs",
    "scenario": "baseline",
    "vary": {"load.client.compression.type": ["none", "lz4"]},
}


def options(tmp_path: Path, *settings: str, **more: Any) -> RunOptions:
    return RunOptions(settings=settings, out=tmp_path / "experiments", command=["streamgauge"], **more)


def asked(tmp_path: Path, changes: dict[str, Any], *settings: str, **more: Any) -> ExperimentRequest:
    path = tmp_path / "codecs.yaml"
    path.write_text(yaml.safe_dump({**CODECS, **changes}))
    return experiment_of(str(path), options(tmp_path, *settings, **more), {})


def refused(tmp_path: Path, changes: dict[str, Any], *settings: str, **more: Any) -> list[str]:
    with pytest.raises(BadInput) as caught:
        asked(tmp_path, changes, *settings, **more)
    return [str(fault) for fault in caught.value.faults]


def test_each_variant_is_a_scenario_of_its_own(tmp_path: Path) -> None:
    found = asked(tmp_path, {"set": {"load.rate": "5k/s"}}, "phases.measure=2s")
    loads = [each.scenario.load for each in found.requests]
    assert [load.client["compression.type"] for load in loads if load] == ["none", "lz4"]
    assert [load.mean_rate for load in loads if load] == [5000, 5000]
    assert {each.scenario.phases.measure_ns for each in found.requests} == {2 * 10**9}


def test_the_base_may_be_a_file_beside_the_experiment_or_written_into_it(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\nload: {rate: 7/s}\n")
    inline = asked(tmp_path, {"scenario": {"name": "mine", "load": {"rate": "7/s"}}})
    assert asked(tmp_path, {"scenario": "mine.yaml"}).requests[0].scenario == inline.requests[0].scenario


def test_a_specification_that_asks_for_the_highest_rate_is_no_base(tmp_path: Path) -> None:
    """One run would not do what it says, nor would several."""
    (tmp_path / "o.yml").write_text(json.dumps({**OMB, "producerRate": 0}))
    # A message cuts long paths.
    assert "o.yml: asks for the highest rate" in refused(tmp_path, {"scenario": "o.yml"})[0].replace("...", "")


def test_what_was_asked_is_kept_whole_and_without_secrets(tmp_path: Path) -> None:
    found = asked(tmp_path, {"set": {"load.client.sasl.password": "hunter2"}}, "load.rate=3/s")
    assert found.asked["scenario"]["load"]["rate"] == "3/s"
    assert "hunter2" not in str(found.asked)


@pytest.mark.parametrize(
    ("changes", "settings", "expected"),
    [
        pytest.param(
            {"vary": {"load.client.compression.type": ["lz4", "zip", "rar"]}}, (),
            ["variant compression.type=zip: load.client.compression.type: ",
             "variant compression.type=rar: load.client.compression.type: "],
            id="each variant's own",
        ),
        pytest.param({"set": {"load.producers": 0}}, (), ["load.producers: 0: "], id="of all variants, once"),
        pytest.param({"set": {"lod.rate": 1}}, (), ["lod"], id="a path that is none"),
        pytest.param({"vary": {"load.szie": [1, 2]}}, (), ["load.szie: no such key"], id="a varied path that is none"),
        pytest.param(
            {}, ("load.client.compression.type=zstd",),
            [f"--set {CODEC}: the experiment varies {CODEC}. Write --vary {CODEC}=zstd instead, or leave"],
            id="set and varied",
        ),
        pytest.param(
            {}, ("load.client={}",), [f"--set load.client: the experiment varies {CODEC}. Write --vary {CODEC}=..."],
            id="set above it",
        ),
        pytest.param(
            {"set": {"phases.start_at": "2999-01-01T00:00:00Z"}}, (), ["phases.start_at: has no place"], id="a begin"
        ),
        pytest.param({"scenario": "nothing"}, (), ["nothing"], id="no such scenario"),
        pytest.param({"set": {"name.x": 1}}, (), ["set.name.x: name is a single value"], id="below a value"),
        pytest.param({"repeat": 0}, (), ["repeat: 0"], id="the experiment's own"),
        pytest.param(
            {"metric": "throughput.recieved_per_second",
             "expect": ["variants.lz4.latency.ack.response.p99_ms < 9", "variants.lz4.delivry.lost <= 0"]}, (),
            ["metric: throughput.recieved_per_second: throughput has no `recieved_per_second`. Did you mean `received_",
             "expect.1: delivry.lost: the result has no `delivry`. Did you mean `delivery`?"],
            id="figures that no result has",
        ),
        pytest.param({"metric": "latency.ack"}, (), ["metric: latency.ack: is not a scalar"], id="no single figure"),
    ],
)  # fmt: skip
def test_faults_are_told_at_once(
    tmp_path: Path, changes: dict[str, Any], settings: Sequence[str], expected: list[str]
) -> None:
    found = refused(tmp_path, changes, *settings)
    assert len(found) == len(expected), found
    assert all(any(text.startswith(begin) for text in found) for begin in expected), found


def test_of_many_faults_some_are_shown(tmp_path: Path) -> None:
    found = refused(tmp_path, {"vary": {"load.producers": [1, *range(-30, 0)]}})
    assert len(found) == 21
    assert found[-1].startswith("vary: 10 more faults")


def test_code_that_a_file_names_needs_permission_and_code_that_is_typed_does_not(tmp_path: Path) -> None:
    """Whoever runs an experiment of somebody else has not read every value of it."""
    theirs = {"vary": {"consume.processing.function": ["nowhere:a", "nowhere:b"]}}
    assert "--allow-code" in refused(tmp_path, theirs)[0]
    with pytest.raises(BadInput) as caught:
        sweep_of("baseline", ["consume.processing.function=nowhere:a,nowhere:b"], options(tmp_path), {})
    assert "--allow-code" not in str(caught.value)


def test_files_beside_an_experiment_may_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    payload = {"set": {"load.payload": {"file": {"path": str(tmp_path / "lines.txt")}}}}
    assert len(asked(tmp_path, payload).requests) == 2


def test_what_an_experiment_varies_may_be_replaced_and_added_to(tmp_path: Path) -> None:
    vary = ["load.size={from: 1, to: 4, times: 2}", "topic.count=1,2"]
    found = experiment_of("sweep-size", options(tmp_path), {}, vary)
    assert [each.name for each in found.variants] == [f"size={size}, count={n}" for size in (1, 2, 4) for n in (1, 2)]
    with pytest.raises(BadInput, match=r"load\.size: is given twice"):
        experiment_of("sweep-size", options(tmp_path), {}, [*vary, "load.size=7"])


def test_kafkabench_has_its_defaults(tmp_path: Path) -> None:
    """Four topics of eight partitions, 128 MiB for each, in three sizes: as many messages as the original sends."""
    found = experiment_of("kafkabench", options(tmp_path), {})
    assert [each.name for each in found.variants] == ["size=128", "size=512", "size=2048"]
    scenarios = [each.scenario for each in found.requests]
    assert [each.measured_messages for each in scenarios] == [32 * (1 << 27) // size for size in (128, 512, 2048)]
    assert {(len(each.sent_topics), each.producers, each.consumers) for each in scenarios} == {(4, 4, 4)}
    assert {each.topic.replication for each in scenarios} == {3}
    assert {each.brokers for each in scenarios} == {3}
    assert (found.experiment.order, found.experiment.repeat) == ("as-written", 1)


def test_a_sweep_is_an_experiment_in_one_line(tmp_path: Path) -> None:
    found = sweep_of(
        "baseline", ["load.size=64,256,1KiB", "load.client.acks=[1],all"][:1], options(tmp_path), {"repeat": 3}
    )
    assert found.experiment.name == "sweep-baseline"
    assert [each.name for each in found.variants] == ["size=64", "size=256", "size=1KiB"]
    assert found.experiment.repeat == 3
    sizes = [each.scenario.load.mean_size_bytes for each in found.requests if each.scenario.load]
    assert sizes == [64, 256, 1024]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("load.size=64,1KiB", ("load.size", [64, "1KiB"])),
        ("load.size={from: 1, to: 4, times: 2}", ("load.size", {"from": 1, "to": 4, "times": 2})),
        ("load.rate=max,{burst: {burst: 9k/s}}", ("load.rate", ["max", {"burst": {"burst": "9k/s"}}])),
        ("load.payload='json','text'", ("load.payload", ["json", "text"])),
    ],
)
def test_values_of_a_sweep_are_yaml(text: str, expected: tuple[str, Any]) -> None:
    assert varied(text) == expected


@pytest.mark.parametrize("text", ["load.size", "=1", "load.size=", "zip=1,2", "load.size=[", "variants=a,b"])
def test_what_makes_no_sweep_is_told(text: str) -> None:
    with pytest.raises(BadInput, match="--vary"):
        varied(text)


def test_a_sweep_tells_all_faults_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        sweep_of("baselin", ["load.size=1,2", "load.size=3,4", "x"], options(tmp_path), {})
    found = [str(fault) for fault in caught.value.faults]
    assert [text.partition(":")[0] for text in found] == ["--vary x", "--vary load.size", "baselin"]
