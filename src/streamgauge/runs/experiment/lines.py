"""Lines of progress of experiments and searches."""

from statistics import median
from typing import Final

from streamgauge.domain.text.bars import Signs, line
from streamgauge.domain.text.numbers import UNKNOWN, long_time, per_second, plural, significant
from streamgauge.experiments.record import ExperimentRecord, RecordedRun, counted
from streamgauge.experiments.search.record import SearchStep
from streamgauge.experiments.search.words import said, shown_value
from streamgauge.report.compare.answers import metric_at
from streamgauge.report.pages.page import plain
from streamgauge.runs.experiment.told import ExperimentStep

_PHASES: Final = {"down": "way down, ", "bound": "high bound, "}
_CELLS: Final = 12
"""Of the small curve of a variant."""


def step_text(step: ExperimentStep, signs: Signs | None) -> str:
    """One line of progress: the run that begins, or what came of the one that ended and of its variant so far."""
    run, record = step.run, step.record
    where = f"run {step.number} of {step.of}"
    name = plain(record.variants[run.variant].name)
    if run.outcome == "under_way":
        return f"{where}: round {run.round}, {name}; about {long_time(step.left_seconds)} left"
    because = f": {'; '.join(map(plain, run.reasons))}" if run.reasons else ""
    came = f"{run.outcome.replace('_', ' ')}{because}"
    if run.outcome == "measured":
        label = f"{metric_at(record.metric).label} " if record.metric else ""
        notes = "".join(f"; {plain(each)}" for each in run.reasons)
        came = f"{label}{_value(record.metric, run.value)}{notes}"
    return f"{where}: {name}, {came}{_so_far(record, run, signs)}"


def _so_far(record: ExperimentRecord, run: RecordedRun, signs: Signs | None) -> str:
    """The median of the variant of a run, and its values as a curve; empty where the run alone says the same."""
    values = [each.value for each in counted(record, run.variant).values() if each.value is not None]
    if not values or (len(values) == 1 and run.outcome == "measured"):
        return ""
    count = f"{len(values)} {plural(len(values), 'run')}"
    curve = line(values[-_CELLS:], min(len(values), _CELLS), signs) if signs and len(values) > 1 else ""
    return f"; median of {count} so far {_value(record.metric, median(values))}{f'  {curve}' if curve else ''}"


def _value(path: str | None, value: float | None) -> str:
    """A figure with its unit."""
    if path is None or value is None:
        return UNKNOWN
    unit = metric_at(path).unit
    return significant(value) + ("" if not unit else unit if unit == "/s" else f" {unit}")


def step_line(step: SearchStep, path: str) -> str:
    """One line of progress: the run that begins, or what came of the one that ended."""
    what = "unthrottled" if step.value is None else f"{path}={shown_value(step.value, path)}"
    where = f"{_PHASES.get(step.phase, '')}{what}"
    if step.outcome == "under_way":
        return f"trying {where}"
    if step.outcome == "interrupted":
        return f"{where}: interrupted"
    if step.value is None or (step.phase == "bound" and step.reached):
        acked, received = per_second(step.acked_per_second), per_second(step.received_per_second)
        return f"{where}: {acked} acknowledged, {received} received"
    because = f" ({plain('; '.join(step.reasons))})" if step.reasons else ""
    return f"{where}: {said(step)}{because}"
