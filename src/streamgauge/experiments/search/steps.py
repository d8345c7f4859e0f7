"""Which value to try next, and what the tried ones say: doubling, then bisection on a logarithmic scale.

What disturbs a machine for a moment makes a run break at any value; it makes none hold. So the value that an answer
ends at needs two runs that broke.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Find = Literal["largest", "smallest"]
SearchEnd = Literal["narrow", "at_limit", "never_held", "steps"]

FACTOR: Final = 2.0
_MAJORITY: Final = 2
"""Of three trials of a doubtful value."""
_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What is searched."""

    start: float
    least: float
    most: float
    find: Find = "largest"
    width: float = 0.05
    """The search ends when the value that holds and the one that does not are this close, relative to the lower."""
    whole: bool = False
    """Whether values are whole numbers, as of partitions."""
    most_steps: int = 40

    def harder(self, value: float, factor: float = FACTOR) -> float:
        """A value at which it is harder to hold, within the limits."""
        return self.fit(value * factor if self.find == "largest" else value / factor)

    def easier(self, value: float, factor: float = FACTOR) -> float:
        """A value at which it is easier, within the limits."""
        return self.fit(value / factor if self.find == "largest" else value * factor)

    def hardness(self, value: float) -> float:
        """What orders values: the more, the harder."""
        return value if self.find == "largest" else -value

    def between(self, one: float, other: float) -> float | None:
        """The value in the middle of two, on a logarithmic scale; None where they are close enough."""
        low, high = min(one, other), max(one, other)
        if high <= low * (1 + self.width) or (self.whole and high - low <= 1):
            return None
        middle = self.fit(math.sqrt(low * high))
        if self.whole:
            middle = min(max(middle, low + 1), high - 1)
        return middle if low < middle < high else None

    def fit(self, value: float) -> float:
        """The value that can be tried: within the limits, and of few digits."""
        if self.whole:
            value = float(round(value))
        elif value > 0:
            # Rates that people can read.
            value = round(value, _DIGITS - 1 - math.floor(math.log10(value)))
        return min(max(value, self.least), self.most)


@dataclass(frozen=True, slots=True)
class Trial:
    """A value that was tried once."""

    value: float
    held: bool
    is_doubtful: bool = False
    """Whether the run cannot tell for certain: the interval of a figure has the bound in it or is not known, or an
    objective broke although the rate arrived."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What the trials say."""

    held: float | None
    """The hardest value up to which every tried one held; None where none did."""
    broke: float | None
    """The easiest value that did not hold; None where all held."""
    surely_held: float | None = None
    """The same of values whose trials all agreed: the capacity lies between these two."""
    surely_broke: float | None = None


def largest_possible(is_possible: Callable[[float], bool], low: float, high: float, *, whole: bool) -> float:
    """The largest value between one that is possible and one that is not: exact if `whole`, else to 1 %."""
    plan = SearchPlan(low, low, high, width=0 if whole else 0.01, whole=whole)
    while (value := plan.between(low, high)) is not None:
        low, high = (value, high) if is_possible(value) else (low, value)
    return low


def next_value(trials: Sequence[Trial], plan: SearchPlan) -> float | None:
    """The value to try next; None where the search is over."""
    if not trials:
        return plan.fit(plan.start)
    if len(trials) >= plan.most_steps:
        return None
    if not any(each.held for each in trials) and (value := _easier_than_all(trials, plan)):
        return value
    if (value := _undecided(trials, plan)) is not None:
        return value
    found = answer(trials, plan)
    if found.broke is None:
        assert found.held is not None
        value = _new(plan.harder(found.held), found.held)
    elif found.held is None:
        value = _new(plan.easier(found.broke), found.broke)
    else:
        value = plan.between(found.held, found.broke)
    return value or _again(trials, found) or _outward(trials, found, plan)


def _easier_than_all(trials: Sequence[Trial], plan: SearchPlan) -> float | None:
    """Where nothing held so far: what broke is tried again only if it turns out to be next to what holds.

    By then a broker that was cold has warmed up.
    """
    easiest = min((each.value for each in trials), key=plan.hardness)
    return _new(plan.easier(easiest), easiest)


