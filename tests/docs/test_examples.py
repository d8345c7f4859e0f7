"""The scripts and workflows of `docs/examples` stand in the documents as they are, and the other way round."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from streamgauge.experiments.parse import examine_experiment
from streamgauge.scenario import parse

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").iterdir())
GUIDE = (ROOT / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(GUIDE) if name == language]


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.name for path in EXAMPLES])
def test_a_script_is_shown_as_it_is(path: Path) -> None:
    assert path.read_text(encoding="utf-8") in blocks("text")
    assert f"[{path.name}](../examples/{path.name})" in GUIDE


def test_every_script_that_is_shown_is_one_of_them() -> None:
    """Or nobody would run it."""
    scripts = [text for text in blocks("text") if "streamgauge" in text]
    assert len(scripts) == len(EXAMPLES) == 3
    assert set(scripts) == {path.read_text(encoding="utf-8") for path in EXAMPLES}


def test_the_workflow_runs_the_gate_on_the_experiment_that_is_shown() -> None:
    documents = {found["name"]: found for found in map(yaml.safe_load, blocks("yaml"))}
    steps = documents["stream"]["jobs"]["measure"]["steps"]
    (call,) = [step["run"] for step in steps if "gate.sh" in step.get("run", "")]
    shell, script, experiment, baseline, *_ = shlex.split(call)
    assert (shell, experiment, baseline) == ("bash", "gate-runs.yaml", "baseline.json")
    assert (ROOT / script.removeprefix("streamgauge/")) in EXAMPLES
    assert {step["with"]["path"] for step in steps if "baseline" in step.get("name", "") and "with" in step} == {
        baseline
    }
    runs, _, _ = examine_experiment(documents["gate-runs"], "gate-runs")
    assert (runs.repeat, runs.scenario) == (6, "gate.yaml")
    assert parse(documents["gate"]).name == "gate"
