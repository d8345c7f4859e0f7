"""The command `import`: run folders of what other tools measured."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from streamgauge.domain.errors import BadInput, BadValue, Fault
from streamgauge.foreign.results.asked import Asked, parse_latency, parse_unit
from streamgauge.foreign.results.output import parse_pattern
from streamgauge.foreign.results.reading import FORMATS
from streamgauge.processes.patience import Progress
from streamgauge.report.pages.belief import IMPORTED
from streamgauge.report.pages.page import plain
from streamgauge.runs.foreign.imported import ImportedRun, import_results


def import_files(
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
    """Make a run folder of each run that these files say; raises BadInput where one of them says none."""
    asked, name = _asked(unit, latency, patterns), _form(form)
    if patterns and name not in {None, "pattern"}:
        raise BadInput.single("--pattern", f"--as {plain(form or '')} reads no pattern", "Leave one of them out")
    name = "pattern" if patterns else name
    out(kept_text(import_results(paths, folder, asked, name, command=command, progress=progress), as_json=as_json))


def kept_text(kept: Sequence[ImportedRun], *, as_json: bool) -> str:
    """What is said of run folders that were written."""
    return json.dumps(list(map(_document, kept)), indent=2) if as_json else "\n".join(map(_line, kept))


def _document(kept: ImportedRun) -> dict[str, Any]:
    about = {"run": str(kept.folder.root), "tool": kept.tool, "format": kept.form}
    return {**about, "verdict": IMPORTED, "defects": kept.defects}


def _line(kept: ImportedRun) -> str:
    defects = f"; known defects: {kept.defects}" if kept.defects else ""
    return f"{IMPORTED}  {plain(str(kept.folder.root))}  {plain(kept.tool)}, {plain(kept.form)}{defects}"


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
