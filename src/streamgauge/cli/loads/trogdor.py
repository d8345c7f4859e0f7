"""The command `trogdor`: one specification carried out as Trogdor's agent does with `--exec`."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from streamgauge.cli.loads.programs import carry_out_run, check_programs, programs_of
from streamgauge.cli.results.imported import keep_runs
from streamgauge.domain.errors import BadInput, StreamgaugeError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.secrets import masked
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
from streamgauge.runs.request.options import RunOptions, request_of
from streamgauge.runs.request.scenario_file import translation_of
from streamgauge.runs.request.spec_files import STANDARD_INPUT, is_inline, spec_text
from streamgauge.runs.request.texts import read_file
from streamgauge.runs.run import run as run_request
from streamgauge.watch.display import Display

_SUCCEEDED: Final = 0
_FAILED: Final = 1


def trogdor_exec(
    given: str, display: Display, print_out: Callable[[str], None], *,
    bootstrap: str | None, client_config: Path | None, out: Path, allow_code: bool,
) -> int:  # fmt: skip
    """Carry out one specification, and print its status; 0 where it succeeded, 1 for everything else, as there.

    `given` is a specification, the path of one, or `-` for standard input. It runs on the cluster that is named, or
    that the specification names, as an agent takes it.
    """
    try:
        source = _source(given)
        spec, translation = _read(source)
    except BadInput as error:
        print_out(f"Unable to parse the supplied task spec. {error}")
        return _FAILED
    options = RunOptions(
        out=out, command=["streamgauge", *sys.argv[1:]], bootstrap=bootstrap or translation.bootstrap,
        client_config=client_config, allow_code=allow_code,
    )  # fmt: skip
    print_out(f"Waiting for completion of task:{_pretty(masked(spec))}")
    status: Any = None
    try:
        status, problem = _carried_out(source, spec, translation, options, display)
    except StreamgaugeError as error:
        problem = str(error)
    if problem:
        print_out(f"Task failed with status {_pretty(status)} and error {problem}")
        return _FAILED
    print_out(f"Task succeeded with status {_pretty(status)}")
    return _SUCCEEDED


def _source(given: str) -> str:
    """What is given, or what standard input has; raises BadInput."""
    if given != STANDARD_INPUT:
        return given
    text = spec_text(given)
    if not is_inline(text):
        raise BadInput.single("standard input", "not a specification of Trogdor", "Write one into it, as JSON")
    return text


def _read(source: str) -> tuple[Mapping[str, Any], Translation]:
    """A specification and what it comes to here; raises BadInput."""
    where = "SPEC" if is_inline(source) else one_line(source)
    mend = "Name a readable file with a specification of Trogdor, or write it as it is"
    text = source if is_inline(source) else read_file(Path(source), where, mend, "a specification")
    value = read_json(text, where)
    translation = translation_of(source) if is_trogdor(value) else None
    if translation is None or translation.tool != "trogdor":
        raise BadInput.single(where, "not a specification of Trogdor", mend)
    return value.get("spec", value), translation


def _carried_out(
    source: str, spec: Mapping[str, Any], translation: Translation, options: RunOptions, display: Display
) -> tuple[Any, str]:
    """The last status, and what went wrong; empty for nothing."""
    if translation.programs:
        programs = programs_of(source, ())
        check_programs(programs, source, allow_code=options.allow_code)
        outcome = carry_out_run(programs[0], display.say)
        keep_runs(outcome.found, options.out, options.command, display.say)
        return outcome.status, "interrupted" if outcome.is_interrupted else outcome.error
    for note in notes_of(translation):
        display.say(note)
    shown: list[tuple[RunFolder, Result]] = []
    run_request(request_of(source, options), display, show=lambda folder, result: shown.append((folder, result)))
    if not shown:
        return None, "there is no result"
    folder, result = shown[-1]
    workload = str(spec.get("class", "")).rpartition(".")[2]
    histograms = read_histograms(folder, list(metrics_of(workload)))
    status = trogdor_status(result, workload, histograms, read_received(folder), _bins(spec))
    interrupted = result.run.ending == "interrupted"
    return status, "interrupted" if interrupted else ""


def _bins(spec: Mapping[str, Any]) -> MillisecondBins | None:
    """The bins of a record processor, which were checked when the specification was read."""
    given = spec.get("recordProcessor")
    if not isinstance(given, Mapping):
        return None
    keys = {"least_ms": "histogramMinMs", "most_ms": "histogramMaxMs", "step_ms": "histogramStepMs"}
    return MillisecondBins(**{name: int(given[key]) for name, key in keys.items() if given.get(key) is not None})


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2)
