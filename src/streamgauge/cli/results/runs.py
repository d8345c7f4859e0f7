"""The command `runs`: the runs of a folder, side by side."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.pages.page import plain
from streamgauge.report.runs import PERCENTILES, RunRow, newest_last, run_row, runs_table
from streamgauge.runs.results.folders import content, run_folders


def runs(folder: Path, *, as_json: bool, out: Callable[[str], None], percentiles: Sequence[str] | None = None) -> None:
    """List the runs of a folder with these percentiles; raises BadInput where it cannot be looked into."""
    names = percentiles or PERCENTILES
    rows = newest_last([_row(run, names) for run in run_folders(folder)])
    if as_json:
        out(json.dumps([row.document() for row in rows], indent=2))
    else:
        out(runs_table(rows) if rows else f"no runs in {plain(str(folder))}")


def _row(folder: RunFolder, percentiles: Sequence[str]) -> RunRow:
    return run_row(folder.root.name, content(folder.facts), content(folder.result), percentiles)
