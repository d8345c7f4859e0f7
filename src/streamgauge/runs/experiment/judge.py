"""What a run of an experiment counts as, and what all of its runs say together. Pure but for reading results."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.paths import RunFolder
from streamgauge.domain.text.numbers import significant
from streamgauge.experiments.model import ExperimentFile
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord, RunOutcome, counted, left_out
from streamgauge.report.compare.answers import PRIMARY, Together, figure_of, is_usable, together_of
from streamgauge.report.compare.expected import ExpectedAnswer, expected_answers, failed_of_scenarios, unmet
from streamgauge.report.compare.variants import Alike
from streamgauge.report.publish import read_result
from streamgauge.result import Result
from streamgauge.runs.experiment.request import ExperimentRequest
from streamgauge.statistics import limits
from streamgauge.statistics.comparison import RunFigure, Variant, compared, is_narrow
from streamgauge.verdict.exits import Exit


@dataclass(frozen=True, slots=True)
class Judged:
    """What a run counts as."""

    outcome: RunOutcome
    value: float | None = None
    """Of the primary metric."""
    reasons: tuple[str, ...] = ()
    """Why it is not compared, and which expectations of its scenario it did not meet. These leave it in."""


def judged(result: Result, metric: str | None) -> Judged:
    """What a run counts as by its ending, and by whether its primary metric is believed; None where none is known."""
    found = _judged(result, metric)
    if result.run.ending != "finished":
        return found
    failed = [unmet(each) for each in result.expectations if not each.passed]
    return replace(found, reasons=(*found.reasons, *failed))


def _judged(result: Result, metric: str | None) -> Judged:
    if result.run.ending == "interrupted":
        return Judged("interrupted", reasons=tuple(result.run.reasons))
    if result.run.ending != "finished":
        return Judged("failed", reasons=tuple(result.run.reasons) or (f"it ended as {result.run.ending}",))
    if metric is None:
        return Judged("failed", reasons=("it has no figure that could be compared; name one with `metric`",))
    found = figure_of(result, metric)
    if found is None:
        return Judged("failed", reasons=(f"it has no {metric}",))
    value = found if isinstance(found, float) else found.value
    if not is_usable(result, found):
        return Judged("not_believed", value, (f"{metric} is not believed",))
    return Judged("measured", value)


def primary_of(result: Result) -> str | None:
    """The metric that decides unless another is named; None where the run has none of them."""
    return next((path for path in PRIMARY if figure_of(result, path) is not None), None)


def answered(folder: ExperimentFolder, record: ExperimentRecord) -> Together | None:
    """What the runs so far say together; None where none has a result."""
    variants = variants_in(folder, record)
    if not any(each.runs for each in variants):
        return None
    varied = list(dict.fromkeys(path for each in record.variants for path in each.settings))
    level = level_of(record)
    found = together_of(variants, record.metric, record.order, level=level, varied=varied)
    if not (times := len(additions(record))):
        return found
    often = {1: "once", 2: "twice"}.get(times, f"{times} times")
    what = f"verdicts and intervals are those of {significant(100 * (1 - level))} %"
    told = f"Rounds were added {often} after a verdict was possible: {what}."
    return replace(found, warnings=(*found.warnings, told))


def variants_in(folder: ExperimentFolder, record: ExperimentRecord) -> list[Alike]:
    """The variants of an experiment with the runs that have a result."""
    return [_alike(folder, record, place) for place in range(len(record.variants))]


def level_of(record: ExperimentRecord) -> float:
    """That of verdicts and intervals: a stricter one for those who look before they go on.

    That is where the experiment ends once its intervals are narrow, and where rounds were added to those planned: all
    verdicts that there could have been share the chance of an error, so one addition gives LOOKING_LEVEL.
    """
    stop = record.asked.get("stop")
    looks = isinstance(stop, dict) and stop.get("interval") is not None
    shared = limits.LEVEL / (1 + len(additions(record)))
    return min(shared, limits.LOOKING_LEVEL) if looks else shared


def additions(record: ExperimentRecord) -> list[int]:
    """How many rounds were planned each time that more were added and a verdict had been possible.

    Older versions kept no account of it: there, it is one if there are more than were asked for at first.
    """
    first = record.asked.get("repeat", ExperimentFile.model_fields["repeat"].default)
    if record.added_after or not isinstance(first, int):
        return record.added_after
    return [first] if record.repeat > max(first, limits.FEWEST_RUNS) else []


def plan_rounds(record: ExperimentRecord, repeat: int) -> None:
    """Plan so many rounds, at least as many as before, and keep account of what was known when they were added."""
    if repeat > record.repeat:
        if any(len(counted(record, place)) >= limits.FEWEST_RUNS for place in range(len(record.variants))):
            record.added_after = [*additions(record), record.repeat]
        else:
            # No verdict was possible: as well might they have been asked for at first.
            record.asked = {**record.asked, "repeat": repeat}
    record.repeat = repeat


def are_narrow(record: ExperimentRecord, share: float) -> bool:
    """Whether the primary metric of every variant is known this well, relative to that of the first."""
    first, *others = (measured(record, place) for place in range(len(record.variants)))
    found = compared([(first, each) for each in others], record.order, level_of(record))
    enough = all(each.pairs is not None and each.pairs >= limits.FEWEST_RUNS for each in found)
    return bool(found) and enough and all(is_narrow(each, share) for each in found)


def measured(record: ExperimentRecord, place: int) -> Variant:
    """The primary metric of a variant, run by run."""
    runs = counted(record, place)
    figures = {number: RunFigure(run.value) for number, run in runs.items() if run.value is not None}
    return Variant(record.variants[place].name, figures, left_out(record, place))


def expectations(request: ExperimentRequest, record: ExperimentRecord, found: Together | None) -> list[ExpectedAnswer]:
    """What the runs say about the expectations of an experiment, and which of their scenario they did not meet.

    Nothing where no run has a result.
    """
    if found is None:
        return []
    own = expected_answers(request.expected, found.variants, record.order, level_of(record))
    return [*own, *failed_of_scenarios(found.variants)]


def exit_of(record: ExperimentRecord, found: Together | None, expectations: Sequence[ExpectedAnswer] = ()) -> Exit:
    """The exit code that an experiment deserves.

    NOT_VALID where a variant cannot be compared, or an expectation cannot be decided and none failed.
    """
    if record.ending == "interrupted":
        return Exit.INTERRUPTED
    if record.ending == "failed" or found is None:
        return Exit.FAILED
    primary = found.primary
    if primary is None or any(each is None for each in primary.variants):
        return Exit.NOT_VALID
    shares = [
        out / (runs.count + out)
        for runs, out in zip(primary.variants, primary.left_out, strict=True)
        if runs is not None
    ]
    if max(shares) > limits.LEFT_OUT_SHARE:
        return Exit.NOT_VALID
    if any(each.holds is False for each in expectations):
        return Exit.EXPECTATION_FAILED
    return Exit.NOT_VALID if any(each.holds is None for each in expectations) else Exit.DONE


def _alike(folder: ExperimentFolder, record: ExperimentRecord, place: int) -> Alike:
    """The runs of a variant that have a result; those that failed without one are counted."""
    results: list[Result] = []
    rounds: list[int] = []
    folders: list[RunFolder] = []
    lost = 0
    for run in record.runs:
        if run.variant != place or run.outcome in {"under_way", "interrupted"}:
            continue
        of_run = RunFolder(folder.runs / run.folder) if run.folder else None
        result = _result(of_run) if of_run else None
        if of_run is None or result is None:
            lost += 1
        else:
            results.append(result)
            rounds.append(run.round)
            folders.append(of_run)
    return Alike(record.variants[place].name, tuple(results), tuple(rounds), lost, tuple(folders))


def _result(folder: RunFolder) -> Result | None:
    if not folder.result.exists():
        return None
    try:
        return read_result(folder.result)
    except BadInput:
        return None
