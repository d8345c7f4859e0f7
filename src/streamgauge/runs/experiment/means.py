"""What carries out many runs: a run, waiting for a quiet machine, a shared broker, and signals between runs."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from streamgauge.cluster.embedded import EmbeddedBroker
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.patience import Progress
from streamgauge.runs.conduct.target import shared_broker
from streamgauge.runs.experiment.brokers import SharedBrokers
from streamgauge.runs.experiment.results import write_tables
from streamgauge.runs.experiment.settle import Settled, settled
from streamgauge.runs.interrupts import noted
from streamgauge.runs.request.request import Request
from streamgauge.runs.run import run as run_request
from streamgauge.watch.display import Display


def _run(request: Request, display: Display) -> RunFolder:
    return run_request(request, display, reports=False).folder


@dataclass(frozen=True, slots=True)
class RunMeans:
    """What carries out many runs."""

    run: Callable[[Request, Display], RunFolder] = _run
    """Carries out and analyses one run."""
    settle: Callable[[int], Settled] = settled
    """Waits until the machine is quiet, at most so many ns."""
    broker: Callable[[Path, Java, Progress], AbstractContextManager[EmbeddedBroker]] = shared_broker
    """Starts a broker for many runs."""
    tables: Callable[[ExperimentFolder, ExperimentRecord], None] = write_tables
    """Writes the gold tables of an experiment."""

    def brokers(self, folder: Path, first: Request, say: Progress, *, shared: bool = True) -> SharedBrokers:
        """The broker that runs share; none where each has its own, or the user's cluster is measured."""
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
