"""What became of the runs of an experiment, as experiment.json has it, and what is left to do. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from streamgauge.experiments.model import PlanOrder
from streamgauge.experiments.order import PlannedRun, planned_runs

FORMAT: Final = 1
RunOutcome = Literal["under_way", "measured", "failed", "not_believed", "interrupted"]
ExperimentEnding = Literal["finished", "stopped", "interrupted", "failed"]


class RecordPart(BaseModel):
    """A part of a record; keys of later versions are passed over."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class RecordedVariant(RecordPart):
    """A variant, secrets masked."""

    name: str
    settings: dict[str, Any]


class BegunRun(RecordPart):
    """A run that was begun, of an experiment or a search."""

    begun: str
    """UTC."""
    outcome: str = "under_way"
    folder: str | None = None
    """Name of the run folder below `runs/`; null until it is known."""
    seconds: float | None = None
    """From its begin to the end of its analysis, with settling."""
    reasons: list[str] = []


class RecordedRun(BegunRun):
    """A run of an experiment."""

    round: int
    variant: int
    """Its place in `variants`."""
    outcome: RunOutcome = "under_way"
    """`measured`: it finished, and its primary metric is believed. `not_believed`: it finished, and that is not.
    `interrupted`: somebody ended it, or it could not start, which says nothing of the variant: it is run anew."""
    value: float | None = None
    """Of the primary metric."""


class ExperimentRecord(RecordPart):
    """experiment.json: what was asked, the plan, and what became of each run. Written whole before and after a run."""

    format: int = FORMAT
    id: str
    name: str
    created: str
    command: list[str]
    asked: dict[str, Any]
    """The experiment file with its base scenario written out, secrets masked."""
    cluster: str | None = None
    """Addresses of the user's cluster; null for embedded brokers."""
    metric: str | None = None
    """The primary metric; null until a run has one."""
    variants: list[RecordedVariant]
    order: PlanOrder
    seed: int
    repeat: int
    added_after: list[int] = []
    """How many rounds were planned each time that more were added, and enough were done for a verdict."""
    spent_seconds: float | None = None
    """How long its parts took that are over, without the time between them; null of an older version."""
    again: bool = False
    runs: list[RecordedRun] = []
    ending: ExperimentEnding | None = None
    """`stopped`: a rule of `stop` ended it early. Null while it goes on, and where it was killed."""
    reasons: list[str] = []

    @property
    def plan(self) -> list[PlannedRun]:
        """All runs, in their order."""
        return list(planned_runs(len(self.variants), self.repeat, self.order, self.seed))


def remaining(plan: Iterable[PlannedRun], runs: Sequence[RecordedRun], *, again: bool) -> Iterator[PlannedRun]:
    """The runs of a plan that are still to be done, in its order.

    A run that was interrupted is. With `again`, so is one that failed or is not believed, once.
    """
    done_by: defaultdict[tuple[int, int], list[RecordedRun]] = defaultdict(list)
    for run in runs:
        done_by[run.round, run.variant].append(run)
    for each in plan:
        done = done_by[each.round, each.variant]
        if not any(run.outcome == "measured" for run in done) and spoilt(done) < (2 if again else 1):
            yield each


def spoilt(runs: Iterable[RecordedRun]) -> int:
    """How many runs failed or are not believed."""
    return sum(run.outcome in {"failed", "not_believed"} for run in runs)


def counted(record: ExperimentRecord, place: int) -> dict[int, RecordedRun]:
    """The runs of a variant that are compared, by round: the last of each that was measured."""
    return {run.round: run for run in record.runs if run.variant == place and run.outcome == "measured"}


def left_out(record: ExperimentRecord, place: int) -> int:
    """How many runs of a variant failed or are not believed, also where they were run again."""
    return spoilt(run for run in record.runs if run.variant == place)
