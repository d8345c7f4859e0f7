"""Run folders of what other tools measured."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import MOST_BYTES, MOST_FILES, ForeignFile
from streamgauge.foreign.results.reading import ImportedFile, read_results
from streamgauge.processes.patience import Progress
from streamgauge.record.facts import versions
from streamgauge.report.assemble.imports.folder import run_id, write_imported
from streamgauge.report.pages.page import plain
from streamgauge.report.publish import publish
from streamgauge.runs.conduct.folder import new_folder


class ImportedRun(NamedTuple):
    """A run folder of what another tool measured."""

    folder: RunFolder
    tool: str
    form: str
    """The format that its files have."""
    defects: int
    """How many defects its figures have, as is known of the tool."""


def import_results(
    paths: Sequence[Path],
    folder: Path,
    asked: Asked,
    form: str | None = None,
    *,
    command: Sequence[str],
    progress: Progress,
) -> list[ImportedRun]:
    """Make a run folder of each run that these files say, and those in folders; `form` is the name of their format.

    All are read before anything is written, and nothing is left of runs that could not be written as a whole. Raises
    BadInput with all files that cannot be read, or say no run.
    """
    return keep_runs(read_results(_files(paths), asked, form), folder, command, progress)


def keep_runs(
    found: Sequence[ImportedFile], folder: Path, command: Sequence[str], progress: Progress
) -> list[ImportedRun]:
    """Write the run folders of runs that were read; nothing is left where one cannot be written."""
    now_ns, version = clock.clock_pair().wall_ns, versions().get("streamgauge", "unknown")
    made: list[ImportedRun] = []
    is_new = not folder.exists()
    try:
        for each in found:
            for run in each.runs:
                place = RunFolder(new_folder(folder, run_id(run, now_ns), "runs"))
                made.append(ImportedRun(place, run.tool, run.form, len(run.defects)))
                publish(place, write_imported(place, run, each.files, command, now_ns, version), progress)
    except BaseException:
        for left in made:
            shutil.rmtree(left.folder.root, ignore_errors=True)
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
    return made


def _files(paths: Sequence[Path]) -> list[ForeignFile]:
    """The content of these files, and of those in a folder and the folders below it."""
    faults: list[Fault] = []
    found: list[ForeignFile] = []
    for path in paths:
        try:
            inside = list(islice(_below(path), MOST_FILES + 1)) if path.is_dir() else [path]
            if len(inside) > MOST_FILES or not inside:
                what = f"has {'no' if not inside else f'more than {MOST_FILES:,}'} files"
                faults.append(Fault(f"RESULT {plain(str(path))}", what, "Name the files"))
                continue
            found += [_file(each) for each in inside]
        except (OSError, ValueError) as error:
            what = f"cannot be read: {getattr(error, 'strerror', None) or error}"
            faults.append(Fault(f"RESULT {plain(str(path))}", what, "Name a file that can be read"))
    if faults:
        raise BadInput(faults)
    return found


def _below(folder: Path) -> Iterator[Path]:
    """The files in a folder and in those below it, by their names; links to other folders are not followed."""

    def fail(error: OSError) -> None:
        raise error

    for place, folders, names in os.walk(folder, onerror=fail):
        folders.sort()
        yield from (path for name in sorted(names) if (path := Path(place) / name).is_file())


def _file(path: Path) -> ForeignFile:
    # A pipe or a device has no size, and may never end.
    if not path.is_file():
        raise ValueError("there is no such file" if not path.exists() else "it is no regular file")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    return ForeignFile(path.name, str(path.parent), path.read_bytes())
