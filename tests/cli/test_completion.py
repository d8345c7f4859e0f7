"""What a shell is told when somebody presses Tab, without a shell."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.cli import completion
from streamgauge.runs.request.scenario_file import load_scenario, shipped


@pytest.mark.parametrize(
    ("incomplete", "some", "none_of"),
    [
        ("", ["name=", "load=", "load.", "topic."], ["expect.", "load.rate="]),
        ("load.r", ["load.rate=", "load.rate.", "load.resend="], ["load.size="]),
        ("load.rate.b", ["load.rate.burst."], ["load.rate.burst.base="]),
        ("load.rate.burst.", ["load.rate.burst.base=", "load.rate.burst.every="], []),
        ("load.client.l", ["load.client.linger.ms="], ["load.client.acks="]),
        ("consume.client.isolation", ["consume.client.isolation.level=read_committed"], []),
        ("topic.configs.ret", ["topic.configs.retention.ms="], ["topic.configs.cleanup.policy="]),
        ("load.payload=", ["load.payload=json", "load.payload=mixed"], ["load.payload="]),
        ("load.payload=j", ["load.payload=json"], ["load.payload=mixed"]),
        ("load.client.acks=", ["load.client.acks=0", "load.client.acks=1", "load.client.acks=all"], []),
        ("load.client.acks=a", ["load.client.acks=all"], ["load.client.acks=1"]),
        ("topic.reset=", ["topic.reset=true", "topic.reset=false"], ["topic.reset=True"]),
        ("load.rate=", ["load.rate=10k/s", "load.rate=max"], []),
        ("backpressure.credit=", ["backpressure.credit=off"], []),
        ("seed", ["seed=", "seed=42"], []),
    ],
)
def test_settings_are_completed(incomplete: str, some: list[str], none_of: list[str]) -> None:
    """A level at a time; values where they are an enumeration, elsewhere defaults and examples."""
    found = completion.settings(incomplete)

    assert set(some) <= set(found)
    assert not set(none_of) & set(found)
    assert all(each.startswith(incomplete) for each in found)


@pytest.mark.parametrize(
    ("incomplete", "expected"),
    [
        ("", "cluster.brokers="),
        ("cl", "cluster.brokers="),
        ("cluster.br", "cluster.brokers="),
        ("cluster.security.protocol=SASL_S", "cluster.security.protocol=SASL_SSL"),
        ("load.rate=", None),
        ("consume", None),
    ],
)
def test_brokers_are_started_with_settings_of_a_cluster(incomplete: str, expected: str | None) -> None:
    """No other section of scenarios is offered."""
    found = completion.cluster_settings(incomplete)

    assert (expected in found) if expected else found == []
    assert all(each.startswith("cluster.") for each in found)


@pytest.mark.parametrize(
    "incomplete", ["nothing", "load.nothing", "load.payload=nothing", "seed.x", "nothing=", "=", "."]
)
def test_what_leads_nowhere_has_no_completion(incomplete: str) -> None:
    assert completion.settings(incomplete) == []


def test_a_path_is_never_the_only_answer_unless_nothing_is_known_of_it() -> None:
    """A shell puts a space behind the only answer, and there is more to be said."""
    for incomplete in ("to", "ph", "load.client.ac", "load.payl", "verify", "consume.groups"):
        assert len(completion.settings(incomplete)) > 1, incomplete


def test_what_is_completed_is_a_setting() -> None:
    """Values of every enumeration are accepted."""
    for path in ("load.payload", "load.keys", "load.partition", "load.stamp", "load.client.compression.type"):
        for setting in completion.settings(f"{path}="):
            assert load_scenario("baseline", [setting]).load is not None


def test_scenarios_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shipped names, and YAML files that are there."""
    monkeypatch.chdir(tmp_path)
    for name in ("mine.yaml", "minor.yml", "notes.txt"):
        (tmp_path / name).touch()
    assert completion.scenarios("") == [*shipped(), "mine.yaml", "minor.yml"]
    assert completion.scenarios("sat") == ["saturate"]
    assert completion.scenarios("min") == ["mine.yaml", "minor.yml"]
    assert completion.scenarios("x") == []


