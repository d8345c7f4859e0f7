"""Looking after every round, and stopping once the interval is narrow: how often chance then shows a difference."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from streamgauge.statistics import limits

CASES, MOST = 20_000, 60


def false_alarms(level: float, target: float) -> float:
    """The share of experiments without a difference that show one at a level.

    They stop after the first round, from the fifth on, in which half the interval is below the target, in deviations.
    """
    rng = np.random.default_rng(7)
    values = rng.standard_normal((CASES, MOST))
    count = np.arange(1, MOST + 1)
    mean = values.cumsum(axis=1) / count
    variance = ((values**2).cumsum(axis=1) - count * mean**2) / np.maximum(count - 1, 1)
    half = stats.t.ppf(1 - level / 2, np.maximum(count - 1, 1)) * np.sqrt(np.maximum(variance, 0) / count)
    enough = (half <= target) & (count >= limits.FEWEST_RUNS)
    enough[:, -1] = True
    last = enough.argmax(axis=1)
    each = np.arange(CASES)
    return float((np.abs(mean[each, last]) > half[each, last]).mean())


@pytest.mark.parametrize("target", [1.5, 1.0, 0.7, 0.5, 0.4, 0.3])
def test_at_the_level_of_those_who_look_there_are_no_more_false_alarms_than_one_in_twenty(target: float) -> None:
    # Three deviations of a share of so many cases.
    assert false_alarms(limits.LOOKING_LEVEL, target) <= 0.05 + 3 * (0.05 * 0.95 / CASES) ** 0.5


def false_alarms_of_additions(level: float, rounds: Sequence[int]) -> float:
    """The share of experiments without a difference that show one after any of these numbers of rounds."""
    values = np.random.default_rng(9).standard_normal((CASES, rounds[-1]))
    shown = np.zeros(CASES, dtype=bool)
    for count in rounds:
        shown |= stats.ttest_1samp(values[:, :count], 0.0, axis=1).pvalue <= level
    return float(shown.mean())


@pytest.mark.parametrize("rounds", [(5, 10), (5, 6, 7), (5, 10, 20), (6, 8, 10, 12, 14, 16)])
def test_verdicts_that_rounds_were_added_between_share_the_chance_of_an_error(rounds: Sequence[int]) -> None:
    most = 0.05 + 3 * (0.05 * 0.95 / CASES) ** 0.5
    assert false_alarms_of_additions(limits.LEVEL / len(rounds), rounds) <= most
    assert false_alarms_of_additions(limits.LEVEL, rounds) > most


def test_at_the_usual_level_there_are_more() -> None:
    """Else nobody would need another level."""
    assert false_alarms(limits.LEVEL, 0.5) > 0.07
