"""What several runs say together, and whether some are worse than others by more than they may be."""

from collections.abc import Sequence
from pathlib import Path

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.report.compare import Together, together
from streamgauge.report.compare.answers import METRICS, figure_of
from streamgauge.report.compare.gates import Gates, WorseLimit, gates
from streamgauge.report.pages.page import plain
from streamgauge.result import Result
from streamgauge.runs.experiment.folder import read_record
from streamgauge.runs.experiment.judge import answered
from streamgauge.runs.results.given import given_runs, one_side


def compared(folders: Sequence[Path], metric: str | None) -> Together:
    """What the runs of these folders say together, those of a single experiment paired by their rounds.

    `metric` is the path of a figure in result.json. Raises BadInput for what cannot be used.
    """
    return _of_experiment(folders, metric) or _of_runs(folders, metric)


def _of_experiment(folders: Sequence[Path], metric: str | None) -> Together | None:
    """What a single experiment says, whose rounds pair its runs; None for anything else."""
    folder = ExperimentFolder(folders[0])
    if len(folders) > 1 or not folder.record.exists():
        return None
    record = read_record(folder)
    found = answered(folder, record.model_copy(update={"metric": metric or record.metric}))
    if found is None:
        raise BadInput.single(f"RUN {plain(str(folder.root))}", "no run of it has a result", "Resume it first")
    check_metric(metric, [run for one in found.variants for run in one.runs])
    return found


def _of_runs(folders: Sequence[Path], metric: str | None) -> Together:
    runs = given_runs(folders)
    check_metric(metric, [run.result for run in runs])
    return together(runs, metric)


def check_metric(metric: str | None, runs: Sequence[Result]) -> None:
    """Refuse a figure that no run has; raises BadInput."""
    if metric is None or any(figure_of(run, metric) is not None for run in runs):
        return
    mend = f"Use a number of result.json, as in: --metric {METRICS[2].path}"
    raise BadInput.single(f"--metric {plain(metric)}", "no run has this figure", mend)


def gated(folders: Sequence[Path], baseline: Sequence[Path], limits: Sequence[WorseLimit]) -> Gates:
    """Whether the runs of these folders are worse than those of a baseline; raises BadInput for what cannot be used."""
    before, now = one_side(baseline, "--baseline"), one_side(folders, "RUN")
    _check_figures(limits, [run for each in (*before, *now) for run in each.runs])
    return gates(before, now, limits)


def _check_figures(limits: Sequence[WorseLimit], runs: Sequence[Result]) -> None:
    """Refuse figures that no run has: a gate that looks at nothing would never close."""
    unknown = [each for each in limits if not any(figure_of(run, each.path(runs)) is not None for run in runs)]
    if unknown:
        mend = "Use p50, p99, p99.9, max, sent, acked, received, or the path of a number in result.json"
        raise BadInput(
            [Fault("--max-worse", f"{plain(each.figure)}: no run has this figure", mend) for each in unknown]
        )
