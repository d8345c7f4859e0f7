"""What became of the runs of a search, as search.json has it."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import Field

from streamgauge.experiments.record import BegunRun, RecordPart
from streamgauge.experiments.search.objective import Objective, parse_objective, response_of
from streamgauge.experiments.search.staircase import Conforming, Staircase, StairTrial, conforming, high_bound
from streamgauge.experiments.search.steps import Find, SearchAnswer, SearchPlan, Trial, answer, ended, next_down
from streamgauge.scenario.model.values import off_is_none

SEARCH_FORMAT: Final = 1
RATE: Final = "load.rate"
"""The path of what is searched unless another setting is."""
StepPhase = Literal["probe", "up", "down", "bound", "step", "finer"]
StepOutcome = Literal["under_way", "done", "interrupted"]


class SearchStep(BegunRun):
    """A run of a search."""

    phase: StepPhase
    """`probe`: unthrottled, for a start. `up`: the search. `down`: from what broke to where it holds again.
    Of a staircase `bound`: to its high bound. `step`: of the staircase. `finer`: between two of its steps."""
    value: float | None
    """Null for a probe."""
    outcome: StepOutcome = "under_way"
    held: bool | None = None
    is_doubtful: bool = False
    """Whether the run could not tell for certain."""
    figures: dict[str, float | None] = Field(default_factory=dict)
    """Of each objective: the figure, or the worst of its windows; null for infinite. None of what the run lacks."""
    reached: bool | None = None
    """Whether the target rate arrived, nothing was lost and messages did not pile up, whatever the objectives."""
    objectives: dict[str, bool | None] = Field(default_factory=dict)
    """Whether each objective held; null where that cannot be told."""
    target_per_second: float | None = None
    acked_per_second: float | None = None
    received_per_second: float | None = None

    @property
    def is_untold(self) -> bool:
        """Whether it did not hold, and nothing tells for certain that the system is why: it may be the instrument."""
        return self.held is False and self.is_doubtful and False not in self.objectives.values()

    @property
    def least_per_second(self) -> float | None:
        """What arrives of what is sent; None where nothing is known."""
        return min((rate for rate in (self.acked_per_second, self.received_per_second) if rate), default=None)


class SearchRecord(RecordPart):
    """search.json: what was asked, and what became of each run. Written whole before and after a run."""

    format: int = SEARCH_FORMAT
    id: str
    name: str
    created: str
    command: list[str]
    scenario: dict[str, Any]
    """The scenario, secrets masked."""
    cluster: str | None = None
    path: str
    """Of the setting that is searched."""
    find: Find
    objectives: list[str]
    start: float | None
    """Null until a probe has told."""
    least: float
    most: float
    width: float
    whole: bool
    step_seconds: float
    staircase: Staircase | None = None
    """How a staircase climbs; null for a search by bisection."""
    steps: list[SearchStep] = Field(default_factory=list)
    down_from: int = 0
    """The place in `steps` from which on the way down counts. One that was interrupted is begun anew, from overload:
    the system may have recovered meanwhile."""
    ending: Literal["narrow", "at_limit", "never_held", "steps", "climbed", "interrupted", "failed"] | None = None
    reasons: list[str] = Field(default_factory=list)

    @property
    def plan(self) -> SearchPlan:
        """What is searched; the start must be known."""
        assert self.start is not None
        return SearchPlan(self.start, self.least, self.most, self.find, self.width, self.whole)

    def objective(self, place: int) -> Objective:
        """The objective at a place of `objectives`, read as it was before the search began."""
        consumes = off_is_none(self.scenario.get("consume", {})) is not None
        return parse_objective(self.objectives[place], response_of(consumes=consumes))

    @property
    def done(self) -> list[SearchStep]:
        """The runs that count."""
        return [step for step in self.steps if step.outcome == "done"]

    def trials(self, phase: StepPhase) -> list[Trial]:
        """What was tried in a phase."""
        return [
            Trial(step.value, step.held, step.is_doubtful)
            for step in self.steps[self.down_from if phase == "down" else 0 :]
            if step.phase == phase and step.outcome == "done" and step.value is not None and step.held is not None
        ]

    @property
    def asked_start(self) -> float | None:
        """The start that was asked for; None where a probe told, or has to."""
        return None if any(step.phase == "probe" for step in self.steps) else self.start

    @property
    def answer(self) -> SearchAnswer:
        """What the trials say so far; of a staircase, what all objectives held."""
        if self.staircase:
            found = self.conforming.values()
            helds = [each.held for each in found if each.held is not None]
            brokes = [each.broke for each in found if each.broke is not None]
            held, broke = min(helds) if len(helds) == len(found) else None, min(brokes, default=None)
            return SearchAnswer(held, broke, held, broke)
        if self.start is None:
            return SearchAnswer(None, None)
        return answer(self.trials("up"), self.plan, self.trials("down"))

    @property
    def stair_trials(self) -> list[StairTrial]:
        """The runs of a staircase."""
        return [
            StairTrial(step.phase, step.value, step.least_per_second, bool(step.reached), step.objectives)
            for step in self.done
            if step.phase not in {"up", "down"}
        ]

    @property
    def bound(self) -> float | None:
        """The high bound of a staircase; None until it is known."""
        return high_bound(self.stair_trials, self.staircase, self.most) if self.staircase else None

    @property
    def conforming(self) -> dict[str, Conforming]:
        """What a staircase says of each objective."""
        trials = self.stair_trials
        return {each: conforming(trials, each) for each in self.objectives} if self.staircase else {}

    @property
    def broke_for_certain(self) -> float | None:
        """The easiest value, no easier than the one that broke, of which a run tells for certain that it did not hold.

        None where no run does, since then the limit may be that of the instrument; and of a staircase.
        """
        broke = self.answer.broke
        if self.staircase or broke is None:
            return None
        hardness, steps = self.plan.hardness, [step for step in self.done if step.phase == "up" and not step.is_untold]
        told = [step.value for step in steps if step.value is not None and step.held is False]
        return min((each for each in told if hardness(each) >= hardness(broke)), key=hardness, default=None)

    @property
    def between(self) -> tuple[float | None, float | None]:
        """The ends between which the capacity lies: where all runs held, and where none did; None for not known.

        Where no run tells for certain that it did not hold is no end.
        """
        found, told = self.answer, self.broke_for_certain
        broke = found.surely_broke
        if not self.staircase and broke is not None:
            broke = None if told is None else max(broke, told, key=self.plan.hardness)
        return found.surely_held, broke

    @property
    def is_untold(self) -> bool:
        """Whether there is only half an answer: no run tells for certain where the objectives no longer hold.

        Of a staircase: it ended at a step of which some objective cannot be told.
        """
        if self.staircase:
            return any(each.unknown and None in {each.held, each.broke} for each in self.conforming.values())
        found, told = self.answer, self.broke_for_certain
        return found.broke is not None and (told is None or (found.held is None and told != found.broke))

    def begin_anew(self, *, failed: bool) -> None:
        """Set aside what a search that goes on cannot build upon.

        That is a way down that was cut short, and of a search that `failed` the runs that did not finish.
        """
        for step in self.done:
            if failed and step.acked_per_second is None:
                step.outcome = "interrupted"
        if self.trials("down") and next_down(self.trials("down"), self.answer, self.plan) is not None:
            self.down_from = len(self.steps)

    @property
    def held_again(self) -> float | None:
        """Where it held on the way down; None where that was not tried, or it did not."""
        return next((each.value for each in self.trials("down") if each.held), None)


def ended_as(record: SearchRecord) -> Literal["narrow", "at_limit", "never_held", "steps", "climbed"]:
    """Why a search without a next value is over."""
    if record.staircase:
        found = record.answer
        if found.held is None:
            of_all = record.conforming.values()
            # Of steps that told nothing nobody knows that none held.
            return "never_held" if any(each.held is None and not each.unknown for each in of_all) else "climbed"
        return "at_limit" if found.broke is None and not record.is_untold else "climbed"
    return ended(record.trials("up"), record.plan)


def keeps_failing_to_finish(steps: Sequence[SearchStep], most: int = 3) -> bool:
    """Whether the last runs did not even finish; one that was interrupted, or is tried anew, says nothing."""
    last = [step for step in steps if step.outcome == "done"][-most:]
    return len(last) == most and all(step.acked_per_second is None for step in last)
