"""Tasks of Trogdor, carried out as its agent does with `--exec`: from a specification to the status of the task."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.read.texts import read_json
from streamgauge.foreign.specs.trogdor.specs import is_trogdor
from streamgauge.foreign.specs.write.translation import Translation
from streamgauge.foreign.specs.write.written import notes_of
from streamgauge.report.exports.trogdor import (
    MillisecondBins,
    metrics_of,
    read_histograms,
    read_received,
    trogdor_status,
)
from streamgauge.result import Result
from streamgauge.runs.foreign.imported import keep_runs
from streamgauge.runs.foreign.programs import carry_out_run, check_programs, programs_of
from streamgauge.runs.request.options import RunOptions, request_of
from streamgauge.runs.request.scenario_file import translation_of
from streamgauge.runs.request.spec_files import STANDARD_INPUT, is_inline, spec_text
from streamgauge.runs.request.texts import read_file
from streamgauge.runs.run import run as run_request
from streamgauge.watch.display import Display


@dataclass(frozen=True, slots=True)
class TrogdorTask:
    """A specification of Trogdor, and what it comes to here."""

    source: str
    """The specification as JSON, or the path of one."""
    spec: Mapping[str, Any]
    translation: Translation


class TaskEnded(NamedTuple):
    """The last status of a task, and its error; empty for none."""

    status: Any
    error: str


def task_of(given: str) -> TrogdorTask:
    """The task of a specification, the path of one, or `-` for standard input; raises BadInput."""
    source = _source(given)
    where = "SPEC" if is_inline(source) else one_line(source)
    mend = "Name a readable file with a specification of Trogdor, or write it as it is"
    text = source if is_inline(source) else read_file(Path(source), where, mend, "a specification")
    value = read_json(text, where)
    translation = translation_of(source) if is_trogdor(value) else None
    if translation is None or translation.tool != "trogdor":
        raise BadInput.single(where, "not a specification of Trogdor", mend)
    return TrogdorTask(source, value.get("spec", value), translation)


def _source(given: str) -> str:
    """What is given, or what standard input has; raises BadInput."""
    if given != STANDARD_INPUT:
        return given
    text = spec_text(given)
    if not is_inline(text):
        raise BadInput.single("standard input", "not a specification of Trogdor", "Write one into it, as JSON")
    return text


def carry_out_task(task: TrogdorTask, options: RunOptions, display: Display) -> TaskEnded:
    """Carry out a task, on the cluster that the options or else its specification name, as an agent takes it.

    Raises StreamgaugeError for one that cannot be carried out, or has no result.
    """
    if task.translation.programs:
        programs = programs_of(task.source, ())
        check_programs(programs, task.source, allow_code=options.allow_code)
        outcome = carry_out_run(programs[0], display.say)
        keep_runs(outcome.found, options.out, options.command, display.say)
        return TaskEnded(outcome.status, "interrupted" if outcome.is_interrupted else outcome.error)
    options = replace(options, bootstrap=options.bootstrap or task.translation.bootstrap)
    for note in notes_of(task.translation):
        display.say(note)
    shown: list[tuple[RunFolder, Result]] = []
    run_request(request_of(task.source, options), display, show=lambda folder, result: shown.append((folder, result)))
    if not shown:
        return TaskEnded(None, "there is no result")
    folder, result = shown[-1]
    workload = str(task.spec.get("class", "")).rpartition(".")[2]
    histograms = read_histograms(folder, list(metrics_of(workload)))
    status = trogdor_status(result, workload, histograms, read_received(folder), _bins(task.spec))
    return TaskEnded(status, "interrupted" if result.run.ending == "interrupted" else "")


def _bins(spec: Mapping[str, Any]) -> MillisecondBins | None:
    """The bins of a record processor, which were checked when the specification was read."""
    given = spec.get("recordProcessor")
    if not isinstance(given, Mapping):
        return None
    keys = {"least_ms": "histogramMinMs", "most_ms": "histogramMaxMs", "step_ms": "histogramStepMs"}
    return MillisecondBins(**{name: int(given[key]) for name, key in keys.items() if given.get(key) is not None})
