"""What is given to be compared: runs, folders of runs, experiments, searches, results and baselines that were kept."""

import os
from collections.abc import Sequence
from pathlib import Path

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.numbers import listed
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.report.compare.variants import Alike, GivenRun, by_settings, distinct_names
from streamgauge.report.pages.page import plain
from streamgauge.report.publish import read_result
from streamgauge.runs.experiment.folder import many_of, read_record
from streamgauge.runs.experiment.judge import variants_in
from streamgauge.runs.results.folders import run_folders
from streamgauge.runs.results.kept import kept_baseline


def given_runs(paths: Sequence[Path]) -> list[GivenRun]:
    """The runs of each folder, or the run that it is, or a result.json or a baseline that was kept.

    Runs of a folder that were not analysed are passed over. Raises BadInput with all that cannot be used.
    """
    found: list[GivenRun] = []
    faults: list[Fault] = []
    places = {Path(os.path.normpath(path.absolute())): path for path in paths}
    for place, name in distinct_names(list(places)).items():
        try:
            found += _runs(name, places[place])
        except BadInput as error:
            faults += error.faults
    if faults:
        raise BadInput(faults)
    return found


def one_side(paths: Sequence[Path], where: str) -> list[Alike]:
    """One side of a check: the variants of an experiment, or of a baseline kept of one; any other runs are one variant.

    Raises BadInput, also where runs that are no experiment differ in their settings.
    """
    if found := variants_of_experiment(paths):
        return found
    runs = given_runs(paths)
    alike = by_settings(runs)
    if len(alike) > 1:
        what = f"these runs are not alike, and would be mixed: {listed([plain(each.name) for each in alike])}"
        mend = "Name runs of the same settings, or an experiment, each variant of which is compared with its own"
        raise BadInput.single(where, what, mend)
    return [Alike("", alike[0].runs)]


def variants_of_experiment(paths: Sequence[Path]) -> list[Alike]:
    """The variants of the experiment that these paths name, or of a baseline kept of one; none of anything else."""
    if len(paths) > 1:
        return []
    folder = ExperimentFolder(paths[0])
    if folder.record.exists():
        return variants_in(folder, read_record(folder))
    kept = kept_baseline(paths[0])
    return kept.alike(paths[0]) if kept and kept.variants else []


def _runs(name: str, path: Path) -> list[GivenRun]:
    if kept := kept_baseline(path):
        return [GivenRun(name, each) for each in kept.results(path)]
    return [GivenRun(name, read_result(file), _folder_of(file)) for file in _result_files(path)]


def _folder_of(result: Path) -> RunFolder | None:
    """The run folder of a result; None where it is in none by its name."""
    folder = RunFolder(result.parent)
    return folder if folder.result.name == result.name else None


def _result_files(path: Path) -> list[Path]:
    """The file that it is, that of the run folder that it is, or those of the analysed runs in it, by their names.

    The runs of an experiment or a search are in its folder `runs`.
    """
    folder = RunFolder(path)
    if path.is_file():
        return [path]
    if many := many_of(path):
        path = many.runs
    elif folder.result.exists() or folder.facts.exists():
        return [folder.result]
    analysed = sorted(run.result for run in run_folders(path) if run.result.exists())
    if not analysed:
        raise BadInput.single(f"RUN {plain(str(path))}", "there is no analysed run in it", "Name a run folder")
    return analysed
