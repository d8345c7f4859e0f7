"""Every command that a document shows exists, with its options; those that are quick are run."""

import importlib.util
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tools.reference.commands import commands
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.domain.errors import BadInput
from streamgauge.runs.request.scenario_file import load_scenario, shipped

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)
ENDS = frozenset({"|", "||", "&&", "&", ";"})
OTHERS = frozenset({"cat", "cd", "cp", "curl", "docker", "duckdb", "git", "jq", "ls", "mkdir", "promtool"})
"""Programs of others; how they are called is not looked at."""

Words = Sequence[str]


def simple_commands(text: str) -> Iterator[list[str]]:
    """The commands of a shell text, each as its words: no comments, variables before it, or files of redirections."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word in ENDS:
                yield from [_bare(words)] if words else []
                words = []
            else:
                words.append(word)


def _bare(words: list[str]) -> list[str]:
    """A command without variables before it, and without redirections."""
    kept = list(words)
    while kept and re.match(r"[A-Z_]+=", kept[0]):
        del kept[0]
    while (sign := next((at for at, word in enumerate(kept) if set(word) <= set("<>&")), None)) is not None:
        first = sign - 1 if kept[sign - 1].isdecimal() else sign
        del kept[first : sign + 2]
    return kept


def fault(words: Words) -> str | None:
    """What is wrong with a command; None where it is known."""
    program, arguments = Path(words[0]).name, words[1:]
    if program == "make":
        targets = set(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
        unknown = [each for each in arguments if "=" not in each and each not in targets]
        return f"make has no {unknown[0]}" if unknown else None
    if program in {"python", "python3"}:
        return _no_module(arguments)
    if program == "streamgauge":
        return _misused(arguments)
    return None if program in OTHERS else f"{program} is not known"


def _no_module(arguments: Words) -> str | None:
    if arguments[:1] != ["-m"]:
        return None
    try:
        found = importlib.util.find_spec(arguments[1])
    except ModuleNotFoundError:
        found = None
    return None if found else f"there is no module {arguments[1]}"


def _misused(arguments: Words) -> str | None:
    """What the command line would say to these arguments, before it does anything."""
    command: Any = get_command(app)
    rest = list(arguments)
    while isinstance(command, TyperGroup) and rest and not rest[0].startswith("-"):
        below = command.commands.get(rest.pop(0))
        if below is None:
            return f"no such command: {' '.join(arguments)}"
        command = below
    if {"-h", "--help"} & set(rest):
        return None
    if isinstance(command, TyperGroup) and not rest:
        return "no command is named"
    try:
        return _unknown_scenario(command.make_context("streamgauge", rest).params)
    except (TyperException, BadInput) as error:
        return str(error) or type(error).__name__


def _unknown_scenario(given: dict[str, Any]) -> str | None:
    """A scenario is shipped, or a file that is plainly the reader's; settings must fit one that is shipped."""
    name = given.get("scenario") or (given.get("name") if "schema" in given else None)
    if name and not name.isupper() and name not in shipped() and not name.endswith(".yaml"):
        return f"no scenario {name} is shipped"
    load_scenario(name if name in shipped() else "baseline", given.get("settings") or [])
    return None


def shown() -> Iterator[tuple[str, list[str]]]:
    """Every command of every shell block, with the document that it stands in."""
    for path in DOCUMENTS:
        for language, text in BLOCK.findall(path.read_text(encoding="utf-8")):
            if language == "sh":
                yield from ((str(path.relative_to(ROOT)), words) for words in simple_commands(text))


SHOWN = list(shown())


def test_documents_show_commands() -> None:
    """In blocks of `sh`, where this test finds them."""
    languages = {name for path in DOCUMENTS for name, _ in BLOCK.findall(path.read_text(encoding="utf-8"))}

    assert {"README.md", "CONTRIBUTING.md", "docs/reference/commands.md"} <= {document for document, _ in SHOWN}
    assert not languages & {"bash", "shell", "console", "zsh"}


@pytest.mark.parametrize(("document", "words"), SHOWN, ids=[f"{name}: {shlex.join(words)}" for name, words in SHOWN])
@pytest.mark.slow
def test_a_command_that_is_shown_is_known(document: str, words: list[str]) -> None:
    """Nobody copies a line that cannot work."""
    assert fault(words) is None, f"{document}: {shlex.join(words)}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("make nothing", "make has no nothing"),
        ("make lint PYTHON=python3.12", "make has no lint"),
        ("python -m benchmarks.nothing", "there is no module benchmarks.nothing"),
        ("python -m nothing.at.all", "there is no module nothing.at.all"),
        ("streamgauge rum baseline", "no such command: rum baseline"),
        ("streamgauge broker strat", "no such command: broker strat"),
        ("streamgauge broker", "no command is named"),
        ("streamgauge run", "Missing parameter: scenario"),
        ("streamgauge run baseline --sett load.rate=1", "No such option: --sett"),
        ("streamgauge run baseline saturate", "unexpected extra argument"),
        ("streamgauge run basline", "no scenario basline is shipped"),
        ("streamgauge scenarios basline", "no scenario basline is shipped"),
        ("streamgauge run baseline --set load.rat=1", "load.rat: no such key"),
        ("streamgauge run mine.yaml --set load.rate=fast", "load.rate: 'fast': not a rate"),
        ("sreamgauge run baseline", "sreamgauge is not known"),
    ],
)
def test_a_wrong_command_is_found(text: str, expected: str) -> None:
    """Or this test would prove nothing."""
    (words,) = simple_commands(text)

    assert re.search(expected, fault(words) or "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# nothing but a comment\n\n", []),
        ("make demo   # a comment", [["make", "demo"]]),
        ("a 'b c' \\\n  --d", [["a", "b c", "--d"]]),
        ("A=1 B=2 a b > c.json 2>&1", [["a", "b"]]),
        ("a 'x=<= 5' | b --c && d; e &", [["a", "x=<= 5"], ["b", "--c"], ["d"], ["e"]]),
    ],
)
def test_a_shell_text_is_taken_apart(text: str, expected: list[list[str]]) -> None:
    """Into commands and their words."""
    assert list(simple_commands(text)) == expected


QUICK = {
    "streamgauge scenarios": "baseline",
    "streamgauge scenarios baseline": "name: baseline",
    "streamgauge scenarios baseline --set load.rate=20k/s": "rate: 20k/s",
    "streamgauge scenarios --schema": '"properties"',
    "streamgauge dashboard": '"uid": "streamgauge"',
    "streamgauge dashboard --rules": "run:streamgauge_sent_messages:rate1m",
    **{f"{name} --help": "Usage:" for name, _ in commands()},
}
"""What can be run at once, and what it says."""


@pytest.mark.parametrize(("text", "expected"), QUICK.items(), ids=list(QUICK))
@pytest.mark.slow
def test_a_quick_command_does_what_it_says(text: str, expected: str) -> None:
    """Run in this process."""
    result = CliRunner().invoke(app, shlex.split(text)[1:], catch_exceptions=False)

    assert result.exit_code == 0
    assert expected in result.stdout
