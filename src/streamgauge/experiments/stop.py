"""What ends an experiment early, and how much time is left of it. Pure."""

import statistics
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from streamgauge.experiments.order import PlannedRun
from streamgauge.experiments.record import RecordedRun

FAILURES: Final = 3
"""So many runs in a row that failed, of as many variants: something else than a variant is broken."""


def seconds_left(left: Sequence[PlannedRun], done: Sequence[RecordedRun], expected: Sequence[float]) -> float:
    """How long the runs that are left take: each as long as those of its variant took in the median.

    `expected` are the seconds of a run of each variant as they were estimated before.
    """
    return sum(_seconds(each.variant, done, expected) for each in left)


def _seconds(variant: int, done: Sequence[RecordedRun], expected: Sequence[float]) -> float:
    known = [run.seconds for run in done if run.seconds is not None and run.variant == variant]
    if known:
        return statistics.median(known)
    # The others tell how much more a run takes than was estimated.
    ratios = [run.seconds / expected[run.variant] for run in done if run.seconds is not None and expected[run.variant]]
    return expected[variant] * (statistics.median(ratios) if ratios else 1.0)


def exceeds(spent_seconds: float, round_seconds: float, limit_seconds: float | None) -> bool:
    """Whether a round would end after the limit of an experiment."""
    return limit_seconds is not None and spent_seconds + round_seconds > limit_seconds


def keeps_failing(runs: Sequence[RecordedRun], variants: int, begin: int = 0) -> bool:
    """Whether the last runs since `begin` all failed, and that is not the doing of single ones of so many variants.

    Where they are of some variants only, one of these had not failed the last time: a variant that always fails
    says nothing of the others.
    """
    last = list(takewhile(lambda run: run.outcome == "failed", reversed(runs[begin:])))
    failed = {run.variant for run in last}
    if len(last) < FAILURES or len(failed) < min(FAILURES, variants):
        return False
    before = {run.variant: run.outcome for run in runs[: len(runs) - len(last)]}
    return len(failed) == variants or any(before.get(each) != "failed" for each in failed)
