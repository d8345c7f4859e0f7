"""The command `import`: run folders of what other tools measured."""

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput, BadValue, Fault
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.foreign.results.asked import Asked, parse_latency, parse_unit
from streamgauge.foreign.results.given import MOST_BYTES, ForeignFile
from streamgauge.foreign.results.reading import FORMATS, read_results
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
    as_json: bool,
    command: Sequence[str],
    progress: Progress,
    out: Callable[[str], None],
) -> None:
    """Make a run folder of each run that these files say; raises BadInput where one of them says none.

    All are read before anything is written, and nothing is left of runs that could not be written as a whole.
    """
    asked, name = _asked(unit, latency), _form(form)
    found = read_results(_files(paths), asked, name)
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
    out(json.dumps(told, indent=2) if as_json else "\n".join(map(_line, told)))


def _line(told: dict[str, Any]) -> str:
    defects = f"; known defects: {told['defects']}" if told["defects"] else ""
    return f"{IMPORTED}  {plain(told['run'])}  {plain(told['tool'])}, {plain(told['format'])}{defects}"


def _asked(unit: str | None, latency: str | None) -> Asked:
    faults: list[Fault] = []
    found: dict[str, Any] = {}
    for option, text, parse in (("--unit", unit, parse_unit), ("--latency", latency, parse_latency)):
        try:
            found[option] = parse(text) if text is not None else None
        except BadValue as error:
            faults.append(error.at(option, plain(text or "")))
    if faults:
        raise BadInput(faults)
    return Asked(found["--unit"], found["--latency"])


def _form(form: str | None) -> str | None:
    if form is not None and form not in FORMATS:
        raise BadInput.single(f"--as {plain(form)}", "no such format", f"Known: {', '.join(FORMATS)}")
    return form


def _files(paths: Sequence[Path]) -> list[ForeignFile]:
    """The content of these files, and of those in a folder."""
    faults: list[Fault] = []
    found: list[ForeignFile] = []
    for path in paths:
        try:
            inside = sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]
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


def _file(path: Path) -> ForeignFile:
    # A pipe or a device has no size, and may never end.
    if not path.is_file():
        raise ValueError("there is no such file" if not path.exists() else "it is no regular file")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    return ForeignFile(path.name, str(path.parent), path.read_bytes())
