"""tussle's runners: one run, a list of runs, a search of the highest rate, or a script of steps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import format_duration
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.read.texts import read_mapping
from streamgauge.foreign.specs.tussle.properties import TussleBench, tussle_number, tussle_time_ns
from streamgauge.foreign.specs.tussle.steps import (
    MOST_STEPS,
    TussleStep,
    braced,
    experiment_of_steps,
    paced,
    scenario_at,
    shorthand,
    step_of,
    stepped,
)
from streamgauge.foreign.specs.write.translation import Draft, Translation, name_of

_REPORTED: Final = (
    "hdrInterval", "reportInterval", "progressInterval", "hdrFactor", "includeWarmup", "histogramsDir", "metricName",
    "rateUnits", "timeUnits", "operationsInclude", "operationsExclude", "runProperties", "runPropertiesFile", "rawData",
    "makeReport", "serviceTimeOnly", "reportDir", "collectOps", "logPercentiles", "rangeStartTime", "processHistograms",
)  # fmt: skip
_OF_BOUND: Final = (
    "highBoundRunTime", "highBoundWarmupTime", "initialTargetRate", "initialWarmupTime", "initialRunTime", "targetRate",
    "runSteps",
)  # fmt: skip
_FIGURES: Final = ("p50", "p75", "p90", "p95", "p99", "p99.5", "p99.9", "p99.99", "max")
_NO_SEARCH: Final = "only a search has a bound and service levels; write `expect` for a run"

Document = dict[str, Any]


def runner_of(
    draft: Draft, name: str, given: Mapping[str, Any], bench: TussleBench, script: Sequence[str]
) -> Translation:
    """What a runner makes of a benchmark; `script` are the lines behind the command. Raises BadInput."""
    if name not in RUNNERS:
        draft.refuse(
            "--runner", f"{one_line(name)}: no runner that is known here", f"Write one of {', '.join(RUNNERS)}"
        )
        return draft.finished("tussle", name, {})
    fields = SpecFields(draft, given, "", name)
    made: Document = {"name": name_of("tussle", name), "about": f"kafka-benchmark with {name}.", **bench.document}
    fields.ignored("result.json, hlog/ and the report have it", *_REPORTED)
    if fields.read("hdrCutTime", 0, tussle_time_ns):
        draft.differs("hdrCutTime", "is cut from what was measured there; write a longer phases.warmup here")
    if fields.flag("reset", True):
        made["topic"] = {**made["topic"], "reset": True}
    draft.differs("send", "is ours of acknowledgements (`latency.ack`)")
    draft.differs("p0, p100", "ours are min and max")
    return RUNNERS[name](draft, fields, made, bench, script)


def _basic(draft: Draft, fields: SpecFields, made: Document, bench: TussleBench, _: Sequence[str]) -> Translation:
    step, repeat = step_of(draft, fields, bench), fields.read("runSteps", 1, tussle_number)
    fields.ignored(_NO_SEARCH, "highBound", "sleConfig")
    fields.close()
    scenario = scenario_at(made, step)
    if repeat <= 1:
        return draft.finished("tussle", "BasicRunner", scenario)
    return draft.finished("tussle", "BasicRunner", experiment_of_steps(scenario, repeat), "experiment")


def _scenario(draft: Draft, fields: SpecFields, made: Document, bench: TussleBench, _: Sequence[str]) -> Translation:
    fields.ignored(_NO_SEARCH, "highBound", "sleConfig")
    given = fields.raw(fields.first("scenario", "scenarioDef"))
    fields.close()
    if isinstance(given, str):
        return shorthand(draft, given, made)
    steps = given if given is not None else [{"targetRate": rate} for rate in ("1k", "2k", "3k")]
    if not isinstance(steps, list) or not steps:
        draft.refuse("scenario", "not a list of steps", "Write [{targetRate: 1k, runTime: 1m}]")
        steps = []
    found = [_step(draft, each, f"scenario.{place}", bench) for place, each in enumerate(steps)]
    return stepped(draft, "ScenarioRunner", found, made)


def _step(draft: Draft, given: Any, where: str, bench: TussleBench) -> TussleStep:
    fields = SpecFields(draft, given, where, "a step")
    step = step_of(draft, fields, bench)
    fields.close()
    return step


def _interactive(
    draft: Draft, fields: SpecFields, made: Document, bench: TussleBench, script: Sequence[str]
) -> Translation:
    """The lines behind the command are what would be typed: mappings of a run, `reset` and `quit`."""
    fields.ignored(_NO_SEARCH, "highBound", "sleConfig")
    fields.close()
    steps: list[TussleStep] = []
    if len(script) > MOST_STEPS:
        draft.refuse("--runner", f"{len(script):,} lines behind the command", f"Write at most {MOST_STEPS:,}")
    for number, line in enumerate(script[:MOST_STEPS], start=1):
        word = line.split()[0]
        if word == "quit":
            break
        if word == "init":
            draft.refuse(f"step {number}", "init: another benchmark in between", "Convert each part by itself")
        elif word == "reset":
            draft.left_out(f"step {number}", "reset: every run of an experiment has topics of its own")
        else:
            given = draft.faults.of(read_mapping, braced(line), f"{draft.source}: step {number}")
            steps += [] if given is None else [_step(draft, given, f"step {number}", bench)]
    if not steps:
        draft.refuse("--runner", "InteractiveRunner has no steps", "Write them in lines behind the command")
    return stepped(draft, "InteractiveRunner", steps, made)


def _step_rater(draft: Draft, fields: SpecFields, made: Document, bench: TussleBench, _: Sequence[str]) -> Translation:
    length: int = fields.read("runTime", 60 * NS_PER_SECOND, tussle_time_ns)
    warmup: int = fields.read("warmupTime", 0, tussle_time_ns)
    bound: int = fields.read("highBound", 0, tussle_number)
    climb: dict[str, Any] = {
        "from": f"{fields.number('startingRatePercent', 50, least=0.1, most=1000):g}%",
        "to": f"{fields.number('finishingRatePercent', 110, least=0.1, most=1000):g}%",
        "by": f"{fields.number('rateStepPercent', 1, least=0.1, most=1000):g}%",
        "bound": "unthrottled" if fields.flag("highBoundFromMaxRate", False) else bound or "steps",
        "retries": fields.whole("retriesMax", 2, least=0, most=10),
        "finer": fields.whole("finerRateSteps", 0, least=0, most=100),
    }
    if fields.has("highBoundSteps"):
        climb["bound_steps"] = fields.read("highBoundSteps", [], _numbers)
    if fields.number("rateFactor", 1.01, least=1) != 1.01:
        draft.differs("rateFactor", "a rate is reached here where 99 % of it arrive, as with 1.01")
    if fields.flag("highBoundOnly", False):
        draft.differs("highBoundOnly", "the search goes on to the steps; the bound is in its result")
    fields.ignored("every run has topics of its own", "resetEachStep")
    fields.ignored("runs that look for the bound are as long as the others", *_OF_BOUND)
    objectives = [part for text in _objectives(draft, fields) for part in ("--objective", text)]
    fields.close()
    draft.differs(
        "conforming_rate", "is the first rate that broke there; here the highest that held and the first that broke"
    )
    draft.differs(
        "movingWindow", "objectives hold in full windows with enough messages; there also in those that have only begun"
    )
    told = ", ".join(f"{name}: {value}" for name, value in climb.items())
    scenario = scenario_at(made, TussleStep(paced(draft, bound or 1000, bench), warmup, length))
    search = (*objectives, "--climb", told, "--step", format_duration(length))
    return draft.finished("tussle", "StepRater", scenario, search=search)


def _numbers(value: object) -> list[int]:
    if not isinstance(value, list) or not value:
        raise BadValue("not a list of rates", "Write one like [20k, 10k, 5k, 1k]")
    return [tussle_number(each) for each in value]


def _objectives(draft: Draft, fields: SpecFields) -> list[str]:
    """The service levels as objectives; p90 of 1 ms in 10 s where none is given."""
    found: list[str] = []
    for place, each in enumerate(fields.items("sleConfig")):
        level = SpecFields(draft, each, f"sleConfig.{place}", "a service level")
        level.required("percentile", "maxValue")
        percentile, most = (
            level.number("percentile", 99, least=0, most=100),
            level.number("maxValue", 1, least=0, most=999_999),
        )
        window: int = level.read("movingWindow", 10 * NS_PER_SECOND, tussle_time_ns)
        level.close()
        figure = "max" if percentile == 100 else f"p{percentile:g}"
        if figure not in _FIGURES:
            what = f"{percentile:g}: objectives have no such percentile"
            draft.refuse(level.place("percentile"), what, "Write 50, 75, 90, 95, 99, 99.5, 99.9, 99.99 or 100")
        found.append(f"{figure} <= {most:g} ms over {format_duration(max(window, NS_PER_SECOND))}")
    if not found:
        draft.differs("sleConfig", "none is given: p90 of at most 1 ms in every 10 s, as there, which is very strict")
    return found or ["p90 <= 1 ms over 10s"]


RUNNERS: Final[Mapping[str, Callable[[Draft, SpecFields, Document, TussleBench, Sequence[str]], Translation]]] = {
    "BasicRunner": _basic,
    "ScenarioRunner": _scenario,
    "StepRater": _step_rater,
    "InteractiveRunner": _interactive,
}
