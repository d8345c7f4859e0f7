"""A command line, or a file of properties, of Azul's kafka-benchmark as a scenario or an experiment."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.tussle.arguments import DEFAULT_RUNNER, arguments_of
from streamgauge.foreign.specs.tussle.process import PROCESS, is_process, process_of, process_words
from streamgauge.foreign.specs.tussle.properties import BENCH, bench_of
from streamgauge.foreign.specs.tussle.runners import runner_of
from streamgauge.foreign.specs.write.translation import Draft, Translation

_TELLING: Final = frozenset({"brokerList", "messageLength", "messageLengthMax", "targetRate", "producerProps"})


def tussle_command(
    source: str, words: Sequence[str], read: Callable[[str], str], script: Sequence[str] = ()
) -> Translation:
    """What `[args] --runner Name [args]` says; raises BadInput. `script` are the lines behind the command."""
    draft = Draft(source)
    process = process_words(words)
    found = arguments_of(draft, words if process is None else process, read)
    if process is not None or is_process(found.bench):
        return process_of(draft, found.bench, found.runner, found.run, script)
    return _translated(draft, found.bench, found.runner, found.run, script)


def tussle_properties(source: str, given: Mapping[str, Any]) -> Translation:
    """What a YAML file with the properties of benchmark and runner says; raises BadInput."""
    draft = Draft(source)
    fields = SpecFields(draft, given, "", "kafka-benchmark")
    runner = fields.text("runner", DEFAULT_RUNNER).rpartition(".")[2]
    rest = {str(name): value for name, value in given.items() if name != "runner"}
    if is_process(rest):
        bench = {name: value for name, value in rest.items() if name in PROCESS and not isinstance(value, bool)}
        run = {name: value for name, value in rest.items() if name not in bench}
        return process_of(draft, bench, runner, run, ())
    bench = {name: value for name, value in rest.items() if name in BENCH}
    return _translated(draft, bench, runner, {name: rest[name] for name in rest if name not in BENCH}, ())


def is_tussle(given: object) -> bool:
    """Whether a mapping has properties that only kafka-benchmark has."""
    return isinstance(given, Mapping) and (len(_TELLING & given.keys()) > 1 or is_process(given))


def _translated(
    draft: Draft, bench: Mapping[str, Any], runner: str, run: Mapping[str, Any], script: Sequence[str]
) -> Translation:
    # Everything wrong is told at once: the runner raises what was found of the benchmark, too.
    return runner_of(draft, runner, run, bench_of(draft, bench), script)
