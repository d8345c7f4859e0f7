"""A staircase of rates, after StepRater: a high bound, then steps from a share of it to another, each a run. Pure.

What is known is what was tried: the next run, and the answer, follow from the trials alone.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import parse_rate_per_second

StairPhase = Literal["probe", "bound", "step", "finer"]
MOST_STEPS: Final = 1_000


def _portion(value: object) -> float:
    """A share of the high bound, which may lie above it."""
    text, factor = (value[:-1], 0.01) if isinstance(value, str) and value.endswith("%") else (value, 1.0)
    try:
        found = float(text) * factor if isinstance(text, str | int | float) and not isinstance(text, bool) else 0.0
    except (ValueError, OverflowError):
        found = 0.0
    if not 0.001 <= found <= 10:
        raise BadValue("not a share between 0.1% and 1000%", "Write one like 50% or 0.5")
    return found


def _bound(value: object) -> float | str:
    if isinstance(value, str) and value in {"unthrottled", "steps"}:
        return value
    return _rate(value)


def _rate(value: object) -> float:
    found = parse_rate_per_second(value)
    if not 0 < found < math.inf:
        raise BadValue("not above 0, or too large", "Write a rate like 20k/s")
    return found


ShareOfBound = Annotated[float, BeforeValidator(_portion)]


class Staircase(BaseModel):
    """What `--climb` says."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, populate_by_name=True)

    bound: Annotated[float | Literal["unthrottled", "steps"], BeforeValidator(_bound)] = "unthrottled"
    """High bound: what an `unthrottled` run gives, the highest rate reached by `steps`, or a stated rate."""
    bound_steps: tuple[Annotated[float, BeforeValidator(_rate)], ...] = Field(
        default=(20_000, 10_000, 5_000, 1_000), min_length=1
    )
    """Steps to the high bound, from the largest on; an unthrottled rate is rounded up to the last."""
    from_: ShareOfBound = Field(default=0.5, alias="from")
    """First step, as a share of the high bound."""
    to: ShareOfBound = 1.1
    """Last step."""
    by: ShareOfBound = 0.01
    """From step to step."""
    retries: int = Field(default=2, ge=0, le=10, strict=True)
    """How often a step is repeated whose rate was not reached, or of which an objective cannot be told."""
    finer: int = Field(default=0, ge=0, le=100, strict=True)
    """Steps between the last that held an objective and the first that did not."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.from_ > self.to:
            raise BadValue("from is above to", "Write a smaller from")
        if (self.to - self.from_) / self.by > MOST_STEPS:
            raise BadValue(f"more than {MOST_STEPS:,} steps", "Write a larger by")
        if list(self.bound_steps) != sorted(set(self.bound_steps), reverse=True):
            raise BadValue("bound_steps do not fall", "Write the largest first")
        return self

    def document(self) -> dict[str, Any]:
        """As `--climb` has it."""
        return self.model_dump(mode="json", by_alias=True)

    def rates(self, bound: float) -> list[float]:
        """The rates of the steps, the last one included."""
        count = math.floor((self.to - self.from_) / self.by + 1e-9) + 1
        return [tidy(bound * (self.from_ + number * self.by)) for number in range(count)]


@dataclass(frozen=True, slots=True)
class StairTrial:
    """A run of a staircase."""

    phase: str
    value: float | None
    """Its target rate; None for an unthrottled run."""
    rate: float | None = None
    """What arrived."""
    reached: bool = False
    """Whether the target rate arrived, nothing was lost, and nothing piled up."""
    objectives: Mapping[str, bool | None] = field(default_factory=dict)
    """Whether each objective held; None where that cannot be told."""


@dataclass(frozen=True, slots=True)
class Conforming:
    """What the steps say of one objective."""

    held: float | None
    """The highest step up to which it held in every one; None where it did not in the first."""
    broke: float | None
    """The lowest step that did not hold; None where none broke it."""
    unknown: float | None = None
    """The lowest step of which no run could tell; None where there is none below what broke."""


def tidy(rate: float) -> float:
    """A rate without the digits that binary fractions add."""
    return float(f"{rate:.9g}")


def next_run(
    trials: Sequence[StairTrial], plan: Staircase, objectives: Sequence[str], most: float
) -> tuple[StairPhase, float | None] | None:
    """The run to do next; None where the staircase is over. No rate is above `most`."""
    bound = high_bound(trials, plan, most)
    if bound is None:
        return ("probe", None) if plan.bound == "unthrottled" else ("bound", _next_bound(trials, plan, most))
    climbed = [each for each in trials if each.phase == "step"]
    for rate in (each for each in plan.rates(bound) if each <= most):
        if is_open(climbed, rate, plan):
            return "step", rate
        # Where nothing can be told, nothing would be at higher rates, and each would be repeated in vain.
        if not _is_reached(climbed, rate) or not any(held(climbed, rate, each) for each in objectives):
            break
    return next(_finer(trials, plan, objectives), None)


def high_bound(trials: Sequence[StairTrial], plan: Staircase, most: float) -> float | None:
    """The high bound; None until it is known."""
    if isinstance(plan.bound, float):
        return min(plan.bound, most)
    least = plan.bound_steps[-1]
    if plan.bound == "unthrottled":
        rate = next((each.rate for each in trials if each.phase == "probe" and each.rate), None)
        return None if rate is None else min(tidy((1 + rate // least) * least), most)
    if _next_bound(trials, plan, most) is not None:
        return None
    return min(_highest_reached(trials) or least, most)


def _highest_reached(trials: Sequence[StairTrial]) -> float:
    return max((each.value or 0.0 for each in trials if each.phase == "bound" and each.reached), default=0.0)


def _next_bound(trials: Sequence[StairTrial], plan: Staircase, most: float) -> float | None:
    """The largest step up from what was reached that stays below what was not; None where none does.

    However high the first steps get, they go on: a bound that no run missed is none.
    """
    reached = _highest_reached(trials)
    missed = min((each.value or 0.0 for each in trials if each.phase == "bound" and not each.reached), default=math.inf)
    rates = (tidy(reached + step) for step in plan.bound_steps)
    return next((rate for rate in rates if rate < missed and rate <= most), None)


def is_open(trials: Sequence[StairTrial], rate: float, plan: Staircase) -> bool:
    """Whether a step is still to be run: never was, or its last run told nothing and there are retries left."""
    mine = [each for each in trials if each.value == rate]
    if not mine or len(mine) > plan.retries:
        return not mine
    return not mine[-1].reached or any(says is None for says in mine[-1].objectives.values())


def _is_reached(trials: Sequence[StairTrial], rate: float) -> bool:
    return any(each.reached for each in trials if each.value == rate)


def held(trials: Sequence[StairTrial], rate: float, objective: str) -> bool | None:
    """Whether an objective held at a step: in most of the runs that reached the rate and can tell.

    None if it was not tried, or no run that reached the rate can tell. A rate that was never reached holds nothing.
    """
    mine = [each for each in trials if each.value == rate and each.phase in {"step", "finer"}]
    reached = [each for each in mine if each.reached]
    says = [found for each in reached if (found := each.objectives.get(objective)) is not None]
    if not says:
        return False if mine and not reached else None
    return 2 * sum(says) > len(says)


def conforming(trials: Sequence[StairTrial], objective: str) -> Conforming:
    """The highest step up to which an objective held, the lowest at which it did not, and one that cannot be told."""
    rates = sorted({each.value for each in trials if each.phase in {"step", "finer"} and each.value is not None})
    says = {rate: held(trials, rate, objective) for rate in rates}
    good = list(takewhile(lambda rate: says[rate], rates))
    broke = next((rate for rate in rates if says[rate] is False), None)
    unknown = next((rate for rate in rates if says[rate] is None and (broke is None or rate < broke)), None)
    return Conforming(good[-1] if good else None, broke, unknown)


def _finer(
    trials: Sequence[StairTrial], plan: Staircase, objectives: Sequence[str]
) -> Iterator[tuple[StairPhase, float]]:
    """Steps between the last that held an objective and the first that did not, for each such gap, from below."""
    climbed = [each for each in trials if each.phase == "step"]
    gaps = {each: conforming(climbed, each) for each in objectives}
    for gap in sorted({(each.held, each.broke) for each in gaps.values() if each.held and each.broke}):
        low, high = gap
        assert low is not None
        assert high is not None
        mine = [each for each, found in gaps.items() if (found.held, found.broke) == gap]
        for number in range(1, plan.finer + 1):
            rate = tidy(low + (high - low) * number / (plan.finer + 1))
            if is_open([each for each in trials if each.phase == "finer"], rate, plan):
                yield "finer", rate
            if all(held(trials, rate, each) is False for each in mine):
                break
