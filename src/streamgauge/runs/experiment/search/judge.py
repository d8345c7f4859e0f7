"""Whether a run of a search held: its objectives, its rate, what it lost, and whether messages piled up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from streamgauge.domain.text.numbers import significant, whole
from streamgauge.experiments.search.objective import Objective
from streamgauge.report.compare.answers import figure_of
from streamgauge.result import Result
from streamgauge.result.model.trust import FigureTrust
from streamgauge.runs.experiment.search.windows import WindowFigure
from streamgauge.statistics.growth import growth
from streamgauge.verdict.evidence import ARRIVING
from streamgauge.verdict.expectations import decided, undecided_by
from streamgauge.verdict.trust.figures.interval import exact

GROWTH_SHARE: Final = 0.01
"""Of the measured messages: outstanding ones may grow by so many."""
_LOSSES: Final = ("lost", "undelivered", "failed", "expired")


@dataclass(frozen=True, slots=True)
class StepJudgement:
    """Whether a run held, and why not."""

    held: bool
    is_doubtful: bool = False
    reasons: tuple[str, ...] = ()
    figures: Mapping[str, float | None] = field(default_factory=dict)
    """Of each objective that has one by its text: the figure, or the worst of its windows; None for infinite."""
    reached: bool = False
    """Whether the rate arrived, nothing was lost, and nothing piled up."""
    objectives: Mapping[str, bool | None] = field(default_factory=dict)
    """Whether each objective held; None where that cannot be told."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What one rule says."""

    held: bool
    is_doubtful: bool = False
    reason: str = ""


def judge_step(
    result: Result, objectives: Sequence[Objective], windows: Mapping[str, Sequence[WindowFigure]]
) -> StepJudgement:
    """Whether a run held; `windows` has the figure of each full window, by the objective's text."""
    if result.run.ending != "finished":
        why = "; ".join(result.run.reasons) or f"it ended as {result.run.ending}"
        return StepJudgement(held=False, is_doubtful=True, reasons=(f"the run did not finish: {why}",))
    of_load = [_rate(result), _losses(result), _growth(result)]
    parts = [*of_load]
    says: dict[str, bool | None] = {}
    figures: dict[str, float | None] = {}
    for each in objectives:
        part, found = _objective(result, each, windows.get(each.text))
        figures |= found
        parts.append(part)
        says[each.text] = None if part.is_doubtful else part.held
    # Too much load is certain whatever else is in doubt. What only breaks an objective may have been disturbed.
    held = all(part.held for part in parts)
    overloaded = any(not part.held and not part.is_doubtful for part in of_load)
    return StepJudgement(
        held=held,
        is_doubtful=not overloaded and (not held or any(part.is_doubtful for part in parts)),
        reasons=tuple(part.reason for part in parts if part.reason),
        figures=figures,
        reached=all(part.held for part in of_load),
        objectives=says,
    )


def _rate(result: Result) -> _Said:
    """What arrives, of what was asked for; without a schedule nothing was."""
    throughput = result.throughput
    asked = throughput.target_per_second
    consumes = throughput.received_per_second is not None
    found = throughput.received_per_second if consumes else throughput.acked_per_second
    if not asked or found is None:
        return _Said(held=True)
    if found / asked >= ARRIVING:
        return _Said(held=True)
    path = f"throughput.{'received' if consumes else 'acked'}_per_second"
    # 98.8 % is less than the 99 % that have to arrive, and is not to read like it.
    what = f"{'received' if consumes else 'acknowledged'} {significant(100 * found / asked)} % of the target rate"
    return _Said(held=False, is_doubtful=_is_unbelieved(result, path), reason=what)


def _losses(result: Result) -> _Said:
    counts = {name: getattr(result.delivery, name) or 0 for name in _LOSSES}
    told = [f"{whole(count)} {name}" for name, count in counts.items() if count]
    doubtful = all(_is_unbelieved(result, f"delivery.{name}") for name, count in counts.items() if count)
    return _Said(held=not told, is_doubtful=bool(told) and doubtful, reason=", ".join(told))


def _growth(result: Result) -> _Said:
    """Whether messages piled up over the measure phase."""
    measured = round(result.throughput.measured_seconds or 0)
    series = [each.outstanding for each in result.timeline if 0 <= each.second < measured]
    known = [float(each) for each in series if each is not None]
    found = growth(known) if len(known) == len(series) else None
    messages = (result.throughput.sent_per_second or 0) * measured
    if found is None or found[0] <= max(0.0, GROWTH_SHARE * messages):
        return _Said(held=True)
    return _Said(held=False, reason=f"outstanding messages grew by {whole(found[0])} or more")


