"""Specifications of every kind, converted as a whole: the YAML, and that the ordinary rules and librdkafka take it.

`python -m tests.foreign.specs.test_golden` writes the expected texts anew; look at what has changed.
"""

import os
from pathlib import Path

import pytest
import yaml

from streamgauge.foreign.specs.write.translation import Translation
from streamgauge.foreign.specs.write.written import yaml_of
from streamgauge.runs.request.materials import check_settings
from streamgauge.runs.request.scenario_file import shipped
from streamgauge.runs.request.spec_files import converted
from streamgauge.scenario import Scenario, parse

HERE = Path(__file__).parent
GIVEN, GOLDEN = HERE / "given", HERE / "golden"
ALONE = (
    "cluster.yaml consumer-perf-test.sh e2e-latency-4.sh e2e-latency.sh kafkabench-eos.sh kafkabench.sh"
    " mqperf-2.json mqperf-kmq.json mqperf.json omb-backlog.yaml omb-search.yaml omb-workload.yaml"
    " producer-perf-test-4.sh producer-perf-test.sh ssp-bursty.sh ssp-recovery.sh ssp-sweep.sh ssp-tight.sh"
    " trogdor-configurable-old.json trogdor-configurable.json trogdor-consume.json trogdor-produce.json"
    " trogdor-round-trip.json trogdor-share-consume.json trogdor-share-round-trip.json trogdor-stress.json"
    " trogdor-sustained.json trogdor-transactions.json tussle-basic.sh tussle-list.sh tussle-ramp.sh"
    " tussle-script.sh tussle-spike.sh tussle-stairs.sh tussle.yaml"
).split()
JOINED = {
    "omb.yaml": ("omb-workload.yaml", "omb-driver.yaml"),
    "trogdor-both.yaml": ("trogdor-produce.json", "trogdor-consume.json"),
    "trogdor-stopped.yaml": ("trogdor-produce.json", "trogdor-stop.json"),
}
CASES = {**{f"{name.partition('.')[0]}.yaml": (name,) for name in ALONE}, **JOINED}


def _made(files: tuple[str, ...]) -> Translation:
    before = Path.cwd()
    os.chdir(GIVEN)
    try:
        return converted(files)
    finally:
        os.chdir(before)


@pytest.mark.parametrize("name", CASES)
def test_a_specification_comes_to_this(name: str) -> None:
    """With every note."""
    assert f"{yaml_of(_made(CASES[name]))}\n" == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted((GIVEN / "originals").iterdir()), ids=lambda path: path.stem)
def test_an_original_that_is_shipped_is_what_its_specification_comes_to(path: Path) -> None:
    """A shipped scenario that differs from what it recreates has an exact one beside it."""
    made = dict(converted((str(path),)).document)
    ours = yaml.safe_load(shipped()[path.stem])

    assert {**made, "name": path.stem, "about": ours["about"]} == ours


@pytest.mark.parametrize("name", CASES)
def test_what_is_printed_says_what_was_made(name: str) -> None:
    """Comments are comments, and every value survives."""
    made = _made(CASES[name])

    assert yaml.safe_load(yaml_of(made)) == made.document


@pytest.mark.parametrize("name", CASES)
def test_the_client_takes_its_settings(name: str) -> None:
    """As `run` would ask it."""
    made = _made(CASES[name])
    scenario: Scenario = parse(made.document if made.kind == "scenario" else made.document["scenario"])

    check_settings(scenario, {})


def test_every_given_specification_is_converted() -> None:
    """Or it would prove nothing."""
    assert {file for files in CASES.values() for file in files} == {
        path.name for path in GIVEN.iterdir() if path.is_file()
    }
    assert set(CASES) == {path.name for path in GOLDEN.iterdir()}


def test_no_secret_is_written() -> None:
    """The password of the cluster's file."""
    assert "hunter2" in (GIVEN / "cluster.yaml").read_text(encoding="utf-8")
    assert not [path.name for path in GOLDEN.iterdir() if "hunter2" in path.read_text(encoding="utf-8")]


if __name__ == "__main__":
    for case, given in CASES.items():
        (GOLDEN / case).write_text(f"{yaml_of(_made(given))}\n", encoding="utf-8")