def _undecided(trials: Sequence[Trial], plan: SearchPlan) -> float | None:
    """The easiest value of which no majority says whether it holds, unless an easier one broke for certain."""
    says = _says(trials)
    broke = min((plan.hardness(value) for value, held in says.items() if not held), default=math.inf)
    values = {each.value for each in trials if each.value not in says and plan.hardness(each.value) < broke}
    return min(values, key=plan.hardness, default=None)


def _again(trials: Sequence[Trial], found: SearchAnswer) -> float | None:
    """The value that broke, where it was tried only once.

    What held is not tried again: that would mix what an overload leaves behind into the way up.
    """
    tried = [each.value for each in trials]
    return found.broke if found.broke is not None and tried.count(found.broke) == 1 else None


def _outward(trials: Sequence[Trial], found: SearchAnswer, plan: SearchPlan) -> float | None:
    """A value farther out, where no trials agree that one holds, or that one does not."""
    values = sorted(_says(trials), key=plan.hardness)
    if found.surely_broke is None:
        return _new(plan.harder(values[-1], 1 + 2 * plan.width), values[-1])
    if found.surely_held is None:
        return _new(plan.easier(values[0], 1 + 2 * plan.width), values[0])
    return None


def _new(value: float, than: float) -> float | None:
    """A value at the limit is not tried again."""
    return None if value == than else value


def decided(trials: Sequence[Trial], value: float) -> bool | None:
    """Whether a value holds: by its only trial, or by the majority of three where that was doubtful; else None."""
    mine = [each for each in trials if each.value == value]
    if len(mine) == 1 and not mine[0].is_doubtful:
        return mine[0].held
    for says in (True, False):
        if sum(each.held == says for each in mine) >= _MAJORITY:
            return says
    return None


def answer(trials: Sequence[Trial], plan: SearchPlan, down: Sequence[Trial] = ()) -> SearchAnswer:
    """What the values that are decided say. A value that held on the way `down` did not surely break before.

    One that broke on the way down may have held before: the system had not been overloaded yet.
    """
    says = _says(trials)
    held, broke = _ends(says, says, plan)
    after = [each for each in down if each.held]
    agreed = {value: holds for value, holds in says.items() if _agree([*trials, *after], value)}
    surely_held, surely_broke = _ends(agreed, says, plan)
    return SearchAnswer(held, broke, surely_held, surely_broke)


def _ends(
    says: Mapping[float, bool], of_all: Mapping[float, bool], plan: SearchPlan
) -> tuple[float | None, float | None]:
    """The hardest of some values that holds below all that broke, and the easiest that broke above all that held."""
    first_broke = min((value for value, held in of_all.items() if not held), key=plan.hardness, default=None)
    held = [
        value
        for value, holds in says.items()
        if holds and (first_broke is None or plan.hardness(value) < plan.hardness(first_broke))
    ]
    broke = min((value for value, holds in says.items() if not holds), key=plan.hardness, default=None)
    return max(held, key=plan.hardness, default=None), broke


def _agree(trials: Sequence[Trial], value: float) -> bool:
    return len({each.held for each in trials if each.value == value}) == 1


def ended(trials: Sequence[Trial], plan: SearchPlan) -> SearchEnd:
    """Why a search without a next value is over."""
    found = answer(trials, plan)
    if len(trials) >= plan.most_steps and (
        found.held is None or found.broke is None or plan.between(found.held, found.broke)
    ):
        return "steps"
    if found.held is None:
        return "never_held"
    return "at_limit" if found.broke is None else "narrow"


def _says(trials: Sequence[Trial]) -> Mapping[float, bool]:
    found = {each.value: decided(trials, each.value) for each in trials}
    return {value: held for value, held in found.items() if held is not None}


def next_down(trials: Sequence[Trial], found: SearchAnswer, plan: SearchPlan, most: int = 5) -> float | None:
    """The value to try next on the way down, from the one that broke to where it holds again; None where that is over.

    A system that was overloaded may need less than it took on the way up (hysteresis).
    """
    if found.held is None or found.broke is None or len(trials) >= most or any(each.held for each in trials):
        return None
    if not trials:
        return found.broke
    last = trials[-1].value
    step = found.held if plan.hardness(last) > plan.hardness(found.held) else plan.easier(last, 1 + plan.width)
    return None if step == last else step
