"""What specifications of other tools come to here: documents that the ordinary rules accept."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Final, get_args

from streamgauge.domain.errors import BadInput, Fault, Faults
from streamgauge.domain.text.shown import one_line
from streamgauge.experiments.parse import examine_experiment
from streamgauge.foreign.specs.kafkabench import kafkabench_file, kafkabench_flags
from streamgauge.foreign.specs.kafkas_own import ReadBeside, kafkas_command
from streamgauge.foreign.specs.mqperf import mqperf_spec
from streamgauge.foreign.specs.omb import omb_spec
from streamgauge.foreign.specs.recognise import ReadSpec, SpecText, read_spec
from streamgauge.foreign.specs.ssp import TIMED, ssp_flags, ssp_preset
from streamgauge.foreign.specs.trogdor.specs import trogdor_specs
from streamgauge.foreign.specs.trogdor.workloads import TrogdorOptions
from streamgauge.foreign.specs.tussle.specs import tussle_command, tussle_properties
from streamgauge.foreign.specs.write.translation import NoteKind, SpecNote, Tool, Translation
from streamgauge.scenario import examine
from streamgauge.scenario.written.paths import keys_of, put

TOOLS: Final[tuple[Tool, ...]] = get_args(Tool)
_USE: Final = f"Use --as with one of {', '.join(TOOLS)}"
_MOST_FILES: Final = 20
_DURATION: Final = "DURATION"
EXACT: Final = TrogdorOptions()


def convert(
    texts: Sequence[SpecText],
    tool: Tool | None,
    read: ReadBeside,
    options: TrogdorOptions = EXACT,
) -> Translation:
    """The document that does what specifications of one tool say; by content where no tool is named.

    `read` reads a file that a specification names. Raises BadInput with every fault, also those of the document.
    """
    if len(texts) > _MOST_FILES:
        raise BadInput.single("FILE", f"{len(texts)} files", f"Name at most {_MOST_FILES}")
    parts = [read_spec(each, tool) for each in texts]
    found = list(dict.fromkeys(part.tool for part in parts))
    if None in found:
        source = next(part.source for part in parts if part.tool is None)
        raise BadInput.single(source, "not recognised as a specification of a known tool", _USE)
    if len(found) > 1:
        raise BadInput.single("FILE", f"specifications of {' and '.join(map(str, found))}", "Convert each by itself")
    made = _made(parts, read, options)
    made = replace(made, notes=(*made.notes, *(note for part in parts for note in _ignored(part))))
    if made.kind != "program":
        check_document(made, parts[0].source)
    return made


def recognised(text: str) -> bool:
    """Whether a text is a specification of another tool beyond doubt, so that it is not read as a scenario."""
    try:
        return read_spec(SpecText("", text), None).tool is not None
    except BadInput:
        return False


def check_document(made: Translation, source: str) -> None:
    """Raise BadInput where the ordinary rules refuse a document."""
    faults = Faults()
    if made.kind == "scenario":
        faults += examine(made.document, source)[1]
    elif found := faults.of(examine_experiment, made.document, source):
        for variant in found[1]:
            scenario = deepcopy(dict(made.document["scenario"]))
            for path, value in variant.settings.items():
                faults.of(put, scenario, keys_of(path), value, path)
            faults += examine(scenario, source)[1]
    if faults:
        named = [Fault(f"{source}: {each.where}", each.what, each.mend) for each in faults]
        raise BadInput(list(dict.fromkeys(named)))


def _made(parts: Sequence[ReadSpec], read: ReadBeside, options: TrogdorOptions) -> Translation:
    first = parts[0]
    values = [(part.source, part.value) for part in parts]
    if first.tool == "trogdor":
        return trogdor_specs(values, options)
    if first.tool == "omb":
        return omb_spec(values)
    if len(parts) > 1:
        raise BadInput.single("FILE", f"{len(parts)} specifications of {first.tool}", "Convert each by itself")
    makers = _COMMANDS if first.value is None else _FIELDS
    if first.tool is None or first.tool not in makers:
        what = f"not {'fields' if first.value is None else 'a command line'}, as {first.tool} has them"
        raise BadInput.single(first.source, what, f"Write a specification of {first.tool}")
    if first.value is not None and not isinstance(first.value, dict):
        raise BadInput.single(first.source, "not a mapping of fields", f"Write a specification of {first.tool}")
    return makers[first.tool](first, read)


def _ssp(spec: ReadSpec, _: ReadBeside) -> Translation:
    if spec.is_script:
        return ssp_preset(spec.source, spec.arguments, _duration(spec))
    return ssp_flags(spec.source, spec.arguments)


def _duration(spec: ReadSpec) -> str | None:
    """The duration that SSP_kafka's script takes from a variable; None where it takes none."""
    return spec.variables.get(_DURATION) if spec.is_script and spec.arguments == [TIMED] else None


def _ignored(spec: ReadSpec) -> Iterator[SpecNote]:
    """Variables of a command that nothing here reads."""
    for name in spec.variables:
        if name != _DURATION or not _duration(spec):
            yield SpecNote(NoteKind.LEFT_OUT, one_line(name), "a variable of the shell, which nothing here reads")


_COMMANDS: Final[Mapping[str, Callable[[ReadSpec, ReadBeside], Translation]]] = {
    "tussle": lambda spec, read: tussle_command(spec.source, spec.arguments, read, spec.script),
    "kafkabench": lambda spec, read: kafkabench_flags(spec.source, spec.arguments, read),
    "ssp": _ssp,
    "perf-test": lambda spec, read: kafkas_command(spec.line, spec.source, read),
}
_FIELDS: Final[Mapping[str, Callable[[ReadSpec, ReadBeside], Translation]]] = {
    "tussle": lambda spec, _: tussle_properties(spec.source, spec.value),
    "kafkabench": lambda spec, _: kafkabench_file(spec.source, spec.value),
    "mqperf": lambda spec, _: mqperf_spec(spec.source, spec.value),
}
