"""Carrying out a search: a probe for a start, the way up, and the way down; each run is recorded before and after."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.secrets import mask_command
from streamgauge.experiments.paths import SearchFolder
from streamgauge.experiments.search.record import SearchRecord, SearchStep, StepPhase, ended_as, keeps_failing_to_finish
from streamgauge.experiments.search.staircase import Staircase, next_run
from streamgauge.experiments.search.steps import next_down, next_value
from streamgauge.processes.patience import Progress
from streamgauge.report.publish import read_result
from streamgauge.runs.conduct.prepare import cluster_plan
from streamgauge.runs.experiment.folder import held, make_experiment, read_search
from streamgauge.runs.experiment.means import MEANS, RunMeans, SharedBrokers
from streamgauge.runs.experiment.recorder import RunRecorder
from streamgauge.runs.experiment.search.judge import judge_step
from streamgauge.runs.experiment.search.request import SearchRequest, recorded, resumed_search
from streamgauge.runs.experiment.search.results import write_search_results
from streamgauge.runs.experiment.search.windows import windows_of
from streamgauge.runs.request.options import RunOptions
from streamgauge.runs.request.request import Request
from streamgauge.verdict.exits import Exit
from streamgauge.watch.display import Display


@dataclass(frozen=True, slots=True)
class SearchView:
    """Who is told how a search goes."""

    say: Progress
    step: Callable[[SearchStep, str], None]
    """Gets each run before it begins and after it ended, and the path that is searched."""
    display_of: Callable[[Request], Display]


@dataclass(frozen=True, slots=True)
class SearchEnded:
    """A search that is over."""

    folder: SearchFolder
    record: SearchRecord
    code: Exit


def search(request: SearchRequest, view: SearchView, command: Sequence[str], means: RunMeans = MEANS) -> SearchEnded:
    """Carry out a search below `options.out`. Raises BadInput if its folder cannot be made."""
    created = clock.clock_pair().wall_ns
    name = f"search-{request.first.scenario.name}"
    folder = SearchFolder(make_experiment(request.around.options.out, f"{clock.local_stamp(created)}-{name}").root)
    about = {"id": folder.root.name, "name": name, "created": clock.utc_text(created), "command": mask_command(command)}
    record = SearchRecord.model_validate({**about, **recorded(request)})
    with held(folder):
        return _Searching(request, view, means, folder, record).carry_out()


def go_on(
    folder: SearchFolder,
    scenario: str | None,
    given: Mapping[str, Any],
    options: RunOptions,
    view: SearchView,
    means: RunMeans = MEANS,
) -> SearchEnded:
    """Carry out what is left of a search as it was recorded; `given` are the options that are stated again.

    Raises BadInput where there is none, where somebody else carries it out, and where anything asked for differs.
    """
    with held(folder):
        record = read_search(folder)
        request = resumed_search(folder, record, scenario, given, options)
        return _Searching(request, view, means, folder, record).carry_out()


class _Searching:
    """A search while it is carried out."""

    def __init__(
        self, request: SearchRequest, view: SearchView, means: RunMeans, folder: SearchFolder, record: SearchRecord
    ) -> None:
        self._request, self._view, self._means, self._folder, self._record = request, view, means, folder, record
        self._recorder = RunRecorder(
            folder, record, record.steps, means, view.say, view.display_of, self._tell, self._judge, _fail
        )

    def carry_out(self) -> SearchEnded:
        """Do all runs that are left, unless something ends it; what is known so far is answered in any case."""
        record = self._record
        failed = record.ending == "failed"
        for note in self._request.notes:
            self._view.say(note)
        brokers = self._means.brokers(self._folder.root, self._request.first, self._view.say)
        with self._recorder.at_work(), brokers:
            record.begin_anew(failed=failed)
            self._search(brokers)
        self._recorder.keep(lambda: write_search_results(self._folder, record))
        return SearchEnded(self._folder, record, _exit_of(record))

    def _search(self, brokers: SharedBrokers) -> None:
        record = self._record
        if record.staircase:
            self._climb(record.staircase, brokers)
            return
        if record.start is None and not self._probe(brokers):
            record.ending = "failed"
            return
        while (value := next_value(record.trials("up"), record.plan)) is not None:
            self._run("up", value, self._request.at(value), brokers)
            if self._keeps_failing():
                return
        record.ending = ended_as(record)
        found = record.answer
        while (value := next_down(record.trials("down"), found, record.plan)) is not None:
            self._run("down", value, self._request.at(value), brokers)

    def _climb(self, plan: Staircase, brokers: SharedBrokers) -> None:
        record = self._record
        while asked := next_run(record.stair_trials, plan, record.objectives, record.most):
            phase, value = asked
            step = self._run(phase, value, self._request.probe() if value is None else self._request.at(value), brokers)
            if phase == "probe" and step.least_per_second is None:
                record.ending = "failed"
                record.reasons.append("the unthrottled run tells no rate to start from; state `bound`")
                return
            if self._keeps_failing():
                return
        record.ending = ended_as(record)

    def _keeps_failing(self) -> bool:
        """Whether the last runs did not even finish, which ends the search."""
        record = self._record
        if not keeps_failing_to_finish(record.steps):
            return False
        record.ending = "failed"
        record.reasons.append("; ".join(record.steps[-1].reasons))
        return True

    def _probe(self, brokers: SharedBrokers) -> bool:
        """Find out where to start; returns False where the unthrottled run tells nothing."""
        step = self._run("probe", None, self._request.probe(), brokers)
        rate = step.least_per_second
        if rate is None:
            self._record.reasons.append("the unthrottled run tells no rate to start from; use --start")
            return False
        self._record.start = rate / 2
        return True

    def _run(self, phase: StepPhase, value: float | None, request: Request, brokers: SharedBrokers) -> SearchStep:
        step = SearchStep(phase=phase, value=value, begun=clock.utc_text(clock.clock_pair().wall_ns))
        # On the way down the system is to be found as the load before it left it.
        settle_ns = None if phase == "down" else 30 * NS_PER_SECOND
        self._recorder.carry_out(step, request, brokers.current(cluster_plan(request.scenario)), settle_ns)
        return step

    def _tell(self, step: SearchStep) -> None:
        self._view.step(step, self._record.path)

    def _judge(self, step: SearchStep, folder: RunFolder) -> None:
        result = read_result(folder.result)
        step.outcome = "interrupted" if result.run.ending == "interrupted" else "done"
        step.target_per_second = result.throughput.target_per_second
        step.acked_per_second = result.throughput.acked_per_second
        step.received_per_second = result.throughput.received_per_second
        if step.phase == "probe":
            return
        objectives = self._request.objectives
        try:
            windows = windows_of(folder, objectives, int(result.throughput.measured_seconds or 0))
        except AnalysisError as error:
            step.held, step.is_doubtful, step.reasons = False, True, [str(error)]
            return
        found = judge_step(result, objectives, windows)
        step.held, step.is_doubtful = found.held, found.is_doubtful
        step.reached, step.objectives = found.reached, dict(found.objectives)
        step.reasons, step.figures = list(found.reasons), dict(found.figures)


def _fail(step: SearchStep) -> None:
    step.outcome, step.held, step.is_doubtful = "done", False, True


def _exit_of(record: SearchRecord) -> Exit:
    """EXPECTATION_FAILED where not even the easiest value held, NOT_VALID where its runs cannot tell."""
    match record.ending:
        case "failed":
            return Exit.FAILED
        case "interrupted":
            return Exit.INTERRUPTED
        case "never_held":
            return Exit.NOT_VALID if record.is_untold else Exit.EXPECTATION_FAILED
        case "narrow" | "at_limit" | "climbed":
            return Exit.NOT_VALID if record.is_untold else Exit.DONE
    return Exit.NOT_VALID
