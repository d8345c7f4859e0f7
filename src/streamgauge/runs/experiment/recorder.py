"""Recording the runs of an experiment or a search: each before and after, also across interrupts and kills."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput, CtrlC, Interrupted, RunFailed
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.numbers import percent
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import BegunRun, ExperimentRecord
from streamgauge.experiments.search.record import SearchRecord
from streamgauge.processes.patience import Progress
from streamgauge.record.facts import read_facts
from streamgauge.runs.analysis import analyse
from streamgauge.runs.experiment.folder import write_record
from streamgauge.runs.experiment.means import RunMeans, interruptible
from streamgauge.runs.request.request import Request
from streamgauge.watch.display import Display

R = TypeVar("R", bound=BegunRun)


@dataclass(frozen=True, slots=True)
class RunRecorder(Generic[R]):
    """Carries out runs one by one, and keeps their record."""

    folder: ExperimentFolder
    record: ExperimentRecord | SearchRecord
    runs: list[R]
    """Those of the record."""
    means: RunMeans
    say: Progress
    display_of: Callable[[Request], Display]
    tell: Callable[[R], None]
    """Gets each run before it begins and after it ended."""
    judge: Callable[[R, RunFolder], None]
    """Writes into a run what its results say; may raise BadInput or RunFailed where they cannot be read."""
    fail: Callable[[R], None]
    """Writes into a run what one that failed counts as."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While runs are carried out: first what was under way is settled; an interrupt ends it, recorded."""
        record = self.record
        record.ending, record.reasons = None, []
        try:
            with interruptible(self.say):
                self._adopt()
                self.write()
                yield
        except (CtrlC, KeyboardInterrupt):
            self._interrupted("stopped between two runs")
        except Interrupted as error:
            self._interrupted(str(error))
        self.write()

    def carry_out(self, run: R, request: Request, broker: EmbeddedCluster | None, settle_ns: int | None) -> None:
        """Carry out one run, after the machine has settled unless that is None.

        Raises Interrupted where somebody ended it, and BadInput where nothing of it was started.
        """
        begun_ns = clock.monotonic_ns()
        self.runs.append(run)
        self.write()
        self.tell(run)
        asked = replace(request, out=self.folder.runs, broker=broker, command=self.record.command)
        quiet = None if settle_ns is None else self.means.settle(settle_ns)
        self._conduct(run, asked)
        run.seconds = (clock.monotonic_ns() - begun_ns) / NS_PER_SECOND
        if quiet and not quiet.is_quiet:
            run.reasons.append(f"the machine was only {percent(quiet.idle_share)} idle before it")
        self.write()
        self.tell(run)
        if run.outcome == "interrupted":
            raise Interrupted("a run was interrupted")

    def write(self) -> None:
        """Write the record; raises RecordError."""
        write_record(self.folder, self.record)

    def _conduct(self, run: R, request: Request) -> None:
        try:
            folder = self.means.run(request, self.display_of(request))
        except BadInput as error:
            # Nothing of it was started, and the next would meet the same.
            run.outcome, run.reasons = "interrupted", [str(fault) for fault in error.faults]
            self.record.ending = "failed"
            self.record.reasons += run.reasons
            self.write()
            raise
        except RunFailed as error:
            run.folder, run.reasons = self._new_folder(), [str(error).partition("\n")[0]]
            self.fail(run)
            return
        run.folder = folder.root.name
        self.judge(run, folder)

    def _interrupted(self, reason: str) -> None:
        for run in self.runs:
            if run.outcome == "under_way":
                run.outcome, run.reasons = "interrupted", [reason]
                run.folder = run.folder or self._new_folder()
        self.record.ending = "interrupted"
        self.record.reasons.append(f"{reason}; resume with: {self.folder.resume}")

    def _adopt(self) -> None:
        """What became of a run that was under way when all was killed: it may have ended by itself."""
        for run in self.runs:
            if run.outcome != "under_way":
                continue
            run.folder = self._new_folder()
            run.outcome, run.reasons = "interrupted", [f"the {self.folder.command} was killed"]
            path = RunFolder(self.folder.runs / run.folder) if run.folder else None
            if path is None:
                continue
            try:
                if read_facts(path).ending != "finished":
                    continue
                if not path.result.exists():
                    analyse(path, self.say, reports=False)
                self.judge(run, path)
            except (BadInput, RunFailed) as error:
                run.reasons = [str(error).partition("\n")[0]]
                continue
            self.say(f"a run had finished before the {self.folder.command} ended: {run.folder}")

    def _new_folder(self) -> str | None:
        """The run folder that no run of the record has: that of the run under way."""
        known = {run.folder for run in self.runs}
        found = sorted(path.name for path in self.folder.runs.iterdir() if path.is_dir() and path.name not in known)
        return found[-1] if found else None
