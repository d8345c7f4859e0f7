"""What carries out many runs: a run, waiting for a quiet machine, a shared broker, and signals between runs."""

import shutil
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.patience import Progress
from streamgauge.runs.conduct.target import SHARED_BROKER, shared_broker
from streamgauge.runs.experiment.results import write_tables
from streamgauge.runs.experiment.settle import Settled, settled
from streamgauge.runs.interrupts import noted
from streamgauge.runs.request.request import Request
from streamgauge.runs.run import run as run_request
from streamgauge.watch.display import Display


def _run(request: Request, display: Display) -> RunFolder:
    return run_request(request, display, reports=False).folder


class SharedBrokers:
    """The embedded cluster that runs share; another one takes its place where it died, or where a run needs another."""

    def __init__(
        self, start: Callable[[ClusterPlan], AbstractContextManager[EmbeddedCluster]] | None, say: Progress
    ) -> None:
        self._start, self._say = start, say
        self._cluster: EmbeddedCluster | None = None
        self._owned = ExitStack()

    def current(self, plan: ClusterPlan) -> EmbeddedCluster | None:
        """The cluster for the next run; None where each run has its own, or the user's cluster is measured."""
        if self._start is None:
            return None
        if self._cluster is not None and (not self._cluster.alive or self._cluster.plan != plan):
            why = "has another configuration than the next run needs" if self._cluster.alive else "has died"
            self._say(f"the shared broker {why}; starting another")
            self._owned.close()
            self._cluster = None
        if self._cluster is None:
            self._cluster = self._owned.enter_context(self._start(plan))
        return self._cluster

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owned.close()


@dataclass(frozen=True, slots=True)
class RunMeans:
    """What carries out many runs."""

    run: Callable[[Request, Display], RunFolder] = _run
    """Carries out and analyses one run."""
    settle: Callable[[int], Settled] = settled
    """Waits until the machine is quiet, at most so many ns."""
    broker: Callable[[Path, Java, Progress, ClusterPlan], AbstractContextManager[EmbeddedCluster]] = shared_broker
    """Starts a broker for many runs."""
    tables: Callable[[ExperimentFolder, ExperimentRecord], None] = write_tables
    """Writes the gold tables of an experiment."""

    def brokers(self, folder: Path, first: Request, say: Progress, *, shared: bool = True) -> SharedBrokers:
        """The broker that runs share; none where each has its own, or the user's cluster is measured.

        Whoever asks is the only one who works in `folder`: data of brokers that are there were left by one killed.
        """
        for left in (*folder.glob(f"{SHARED_BROKER}*"), *folder.glob("runs/*/broker")):
            shutil.rmtree(left, ignore_errors=True)
        start = partial(self.broker, folder, first.java, say)
        return SharedBrokers(start if shared and first.bootstrap is None else None, say)


MEANS: Final = RunMeans()


def interruptible(say: Progress) -> AbstractContextManager[None]:
    """Ctrl-C and SIGTERM between two runs end it with CtrlC; within a run, the run takes them."""
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    interrupts = Interrupts()
    interrupts.breaks = True
    return noted(interrupts, say)
