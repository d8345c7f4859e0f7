"""The command `export`: a run in the files of another tool."""

from collections.abc import Callable
from pathlib import Path

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.processes.patience import Progress
from streamgauge.report.exports.exported import FORMS, export
from streamgauge.report.pages.page import plain
from streamgauge.report.publish import result_of


def export_run(
    root: Path, form: str, out: Path | None, *, progress: Progress, print_out: Callable[[str], None]
) -> None:
    """Export a run; raises BadInput where it is none, or the form is unknown."""
    if form not in FORMS:
        raise BadInput.single(f"--as {plain(form)}", "no such format", f"Known: {', '.join(FORMS)}")
    folder = RunFolder(root)
    target = out or folder.root / f"export-{form}"
    if target.exists() and not target.is_dir():
        raise BadInput.single(f"--out {plain(str(target))}", "is a file", "Name a folder")
    for path in export(folder, result_of(folder, progress), form, target):
        print_out(plain(str(path)))
