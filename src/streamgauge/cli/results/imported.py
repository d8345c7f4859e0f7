"""The command `import`: run folders of what other tools measured."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput, BadValue, Fault
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.foreign.results.asked import Asked, parse_latency, parse_unit
from streamgauge.foreign.results.given import MOST_BYTES, ForeignFile
from streamgauge.foreign.results.output import parse_pattern
from streamgauge.foreign.results.reading import FORMATS, ImportedFile, read_results
from streamgauge.processes.patience import Progress
from streamgauge.record.facts import versions
from streamgauge.report.assemble.imports.folder import run_id, write_imported
from streamgauge.report.pages.belief import IMPORTED
from streamgauge.report.pages.page import plain
from streamgauge.report.publish import publish
from streamgauge.runs.conduct.folder import new_folder

_MOST_FILES: Final = 1_000


def import_results(
    paths: Sequence[Path],
    folder: Path,
    *,
    form: str | None,
    unit: str | None,
    latency: str | None,
    patterns: Sequence[str] = (),
    as_json: bool,
    command: Sequence[str],
    progress: Progress,
    out: Callable[[str], None],
) -> None:
    """Make a run folder of each run that these files say; raises BadInput where one of them says none.

    All are read before anything is written, and nothing is left of runs that could not be written as a whole.
    """
    asked, name = _asked(unit, latency, patterns), _form(form)
    if patterns and name not in {None, "pattern"}:
        raise BadInput.single("--pattern", f"--as {plain(form or '')} reads no pattern", "Leave one of them out")
    name = "pattern" if patterns else name
    found = read_results(_files(paths), asked, name)
    told = keep_runs(found, folder, command, progress)
    out(kept_text(told, as_json=as_json))


def keep_runs(
    found: Sequence[ImportedFile], folder: Path, command: Sequence[str], progress: Progress
) -> list[dict[str, Any]]:
    """Write the run folders of runs that were read, and tell each; nothing is left where one cannot be written."""
    now_ns, version = clock.clock_pair().wall_ns, versions().get("streamgauge", "unknown")
    made: list[RunFolder] = []
    told: list[dict[str, Any]] = []
    is_new = not folder.exists()
    try:
        for each in found:
            for run in each.runs:
                made.append(RunFolder(new_folder(folder, run_id(run, now_ns), "runs")))
                result = write_imported(made[-1], run, each.files, command, now_ns, version)
                publish(made[-1], result, progress)
                told.append({"run": str(made[-1].root), "tool": run.tool, "format": run.form, "verdict": IMPORTED,
                             "defects": len(run.defects)})  # fmt: skip
    except BaseException:
        for left in made:
            shutil.rmtree(left.root, ignore_errors=True)
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
    return told


def kept_text(told: Sequence[dict[str, Any]], *, as_json: bool) -> str:
    """What is said of run folders that were written."""
    return json.dumps(list(told), indent=2) if as_json else "\n".join(map(_line, told))


def _line(told: dict[str, Any]) -> str:
    defects = f"; known defects: {told['defects']}" if told["defects"] else ""
    return f"{IMPORTED}  {plain(told['run'])}  {plain(told['tool'])}, {plain(told['format'])}{defects}"


def _asked(unit: str | None, latency: str | None, patterns: Sequence[str]) -> Asked:
    faults: list[Fault] = []
    found: dict[str, Any] = {}
    for option, text, parse in (("--unit", unit, parse_unit), ("--latency", latency, parse_latency)):
        try:
            found[option] = parse(text) if text is not None else None
        except BadValue as error:
            faults.append(error.at(option, plain(text or "")))
    made: list[re.Pattern[str]] = []
    for pattern in patterns:
        try:
            made.append(parse_pattern(pattern))
        except BadValue as error:
            faults.append(error.at("--pattern", plain(pattern)))
    if faults:
        raise BadInput(faults)
    return Asked(found["--unit"], found["--latency"], tuple(made))


def _form(form: str | None) -> str | None:
    if form is not None and form not in FORMATS:
        raise BadInput.single(f"--as {plain(form)}", "no such format", f"Known: {', '.join(FORMATS)}")
    return form


def _files(paths: Sequence[Path]) -> list[ForeignFile]:
    """The content of these files, and of those in a folder and the folders below it."""
    faults: list[Fault] = []
    found: list[ForeignFile] = []
    for path in paths:
        try:
            inside = list(islice(_below(path), _MOST_FILES + 1)) if path.is_dir() else [path]
            if len(inside) > _MOST_FILES or not inside:
                what = f"has {'no' if not inside else f'more than {_MOST_FILES:,}'} files"
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
