"""Recording the runs of an experiment or a search: each before and after, also across interrupts and kills."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput, CtrlC, Interrupted, RecordError, RunFailed
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
        """While runs are carried out: first what was under way is settled; an interrupt ends it, recorded.

        So does a record that cannot be written: the one before tells enough to go on. Raises Interrupted or RecordError
        where that happens before the block begins.
        """
        record, has_begun = self.record, False
        record.ending, record.reasons = None, []
        try:
            with interruptible(self.say):
                self._adopt()
                self.write()
                has_begun = True
                yield
        except (CtrlC, KeyboardInterrupt):
            self._interrupted("stopped between two runs")
        except Interrupted as error:
            self._interrupted(str(error))
        except RecordError as error:
            if not has_begun:
                raise
            self._unwritten(error)
        # The broker is gone, and its data with it: where the disk was full there may be room now.
        self.keep(self.write)
        if not has_begun:
            raise Interrupted("\n".join(record.reasons))

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

    def keep(self, write: Callable[[], None]) -> None:
        """Write what stands beside the runs; where that fails, tell so and go on: the answer stands without it."""
        try:
            write()
        except RecordError as error:
            self._unwritten(error)

    def _conduct(self, run: R, request: Request) -> None:
        try:
            folder = self.means.run(request, self.display_of(request))
        except RecordError as error:
            # It says nothing of what is measured: a full disk, say, which the next run would meet, too.
            run.folder, run.outcome, run.reasons = self._new_folder(), "interrupted", [str(error)]
            raise
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

    def _unwritten(self, error: RecordError) -> None:
        """Tell that something cannot be written, once."""
        mend = f"; mend that, then resume with: {self.folder.resume}"
        if any(reason.endswith(mend) for reason in self.record.reasons):
            return
        self._break_off(str(error))
        if self.record.ending != "interrupted":
            self.record.ending = "failed"
        self.record.reasons.append(f"{error}{mend}")
        self.say(self.record.reasons[-1])

    def _break_off(self, reason: str) -> None:
        """A run that is under way is interrupted."""
        for run in self.runs:
            if run.outcome == "under_way":
                run.outcome, run.reasons = "interrupted", [reason]
                run.folder = run.folder or self._new_folder()

    def _interrupted(self, reason: str) -> None:
        self._break_off(reason)
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
