"""Scenario files: shipped ones, own ones, settings on top, and everything that can be wrong with them."""

import json
import re
from pathlib import Path

import pytest
import yaml

from streamgauge.domain.errors import BadInput
from streamgauge.runs.request.scenario_file import (
    about,
    described,
    described_json,
    json_text,
    load_scenario,
    schema_text,
    shipped,
    yaml_text,
)
from streamgauge.scenario import parse


def fault_of(name: str, *settings: str) -> str:
    with pytest.raises(BadInput) as caught:
        load_scenario(name, settings)
    return str(caught.value)


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_shipped_scenario_is_right_and_bears_its_name(name: str) -> None:
    """And says in a sentence what it is for."""
    scenario = load_scenario(name)

    assert scenario.name == name
    assert scenario.about


def test_baseline_and_saturate_are_shipped() -> None:
    """Saturate is baseline without a rate."""
    baseline, saturate = load_scenario("baseline"), load_scenario("saturate")

    assert baseline.load is not None
    assert saturate.load is not None
    assert (baseline.load.rate, saturate.load.rate) == (10_000.0, "max")
    assert (
        (baseline.load.size, baseline.topic.partitions) == (saturate.load.size, saturate.topic.partitions) == (512, 12)
    )


def test_a_resolved_scenario_can_be_saved_and_loaded(tmp_path: Path) -> None:
    """`scenarios NAME > mine.yaml` gives a file that `run mine.yaml` takes."""
    path = tmp_path / "mine.yaml"
    path.write_text(yaml_text(load_scenario("baseline", ["load.rate=20k/s", "consume=off"])), encoding="utf-8")

    mine = load_scenario(str(path))

    assert mine.load is not None
    assert mine.load.rate == 20_000.0
    assert mine.consume is None


def test_settings_reach_every_depth() -> None:
    """Client settings keep their dots; a part that is off comes to life when one of its values is set."""
    scenario = load_scenario(
        "baseline",
        [
            "load.client.linger.ms=1",
            "topic.configs.retention.ms=60000",
            "expect.delivery.lost=<= 5",
            "phases.warmup=0s",
        ],
    )
    revived = load_scenario("baseline", ["consume=off", "consume.consumers=3"])

    assert scenario.load is not None
    assert scenario.load.client == {"acks": 1, "linger.ms": 1}
    assert scenario.topic.configs == {"retention.ms": 60000}
    assert scenario.expect["delivery.lost"] == "<= 5"
    assert scenario.phases.warmup == 0
    assert revived.consume is not None
    assert revived.consume.consumers == 3


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("basline", [], "basline: no scenario of this name. Did you mean `baseline`?"),
        ("nothing-like-it", [], "List the shipped ones with `streamgauge scenarios`"),
        ("missing.yaml", [], "missing.yaml: cannot be read: No such file or directory"),
        ("baseline", ["load.rate"], "--set load.rate: not of the form path=value"),
        ("baseline", ["=5"], "--set =5: not of the form path=value"),
        ("baseline", ["load.rate=[1"], "--set load.rate=[1: the value is not valid YAML"),
        ("baseline", ["load.rate.x=1"], "--set load.rate.x=1: load.rate is a single value. Set load.rate instead"),
        ("baseline", ["load.spede=1"], "load.spede: no such key"),
        ("baseline", ["laod.rate=1"], "laod: no such key. Did you mean `load`?"),
    ],
)
def test_what_is_wrong_is_told_with_its_remedy(name: str, settings: list[str], expected: str) -> None:
    """Names, files and settings."""
    assert expected in fault_of(name, *settings)


def test_all_wrong_settings_are_told_at_once() -> None:
    """Two of two."""
    assert len(fault_of("baseline", "a", "b").splitlines()) == 2


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"name: x\n  load: [", ":2:7: not YAML"),
        (b"- a\n- b\n", "not a mapping of keys to values"),
        (b"", "not a mapping of keys to values"),
        (b"\xff\xfe\x00", "it is not UTF-8 text"),
        (b"name: x\nload: {rate: fast}\n", "load.rate: 'fast': not a rate"),
        (b"a: &a [*a]\n", "*a is part of itself"),
    ],
)
def test_a_wrong_file_is_told_with_its_place(tmp_path: Path, content: bytes, expected: str) -> None:
    """Line and column, where YAML knows them."""
    path = tmp_path / "wrong.yaml"
    path.write_bytes(content)

    assert expected in fault_of(str(path))


def test_a_folder_is_no_scenario(tmp_path: Path) -> None:
    """Said in words of the system."""
    assert "cannot be read: Is a directory" in fault_of(str(tmp_path))


@pytest.mark.slow
def test_as_json_the_list_has_all_that_scenarios_say_of_themselves() -> None:
    rows = {row.pop("name"): row for row in json.loads(described_json())}
    assert list(rows) == list(shipped())
    assert rows["quick"] == {"topic": "basics", **about("quick")._asdict()}


def test_a_scenario_is_the_same_in_yaml_and_in_json() -> None:
    """Also letters beyond ASCII, and what is masked."""
    scenario = load_scenario("baseline", ["about=größer", "load.client.sasl.password=hunter2"])
    assert json.loads(json_text(scenario)) == yaml.safe_load(yaml_text(scenario))
    assert "größer" in json_text(scenario)
    assert "hunter2" not in json_text(scenario)


@pytest.mark.slow
def test_the_list_has_every_scenario() -> None:
    """With its purpose, and without whose run it recreates; in lines that fit a terminal."""
    listed = [line.split() for line in described().splitlines() if line.startswith(" ")]
    assert [words[0] for words in listed] == list(shipped())
    assert all(len(words) > 2 for words in listed)
    assert max(map(len, described().splitlines())) <= 80
    assert not re.search(r"SSP|Azul|Trogdor|KafkaBench|mqperf's|--set", described())
    assert described().startswith("basics\n")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("baseline", ("10,000 messages of 512 bytes a second, healthy consumers", "", "", "")),
        (
            "quick",
            ("A five-second smoke test", "5,000 messages of 512 bytes a second.", "SSP_kafka's preset quick", ""),
        ),
        (
            "acks",
            ("Effect of acks", "", "one of SSP_kafka's sweep-acks", "--set load.client.acks=0, 1 or all"),
        ),
    ],
)
def test_what_a_scenario_says_of_itself(name: str, expected: tuple[str, ...]) -> None:
    """What it does, whose run it recreates, and what to try."""
    assert about(name) == expected


@pytest.mark.parametrize("name", sorted(shipped()))
def test_what_to_try_can_be_tried(name: str) -> None:
    """Every setting of a list of values."""
    for setting in re.findall(r"--set (\S+=[^-]*)", about(name).tries):
        path, _, values = setting.partition("=")
        for value in re.split(r", | or ", values.strip()):
            assert load_scenario(name, [f"{path}={value}"]).name == name


def test_what_others_call_their_runs_is_in_one_place() -> None:
    """In sentences that begin with `Recreates`, from which the page of shipped scenarios is made."""
    for name in shipped():
        told = about(name)
        assert not re.search(r"SSP|Azul|Trogdor|KafkaBench|--set \w+\.\w+=(?!\.)", f"{told.does} {told.more}"), name
    assert sum(bool(about(name).recreates) for name in shipped()) == 33


def test_the_schema_is_json_and_names_every_part() -> None:
    """For editors."""
    assert set(json.loads(schema_text())["properties"]) == set(type(parse({"name": "x"})).model_fields)
