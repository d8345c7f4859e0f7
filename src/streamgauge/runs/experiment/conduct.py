"""Carrying out an experiment: run after run in the order of the plan, each recorded before and after."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import RunFailed
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.secrets import mask_command
from streamgauge.experiments.order import PlannedRun
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord, RecordedRun, remaining
from streamgauge.experiments.stop import exceeds, keeps_failing, seconds_left
from streamgauge.report.publish import read_result
from streamgauge.runs.conduct.prepare import cluster_plan
from streamgauge.runs.experiment.folder import held, make_experiment, read_record
from streamgauge.runs.experiment.judge import (
    answered,
    are_narrow,
    exit_of,
    expectations,
    judged,
    plan_rounds,
    primary_of,
)
from streamgauge.runs.experiment.means import MEANS, RunMeans, SharedBrokers
from streamgauge.runs.experiment.recorder import RunRecorder
from streamgauge.runs.experiment.request import ExperimentRequest, recorded_variants, resumed
from streamgauge.runs.experiment.results import write_results
from streamgauge.runs.experiment.told import ExperimentEnded, ExperimentStep, ExperimentView
from streamgauge.runs.request.options import RunOptions
from streamgauge.scenario.volume import estimate

BESIDE_SECONDS: Final = 6.0
"""What a run takes beside its phases on a broker that is there: settling, start, drain, and analysis."""


def conduct(
    request: ExperimentRequest, view: ExperimentView, command: Sequence[str], means: RunMeans = MEANS
) -> ExperimentEnded:
    """Carry out a new experiment below `options.out`. Raises BadInput if its folder cannot be made."""
    experiment = request.experiment
    created = clock.clock_pair().wall_ns
    name = f"{clock.local_stamp(created)}-{experiment.name}"
    folder = make_experiment(request.options.out, name)
    record = ExperimentRecord(
        id=folder.root.name,
        name=experiment.name,
        created=clock.utc_text(created),
        command=mask_command(command),
        asked=dict(request.asked),
        cluster=request.requests[0].bootstrap,
        metric=experiment.metric,
        variants=recorded_variants(request.variants),
        order=experiment.order,
        seed=experiment.seed,
        repeat=experiment.repeat,
        again=experiment.again,
    )
    with held(folder):
        return _Conducting(request, view, means, folder, record).carry_out()


def go_on(
    folder: ExperimentFolder,
    source: str | Mapping[str, Any] | None,
    options: RunOptions,
    changes: Mapping[str, Any],
    view: ExperimentView,
    means: RunMeans = MEANS,
) -> ExperimentEnded:
    """Carry out what is left of an experiment, of its file or as it was recorded.

    Raises BadInput where there is none, where somebody else carries it out, and where the file says something else.
    """
    with held(folder):
        record = read_record(folder)
        request = resumed(record, source, options, changes)
        plan_rounds(record, request.experiment.repeat)
        return _Conducting(request, view, means, folder, record).carry_out()


def expected_seconds(request: ExperimentRequest) -> list[float]:
    """How long a run of each variant is expected to take."""
    embedded = request.requests[0].bootstrap is None
    return [estimate(each.scenario, embedded=embedded).load_seconds + BESIDE_SECONDS for each in request.requests]


def expected_bytes(request: ExperimentRequest) -> int | None:
    """How much all runs write at most; None where it is not known of a variant."""
    # A shared broker keeps no topic longer than its run.
    embedded = request.requests[0].bootstrap is None
    of_variants = [
        estimate(each.scenario, embedded=embedded, replayed=each.replayed_messages).bytes_written
        for each in request.requests
    ]
    found = [of_variants[each.variant] for each in request.plan]
    return None if any(each is None for each in found) else sum(each or 0 for each in found)


class _Conducting:
    """An experiment while it is carried out."""

    def __init__(
        self,
        request: ExperimentRequest,
        view: ExperimentView,
        means: RunMeans,
        folder: ExperimentFolder,
        record: ExperimentRecord,
    ) -> None:
        self._request, self._view, self._means, self._folder, self._record = request, view, means, folder, record
        self._plan = record.plan
        self._done_before = len(record.runs)
        self._recorder = RunRecorder(
            folder, record, record.runs, means, view.say, view.display_of, self._tell, self._judge, self._fail
        )
        self._expected = expected_seconds(request)
        self._begun_ns = clock.monotonic_ns()
        # An older version recorded how long its runs took, and not what lay between them.
        of_runs = sum(run.seconds or 0.0 for run in record.runs)
        self._spent_before = of_runs if record.spent_seconds is None else record.spent_seconds

    def carry_out(self) -> ExperimentEnded:
        """Do all runs that are left, unless something ends it; what is known so far is answered in any case."""
        record = self._record
        with self._recorder.at_work(), self._brokers() as brokers:
            try:
                while (each := self._next()) is not None:
                    self._run(each, brokers)
            finally:
                record.spent_seconds = self._spent()
            if record.ending is None:
                record.ending = "finished"
        found = answered(self._folder, record)
        expected = expectations(self._request, record, found)
        self._recorder.keep(lambda: write_results(self._folder, record, found, expected))
        if found:
            self._write_tables()
        return ExperimentEnded(self._folder, record, found, exit_of(record, found, expected), tuple(expected))

    def _write_tables(self) -> None:
        """The gold tables; the answer stands without them."""
        try:
            self._means.tables(self._folder, self._record)
        except RunFailed as error:
            self._view.say(f"the tables of the experiment could not be written: {error}")

    def _next(self) -> PlannedRun | None:
        """The next run, None where there is none, or where a rule ends the experiment."""
        record = self._record
        left = list(remaining(self._plan, record.runs, again=record.again))
        if record.ending is not None or not left:
            return None
        if reason := self._enough(left):
            record.ending = "stopped"
            record.reasons.append(reason)
            self._view.say(f"stopped: {reason}")
            return None
        return left[0]

    def _enough(self, left: Sequence[PlannedRun]) -> str | None:
        """Why no other round is begun; None where one is, and within a round."""
        record, stop, number = self._record, self._request.experiment.stop, left[0].round
        # Blocks have no rounds, and nothing to stop between.
        if record.order == "blocks" or number == 1 or any(run.round == number for run in record.runs):
            return None
        limit = None if stop.time is None else stop.time / NS_PER_SECOND
        if exceeds(self._spent(), self._seconds([each for each in left if each.round == number]), limit):
            return f"round {number} would end later than stop.time"
        if stop.interval is not None and are_narrow(record, stop.interval):
            return f"after {number - 1} rounds the intervals are as narrow as stop.interval"
        return None

    def _spent(self) -> float:
        """How long the experiment took so far, also before it was resumed."""
        return self._spent_before + (clock.monotonic_ns() - self._begun_ns) / NS_PER_SECOND

    def _seconds(self, left: Sequence[PlannedRun]) -> float:
        return seconds_left(left, self._record.runs, self._expected)

    def _run(self, each: PlannedRun, brokers: SharedBrokers) -> None:
        record, settle_ns = self._record, self._request.experiment.settle
        # Written as the run begins: who kills it loses no more than the time of this run.
        record.spent_seconds = self._spent()
        run = RecordedRun(round=each.round, variant=each.variant, begun=clock.utc_text(clock.clock_pair().wall_ns))
        request = self._request.requests[each.variant]
        self._recorder.carry_out(run, request, brokers.current(cluster_plan(request.scenario)), settle_ns)
        if keeps_failing(record.runs, len(record.variants), self._done_before):
            record.ending = "failed"
            record.reasons.append(f"the last runs all failed: {'; '.join(run.reasons)}")

    def _judge(self, run: RecordedRun, folder: RunFolder) -> None:
        result = read_result(folder.result)
        # A run that was cut short may lack the figures that the others have.
        if self._record.metric is None and result.run.ending == "finished":
            self._record.metric = primary_of(result)
        found = judged(result, self._record.metric)
        run.outcome, run.value, run.reasons = found.outcome, found.value, list(found.reasons)

    def _fail(self, run: RecordedRun) -> None:
        run.outcome = "failed"

    def _tell(self, run: RecordedRun) -> None:
        left = list(remaining(self._plan, self._record.runs, again=self._record.again))
        number = self._plan.index(PlannedRun(run.round, run.variant)) + 1
        self._view.step(ExperimentStep(number, len(self._plan), run, self._record, self._seconds(left)))

    def _brokers(self) -> SharedBrokers:
        is_shared = self._request.experiment.broker == "shared"
        return self._means.brokers(self._folder.root, self._request.requests[0], self._view.say, shared=is_shared)
