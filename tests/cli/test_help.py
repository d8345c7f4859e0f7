"""The help of every command at 80 columns: groups, examples that can be copied, and no signs of a parser."""

import re
from typing import Any

import pytest
from tools.reference.commands import commands, examples
from typer.core import TyperGroup
from typer.testing import CliRunner

from streamgauge.cli.main import app

TREE = dict(commands())
COMMANDS = [name for name, command in TREE.items() if not isinstance(command, TyperGroup)]
MOST_IN_ONE_GROUP = 9
MOST_WITHOUT_A_GROUP = 4


def lines_of(name: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(app, [*name.split()[1:], "--help"], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout.splitlines()


@pytest.mark.parametrize("name", TREE)
def test_help_is_for_people(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No types of flags, no brackets in brackets, nothing cut off."""
    lines = lines_of(name, monkeypatch)
    text = "\n".join(lines)

    assert max(map(len, lines)) <= 80
    assert "…" not in text
    assert not re.search(r"<\w+>|\[\[|\]\]|\{", text)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_one_example_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unbroken, so that it can be copied."""
    lines = [line.strip() for line in lines_of(name, monkeypatch)]
    (example,) = examples(TREE[name])

    assert f"Example: {example}" in lines


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_in_groups(name: str) -> None:
    """Small enough to be looked over."""
    groups: dict[str, int] = {}
    for each in TREE[name].params:
        panel: Any = getattr(each, "rich_help_panel", None) or "Options"
        groups[panel] = groups.get(panel, 0) + 1

    assert max(groups.values(), default=0) <= MOST_IN_ONE_GROUP, groups
    assert groups.get("Options", 0) <= MOST_WITHOUT_A_GROUP


def test_commands_fit_on_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_of("streamgauge", monkeypatch)
    names = [name.split()[1] for name in TREE if name.count(" ") == 1]

    for name in names:
        (at,) = [at for at, line in enumerate(lines) if re.match(rf"│ {name} ", line)]
        assert not re.match(r"│ {5}", lines[at + 1]), name
