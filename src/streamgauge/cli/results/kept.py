"""Baselines: results of runs kept in one file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.errors import BadInput
from streamgauge.report.compare.variants import GivenRun
from streamgauge.result import Result
from streamgauge.result.reading import NotAResultError, result_of

BASELINE_FORMAT: Final = 1


def save_baseline(paths: Sequence[Path], out: Path) -> int:
    """Write the results of these runs into one file; returns how many there are. Raises BadInput."""
    from streamgauge.cli.results.compare import given_runs

    found = given_runs(paths)
    text = json.dumps(baseline_document([each.result for each in found]), separators=(",", ":"))
    try:
        out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput.single(f"--out {out}", f"cannot be written: {error.strerror}", "Name another file") from error
    return len(found)


def baseline_document(results: Sequence[Result]) -> dict[str, Any]:
    """The results of runs as one document."""
    return {"baseline": BASELINE_FORMAT, "runs": [each.document() for each in results]}


def runs_of_baseline(path: Path) -> list[GivenRun] | None:
    """The runs of a file that `baseline save` wrote; None for any other file.

    Raises BadInput where one of its runs cannot be read.
    """
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        # Whoever reads it as a result says what is wrong.
        return None
    if not isinstance(document, dict) or "baseline" not in document:
        return None
    if document["baseline"] != BASELINE_FORMAT or not isinstance(document.get("runs"), list):
        raise BadInput.single(str(path), "is not a baseline that this version reads", "Save the baseline again")
    try:
        return [GivenRun(path.name, result_of(each)) for each in document["runs"]]
    except NotAResultError as error:
        raise BadInput.single(str(path), f"has a run that is no result: {error}", "Save the baseline again") from error
