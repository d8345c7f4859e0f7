"""Texts of specifications as values: JSON with comments, YAML, properties, and the words of a command line."""

import json
import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Final

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.text.shown import one_line
from streamgauge.scenario.written.yaml_text import LONGEST_NUMBER, YamlError, read_yaml

_MOST_WORDS: Final = 2_000
_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\])*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
"""A string or a comment, whichever begins first."""
_SHELL: Final = re.compile(r"[$`]|^(?:\||\|\||&&|&|;|>|>>|<|<<|2>|2>&1)$")
"""What only a shell can tell."""
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def check_text(text: str, source: str) -> None:
    """Raise BadInput for what is no text: binary data, or nothing at all."""
    if found := _CONTROL.search(text):
        what = (
            f"not a text: the character U+{ord(found.group()):04X} in line {text.count(chr(10), 0, found.start()) + 1}"
        )
        raise BadInput.single(source, what, "Name a file with a specification")
    if not text.strip():
        raise BadInput.single(source, "is empty", "Name a file with a specification")


def read_json(text: str, source: str) -> Any:
    """The value of a JSON text, in which `//` and `/* */` are comments; raises BadInput."""
    try:
        return json.loads(
            _TOKEN.sub(_blank, text), object_pairs_hook=_once, parse_constant=_no_number, parse_int=_whole
        )
    except json.JSONDecodeError as error:
        place = f"{source}:{error.lineno}:{error.colno}"
        raise BadInput.single(place, f"not JSON: {error.msg}", "Correct the line") from error
    except RecursionError as error:
        raise BadInput.single(source, "nested too deeply", "Write it with fewer brackets") from error
    except ValueError as error:
        raise BadInput.single(source, f"not JSON: {error}", "Correct it") from error


def read_mapping(text: str, source: str) -> Any:
    """The value of a YAML text; raises BadInput with every flaw."""
    try:
        return read_yaml(text)
    except YamlError as error:
        raise BadInput(
            [
                Fault(
                    source if flaw.line is None else f"{source}:{flaw.line}:{flaw.column}",
                    f"not YAML: {one_line(flaw.what)}",
                    flaw.mend,
                )
                for flaw in error.flaws
            ]
        ) from error


def read_properties(text: str, source: str) -> dict[str, str]:
    """Names and values of Java's properties; raises BadInput with every line that is none."""
    found: dict[str, str] = {}
    faults = []
    for number, line in enumerate(text.splitlines(), start=1):
        plain = line.strip()
        if not plain or plain[0] in "#!":
            continue
        setting = re.fullmatch(r"([^=:\s]+)\s*[=:]\s*(.*)", plain)
        if setting is None:
            faults.append(Fault(f"{source}:{number}", "is not a setting", "Write it as name=value"))
        elif setting.group(1) in found:
            faults.append(Fault(f"{source}:{number}", f"{one_line(setting.group(1))} is set twice", "Keep one of them"))
        else:
            found[setting.group(1)] = setting.group(2)
    if faults:
        raise BadInput(faults)
    return found


def command_lines(text: str) -> list[str]:
    """The commands of a text: lines joined where they end with a backslash, without comments and empty lines."""
    joined = re.sub(r"\\\r?\n", " ", text)
    return [line.strip() for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def command_words(line: str, source: str) -> list[str]:
    """The words of one command, without variables that are set before it; raises BadInput for what a shell decides."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        what = f"not a command line: {str(error).lower()}"
        raise BadInput.single(source, what, "Close every quotation mark") from error
    if len(words) > _MOST_WORDS:
        raise BadInput.single(source, f"{len(words):,} words", f"Write a command of at most {_MOST_WORDS:,} words")
    while words and _ASSIGNMENT.match(words[0]):
        del words[0]
    if shell := next((word for word in words if _SHELL.search(word)), None):
        what = f"{one_line(shell)}: no shell reads this line"
        raise BadInput.single(source, what, "Write one command, with values instead of variables")
    return words


def assigned(line: str) -> dict[str, str]:
    """The variables that are set before a command, which `command_words` has read, and their values."""
    words = takewhile(_ASSIGNMENT.match, shlex.split(line, comments=True))
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _blank(found: re.Match[str]) -> str:
    """A string as it is; a comment as spaces, so that places in the text stay."""
    token = found.group()
    return token if token.startswith('"') else re.sub(r"[^\n]", " ", token)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"`{one_line(next(name for name in names if names.count(name) > 1))}` is there twice")
    return made


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def leaves(value: object, above: str = "") -> Iterator[str]:
    """The keys of nested mappings, dotted."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield f"{above}{key}"
            yield from leaves(below, f"{above}{key}.")
