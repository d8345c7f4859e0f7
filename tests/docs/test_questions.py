"""The page of questions leads to each shipped scenario, by commands that exist."""

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.test_commands import fault

from streamgauge.runs.request.scenario_file import shipped

PAGE = Path(__file__).parents[2] / "docs" / "which-question.md"
CODE = re.compile(r"`([^`\n]+)`")
ROW = re.compile(r"^\| .*\?[^|]*\| (.*) \|.*\|$", re.MULTILINE)
RUN = "streamgauge run "
RUNS = ROW.findall(PAGE.read_text(encoding="utf-8"))


def named(cell: str) -> list[str]:
    """The scenarios that a row leads to."""
    return [code.removeprefix(RUN).split()[0] for code in CODE.findall(cell)]


def test_every_scenario_is_named() -> None:
    assert set(shipped()) - {name for cell in RUNS for name in named(cell)} == set()


@pytest.mark.parametrize("cell", RUNS)
@pytest.mark.slow
def test_a_question_leads_to_scenarios(cell: str) -> None:
    assert set(named(cell)) <= set(shipped())
    commands = [code for code in CODE.findall(cell) if code.startswith(RUN)]
    assert len(commands) == 1
    assert fault(shlex.split(commands[0])) is None
