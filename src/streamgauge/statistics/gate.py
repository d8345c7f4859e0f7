"""Whether something got worse than it may: shown, shown to be within its limit, or not to be told."""

import math
from dataclasses import dataclass
from typing import Literal

from streamgauge.statistics import limits
from streamgauge.statistics.comparison import Comparison
from streamgauge.statistics.power import rounds_for

Passed = Literal["within", "worse", "unknown"]


@dataclass(frozen=True, slots=True)
class Gate:
    """What the runs say about one limit."""

    outcome: Passed
    """`worse` if every value of the interval is beyond the limit, `within` if none is, else `unknown`."""
    worse: tuple[float, float] | None
    """How much worse it is, as a share (0.1 is 10 % worse, a negative one is better): the interval."""
    runs_wanted: int | None = None
    """Of `unknown`: how many rounds, or runs of each, would tell in 95 of 100 cases; None where no number does."""
    because: tuple[str, ...] = ()
    """Of `unknown`: why."""


def gate(found: Comparison, most_worse: float, *, level: float = limits.LEVEL, more_is_better: bool = False) -> Gate:
    """The outcome for a baseline and what is compared with it, which may be worse by a share of `most_worse`.

    The share is of what it was: of a latency of 10 ms, 0.1 allows 11 ms; of a rate of 1,000 a second, it allows 900.
    So where more is better, it is below 1. `level` is that of the comparison.
    """
    if found.effect is None or found.verdict == "no_verdict":
        fewest = max(found.runs) + found.rounds_missing if found.rounds_missing else None
        return Gate("unknown", None, fewest, found.because)
    if not found.effect.is_ratio:
        return Gate("unknown", None, None, ("a run has a value of 0, so there is no ratio",))
    low, high = found.effect.low, found.effect.high
    if low is None or high is None:
        return Gate("unknown", None, None, ("so few runs have no interval",))
    if more_is_better:
        shares, limit = (1 - high, 1 - low), 1 - most_worse
        is_beyond, is_within = high < limit, low >= limit
    else:
        shares, limit = (low - 1, high - 1), 1 + most_worse
        is_beyond, is_within = low > limit, high <= limit
    if is_beyond or is_within:
        return Gate("worse" if is_beyond else "within", shares)
    distance = math.log(limit / found.effect.estimate)
    return Gate("unknown", shares, _wanted(found, distance, level), ("the interval contains the limit",))


def _wanted(found: Comparison, distance: float, level: float) -> int | None:
    """As many as find the distance between what was seen and the limit, on logarithms."""
    if found.deviation is None or distance == 0:
        return None
    # The difference of two runs that are no pair varies more than one of them.
    of_differences = found.deviation if found.pairs is not None else found.deviation * math.sqrt(2)
    return rounds_for(distance, of_differences, level=level)
