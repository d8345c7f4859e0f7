"""What is told of an experiment: how far it is, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass

from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord, RecordedRun
from streamgauge.processes.patience import Progress
from streamgauge.report.compare.answers import Together
from streamgauge.report.compare.expected import ExpectedAnswer
from streamgauge.runs.request.request import Request
from streamgauge.verdict.exits import Exit
from streamgauge.watch.display import Display


@dataclass(frozen=True, slots=True)
class ExperimentStep:
    """How far an experiment is: a run that is about to begin, or that has just ended."""

    number: int
    """Of the run, from 1 on, in the order of the plan; a run that is repeated has the number of the first."""
    of: int
    run: RecordedRun
    record: ExperimentRecord
    left_seconds: float
    """Of all runs that are still to be done; of one that is about to begin, too."""


@dataclass(frozen=True, slots=True)
class ExperimentEnded:
    """An experiment that is over, or goes on another time."""

    folder: ExperimentFolder
    record: ExperimentRecord
    found: Together | None
    """What the runs say together; None where none has a result."""
    code: Exit
    expected: tuple[ExpectedAnswer, ...] = ()
    """What the runs say about the expectations."""


@dataclass(frozen=True, slots=True)
class ExperimentView:
    """Who is told how it goes."""

    say: Progress
    step: Callable[[ExperimentStep], None]
    display_of: Callable[[Request], Display]
    """Who shows a run while it runs."""
