"""The commands `run`, `analyse` and `report`: conduct, analyse, show, exit code."""

import os
from collections.abc import Callable
from contextlib import nullcontext, suppress

from streamgauge.cli.signals import noted
from streamgauge.domain.errors import BadInput, CtrlC, Interrupted, RunFailed
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.look import Look
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.disk import free_bytes
from streamgauge.result import Result
from streamgauge.run import archives
from streamgauge.run.conduct import Request, conduct, left_in_vain
from streamgauge.run.recover import alone, completed
from streamgauge.scenario import advice, room_advice
from streamgauge.verdict import exit_code
from streamgauge.verdict.exits import Exit
from streamgauge.watch.display import Display
from streamgauge.watch.metrics import Metrics

Progress = Callable[[str], None]


def run(
    request: Request,
    display: Display,
    *,
    as_json: bool,
    out: Callable[[str], None],
    figures: bool = False,
    metrics: Metrics | None = None,
    prepare: bool = False,
) -> int:
    """Carry a scenario out, analyse and show it; returns the exit code.

    With `prepare`, make archives of Java classes afterwards, unless they are there.
    """
    archives.make_way()
    interrupts, progress = Interrupts(), display.say

    def watch(look: Look) -> None:
        display.show(look)
        if metrics:
            metrics.show(look)

    embedded = request.bootstrap is None
    room = room_advice(request.scenario, str(request.out), free_bytes(request.out), embedded=embedded)
    for line in [*advice(request.scenario), *room]:
        progress(line)
    with noted(interrupts, progress):
        with metrics or nullcontext(), display:
            if metrics:
                progress(f"metrics at http://{metrics.address}:{metrics.port}/metrics")
            folder = conduct(request, interrupts, progress, watch, _start_spark)
        # From here on a signal breaks off what is under way; what came before is looked at once more.
        interrupts.breaks = True
        if interrupts.in_vain:
            raise Interrupted(left_in_vain(folder))
        if interrupts.at_once:
            progress(f"stopped at once; what was recorded is kept: {folder.analyse_again}")
            return Exit.INTERRUPTED
        code = analyse(folder, None, progress, as_json=as_json, out=out, figures=figures)
        if prepare and not archives.are_made(request.java):
            archives.make(request.java, progress)
        return code


def _start_spark(folder: RunFolder, rows: int) -> None:
    """Start what the analysis needs, while the broker stops and the last rows are written."""
    from streamgauge.pipeline.session import SESSIONS, sizing

    # The analysis tries again, and says what is wrong.
    with suppress(RunFailed, BadInput):
        SESSIONS.begin(sizing(rows, os.cpu_count() or 1), None, folder.logs / "spark.log")


def analyse(
    folder: RunFolder,
    master: str | None,
    progress: Progress,
    *,
    as_json: bool,
    out: Callable[[str], None],
    figures: bool = False,
) -> int:
    """Answer from the rows of a run folder and show the result; returns the exit code that the run deserves.

    Raises BadInput while the run goes on, or while somebody else analyses or reports it.
    """
    # Spark is heavy, and no other command needs it.
    from streamgauge.pipeline.run import analyse as answer
    from streamgauge.report.assemble.result import write_result

    with alone(folder):
        try:
            facts = completed(folder, progress)
            answer(folder, master=master, progress=progress)
        except (CtrlC, KeyboardInterrupt):
            progress(f"analysis interrupted; the rows are kept: {folder.analyse_again}")
            return Exit.INTERRUPTED
        except RunFailed as error:
            raise type(error)(
                f"{error}\nThe rows are kept in {folder.root}; try again: {folder.analyse_again}"
            ) from error
        result = write_result(folder)
        _show(folder, result, progress, as_json=as_json, out=out, figures=figures)
    passed = all(each.passed for each in result.expectations)
    return exit_code(facts.ending, valid=bool(result.verdict.valid), expectations_held=passed)


def report(
    folder: RunFolder, progress: Progress, *, as_json: bool, out: Callable[[str], None], figures: bool = False
) -> None:
    """Write the report of a run again from what its analysis left, and show the result."""
    from streamgauge.report.publish import result_of

    with alone(folder):
        _show(folder, result_of(folder, progress), progress, as_json=as_json, out=out, figures=figures)


def _show(
    folder: RunFolder,
    result: Result,
    progress: Progress,
    *,
    as_json: bool,
    out: Callable[[str], None],
    figures: bool,
) -> None:
    """Write all that people read; the result is shown in any case."""
    from streamgauge.report.pages.terminal import summary
    from streamgauge.report.publish import publish

    try:
        publish(folder, result, progress, figures=figures)
    finally:
        out(result.text() if as_json else summary(result, folder.root))
