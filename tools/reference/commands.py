"""The page of the commands, from the command line's own tree."""

import re
from collections.abc import Iterator
from typing import Any

from typer.core import TyperArgument, TyperGroup, TyperOption
from typer.main import get_command

from streamgauge.cli.main import app
from tools.reference.markdown import block, code, document, sentence, table

INTRO = """\
Every command has `--help`. Results go to standard output, everything else to standard error. See also
[exit codes](exit-codes.md)."""
_CODE = re.compile(r"`([^`]+)`")


def page() -> str:
    """Every command with its arguments, options and examples."""
    tree = list(commands())
    overview = table(
        ("command", "description"),
        ((f"[{code(name)}](#{name.replace(' ', '-')})", _first(command)) for name, command in tree),
    )
    return document("Commands", INTRO, overview, *(text for name, command in tree for text in _section(name, command)))


def commands(command: Any = None, name: str = "streamgauge") -> Iterator[tuple[str, Any]]:
    """Every command with its full name, the program itself first."""
    command = command or get_command(app)
    yield name, command
    if isinstance(command, TyperGroup):
        for below in command.commands.values():
            if not below.hidden:
                yield from commands(below, f"{name} {below.name}")


def arguments(command: Any) -> list[Any]:
    """What is given without a name."""
    return [each for each in command.params if isinstance(each, TyperArgument)]


def options(command: Any) -> list[Any]:
    """What is given by name."""
    return [each for each in command.params if isinstance(each, TyperOption) and not each.hidden]


def examples(command: Any) -> list[str]:
    """The commands in the paragraphs of its help that begin with `Example`."""
    return [each for text in _paragraphs(command) if text.startswith("Example") for each in _CODE.findall(text)]


def _section(name: str, command: Any) -> Iterator[str]:
    yield f"## {name}"
    yield from (text for text in _paragraphs(command) if not text.startswith("Example"))
    yield block("sh", "\n".join(examples(command))) if examples(command) else ""
    yield table(
        ("argument", "description"),
        ((code(each.metavar or each.name or ""), _described(each)) for each in arguments(command)),
    )
    yield table(
        ("option", "value", "default", "description"),
        (
            (
                ", ".join(code(text) for text in (*each.opts, *each.secondary_opts)),
                "" if each.is_flag else code(each.metavar or each.type.name.upper()),
                code(each.default) if each.default not in {None, False, ()} else "",
                _described(each),
            )
            for each in options(command)
        ),
    )


def _described(parameter: Any) -> str:
    more = " Repeatable." if getattr(parameter, "multiple", False) else ""
    text = sentence(parameter.help or "")
    return text if text.endswith(more) and more else f"{text}{more}"


def _first(command: Any) -> str:
    return sentence(_paragraphs(command)[0])


def _paragraphs(command: Any) -> list[str]:
    return [" ".join(text.split()) for text in (command.help or "").split("\n\n")]
