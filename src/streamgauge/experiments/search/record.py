"""What became of the runs of a search, as search.json has it."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import Field

from streamgauge.experiments.record import RecordPart
from streamgauge.experiments.search.steps import Find, SearchAnswer, SearchPlan, Trial, answer, ended

SEARCH_FORMAT: Final = 1
StepPhase = Literal["probe", "up", "down"]
StepOutcome = Literal["under_way", "done", "interrupted"]


class SearchStep(RecordPart):
    """A run of a search."""

    phase: StepPhase
    """`probe`: unthrottled, for a start. `up`: the search. `down`: from what broke to where it holds again."""
    value: float | None
    """Null for a probe."""
    begun: str
    """UTC."""
    outcome: StepOutcome = "under_way"
    held: bool | None = None
    is_doubtful: bool = False
    """Whether the run could not tell for certain."""
    reasons: list[str] = Field(default_factory=list)
    figures: dict[str, float | None] = Field(default_factory=dict)
    """Of each objective: the figure, or the worst of its windows; null for infinite."""
    target_per_second: float | None = None
    acked_per_second: float | None = None
    received_per_second: float | None = None
    folder: str | None = None
    seconds: float | None = None


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
    steps: list[SearchStep] = Field(default_factory=list)
    ending: Literal["narrow", "at_limit", "never_held", "steps", "interrupted", "failed"] | None = None
    reasons: list[str] = Field(default_factory=list)

    @property
    def plan(self) -> SearchPlan:
        """What is searched; the start must be known."""
        assert self.start is not None
        return SearchPlan(self.start, self.least, self.most, self.find, self.width, self.whole)

    def trials(self, phase: StepPhase) -> list[Trial]:
        """What was tried in a phase."""
        return [
            Trial(step.value, step.held, step.is_doubtful)
            for step in self.steps
            if step.phase == phase and step.outcome == "done" and step.value is not None and step.held is not None
        ]

    @property
    def answer(self) -> SearchAnswer:
        """What the trials say so far."""
        return answer(self.trials("up"), self.plan) if self.start is not None else SearchAnswer(None, None)

    @property
    def held_again(self) -> float | None:
        """Where it held on the way down; None where that was not tried, or it did not."""
        return next((each.value for each in self.trials("down") if each.held), None)


def ended_as(record: SearchRecord) -> Literal["narrow", "at_limit", "never_held", "steps"]:
    """Why a search without a next value is over."""
    return ended(record.trials("up"), record.plan)


def keeps_failing_to_finish(steps: Sequence[SearchStep], most: int = 3) -> bool:
    """Whether the last runs did not even finish."""
    last = steps[-most:]
    return len(last) == most and all(step.acked_per_second is None for step in last)
