"""What runs say about the expectations of an experiment: passed, failed, or not decided."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.text.numbers import significant
from streamgauge.experiments.expect import ExpectedOfVariant
from streamgauge.report.compare.answers import answer, figures_in, metric_at
from streamgauge.report.compare.variants import Alike
from streamgauge.report.pages.words import found as found_in
from streamgauge.result.model.verdict import ExpectationResult
from streamgauge.statistics import limits
from streamgauge.statistics.comparison import Comparison, RunOrder, Variant
from streamgauge.statistics.summary import Interval, OfRuns, summary

_TURNED: Final = "the answer would be another one if figures lay at other points of their intervals"
_PART: Final = "the expectation passes in only part of the interval"
_NO_RATIO: Final = "the figure was 0 in a run, so there is no ratio"


@dataclass(frozen=True, slots=True)
class FailedInRuns:
    """How many runs of a variant that finished failed an expectation of their scenario."""

    variant: str
    runs: int
    """That have the expectation."""
    failed: int
    undecided: int

    @property
    def words(self) -> str:
        """The same in words."""
        of = f"of {self.runs} {'run' if self.runs == 1 else 'runs'}"
        cannot = f"cannot be decided in {self.undecided}"
        if not self.failed:
            return f"{cannot} {of}"
        return f"failed in {self.failed} {of}{f' and {cannot}' if self.undecided else ''}"


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """An expectation, and what the runs say about it."""

    text: str
    holds: bool | None
    """None where the runs cannot tell."""
    low: float | None
    """The interval that decides: of the mean of the figure, or of its ratio to that of another variant."""
    high: float | None
    because: str | None = None
    """Why the runs cannot tell; of an expectation of the scenario, what was found in the first run that failed it."""
    failed: FailedInRuns | None = None
    """Of an expectation of the scenario."""

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if self.failed:
            return f"{self.failed.variant}: {self.text} {self.failed.words} ({self.because})"
        word = {True: "passed", False: "failed", None: "cannot be decided"}[self.holds]
        ends = (
            f" ({significant(self.low)} to {significant(self.high)})"
            if self.low is not None and self.high is not None
            else ""
        )
        return f"{self.text}: {word}{ends}{f': {self.because}' if self.because else ''}"


def expected_answers(
    expectations: Sequence[ExpectedOfVariant], variants: Sequence[Alike], order: RunOrder, level: float
) -> list[ExpectedAnswer]:
    """What the runs of these variants say about each expectation."""
    return [_answered(each, variants, order, level) for each in expectations]


def failed_of_scenarios(variants: Sequence[Alike]) -> list[ExpectedAnswer]:
    """The expectations of scenarios that runs failed, or that cannot be decided of them, by variant.

    Also runs whose compared figure is not believed count: what was lost was lost. What did not finish says nothing.
    """
    return [each for variant in variants for each in _failed(variant)]


def _failed(variant: Alike) -> Iterator[ExpectedAnswer]:
    finished = [run for run in variant.runs if run.run.ending == "finished"]
    judged = [(f"{each.path}: {each.wanted}", run.run.id, each) for run in finished for each in run.expectations]
    for text in dict.fromkeys(text for text, _, each in judged if not each.passed):
        mine = [(run, each) for other, run, each in judged if other == text]
        failed = [(run, each) for run, each in mine if not each.passed and each.decided]
        undecided = [(run, each) for run, each in mine if not each.decided]
        run, first = [*failed, *undecided][0]
        counts = FailedInRuns(variant.name, len(mine), len(failed), len(undecided))
        yield ExpectedAnswer(text, False if failed else None, None, None, f"{run}: {found_in(first)}", counts)


def unmet(expectation: ExpectationResult) -> str:
    """An expectation of the scenario that a run did not meet, in words."""
    word = "failed" if expectation.decided else "cannot be decided"
    return f"{expectation.path}: {expectation.wanted} {word}: {found_in(expectation)}"


def _answered(each: ExpectedOfVariant, variants: Sequence[Alike], order: RunOrder, level: float) -> ExpectedAnswer:
    places = [each.variant] if each.other is None else [each.other, each.variant]
    found = answer(
        [variants[place] for place in places], metric_at(each.path), is_primary=True, order=order, level=level
    )
    if each.other is None:
        figures = figures_in(variants[each.variant], each.path, is_primary=True)
        return _of_mean(each, found.variants[0], found.left_out[0], _at_ends(figures, level))
    return _of_ratio(each, found.comparisons[0])


def _of_mean(
    each: ExpectedOfVariant, runs: OfRuns | None, left_out: int, at_ends: Sequence[Interval]
) -> ExpectedAnswer:
    if runs is None:
        return ExpectedAnswer(each.text, None, None, None, "no run has this figure, or it is not believed")
    if left_out > limits.LEFT_OUT_SHARE * (runs.count + left_out):
        return ExpectedAnswer(each.text, None, None, None, f"{left_out} runs failed or are not believed")
    if runs.count < limits.FEWEST_RUNS:
        return ExpectedAnswer(each.text, None, None, None, f"{limits.FEWEST_RUNS - runs.count} more runs are needed")
    return _decided(each, _mean(runs), at_ends)


def _mean(runs: OfRuns) -> Interval:
    # Runs that are all the same have no other interval.
    return runs.mean_interval or (runs.median, runs.median)


def _at_ends(figures: Variant, level: float) -> list[Interval]:
    """The interval of the mean of the low ends of runs, and that of the high ends; an unknown end is the value."""
    runs = list(figures.runs.values())
    if not runs:
        return []
    lows = [run.value if run.low is None else run.low for run in runs]
    highs = [run.value if run.high is None else run.high for run in runs]
    return [_mean(summary(ends, level=level)) for ends in (lows, highs)]


def _of_ratio(each: ExpectedOfVariant, found: Comparison) -> ExpectedAnswer:
    effect = found.effect
    if found.verdict == "no_verdict" or effect is None or effect.low is None or effect.high is None:
        return ExpectedAnswer(each.text, None, None, None, "; ".join(found.because) or "there is no interval")
    if not effect.is_ratio:
        return ExpectedAnswer(each.text, None, None, None, _NO_RATIO)
    at_ends = [(end.low, end.high) if end.is_ratio else (None, None) for end in found.at_ends]
    return _decided(each, (effect.low, effect.high), at_ends)


def _decided(
    each: ExpectedOfVariant, interval: Interval, at_ends: Sequence[tuple[float | None, float | None]]
) -> ExpectedAnswer:
    """The interval decides, if those with figures at the ends of their own intervals say the same."""
    low, high = interval
    holds = each.bound.decides(low, high)
    if holds is None:
        return ExpectedAnswer(each.text, None, low, high, _PART)
    if any(each.bound.decides(*ends) is not holds for ends in at_ends):
        return ExpectedAnswer(each.text, None, low, high, _TURNED)
    return ExpectedAnswer(each.text, holds, low, high)
