"""The page of questions leads to each shipped scenario, by commands that exist."""

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.test_commands import fault

from streamgauge.runs.experiment.request import shipped_experiments
from streamgauge.runs.experiment.search.shipped import shipped_documents
from streamgauge.runs.request.scenario_file import shipped

PAGE = Path(__file__).parents[2] / "docs" / "which-question.md"
CODE = re.compile(r"`([^`\n]+)`")
ROW = re.compile(r"^\| .*\?[^|]*\| (.*) \|.*\|$", re.MULTILINE)
CALL = re.compile(r"streamgauge (run|search|sweep|experiment) (\S+)")
RUNS = ROW.findall(PAGE.read_text(encoding="utf-8"))


def named(cell: str) -> list[str]:
    """The scenarios that a row leads to, also without a command."""
    found = [CALL.match(code) for code in CODE.findall(cell)]
    bare = [code.split()[0] for code in CODE.findall(cell) if not code.startswith("streamgauge ")]
    return [*(each[2] for each in found if each and each[1] != "experiment"), *bare]


def test_every_scenario_is_named() -> None:
    assert set(shipped()) - {name for cell in RUNS for name in named(cell)} == set()


@pytest.mark.parametrize("cell", RUNS)
@pytest.mark.slow
def test_a_question_leads_to_scenarios(cell: str) -> None:
    assert set(named(cell)) <= set(shipped())
    commands = [code for code in CODE.findall(cell) if code.startswith("streamgauge ")]
    assert 1 <= len(commands) <= 2
    assert [fault(shlex.split(each)) for each in commands] == [None] * len(commands)
    experiments = [found[2] for each in commands if (found := CALL.match(each)) and found[1] == "experiment"]
    assert set(experiments) <= {*shipped_experiments(), *shipped_documents(searches=True)}
