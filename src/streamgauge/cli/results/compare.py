"""The command `compare`: what several runs say together."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from streamgauge.cli.results.kept import runs_of_baseline
from streamgauge.cli.results.runs import run_folders
from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.report.compare import Together, together
from streamgauge.report.compare.answers import METRICS, figure_of
from streamgauge.report.compare.pages import comparison_markdown, comparison_text
from streamgauge.report.compare.variants import GivenRun
from streamgauge.report.pages.page import plain
from streamgauge.report.publish import read_result
from streamgauge.runs.experiment.folder import read_record
from streamgauge.runs.experiment.judge import answered


def compare(
    folders: Sequence[Path],
    *,
    metric: str | None,
    as_json: bool,
    as_markdown: bool,
    html: Path | None,
    out: Callable[[str], None],
) -> None:
    """Compare the runs of these folders, also as a page; raises BadInput where there are no two variants to compare."""
    if as_json and as_markdown:
        raise BadInput.single("--json", "cannot be combined with --markdown", "Use one of them")
    found = _of_experiment(folders, metric) or _of_runs(folders, metric)
    if len(found.variants) < 2:
        what = "these runs were measured alike, so there is nothing to compare"
        raise BadInput.single("RUN", what, "Name runs of another scenario or setting, or a second folder of runs")
    if html:
        _write_page(html, found)
    if as_json:
        out(json.dumps(found.document(), indent=2))
    else:
        out(comparison_markdown(found) if as_markdown else comparison_text(found))


def _write_page(file: Path, found: Together) -> None:
    # Figures need a library of their own, which takes long to load.
    from streamgauge.report.compare.html import comparison_html

    try:
        file.write_text(comparison_html(found, file.stem), encoding="utf-8")
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise BadInput.single(f"--html {plain(str(file))}", what, "Name another file") from error


def _of_experiment(folders: Sequence[Path], metric: str | None) -> Together | None:
    """What a single experiment says, whose rounds pair its runs; None for anything else."""
    folder = ExperimentFolder(folders[0])
    if len(folders) > 1 or not folder.record.exists():
        return None
    record = read_record(folder)
    found = answered(folder, record.model_copy(update={"metric": metric or record.metric}))
    if found is None:
        raise BadInput.single(f"RUN {plain(str(folder.root))}", "no run of it has a result", "Go on with it first")
    _check_metric(metric, [GivenRun(one.name, run) for one in found.variants for run in one.runs])
    return found


def _of_runs(folders: Sequence[Path], metric: str | None) -> Together:
    runs = given_runs(folders)
    _check_metric(metric, runs)
    return together(runs, metric)


def given_runs(paths: Sequence[Path]) -> list[GivenRun]:
    """The runs of each folder, or the run that it is, or a result.json or a baseline that was kept.

    Runs of a folder that were not analysed are passed over. Raises BadInput with all that cannot be used.
    """
    found: list[GivenRun] = []
    faults: list[Fault] = []
    for path in dict.fromkeys(paths):
        try:
            kept = runs_of_baseline(path) if path.is_file() else None
            found += kept or [GivenRun(path.name, read_result(file)) for file in _result_files(path)]
        except BadInput as error:
            faults += error.faults
    if faults:
        raise BadInput(faults)
    return found


def _result_files(path: Path) -> list[Path]:
    """The file that it is, that of the run folder that it is, or those of the analysed runs in it, by their names.

    The runs of an experiment are in its folder `runs`.
    """
    folder = RunFolder(path)
    if path.is_file():
        return [path]
    experiment = ExperimentFolder(path)
    if experiment.record.exists():
        path = experiment.runs
    elif folder.result.exists() or folder.facts.exists():
        return [folder.result]
    analysed = sorted(run.result for run in run_folders(path) if run.result.exists())
    if not analysed:
        raise BadInput.single(f"RUN {plain(str(path))}", "there is no analysed run in it", "Name a run folder")
    return analysed


def _check_metric(metric: str | None, runs: Sequence[GivenRun]) -> None:
    if metric is None or any(figure_of(run.result, metric) is not None for run in runs):
        return
    mend = f"Use a number of result.json, as in: --metric {METRICS[2].path}"
    raise BadInput.single(f"--metric {plain(metric)}", "no run has this figure", mend)
