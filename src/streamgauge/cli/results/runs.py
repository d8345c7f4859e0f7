"""The command `runs`: the runs of a folder, side by side."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.pages.page import plain
from streamgauge.report.runs import PERCENTILES, RunRow, newest_last, run_row, runs_table
from streamgauge.runs.experiment.folder import many_of


def runs(folder: Path, *, as_json: bool, out: Callable[[str], None], percentiles: Sequence[str] | None = None) -> None:
    """List the runs of a folder with these percentiles; raises BadInput where it cannot be looked into."""
    names = percentiles or PERCENTILES
    rows = newest_last([_row(run, names) for run in run_folders(folder)])
    if as_json:
        out(json.dumps([row.document() for row in rows], indent=2))
    else:
        out(runs_table(rows) if rows else f"no runs in {plain(str(folder))}")


def run_folders(folder: Path) -> list[RunFolder]:
    """The runs of a folder; raises BadInput where it cannot be looked into."""
    return [run for path in _subfolders(folder) if is_run(run := RunFolder(path))]


def _subfolders(folder: Path) -> list[Path]:
    mend = "Name the folder with the runs, or create a first run: `streamgauge run baseline`"
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except OSError as error:
        what = (
            "there is no such folder" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        )
        raise BadInput.single(f"DIR {plain(str(folder))}", what, mend) from error


def is_run(folder: RunFolder) -> bool:
    """Whether a run put it there, even one that was killed, or whose files were lost."""
    with suppress(PermissionError):
        if many_of(folder.root):
            return False
        return any(path.exists() for path in (folder.facts, folder.result, folder.events))
    return False


def _row(folder: RunFolder, percentiles: Sequence[str]) -> RunRow:
    return run_row(folder.root.name, content(folder.facts), content(folder.result), percentiles)


def content(path: Path) -> bytes | None:
    """What is in a file; nothing, which is no JSON, where it is there and cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError:
        return b""
