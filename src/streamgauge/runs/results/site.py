"""A page of all runs below a folder, from what is found there to the files that are written."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.report.pages.page import plain
from streamgauge.report.runs import NOT_READABLE, RunRow, read_run
from streamgauge.report.site.data import file_of, file_of_many
from streamgauge.report.site.found import FoundMany, FoundRun
from streamgauge.report.site.moving import moving_latency
from streamgauge.report.site.pages import Site, site_of
from streamgauge.report.site.writing import is_site, write_site
from streamgauge.runs.experiment.folder import many_of
from streamgauge.runs.results.compared import check_metric
from streamgauge.runs.results.folders import content, is_run


def make_site(folder: Path, target: Path, metric: str | None = None, *, with_csv: bool = False) -> tuple[Site, int]:
    """Write a page of all runs below a folder; returns what is on it, and how many files it has.

    `metric` is the path in result.json of the figure whose trends are shown. Raises BadInput where there are no runs,
    or the page cannot be written.
    """
    met: list[ExperimentFolder] = []
    runs = list(_found(folder, met, with_csv=with_csv))
    if not runs:
        raise BadInput.single(f"DIR {plain(str(folder))}", "there is no run in it", "Name a folder with runs")
    check_metric(metric, [run.result for run, _ in runs if run.result])
    experiments = [(_many(folder, each, runs), each.root) for each in met]
    made = site_of(folder, [run for run, _ in runs], metric, [many for many, _ in experiments])
    copies = {file_of(run, name): source for run, root in runs for name, source in _copied(run, RunFolder(root))}
    copies |= {file_of_many(many, name): root / name for many, root in experiments for name in many.files}
    return made, len(write_site(target, made.texts, copies))


def _found(folder: Path, met: list[ExperimentFolder], *, with_csv: bool) -> Iterator[tuple[FoundRun, Path]]:
    """Each run, the folder itself included, and where it is; what cannot be looked into is a run that says so.

    Adds the experiments and searches that are `met`.
    """
    if not folder.is_dir():
        raise BadInput.single(f"DIR {plain(str(folder))}", "there is no such folder", "Name a folder with runs")
    if is_run(RunFolder(folder)):
        yield _run(folder, folder.name, with_csv=with_csv), folder
        return
    refused: list[OSError] = []
    for root, names, _ in os.walk(folder, onerror=refused.append):
        here = Path(root)
        runs = sorted(name for name in names if is_run(RunFolder(here / name)))
        # A page has copies of runs.
        names[:] = sorted(name for name in names if name not in runs and not is_site(here / name))
        if many := many_of(here):
            met.append(many)
        for name in runs:
            yield _run(here / name, (here / name).relative_to(folder).as_posix(), with_csv=with_csv), here / name
    for error in refused:
        path = Path(os.fsdecode(error.filename))
        row = RunRow(path.name, verdict=NOT_READABLE, faults=(f"cannot be read: {error.strerror}",))
        yield FoundRun(path.relative_to(folder).as_posix(), row), path


def _many(folder: Path, found: ExperimentFolder, runs: Sequence[tuple[FoundRun, Path]]) -> FoundMany:
    """An experiment or a search, its runs among those that were found, and which of its files are there."""
    files = [path.name for path in (found.report, found.result, found.summary) if path.is_file()]
    path = folder.name if found.root == folder else found.root.relative_to(folder).as_posix()
    return FoundMany(path, found.command, tuple(run.path for run, at in runs if at.parent == found.runs), tuple(files))


def _run(root: Path, path: str, *, with_csv: bool) -> FoundRun:
    folder = RunFolder(root)
    row, result = read_run(root.name, content(folder.facts), content(folder.result))
    # Every second of the run is of use to its own report only.
    slim = result and result.model_copy(update={"timeline": []})
    csv = tuple(sorted(each.name for each in folder.csv.glob("*.csv"))) if with_csv and result else ()
    return FoundRun(path, row, slim, folder.report.is_file(), csv, moving_latency(folder) if result else None)


def _copied(run: FoundRun, folder: RunFolder) -> Iterator[tuple[str, Path]]:
    """What the page has of a run: names and files."""
    if run.result:
        yield folder.result.name, folder.result
    if run.has_report:
        yield folder.report.name, folder.report
    yield from ((f"csv/{name}", folder.csv / name) for name in run.csv)