def test_run_folders_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those below `runs`, the newest first, by their path or their ID; those of another folder where it is named."""
    monkeypatch.chdir(tmp_path)
    for path in ("runs/20260101-a", "runs/20260102-b", "other/20260103-c"):
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "run.json").touch()
    (tmp_path / "runs/notes").mkdir()

    assert completion.run_folders("") == ["runs/20260102-b", "runs/20260101-a"]
    assert completion.run_folders("runs/20260101") == ["runs/20260101-a"]
    assert completion.run_folders("20260102") == ["runs/20260102-b"]
    assert completion.run_folders("other/") == ["other/20260103-c"]
    assert completion.run_folders(f"{tmp_path}/other/2026") == [f"{tmp_path}/other/20260103-c"]
    assert completion.run_folders("nowhere/x") == []


@pytest.mark.parametrize(
    ("incomplete", "expected"),
    [
        ("p99", ["p99", "p99.5", "p99.9", "p99.99"]),
        ("p50,p9", ["p50,p90", "p50,p95", "p50,p99", "p50,p99.5", "p50,p99.9", "p50,p99.99"]),
        ("mean,m", ["mean,min", "mean,max"]),
        ("x", []),
    ],
)
def test_figures_are_completed(incomplete: str, expected: list[str]) -> None:
    """The last of a list; none twice."""
    assert completion.figures(incomplete) == expected


def test_words_are_completed() -> None:
    assert completion.one_of("off", "hysteresis", "credit")("c") == ["credit"]
    assert completion.jobs("f") == ["filter", "feature-store"]
    assert completion.kinds("lo") == ["logline"]


@pytest.mark.parametrize(
    ("words", "joined", "before"),
    [
        (["run", "quick", "--set", "load.pay"], ["run", "quick", "--set", "load.pay"], ""),
        (["run", "--set", "load.payload", "=", "js"], ["run", "--set", "js"], "load.payload="),
        (["run", "--set", "load.payload", "="], ["run", "--set", ""], "load.payload="),
        (
            ["run", "--set", "load.rate", "=", "1k/s", "--set", "lo"],
            ["run", "--set", "load.rate=1k/s", "--set", "lo"],
            "",
        ),
        (["run", "--set", "=", "load.payload", "=", "js"], ["run", "--set", "js"], "load.payload="),
        (["runs", "--percentiles", "=", "p5"], ["runs", "--percentiles", "p5"], ""),
        (["runs", "--percentiles", "="], ["runs", "--percentiles", ""], ""),
        (["run", ""], ["run", ""], ""),
    ],
)
def test_bash_parts_words_at_the_equals_sign(words: list[str], joined: list[str], before: str) -> None:
    """They are put together again; of the last one only the rest stays, for bash replaces nothing else."""
    environment = {
        completion.COMPLETE: "complete_bash",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }

    completion.rejoin(environment)

    assert environment["COMP_WORDS"].split("\n") == joined
    assert environment["COMP_CWORD"] == str(len(joined) - 1)
    assert environment[completion.BEFORE] == before


def test_a_word_that_is_not_begun_is_empty() -> None:
    """Bash names a place behind the last word."""
    environment = {completion.COMPLETE: "complete_bash", "COMP_WORDS": "sg\nrun", "COMP_CWORD": "2"}

    completion.rejoin(environment)

    assert (environment["COMP_WORDS"], environment["COMP_CWORD"]) == ("sg\nrun\n", "2")


def test_other_shells_part_nothing() -> None:
    for environment in ({}, {completion.COMPLETE: "complete_zsh", "COMP_WORDS": "sg\n--set\na\n=", "COMP_CWORD": "3"}):
        before = dict(environment)
        completion.rejoin(environment)
        assert environment == before


def test_only_the_rest_of_a_parted_word_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(completion.BEFORE, "load.payload=")
    assert completion.settings("js") == ["json"]
    monkeypatch.setenv(completion.BEFORE, "cluster.security.protocol=")
    assert completion.cluster_settings("SASL_S") == ["SASL_SSL"]


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["streamgauge", "run", "baseline", "--set", "load.payload", "=", "js"], ["json"]),
        (["streamgauge", "run", "baseline", "--set", "load.payl"], None),
        (["streamgauge", "simulate", "lag", "--policy", "c"], ["credit"]),
    ],
)
def test_bash_is_answered(words: list[str], expected: list[str] | None) -> None:
    """As its completion function asks."""
    asked = {completion.COMPLETE: "complete_bash", "COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    program = Path(sys.executable).with_name("streamgauge")

    done = subprocess.run(
        [program], capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **asked}
    )

    assert done.stdout.split() == (expected or completion.settings(words[-1])), json.dumps(done.stderr)
