"""What runs say about the expectations of an experiment: held, broken, or not to be told."""

from collections.abc import Sequence
from dataclasses import dataclass

from streamgauge.domain.text.numbers import significant
from streamgauge.experiments.expect import ExpectedOfVariant
from streamgauge.report.compare.answers import answer, metric_at
from streamgauge.report.compare.variants import Alike
from streamgauge.statistics import limits
from streamgauge.statistics.comparison import Comparison, RunOrder
from streamgauge.statistics.summary import OfRuns


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
    """Why the runs cannot tell."""

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        word = {True: "holds", False: "is broken", None: "cannot be told"}[self.holds]
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


def _answered(each: ExpectedOfVariant, variants: Sequence[Alike], order: RunOrder, level: float) -> ExpectedAnswer:
    places = [each.variant] if each.other is None else [each.other, each.variant]
    found = answer(
        [variants[place] for place in places], metric_at(each.path), is_primary=True, order=order, level=level
    )
    if each.other is None:
        return _of_mean(each, found.variants[0], found.left_out[0])
    return _of_ratio(each, found.comparisons[0])


def _of_mean(each: ExpectedOfVariant, runs: OfRuns | None, left_out: int) -> ExpectedAnswer:
    if runs is None:
        return ExpectedAnswer(each.text, None, None, None, "no run has this figure, or it is not believed")
    if left_out > limits.LEFT_OUT_SHARE * (runs.count + left_out):
        return ExpectedAnswer(each.text, None, None, None, f"{left_out} runs failed or are not believed")
    if runs.count < limits.FEWEST_RUNS:
        return ExpectedAnswer(each.text, None, None, None, f"{limits.FEWEST_RUNS - runs.count} more runs are needed")
    # Runs that are all the same have no other interval.
    low, high = runs.mean_interval or (runs.median, runs.median)
    return _decided(each, low, high)


def _of_ratio(each: ExpectedOfVariant, found: Comparison) -> ExpectedAnswer:
    effect = found.effect
    if found.verdict == "no_verdict" or effect is None or effect.low is None or effect.high is None:
        return ExpectedAnswer(each.text, None, None, None, "; ".join(found.because) or "there is no interval")
    if not effect.is_ratio:
        return ExpectedAnswer(each.text, None, None, None, "the figure was 0 in a run, so there is no ratio")
    return _decided(each, effect.low, effect.high)


def _decided(each: ExpectedOfVariant, low: float, high: float) -> ExpectedAnswer:
    holds = each.bound.decides(low, high)
    because = "the expectation holds in only part of the interval" if holds is None else None
    return ExpectedAnswer(each.text, holds, low, high, because)
