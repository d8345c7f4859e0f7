"""Whether something got worse than it may: shown, shown to be within its limit, or not to be told."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from streamgauge.domain.text.numbers import percent
from streamgauge.statistics import limits
from streamgauge.statistics.comparison import Comparison, Effect
from streamgauge.statistics.power import rounds_for

Passed = Literal["within", "worse", "unknown"]


@dataclass(frozen=True, slots=True)
class Gate:
    """What the runs say about one limit."""

    outcome: Passed
    """`worse` if every value of the interval is beyond the limit, `within` if none is, else `unknown`. So it is where
    this changes with figures at the ends of their intervals: the instrument may have made the difference."""
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
    judged = _judged(found.effect, most_worse, more_is_better=more_is_better)
    if judged is None:
        return Gate("unknown", None, None, ("so few runs have no interval",))
    at_ends = [_judged(each, most_worse, more_is_better=more_is_better) for each in found.at_ends]
    moved = {each and each.outcome for each in at_ends}
    if judged.outcome != "unknown":
        return judged if moved <= {judged.outcome} else Gate("unknown", judged.worse, None, (_at_ends(at_ends),))
    contains = "the interval contains the limit"
    if {"worse", "within"} <= moved:
        return replace(judged, because=(contains, _at_ends(at_ends)))
    limit = 1 - most_worse if more_is_better else 1 + most_worse
    wanted = _wanted(found, math.log(limit / found.effect.estimate), level)
    return replace(judged, runs_wanted=wanted, because=(contains,))


def _judged(effect: Effect, most_worse: float, *, more_is_better: bool) -> Gate | None:
    """What the interval of an effect says by itself; None where there is no ratio, or no interval of it."""
    low, high = effect.low, effect.high
    if not effect.is_ratio or low is None or high is None:
        return None
    if more_is_better:
        shares, limit = (1 - high, 1 - low), 1 - most_worse
        is_beyond, is_within = high < limit, low >= limit
    else:
        shares, limit = (low - 1, high - 1), 1 + most_worse
        is_beyond, is_within = low > limit, high <= limit
    return Gate("worse" if is_beyond else "within" if is_within else "unknown", shares)


def _at_ends(judged: Sequence[Gate | None]) -> str:
    """How far it goes with figures at the ends of their intervals."""
    known = [each.worse for each in judged if each and each.worse]
    if len(known) < len(judged):
        return "a run may have a value of 0, so there may be no ratio"
    low, high = min(low for low, _ in known), max(high for _, high in known)
    ends = " and ".join(f"{percent(abs(each))} {'better' if each < 0 else 'worse'}" for each in (low, high))
    return f"it is between {ends} if figures lie at other points of their intervals"


def _wanted(found: Comparison, distance: float, level: float) -> int | None:
    """As many as find the distance between what was seen and the limit, on logarithms."""
    if found.deviation is None or distance == 0:
        return None
    # The difference of two runs that are no pair varies more than one of them.
    of_differences = found.deviation if found.pairs is not None else found.deviation * math.sqrt(2)
    return rounds_for(distance, of_differences, level=level)
