"""Lines of progress of experiments and searches."""

from typing import Final

from streamgauge.domain.text.bars import Signs, line
from streamgauge.domain.text.numbers import UNKNOWN, long_time, per_second, significant
from streamgauge.experiments.record import ExperimentRecord
from streamgauge.experiments.search.record import SearchStep
from streamgauge.experiments.search.words import said, shown_value
from streamgauge.report.compare.answers import metric_at
from streamgauge.report.pages.page import plain
from streamgauge.runs.experiment.told import ExperimentStep

_PHASES: Final = {"down": "way down, ", "bound": "high bound, "}
_CELLS: Final = 12
"""Of the small curve of a variant."""


def step_text(step: ExperimentStep, signs: Signs | None) -> str:
    """One line of progress: the run that begins, or what came of the one that ended."""
    run, record = step.run, step.record
    where = f"run {step.number} of {step.of}"
    name = plain(record.variants[run.variant].name)
    if run.outcome == "under_way":
        return f"{where}: round {run.round}, {name}; about {long_time(step.left_seconds)} left"
    if run.outcome == "measured":
        curve = _curve(record, run.variant, signs)
        notes = "".join(f"; {plain(each)}" for each in run.reasons)
        return f"{where}: {_value(record.metric, run.value)}{f'  {curve}' if curve else ''}{notes}"
    because = f": {'; '.join(map(plain, run.reasons))}" if run.reasons else ""
    return f"{where}: {run.outcome.replace('_', ' ')}{because}"


def _value(path: str | None, value: float | None) -> str:
    if path is None or value is None:
        return UNKNOWN
    metric = metric_at(path)
    unit = "" if not metric.unit else metric.unit if metric.unit == "/s" else f" {metric.unit}"
    return f"{metric.label} {significant(value)}{unit}"


def _curve(record: ExperimentRecord, variant: int, signs: Signs | None) -> str:
    """The values of a variant so far."""
    values = [run.value for run in record.runs if run.variant == variant and run.outcome == "measured"]
    return line(values[-_CELLS:], min(len(values), _CELLS), signs) if signs and len(values) > 1 else ""


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
