"""The command `convert`: a specification of another tool, as a scenario or an experiment."""

from collections.abc import Callable, Sequence
from pathlib import Path

from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.convert import TOOLS
from streamgauge.foreign.specs.trogdor.workloads import TrogdorOptions
from streamgauge.foreign.specs.write.translation import Tool
from streamgauge.foreign.specs.write.written import command_of, yaml_of
from streamgauge.runs.request.scenario_file import conversion_notes
from streamgauge.runs.request.spec_files import converted


def convert(
    files: Sequence[str], tool: str | None, out: Path | None, *, floor: bool, say: Callable[[str], None]
) -> None:
    """Print the document that specifications come to, or write it into a file; raises BadInput before that."""
    translation = converted(files, _tool(tool), TrogdorOptions(floor=floor))
    if translation.kind == "program":
        where = one_line(files[0]) if len(files) == 1 else "FILE"
        raise BadInput.single(where, "runs a program, which no scenario can", f"Use: {command_of(translation, where)}")
    if out is None:
        say(yaml_of(translation))
        return
    text = f"{yaml_of(translation, str(out))}\n"
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        where = f"--output {one_line(str(out))}"
        raise BadInput.single(where, f"cannot be written: {error.strerror}", "Name another file") from error


def tell_conversion(source: str | None, say: Callable[[str], None], *, is_search: bool = False) -> None:
    """Say what became of a specification before anything starts."""
    for note in conversion_notes(source, is_search=is_search):
        say(note)


def _tool(name: str | None) -> Tool | None:
    found = next((tool for tool in TOOLS if tool == name), None)
    if name is not None and found is None:
        raise BadInput.single(f"--as {one_line(name)}", "not a tool that is known", f"Use one of {', '.join(TOOLS)}")
    return found
