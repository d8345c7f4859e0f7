"""Carrying out a search: a probe for a start, the way up, and the way down; each run is recorded before and after."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import AnalysisError, BadInput, CtrlC, Interrupted, RunFailed
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.secrets import mask_command, masked
from streamgauge.experiments.paths import SearchFolder
from streamgauge.experiments.search.record import SearchRecord, SearchStep, StepPhase, ended_as, keeps_failing_to_finish
from streamgauge.experiments.search.steps import next_down, next_value
from streamgauge.processes.patience import Progress
from streamgauge.report.publish import read_result
from streamgauge.result import Result
from streamgauge.runs.experiment.brokers import SharedBrokers
from streamgauge.runs.experiment.folder import held, make_experiment, write_whole
from streamgauge.runs.experiment.means import MEANS, RunMeans, interruptible
from streamgauge.runs.experiment.search.judge import judge_step, windows_of
from streamgauge.runs.experiment.search.request import SearchRequest
from streamgauge.runs.request.request import Request
from streamgauge.verdict.exits import Exit
from streamgauge.watch.display import Display


@dataclass(frozen=True, slots=True)
class SearchView:
    """Who is told how a search goes."""

    say: Progress
    step: Callable[[SearchStep], None]
    """Gets each run before it begins and after it ended."""
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
    record = SearchRecord(
        id=folder.root.name,
        name=name,
        created=clock.utc_text(created),
        command=mask_command(command),
        scenario=masked(request.asked()),
        cluster=request.first.bootstrap,
        path=request.path,
        find=request.find,
        objectives=[each.text for each in request.objectives],
        start=request.start,
        least=request.least,
        most=request.most,
        width=request.width,
        whole=request.is_whole,
        step_seconds=request.step_seconds,
    )
    with held(folder):
        return _Searching(request, view, means, folder, record).carry_out()


class _Searching:
    """A search while it is carried out."""

    def __init__(
        self, request: SearchRequest, view: SearchView, means: RunMeans, folder: SearchFolder, record: SearchRecord
    ) -> None:
        self._request, self._view, self._means, self._folder, self._record = request, view, means, folder, record

    def carry_out(self) -> SearchEnded:
        """Do all runs, unless something ends it; what is known so far is answered in any case."""
        record = self._record
        try:
            brokers = self._means.brokers(self._folder.root, self._request.first, self._view.say)
            with interruptible(self._view.say), brokers:
                self._search(brokers)
        except (CtrlC, KeyboardInterrupt):
            self._interrupted("stopped between two runs")
        except Interrupted as error:
            self._interrupted(str(error))
        self._write()
        return SearchEnded(self._folder, record, _exit_of(record))

    def _search(self, brokers: SharedBrokers) -> None:
        record = self._record
        self._write()
        if record.start is None and not self._probe(brokers):
            record.ending = "failed"
            return
        while (value := next_value(record.trials("up"), record.plan)) is not None:
            self._run("up", value, self._request.at(value), brokers)
            if keeps_failing_to_finish(record.steps):
                record.ending = "failed"
                record.reasons.append("; ".join(record.steps[-1].reasons))
                return
        record.ending = ended_as(record)
        found = record.answer
        while (value := next_down(record.trials("down"), found, record.plan)) is not None:
            self._run("down", value, self._request.at(value), brokers)

    def _probe(self, brokers: SharedBrokers) -> bool:
        """Find out where to start; returns False where the unthrottled run tells nothing."""
        step = self._run("probe", None, self._request.probe(), brokers)
        rates = [rate for rate in (step.acked_per_second, step.received_per_second) if rate]
        if not rates:
            self._record.reasons.append("the unthrottled run tells no rate to start from; use --start")
            return False
        self._record.start = min(rates) / 2
        return True

    def _run(self, phase: StepPhase, value: float | None, request: Request, brokers: SharedBrokers) -> SearchStep:
        begun_ns = clock.monotonic_ns()
        step = SearchStep(phase=phase, value=value, begun=clock.utc_text(clock.clock_pair().wall_ns))
        self._record.steps.append(step)
        self._write()
        self._view.step(step)
        request = replace(request, out=self._folder.runs, broker=brokers.current(), command=self._record.command)
        # On the way down the system is to be found as the load before it left it.
        if phase != "down":
            self._means.settle(30 * NS_PER_SECOND)
        self._conduct(request, step)
        step.seconds = (clock.monotonic_ns() - begun_ns) / NS_PER_SECOND
        self._write()
        self._view.step(step)
        if step.outcome == "interrupted":
            raise Interrupted("a run was interrupted")
        return step

    def _conduct(self, request: Request, step: SearchStep) -> None:
        """Carry out one run, and write down what it says."""
        try:
            folder = self._means.run(request, self._view.display_of(request))
        except BadInput as error:
            self._record.ending = "failed"
            self._record.reasons += [str(fault) for fault in error.faults]
            step.outcome = "interrupted"
            self._write()
            raise
        except RunFailed as error:
            step.outcome, step.held, step.is_doubtful = "done", False, True
            step.reasons = [str(error).partition("\n")[0]]
            return
        step.folder = folder.root.name
        self._tell(step, folder, read_result(folder.result))

    def _tell(self, step: SearchStep, folder: RunFolder, result: Result) -> None:
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
        step.reasons, step.figures = list(found.reasons), dict(found.figures)

    def _interrupted(self, reason: str) -> None:
        for step in self._record.steps:
            if step.outcome == "under_way":
                step.outcome = "interrupted"
        self._record.ending = "interrupted"
        self._record.reasons.append(reason)

    def _write(self) -> None:
        write_whole(self._folder.record, self._record.model_dump_json(indent=2) + "\n")


def _exit_of(record: SearchRecord) -> Exit:
    """EXPECTATION_FAILED where not even the easiest value held, NOT_VALID where the steps were too few to tell."""
    match record.ending:
        case "failed":
            return Exit.FAILED
        case "interrupted":
            return Exit.INTERRUPTED
        case "never_held":
            return Exit.EXPECTATION_FAILED
        case "narrow" | "at_limit":
            return Exit.DONE
    return Exit.NOT_VALID
