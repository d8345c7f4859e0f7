"""The command `site`: a page of all runs below a folder."""

import json
from collections.abc import Callable
from pathlib import Path

from streamgauge.report.pages.page import plain
from streamgauge.report.site.trends import counted_of
from streamgauge.runs.results.site import make_site


def site(
    folder: Path, target: Path, *, metric: str | None, with_csv: bool, as_json: bool, out: Callable[[str], None]
) -> None:
    """Write a page of all runs below a folder; raises BadInput where there are none, or it cannot be written."""
    made, files = make_site(folder, target, metric, with_csv=with_csv)
    faulty = [run for run in made.runs if run.row.faults]
    if as_json:
        told = [{"run": run.path, "faults": run.row.faults} for run in faulty]
        summary = {"site": str(target / "index.html"), "runs": len(made.runs), "files": files}
        out(json.dumps({**summary, "changes": made.changes, "not_readable": told}, indent=2))
        return
    out(f"{counted_of(len(made.runs), 'run')}: {plain(str(target / 'index.html'))}")
    for line in [*made.changes, *(f"not readable: {run.path}: {'; '.join(run.row.faults)}" for run in faulty)]:
        out(f"  {plain(line)}")
