"""What the commands of experiments print: the plan, the progress, and the answer."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.numbers import UNKNOWN, long_time, size
from streamgauge.domain.text.shown import one_line
from streamgauge.experiments.order import PlannedRun
from streamgauge.experiments.record import ExperimentRecord
from streamgauge.report.compare.pages import comparison_text
from streamgauge.report.pages.page import plain
from streamgauge.runs.experiment.conduct import expected_bytes, expected_seconds
from streamgauge.runs.experiment.request import ExperimentRequest, recorded_variants
from streamgauge.runs.experiment.results import experiment_document
from streamgauge.runs.experiment.told import ExperimentEnded, ExperimentStep
from streamgauge.scenario.volume import estimate

_MOST_LINES: Final = 40


def one_form(*, as_json: bool, json_lines: bool) -> None:
    """Raise BadInput where two forms of JSON are asked for."""
    if as_json and json_lines:
        raise BadInput.single("--json", "cannot be combined with --json-lines", "Use one of them")


def plan_text(request: ExperimentRequest, *, as_json: bool) -> str:
    """What the experiment would do: its variants, its runs in their order, how long it takes and what it writes."""
    runs = request.plan
    expected = expected_seconds(request)
    total = sum(expected[each.variant] for each in runs)
    written = expected_bytes(request)
    if as_json:
        told = {
            "variants": [each.model_dump(mode="json") for each in recorded_variants(request.variants)],
            "runs": [{"round": each.round, "variant": each.variant} for each in runs],
            "seconds": round(total, 1),
            "bytes_written": written,
        }
        return json.dumps(told, indent=2)
    return "\n".join(_plan_lines(request, runs, total, written))


def _plan_lines(request: ExperimentRequest, runs: list[PlannedRun], total: float, written: int | None) -> Iterator[str]:
    experiment = request.experiment
    yield f"Dry run: nothing was started. {len(runs)} runs of {len(request.variants)} variants, {experiment.order}."
    may_end = any(estimate(each.scenario, embedded=False).at_most for each in request.requests)
    yield f"Duration: {'at most ' if may_end else ''}about {long_time(total)}."
    room = UNKNOWN if written is None else f"at most about {size(written)}"
    yield f"Bytes written below {one_line(str(request.options.out))}: {room}."
    for number, each in enumerate(runs[:_MOST_LINES], 1):
        yield f"{number:>4}  round {each.round}  {plain(request.variants[each.variant].name)}"
    if len(runs) > _MOST_LINES:
        yield f"      and {len(runs) - _MOST_LINES} more runs"


def step_document(step: ExperimentStep) -> dict[str, Any]:
    """A run that ended, as one line of JSON has it."""
    variant = step.record.variants[step.run.variant]
    run = step.run.model_dump(mode="json", exclude={"variant"})
    about = {"run": step.number, "of": step.of, "variant": variant.name, "settings": variant.settings}
    return {**about, **run, "metric": step.record.metric, "left_seconds": round(step.left_seconds, 1)}


def print_ended(ended: ExperimentEnded, *, as_json: bool, out: Callable[[str], None]) -> None:
    """The answer of an experiment."""
    if as_json:
        out(json.dumps(experiment_document(ended.record, ended.found, ended.expected), indent=2))
        return
    if ended.found:
        out(comparison_text(ended.found))
    lines = [*(plain(each.sentence) for each in ended.expected), *_end_lines(ended.record, ended.folder.root)]
    out("\n".join(lines))


def _end_lines(record: ExperimentRecord, folder: Path) -> Iterator[str]:
    bad = [run for run in record.runs if run.outcome in {"failed", "not_believed"}]
    measured = sum(run.outcome == "measured" for run in record.runs)
    left_out = f"; {len(bad)} failed or not believed, and left out" if bad else ""
    yield f"{measured} runs measured{left_out}."
    yield from (f"{record.ending}: {plain(reason)}" for reason in record.reasons)
    yield f"Folder: {plain(str(folder))}"
