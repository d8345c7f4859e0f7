"""Whether something got worse than it may: shown, shown to be within its limit, or not to be told."""

from dataclasses import dataclass
from typing import Literal

from streamgauge.statistics.comparison import Comparison
from streamgauge.statistics.power import runs_for

Passed = Literal["within", "worse", "unknown"]


@dataclass(frozen=True, slots=True)
class Gate:
    """What the runs say about one limit."""

    outcome: Passed
    """`worse` if every value of the interval is beyond the limit, `within` if none is, else `unknown`."""
    worse: tuple[float, float] | None
    """How much worse it is, as a share (0.1 is 10 % worse, a negative one is better): the 95 % interval."""
    runs_wanted: int | None = None
    """Of `unknown`: how many runs of each would tell, in 95 of 100 cases; None where no number does."""
    because: tuple[str, ...] = ()
    """Of `unknown`: why."""


def gate(found: Comparison, most_worse: float, deviation: float | None, *, more_is_better: bool = False) -> Gate:
    """The outcome for a baseline and what is compared with it, of which a share of `most_worse` may be lost.

    `deviation` is that of one run, on logarithms; None where it is not known.
    """
    if found.effect is None or found.verdict == "no_verdict":
        fewest = max(found.runs) + found.rounds_missing if found.rounds_missing else None
        return Gate("unknown", None, fewest, found.because)
    if not found.effect.is_ratio:
        return Gate("unknown", None, None, ("a run has a value of 0, so there is no ratio",))
    low, high = found.effect.low, found.effect.high
    if low is None or high is None:
        return Gate("unknown", None, None, ("so few runs have no interval",))
    worse = (1 / high, 1 / low) if more_is_better else (low, high)
    shares = (worse[0] - 1, worse[1] - 1)
    limit = 1 + most_worse
    if worse[0] > limit:
        return Gate("worse", shares)
    if worse[1] <= limit:
        return Gate("within", shares)
    estimate = 1 / found.effect.estimate if more_is_better else found.effect.estimate
    # As many as find the distance between what was seen and the limit.
    wanted = None if deviation is None or estimate == limit else runs_for(limit / estimate, deviation)
    return Gate("unknown", shares, wanted, ("the interval contains the limit",))
