"""tussle's ProcBenchmark: programs with placeholders for rate and times, run at one rate after the other."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.shown import one_line, shown
from streamgauge.foreign.results.asked import Asked, parse_latency
from streamgauge.foreign.results.output import parse_pattern
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.read.texts import read_mapping
from streamgauge.foreign.specs.tussle.properties import tussle_number, tussle_time_ns
from streamgauge.foreign.specs.tussle.steps import MINUTE_NS, MOST_STEPS, braced, shorthand_rates
from streamgauge.foreign.specs.write.programs import ProgramCommand, ProgramOutput, ProgramRun
from streamgauge.foreign.specs.write.translation import Draft, Translation, name_of

BENCHMARK: Final = "ProcBenchmark"
PROCESS: Final = frozenset(
    "run init reset cleanup vars resultFiles hdrResults runResult runCmd outputPatterns outputLatency printLog"
    " logPrefix logSuffix name runName rateUnits timeUnits".split()
)
"""Its properties; in one file with those of a runner, `reset` is the runner's where it is true or false."""
RUNNERS: Final = ("BasicRunner", "ScenarioRunner", "InteractiveRunner")
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_DELAY_NS: Final = 600 * NS_PER_SECOND
_REPORTED: Final = (
    "hdrCutTime", "hdrInterval", "reportInterval", "progressInterval", "hdrFactor", "includeWarmup", "histogramsDir",
    "metricName", "rateUnits", "timeUnits", "operationsInclude", "operationsExclude", "runProperties",
    "runPropertiesFile", "rawData", "makeReport", "serviceTimeOnly", "reportDir", "collectOps", "logPercentiles",
    "highBound", "sleConfig",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Given:
    """What a command of the benchmark says, with its placeholders."""

    where: str
    words: tuple[str, ...]
    folder: str | None
    environment: Mapping[str, str]
    delay_s: float

    def at(self, values: Mapping[str, str], seconds: float = 0.0) -> ProgramCommand:
        """The command with values in place of placeholders; `runDir` is its folder."""
        folder = None if self.folder is None else _filled(self.folder, values)
        known = {**values, "runDir": folder or ""}
        environment = {name: _filled(value, known) for name, value in self.environment.items()}
        words = tuple(_filled(word, known) for word in self.words)
        return ProgramCommand(self.where, words, folder, environment, seconds + self.delay_s)


@dataclass(frozen=True, slots=True)
class _Bench:
    name: str
    run: _Given
    once: Mapping[str, _Given]
    """`init`, `reset` and `cleanup`, where they are given."""
    output: ProgramOutput
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Step:
    rate: int
    warmup_s: int
    length_s: int


def process_words(words: Sequence[str]) -> list[str] | None:
    """The arguments of a command that names ProcBenchmark, as benchmark or as runner; None where it does not."""
    place = next((place for place, word in enumerate(words) if word.rpartition(".")[2] == BENCHMARK), None)
    if place is None:
        return None
    before = list(words[: place - 1]) if place and words[place - 1] == "--runner" else []
    return [*before, *words[place + 1 :]]


def is_process(bench: Mapping[str, Any]) -> bool:
    """Whether properties are those of ProcBenchmark: it alone has a command to run."""
    run = bench.get("run")
    return "runCmd" in bench or (isinstance(run, Mapping) and "cmd" in run)


def process_of(
    draft: Draft, given: Mapping[str, Any], runner: str, run: Mapping[str, Any], script: Sequence[str]
) -> Translation:
    """The runs of ProcBenchmark with a runner; raises BadInput with everything that is wrong."""
    if runner not in RUNNERS:
        what = f"{one_line(runner)}: no runner of {BENCHMARK} that is known here"
        draft.refuse("--runner", what, f"Write one of {', '.join(RUNNERS)}; a list of rates stands in for a search")
    bench = _bench(draft, SpecFields(draft, given, "", BENCHMARK))
    fields = SpecFields(draft, run, "", runner)
    fields.ignored("figures are those that the program tells", *_REPORTED)
    resets = fields.flag("reset", True)
    steps = _steps(draft, fields, runner, script)
    if script and runner != "InteractiveRunner":
        draft.refuse("--runner", f"{len(script)} lines behind the command", "Only InteractiveRunner reads them")
    fields.close()
    if draft.faults:
        return draft.finished("tussle", BENCHMARK, {})
    return draft.finished("tussle", BENCHMARK, {}, "program", programs=tuple(_runs(bench, steps, runner, resets)))


def _runs(bench: _Bench, steps: Sequence[_Step], runner: str, resets: bool) -> list[ProgramRun]:
    """All runs: `init` before the first, `reset` before each or before a list, `cleanup` behind the last."""
    made: list[ProgramRun] = []
    for place, step in enumerate(steps):
        values = {**bench.variables, **_values(step, place)}
        is_first, is_last = place == 0, place == len(steps) - 1
        names = [
            *(["init"] if is_first else []),
            *(["reset"] if resets and (is_first or runner == "BasicRunner") else []),
        ]
        command = bench.run.at(values, step.warmup_s + step.length_s)
        known = {**values, "runDir": command.folder or ""}
        made.append(
            ProgramRun(
                name=bench.name if len(steps) == 1 else f"{bench.name}-{place + 1}",
                tool=bench.name,
                command=command,
                before=tuple(bench.once[name].at(values) for name in names if name in bench.once),
                after=tuple(bench.once[name].at(values) for name in ["cleanup"] if is_last and name in bench.once),
                output=_placed(bench.output, known),
                settings={"targetRate": step.rate, "warmupTime": step.warmup_s, "runTime": step.length_s},
            )
        )
    return made


def _placed(output: ProgramOutput, values: Mapping[str, str]) -> ProgramOutput:
    result = None if output.result is None else _filled(output.result, values)
    return ProgramOutput(output.patterns, tuple(_filled(each, values) for each in output.files), result, output.asked)


def _values(step: _Step, place: int) -> dict[str, str]:
    return {
        "targetRate": str(step.rate),
        "warmupTime": str(step.warmup_s),
        "runTime": str(step.length_s),
        "runStep": str(place),
    }


def _filled(text: str, values: Mapping[str, str]) -> str:
    """A text with values in place of known placeholders; others, like those of regular expressions, stay."""
    return _PLACEHOLDER.sub(lambda found: values.get(found.group(1), found.group()), text)


def _bench(draft: Draft, fields: SpecFields) -> _Bench:
    fields.ignored("standard output is kept with the run", "printLog", "logPrefix", "logSuffix")
    fields.ignored("figures are those that the program tells", "runName", "rateUnits", "timeUnits")
    name = name_of("tussle", fields.text("name", "proc"))
    old = fields.texts("runCmd")
    run = _command(draft, fields, "run")
    if run is None and old:
        run = _Given("runCmd", tuple(old), None, {}, _DELAY_NS / NS_PER_SECOND)
    if run is None:
        draft.refuse("run.cmd", "is missing", f"Add it: {BENCHMARK} needs a command")
        run = _Given("run", (), None, {}, 0.0)
    once = {each: found for each in ("init", "reset", "cleanup") if (found := _command(draft, fields, each))}
    made = _Bench(name, run, once, _output(draft, fields), _variables(draft, fields))
    fields.close()
    return made


def _command(draft: Draft, fields: SpecFields, name: str) -> _Given | None:
    part = fields.part(name, "a command")
    if part is None:
        return None
    words = part.texts("cmd")
    folder = part.text("dir") or None
    delay: int = part.read("delay", _DELAY_NS, tussle_time_ns)
    environment = {}
    for text in part.texts("env"):
        key, equals, value = text.partition("=")
        if not key or not equals:
            draft.refuse(part.place("env"), f"{shown(part.place('env'), text)}: no variable", "Write NAME=value")
        environment[key] = value
    part.close()
    if any("\0" in text for text in (*words, folder or "", *environment, *environment.values())):
        draft.refuse(part.place("cmd"), "has a byte of value 0", "Leave it out")
    if not words or not words[0]:
        return None
    return _Given(part.place("cmd"), tuple(words), folder, environment, delay / NS_PER_SECOND)


def _output(draft: Draft, fields: SpecFields) -> ProgramOutput:
    names = fields.texts(fields.first("resultFiles", "hdrResults"))
    files = names if fields.has("resultFiles") or fields.has("hdrResults") else [r".*\.hlog"]
    patterns = fields.texts("outputPatterns")
    for place, text in enumerate(patterns):
        try:
            parse_pattern(text)
        except BadValue as error:
            draft.refuse(f"{fields.place('outputPatterns')}.{place}", error.what, error.mend)
    for name in files:
        try:
            re.compile(name)
        except (re.error, OverflowError, RecursionError) as error:
            what = f"not a regular expression: {error}"
            draft.refuse(fields.place("resultFiles"), what, r"Write one like .*\.hlog")
    latency = fields.read("outputLatency", None, lambda value: parse_latency(str(value)))
    return ProgramOutput(tuple(patterns), tuple(files), fields.text("runResult") or None, Asked(None, latency))


def _variables(draft: Draft, fields: SpecFields) -> dict[str, str]:
    given = fields.mapping("vars")
    wrong = [name for name, value in given.items() if not isinstance(value, str | int | float)]
    for name in wrong:
        draft.refuse(fields.place(f"vars.{one_line(name)}"), "not a text", "Write one")
    return {name: str(value) for name, value in given.items()}


def _steps(draft: Draft, fields: SpecFields, runner: str, script: Sequence[str]) -> list[_Step]:
    if runner == "InteractiveRunner":
        return _typed(draft, script)
    if runner == "ScenarioRunner":
        return _listed(draft, fields)
    times = fields.whole("runSteps", 1, least=1, most=MOST_STEPS)
    return [_step(draft, fields)] * times


def _step(draft: Draft, fields: SpecFields) -> _Step:
    rate: int = fields.read("targetRate", 1000, tussle_number)
    if rate < 0:
        draft.refuse(fields.place("targetRate"), f"{rate}: below 0", "Write a rate, or 0 for as fast as possible")
    length: int = fields.read("runTime", MINUTE_NS, tussle_time_ns)
    warmup: int = fields.read("warmupTime", 0, tussle_time_ns)
    if not length:
        draft.refuse(fields.place("runTime"), "0 leaves nothing to measure", "Write a time like 60s")
    return _Step(rate, warmup // NS_PER_SECOND, length // NS_PER_SECOND)


def _listed(draft: Draft, fields: SpecFields) -> list[_Step]:
    given = fields.raw(fields.first("scenario", "scenarioDef"))
    if given is None:
        given = [{"targetRate": rate} for rate in ("1k", "2k", "3k")]
    if isinstance(given, str):
        rates = shorthand_rates(draft, given)
        return [_Step(rate, 0, max(1, length_ns // NS_PER_SECOND)) for rate, length_ns in rates]
    if not isinstance(given, list) or not given or len(given) > MOST_STEPS:
        what = f"not a list of steps, of at most {MOST_STEPS:,}"
        draft.refuse("scenario", what, "Write [{targetRate: 1k, runTime: 1m}]")
        return []
    return [_read_step(draft, each, f"scenario.{place}") for place, each in enumerate(given)]


def _typed(draft: Draft, script: Sequence[str]) -> list[_Step]:
    """The lines behind the command, up to `quit`."""
    found: list[_Step] = []
    for number, line in enumerate(script[:MOST_STEPS], start=1):
        word = line.split()[0]
        if word == "quit":
            break
        if word in {"init", "reset"}:
            draft.refuse(f"step {number}", f"{word}: is done as the benchmark says", "Leave it out")
            continue
        given = draft.faults.of(read_mapping, braced(line), f"{draft.source}: step {number}")
        found += [] if given is None else [_read_step(draft, given, f"step {number}")]
    if not found:
        draft.refuse("--runner", "InteractiveRunner has no steps", "Write them in lines behind the command")
    return found


def _read_step(draft: Draft, given: Any, where: str) -> _Step:
    fields = SpecFields(draft, given, where, "a step")
    step = _step(draft, fields)
    fields.close()
    return step
