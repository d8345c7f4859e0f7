"""Specifications of other tools as users name them: files, standard input, or JSON as it is."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.convert import EXACT, convert, recognised
from streamgauge.foreign.specs.kafkas_own import ReadBeside
from streamgauge.foreign.specs.recognise import SpecText
from streamgauge.foreign.specs.trogdor.workloads import TrogdorOptions
from streamgauge.foreign.specs.write.translation import SpecDocument, Tool, Translation
from streamgauge.foreign.specs.write.written import command_of
from streamgauge.runs.request.texts import read_file, read_stream

STANDARD_INPUT: Final = "-"
_WANTED: Final = "a specification"
_NAME: Final = "Name a readable file with a specification"
_WHAT: Final[dict[SpecDocument, str]] = {
    "scenario": "a scenario, of one run",
    "experiment": "an experiment, of several runs",
    "program": "a program to run, and no load of Streamgauge",
}


def is_inline(source: str) -> bool:
    """Whether a specification is given as it is, rather than by the name of its file: JSON, as Trogdor takes it."""
    return source.lstrip().startswith("{")


def converted(files: Sequence[str], tool: Tool | None = None, options: TrogdorOptions = EXACT) -> Translation:
    """What the specifications in these files come to; `-` is standard input. Raises BadInput."""
    if files.count(STANDARD_INPUT) > 1:
        raise BadInput.single("FILE", "standard input is named twice", "Name it once")
    texts = [SpecText(place_of(file), spec_text(file)) for file in files]
    homes = [Path(file).parent for file in files if file != STANDARD_INPUT and not is_inline(file)]
    return convert(texts, tool, _reading(homes), options)


def translation_in(text: str, source: str) -> Translation | None:
    """What the text of a file comes to, where it is plainly a specification of another tool; raises BadInput."""
    if not recognised(text):
        return None
    homes = [] if is_inline(source) else [Path(source).parent]
    return convert([SpecText(place_of(source), text)], None, _reading(homes))


def document_of(translation: Translation, kind: SpecDocument, source: str) -> Translation:
    """The translation; raises BadInput where it is a document of another kind than is wanted."""
    if translation.kind != kind:
        what = f"is {_WHAT[translation.kind]}"
        raise BadInput.single(place_of(source), what, f"Use: {command_of(translation, place_of(source))}")
    return translation


def _reading(homes: Sequence[Path]) -> ReadBeside:
    """Reads files that a specification names: those in its folder and below, and in the current folder and below."""
    near = [Path.cwd(), *homes]

    def read(name: str) -> str:
        where = one_line(name)
        try:
            found = next((path for home in near if (path := home / name).is_file()), Path(name))
            is_near = any(found.resolve().is_relative_to(home.resolve()) for home in near)
        except (OSError, ValueError) as error:
            raise BadInput.single(where, "cannot be read: not a name of a file", _NAME) from error
        if not is_near:
            what = "is outside the specification's folder and the current folder"
            raise BadInput.single(where, what, "Copy it beside the specification")
        return read_file(found, where, _NAME, _WANTED)

    return read


def spec_text(file: str) -> str:
    """What a specification says: `-` is standard input, and what is inline is given as it is. Raises BadInput."""
    if file == STANDARD_INPUT:
        return read_stream(sys.stdin.buffer, "standard input", "Write a specification into it", _WANTED)
    return file if is_inline(file) else read_file(Path(file), place_of(file), _NAME, _WANTED)


def place_of(file: str) -> str:
    """What messages call a specification: its file, or what stands for a text that is given as it is."""
    if file == STANDARD_INPUT:
        return "standard input"
    return "SPEC" if is_inline(file) else one_line(file) or "FILE"
