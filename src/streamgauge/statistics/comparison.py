"""Two variants compared: which test decides, what it says, and why there is no verdict where there is none."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

import numpy as np

from streamgauge.domain.latency.buckets import Floats
from streamgauge.statistics import limits
from streamgauge.statistics.family import holm_with
from streamgauge.statistics.null import least_rank_sum_p, least_signed_rank_p
from streamgauge.statistics.power import smallest_shift
from streamgauge.statistics.shift import Shift, has_outliers, paired_t, rank_sum, sign_flip_p, signed_rank

Shown = Literal["higher", "lower", "not_shown", "no_verdict"]
RunOrder = Literal["interleaved", "blocks", "as-written", "unknown"]

SENSITIVE: Final = "the verdict would change if figures lay at other points of their intervals"


@dataclass(frozen=True, slots=True)
class RunFigure:
    """A figure of one run, and its interval; without one its ends are the value."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """The runs of one variant that can be compared, by round."""

    name: str
    runs: Mapping[int, RunFigure]
    left_out: int = 0
    """Runs that failed, or whose figure is not believed."""

    @property
    def is_selected(self) -> bool:
        """Whether so many runs were left out that the others are a selection."""
        return self.left_out > limits.LEFT_OUT_SHARE * (len(self.runs) + self.left_out)


@dataclass(frozen=True, slots=True)
class Effect:
    """How the second variant relates to the first: a ratio where every value is positive, else a difference."""

    estimate: float
    low: float | None
    high: float | None
    is_ratio: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the runs of two variants say about one metric."""

    one: str
    other: str
    runs: tuple[int, int]
    pairs: int | None
    """Rounds that have both; None where runs are not paired."""
    verdict: Shown
    effect: Effect | None = None
    method: str | None = None
    p: float | None = None
    """Of the test that decides, by itself."""
    adjusted_p: float | None = None
    """The same, adjusted for the other comparisons of its family. It decides."""
    flip_p: float | None = None
    """Of the exact sign-flip test, beside the t of pairs."""
    deviation: float | None = None
    """Of the differences of pairs, or of one run; on logarithms where the effect is a ratio."""
    could_show: float | None = None
    """The smallest effect that so many runs find in 80 of 100 experiments: a ratio above 1, or a difference."""
    rounds_missing: int | None = None
    """How many more rounds a verdict needs at least; None where rounds are not what is missing."""
    because: tuple[str, ...] = ()
    """Why there is no verdict, or what to know about it."""
    at_ends: tuple[Effect, ...] = ()
    """The largest and the smallest effect with the ends of intervals for values; nothing where no run has any."""


@dataclass(frozen=True, slots=True)
class _Family:
    """What the comparisons of one metric have in common."""

    order: RunOrder
    level: float
    size: int


@dataclass(frozen=True, slots=True)
class _Sample:
    """The numbers of a comparison, on one scale."""

    ones: Floats
    others: Floats
    is_ratio: bool
    is_paired: bool
    shift: Shift

    @property
    def differences(self) -> Floats:
        return self.others - self.ones

    @property
    def deviation(self) -> float:
        """Of the differences of pairs; else that of one run, of both variants together."""
        if self.is_paired:
            return float(self.differences.std(ddof=1))
        squares = float(self.ones.var() * len(self.ones) + self.others.var() * len(self.others))
        return math.sqrt(squares / (len(self.ones) + len(self.others) - 2))


def compared(
    pairs: Sequence[tuple[Variant, Variant]], order: RunOrder, level: float = limits.LEVEL
) -> list[Comparison]:
    """The comparisons of one family: those of one metric, which are adjusted for each other.

    Rounds pair the runs if their order was interleaved. What was measured one variant after the other gets figures
    and no verdict, since a drift of the machine would look like a difference. Of runs of unknown order, as of two
    folders, nothing is paired. `level` is LOOKING_LEVEL where runs went on until intervals were narrow.
    """
    family = _Family(order, level, len(pairs))
    found = [_compared(one, other, family) for one, other in pairs]
    decided = [place for place, each in enumerate(found) if each.verdict != "no_verdict"]
    alone = [found[place].p or 0.0 for place in decided]
    for number, place in enumerate(decided):
        found[place] = _decided(*pairs[place], found[place], partial(holm_with, alone, number), family)
    return found


def _compared(one: Variant, other: Variant, family: _Family) -> Comparison:
    rounds = _rounds(one, other, family.order)
    counts = (len(one.runs), len(other.runs))
    bare = Comparison(one.name, other.name, counts, None if rounds is None else len(rounds), "no_verdict")
    fewest = min(counts) if rounds is None else len(rounds)
    if not fewest:
        return replace(bare, because=tuple([*_unfit(one), *_unfit(other)] or ["there are no runs to compare"]))
    sample = _sample(one, other, rounds, family.level)
    found = replace(bare, effect=_effect(sample))
    if refused := [*_unfit(one), *_unfit(other), *_of_order(family.order)]:
        return replace(found, because=tuple(refused))
    if missing := _missing(sample, fewest, family):
        return replace(found, rounds_missing=missing, because=(_more(missing, paired=rounds is not None),))
    return replace(
        found,
        verdict=_found_by(sample.shift),
        method=sample.shift.method,
        p=sample.shift.p,
        flip_p=_flip_p(sample),
        deviation=sample.deviation,
        could_show=_could_show(sample, family),
    )


def _rounds(one: Variant, other: Variant, order: RunOrder) -> list[int] | None:
    """The rounds that have both; None where runs are not paired."""
    return sorted(one.runs.keys() & other.runs.keys()) if order == "interleaved" else None


