"""One run as a whole: conduct it, analyse it, write its report."""

import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from typing import cast, get_args

from streamgauge.domain.errors import BadInput, Interrupted, RunFailed
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.look import Look
from streamgauge.domain.text.shown import one_line
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.record.facts import read_facts
from streamgauge.runs.analysis import Show, analyse
from streamgauge.runs.conduct.conduct import conducted
from streamgauge.runs.conduct.folder import left_in_vain
from streamgauge.runs.conduct.prepare import prepare_run
from streamgauge.runs.interrupts import noted
from streamgauge.runs.machine import archives
from streamgauge.runs.request.request import Request
from streamgauge.verdict import exit_code
from streamgauge.verdict.exits import Exit
from streamgauge.watch.display import Display, Quiet
from streamgauge.watch.metrics.endpoint import MetricNames, Metrics


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over: its folder, and the exit code that it deserves."""

    folder: RunFolder
    code: Exit


def run(
    request: Request,
    display: Display | None = None,
    *,
    show: Show = lambda *_: None,
    figures: bool = False,
    percentiles: Sequence[str] | None = None,
    metrics: Metrics | None = None,
    prepare: bool = False,
    reports: bool = True,
    record_only: bool = False,
) -> Ended:
    """Conduct a run, analyse it, and write its report, with these `percentiles`; `show` gets the result.

    Without `reports` there is result.json, and no report; with `record_only` there is neither, and the exit code says
    only how the run ended. With `prepare`, make archives of Java classes afterwards, unless they are there. In the main
    thread, Ctrl-C stops the load, and what was measured is analysed; a second one stops at once. Raises BadInput before
    anything starts, Interrupted if nothing was measured or nothing is analysed, RunFailed if there is no result.
    """
    archives.make_way()
    display, interrupts = display or Quiet(), Interrupts()
    progress = display.say

    def watch(look: Look) -> None:
        display.show(look)
        if metrics:
            metrics.show(look)

    prepared = prepare_run(request)
    for line in request.advice():
        progress(line)
    # Metrics are served to the end, so that the last scrape sees final counts.
    with _interruptible(interrupts, display), metrics or nullcontext(), ExitStack() as owned:
        with display:
            if metrics:
                progress(f"metrics at http://{metrics.address}:{metrics.port}/metrics")
            over = (lambda *_: None) if record_only else _start_spark
            folder = owned.enter_context(conducted(prepared, interrupts, progress, watch, over))
        # From here on a signal breaks off what is under way; what came before is looked at once more.
        interrupts.breaks = True
        if interrupts.in_vain:
            raise Interrupted(left_in_vain(folder))
        if interrupts.at_once:
            raise Interrupted(f"stopped at once; recorded events are kept: {folder.analyse_again}")
        if record_only:
            code = exit_code(read_facts(folder).ending, valid=True, expectations_passed=True)
        else:
            code = analyse(
                folder, progress, show=show, figures=figures, percentiles=percentiles, owned=True, reports=reports
            )
        if prepare and not archives.are_made(request.java):
            archives.make(request.java, progress)
    return Ended(folder, code)


def metrics_of(request: Request, address: str, port: int | None, names: str) -> Metrics | None:
    """The endpoint that tells Prometheus how a run goes, not yet listening; None without a port, any free one for 0.

    Raises BadInput where `names` is no tool whose names metrics can have.
    """
    if names not in (known := get_args(MetricNames)):
        what = "no tool whose names metrics can have"
        raise BadInput.single(f"--metrics-names {one_line(names)}", what, f"Known: {', '.join(known)}")
    if port is None:
        return None
    target_rate, chosen = request.target_per_second, cast("MetricNames", names)
    scheduled = request.scenario.load is not None and request.scenario.load.has_schedule
    return Metrics(request.scenario.name, target_rate, scheduled=scheduled, address=address, port=port, names=chosen)


def _interruptible(interrupts: Interrupts, display: Display) -> AbstractContextManager[None]:
    """Signals reach the main thread only; a run in another thread goes on."""
    is_main = threading.current_thread() is threading.main_thread()
    return noted(interrupts, display.say) if is_main else nullcontext()


def _start_spark(folder: RunFolder, rows: int) -> None:
    """Start what the analysis needs, while the broker stops and the last rows are written."""
    from streamgauge.pipeline.spark.session import SESSIONS
    from streamgauge.pipeline.spark.settings import sizing

    # The analysis tries again, and says what is wrong.
    with suppress(RunFailed, BadInput):
        SESSIONS.prepare(sizing(rows, os.cpu_count() or 1), None, folder.logs / "spark.log")