def _objective(
    result: Result, objective: Objective, windows: Sequence[WindowFigure] | None
) -> tuple[_Said, Mapping[str, float | None]]:
    """What an objective says, and its figure by its text: none where the run lacks it."""
    found = figure_of(result, objective.path)
    # A phase with too few messages for its percentile has windows with too few, which say so themselves.
    if found is None and not any(each.messages for each in windows or ()):
        return _Said(held=False, is_doubtful=True, reason=f"{objective.text}: the run has no such figure"), {}
    if found is None or objective.window_seconds is not None:
        return _of_windows(objective, windows or (), _unbounded(found, objective.path))
    figure = found if isinstance(found, FigureTrust) else exact(found)
    figures, what = {objective.text: figure.value}, f"{objective.text}: {significant(figure.value)}"
    told = decided(objective.bound, figure)
    if told is None:
        # What was measured says where to go on, and neither that it held nor that it did not.
        held = objective.bound.holds(figure.value)
        return _Said(held, is_doubtful=True, reason=f"{what}; {undecided_by(figure)}"), figures
    return _Said(told, reason="" if told else what), figures


def _unbounded(found: FigureTrust | float | None, path: str) -> str:
    """Why no window can be told: what disturbed the figure of the phase has no bound; empty where it has."""
    is_one = isinstance(found, FigureTrust) and found.trust != "believed" and found.low is None and found.high is None
    return f"{path} is not believed" if is_one else ""


def _of_windows(
    objective: Objective, windows: Sequence[WindowFigure], doubt: str
) -> tuple[_Said, Mapping[str, float | None]]:
    """Every full window has to hold, whatever the instrument did to it; an infinite figure holds in none.

    A window with too few messages for its percentile tells nothing for certain. One that reaches into a pause of the
    load and holds is no loss, where others have enough: messages of the load are in those, too.
    """
    if not windows:
        what = f"{objective.text}: the measure phase has no full window with messages"
        return _Said(held=False, is_doubtful=True, reason=what), {}
    thin = [each for each in windows if _is_thin(objective, each)]
    enough = [each for each in windows if not _is_thin(objective, each)]
    surely = [each for each in enough if _decided(objective, each) is False]
    untold = [each for each in enough if _decided(objective, each) is None]
    failed = len(surely) + sum(not _holds(objective, each) for each in thin)
    if enough:
        thin = [each for each in thin if not each.has_pause or not _holds(objective, each)]
    said = [f"{objective.text}: failed in {failed} of {len(windows)} windows"] if failed else []
    said += [_too_few(objective, windows, thin)] if thin and not surely else []
    said += [_cannot_be_told(objective, windows, untold)] if untold and not surely else []
    said += [doubt] if doubt else []
    return _Said(
        held=all(_holds(objective, each) for each in windows),
        is_doubtful=bool(doubt) or bool((thin or untold) and not surely),
        reason="; ".join(said),
    ), {objective.text: _worst(objective, windows)}


def _worst(objective: Objective, windows: Sequence[WindowFigure]) -> float | None:
    """The figure of the window that is furthest from holding; None for infinite."""
    # Upper bounds are those of latencies; of lower ones the least is the worst.
    known = [each.value for each in windows if each.value is not None]
    return (max if objective.bound.is_above else min)(known) if len(known) == len(windows) else None


def _holds(objective: Objective, window: WindowFigure) -> bool:
    return window.value is not None and objective.bound.holds(window.value)


def _decided(objective: Objective, window: WindowFigure) -> bool | None:
    if window.value is None or window.ends is None:
        return _holds(objective, window)
    return objective.bound.decides(*window.ends)


def _is_thin(objective: Objective, window: WindowFigure) -> bool:
    """Whether a window has too few messages for its percentile; where messages were due and none came, none will."""
    return 0 < window.messages < objective.needed_messages()


def _cannot_be_told(objective: Objective, windows: Sequence[WindowFigure], untold: Sequence[WindowFigure]) -> str:
    worst = _worst(objective, untold)
    low, high = next(each.ends for each in untold if each.value == worst and each.ends)
    figure = FigureTrust(value=worst or 0.0, low=low, high=high, trust="bounded", because=[])
    what = f"{objective.text}: cannot be told in {len(untold)} of {len(windows)} windows"
    return f"{what}; of the worst, {significant(worst or 0.0)}: {undecided_by(figure)}"


def _too_few(objective: Objective, windows: Sequence[WindowFigure], thin: Sequence[WindowFigure]) -> str:
    fewest, needed = min(each.messages for each in thin), objective.needed_messages()
    seconds = (objective.window_seconds or 1) * len(windows)
    longer = objective.longer_window(sum(each.messages for each in windows) / seconds)
    what = f"{len(thin)} of {len(windows)} windows have too few messages, down to {whole(fewest)} of {whole(needed)}"
    return f"{objective.text}: {what}; write a longer one, like {longer}"


def _is_unbelieved(result: Result, path: str) -> bool:
    found = figure_of(result, path)
    return isinstance(found, FigureTrust) and found.trust == "not_believed"