def _unfit(variant: Variant) -> Iterable[str]:
    if variant.is_selected:
        total = len(variant.runs) + variant.left_out
        lost = f"{variant.left_out} of {total} runs of {variant.name} did not finish or are not believed"
        yield f"{lost}: the rest may be a biased selection" if variant.runs else lost


def _of_order(order: RunOrder) -> Iterable[str]:
    if order in {"blocks", "as-written"}:
        yield "the variants were measured one after the other, so a drift of the machine would look like a difference"


def _more(missing: int, *, paired: bool) -> str:
    return (
        f"too few runs for a verdict: {missing} more {'round' if paired else 'of each'}{'s' * (paired and missing > 1)}"
    )


def _missing(sample: _Sample, fewest: int, family: _Family) -> int:
    """How many more rounds there have to be before the test can reach the level in a family of so many comparisons."""
    needed = limits.FEWEST_RUNS
    if sample.is_paired and sample.shift.method == "signed ranks" and fewest > 1:
        needed = limits.FEWEST_RANKED
        while least_signed_rank_p(needed) * family.size > family.level:
            needed += 1
    elif not sample.is_paired:
        while least_rank_sum_p(needed, needed) * family.size > family.level:
            needed += 1
    return max(0, needed - fewest)


def _sample(
    one: Variant,
    other: Variant,
    rounds: Sequence[int] | None,
    level: float,
    ends: tuple[str, str] | None = None,
) -> _Sample:
    """The numbers on a scale on which variants differ by a shift; of `ends`, the ends of intervals stand for values."""
    of_one, of_other = ends or ("value", "value")
    ones, others = (
        np.array([_end(variant.runs[each], name) for each in (rounds or sorted(variant.runs))])
        for variant, name in ((one, of_one), (other, of_other))
    )
    is_ratio = bool((ones > 0).all() and (others > 0).all())
    if is_ratio:
        ones, others = np.log(ones), np.log(others)
    is_paired = rounds is not None
    return _Sample(ones, others, is_ratio, is_paired, _tested(ones, others, level, is_paired=is_paired))


def _end(value: RunFigure, name: str) -> float:
    end: float | None = getattr(value, name)
    return value.value if end is None else end


def _tested(ones: Floats, others: Floats, level: float, *, is_paired: bool) -> Shift:
    """The test that decides: t of pairs; ranks where runs are not paired, or one of them is far from the others."""
    if not is_paired:
        return rank_sum(ones, others, level)
    differences = others - ones
    varies = len(differences) > 1 and bool(np.ptp(differences) > 1e-12)
    test = paired_t if varies and not has_outliers(differences) else signed_rank
    return test(differences, level)


def _effect(sample: _Sample) -> Effect:
    shift, of = sample.shift, math.exp if sample.is_ratio else float
    low, high = (None if end is None else of(end) for end in (shift.low, shift.high))
    return Effect(of(shift.estimate), low, high, sample.is_ratio)


def _flip_p(sample: _Sample) -> float | None:
    """Of the exact test beside that of t, where so many rounds can reach the level."""
    is_t = sample.shift.method == "paired t"
    return sign_flip_p(sample.differences) if is_t and len(sample.ones) >= limits.FEWEST_RANKED else None


def _could_show(sample: _Sample, family: _Family) -> float:
    """At the level that the smallest p-value of a family has to reach."""
    others, level = None if sample.is_paired else len(sample.others), family.level / family.size
    smallest = smallest_shift(sample.deviation, len(sample.ones), others, level=level)
    return math.exp(smallest) if sample.is_ratio else smallest


def _decided(
    one: Variant, other: Variant, found: Comparison, adjusted: Callable[[float], float], family: _Family
) -> Comparison:
    """The verdict, and what else should be known about it; `adjusted` adjusts its p-value for the other comparisons."""
    assert found.p is not None
    level, adjusted_p = family.level, adjusted(found.p)
    verdict: Shown = found.verdict if adjusted_p <= level else "not_shown"
    because = []
    if found.flip_p is not None and (found.flip_p <= level) != (found.p <= level):
        because.append(f"the exact sign-flip test does not agree (p = {found.flip_p:.2g})")
    if found.p <= level < adjusted_p:
        because.append("it would be shown on its own, but not after the correction for several comparisons")
    ends = list(_at_ends(one, other, family))
    if any((_found_by(each.shift) if adjusted(each.shift.p) <= level else "not_shown") != verdict for each in ends):
        because.append(SENSITIVE)
    at_ends = tuple(_effect(each) for each in ends)
    return replace(found, verdict=verdict, adjusted_p=adjusted_p, because=tuple(because), at_ends=at_ends)


def _found_by(shift: Shift) -> Shown:
    """What a test found, if it is no chance."""
    return "not_shown" if shift.direction == 0 else "higher" if shift.direction > 0 else "lower"


def _at_ends(one: Variant, other: Variant, family: _Family) -> Iterable[_Sample]:
    """The same with the ends of intervals that lie farthest apart, either way; nothing where no run has one."""
    if all(each.low is None and each.high is None for variant in (one, other) for each in variant.runs.values()):
        return
    rounds = _rounds(one, other, family.order)
    for ends in (("low", "high"), ("high", "low")):
        yield _sample(one, other, rounds, family.level, ends)


def is_narrow(found: Comparison, share: float) -> bool:
    """Whether the interval of a ratio reaches no further than a share of the ratio to either side of it.

    False where there is no interval, or no ratio.
    """
    effect = found.effect
    if effect is None or effect.low is None or effect.high is None or not effect.is_ratio:
        return False
    return effect.high <= effect.estimate * (1 + share) and effect.low * (1 + share) >= effect.estimate
