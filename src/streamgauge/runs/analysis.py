"""The analysis of a run folder and its report: from recorded rows to a result, and to all that people read."""

from collections.abc import Callable, Sequence

from streamgauge.domain.errors import BadInput, CtrlC, Interrupted, RunFailed
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.processes.patience import Progress
from streamgauge.result import Result
from streamgauge.runs.experiment.folder import many_of
from streamgauge.runs.rows.recover import alone, completed
from streamgauge.verdict import exit_code
from streamgauge.verdict.exits import Exit

Show = Callable[[RunFolder, Result], None]


def analyse(
    folder: RunFolder,
    progress: Progress,
    *,
    master: str | None = None,
    show: Show = lambda *_: None,
    figures: bool = False,
    percentiles: Sequence[str] | None = None,
    owned: bool = False,
    reports: bool = True,
) -> Exit:
    """Recompute the results from the recorded events and write the report; returns the exit code that the run deserves.

    `show` gets the result in any case, also where the report cannot be written. `master` names a Spark
    cluster; `percentiles` are the figures of latencies in summary.md; `owned` says that the caller conducted the run
    and keeps others from it. Without `reports` there is result.json, and no report.

    Raises BadInput while the run goes on or another process analyses or reports it, RunFailed if there is no result,
    Interrupted on Ctrl-C. The recorded events are kept in any case.
    """
    with alone(folder, owned=owned):
        try:
            facts, result = answered(folder, progress, master=master)
        except (CtrlC, KeyboardInterrupt) as error:
            raise Interrupted(f"analysis interrupted; the recorded events are kept: {folder.analyse_again}") from error
        except RunFailed as error:
            raise type(error)(
                f"{error}\nThe recorded events are kept in {folder.root}; try again: {folder.analyse_again}"
            ) from error
        show(folder, result)
        if reports:
            _publish(folder, result, progress, figures=figures, percentiles=percentiles)
    expected = result.expectations
    is_valid = bool(result.verdict.valid) and all(each.decided for each in expected)
    return exit_code(facts.ending, valid=is_valid, expectations_passed=all(each.passed for each in expected))


def answered(folder: RunFolder, progress: Progress, *, master: str | None = None) -> tuple[RunFacts, Result]:
    """run.json and result of a run folder that the caller holds alone, without a report.

    Raises BadInput for an imported run.
    """
    # Spark is heavy, and no other command needs it.
    from streamgauge.pipeline.run import analyse as answer
    from streamgauge.report.assemble.result import write_result

    facts = completed(folder, progress)
    if facts.imported:
        what = f"was imported from {facts.imported}, and has no recorded rows to analyse"
        raise BadInput.single(str(folder.root), what, "Write its report again with `streamgauge report`")
    answer(folder, master=master, progress=progress)
    return facts, write_result(folder)


def report(
    folder: RunFolder,
    progress: Progress,
    *,
    show: Show = lambda *_: None,
    figures: bool = False,
    percentiles: Sequence[str] | None = None,
) -> Result:
    """Write the report of a run again from what its analysis left; returns the result.

    Raises BadInput while the run goes on or another process analyses or reports it, if it was not analysed, and if the
    folder is that of many runs.
    """
    from streamgauge.report.publish import result_of

    with alone(folder):
        if many := many_of(folder.root):
            what = f"is the folder of a whole {many.command}, not of a run"
            raise BadInput.single(str(folder.root), what, f"Write its page again: {many.resume}")
        result = result_of(folder, progress)
        show(folder, result)
        _publish(folder, result, progress, figures=figures, percentiles=percentiles)
        return result


def _publish(
    folder: RunFolder, result: Result, progress: Progress, *, figures: bool, percentiles: Sequence[str] | None
) -> None:
    """Write the report once the result is shown: who waits for it need not wait for figures."""
    from streamgauge.report.publish import publish

    publish(folder, result, progress, figures=figures, percentiles=percentiles)
