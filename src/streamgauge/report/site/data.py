"""What the scripts of the page are given: every run with its figures, as texts and as numbers to divide."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.numbers import moment, significant
from streamgauge.report.compare.answers import figure_of, metrics_of
from streamgauge.report.figures.drawing.timeline import PATHS
from streamgauge.report.pages import belief
from streamgauge.report.site.found import FoundMany, FoundRun, RunGroup, versions_of
from streamgauge.result import Result
from streamgauge.result.model.trust import FigureTrust

MOVING_SCRIPT: Final = "moving.js"
REPORT: Final = "report.html"
_LATENCIES: Final = ("end_to_end.response", "ack.response", "end_to_end.service", "ack.service")
COLUMNS: Final[Sequence[tuple[str, Sequence[str]]]] = (
    ("rate, /s", ("throughput.received_per_second", "throughput.acked_per_second", "throughput.sent_per_second")),
    ("p50, ms", [f"latency.{each}.p50_ms" for each in _LATENCIES]),
    ("p99, ms", [f"latency.{each}.p99_ms" for each in _LATENCIES]),
)
"""Figures in the table of runs: a title, and paths in result.json of which the first is shown that a run has."""

CURVES: Final[Mapping[str, Mapping[str, str]]] = {
    f"{PATHS[path]} response": {
        shown: f"latency.{path}.response.{name}_ms"
        for shown, name in (("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p99.9", "p99_9"))
    }
    for path in PATHS
}
"""Percentiles that are drawn of ticked runs, and their paths: of the first latency that any of them has."""


def data_script(
    folder: Path, runs: Sequence[FoundRun], groups: Sequence[RunGroup], experiments: Sequence[FoundMany] = ()
) -> str:
    """The script `data.js`: one assignment of plain JSON, which a page that was opened from disk may load."""
    group_of = {run.path: group for group in groups for run in group.runs}
    many_of = {path: many for many in experiments for path in many.runs}
    results = [run.result for run in runs if run.result]
    document = {
        "runs": [_run(folder, run, group_of.get(run.path), many_of.get(run.path)) for run in runs],
        "metrics": [{"path": each.path, "label": each.label, "unit": each.unit} for each in metrics_of(results)],
        "columns": [{"label": label, "paths": paths} for label, paths in COLUMNS],
        "curves": [{"label": label, "paths": paths} for label, paths in CURVES.items()],
        # Each run's own script puts its percentiles here.
        "moving": {},
    }
    return f"const site = {json.dumps(document, separators=(',', ':'), allow_nan=False)};\n"


def file_of(run: FoundRun, *names: str) -> str:
    """Where the page has a file of a run, from its own folder."""
    return "/".join(("runs", run.path, *names))


def address_of(run: FoundRun, *names: str) -> str:
    """The same as the address of a link."""
    return _address(file_of(run, *names))


def file_of_many(many: FoundMany, name: str) -> str:
    """Where the page has a file of an experiment or a search, from its own folder."""
    return "/".join(("experiments", many.path, name))


def links_of(many: FoundMany) -> list[tuple[str, str]]:
    """Names and addresses of the files of an experiment or a search."""
    return [(name, _address(file_of_many(many, name))) for name in many.files]


def _address(file: str) -> str:
    return quote(file, errors="surrogateescape")


def _run(folder: Path, run: FoundRun, group: RunGroup | None, many: FoundMany | None) -> dict[str, Any]:
    row, result = run.row, run.result
    return {
        "path": run.path,
        "scenario": row.scenario or (result.run.name if result else ""),
        "setting": group.setting if group else "",
        "machine": group.machine if group else "",
        "category": group.category if group else "",
        "verdict": row.verdict,
        "created": moment(row.created or (result.run.created if result else "")),
        "ending": row.ending or "did not end",
        "faults": row.faults,
        "versions": ", ".join(f"{name} {version}" for name, version in versions_of(result.run).items())
        if result
        else "",
        "report": address_of(run, REPORT) if run.has_report else None,
        "result": address_of(run, "result.json") if result else None,
        "moving": address_of(run, MOVING_SCRIPT) if run.moving else None,
        "around": _report_around(many) if many else None,
        "csv": [{"name": name, "address": address_of(run, "csv", name)} for name in run.csv],
        "hint": _hint(folder, run),
        "figures": _figures(result) if result else {},
    }


def _report_around(many: FoundMany) -> dict[str, str] | None:
    """The report of the experiment or the search of which a run is; None where it has none."""
    if REPORT not in many.files:
        return None
    return {"name": f"report of the {many.kind}", "address": _address(file_of_many(many, REPORT))}


def _hint(folder: Path, run: FoundRun) -> str | None:
    """The command that makes what is missing of a run; None where nothing is, or nothing would help."""
    if run.has_report or run.row.faults:
        return None
    root = folder if run.path == folder.name and RunFolder(folder).facts.exists() else folder / run.path
    return f"streamgauge report {shlex.quote(str(root))}" if run.result else RunFolder(root).analyse_again


def _figures(result: Result) -> Mapping[str, Sequence[Any]]:
    """Each figure by its path: value, text, interval as text, and why it is not believed, null where it is."""
    found = {each.path: figure_of(result, each.path) for each in metrics_of([result])}
    return {path: _figure(result, path, each) for path, each in found.items() if each is not None}


def _figure(result: Result, path: str, found: FigureTrust | float) -> tuple[float, str, str, str | None]:
    mark = "> " if _is_least(result, path) else ""
    if not isinstance(found, FigureTrust):
        return found, mark + significant(found), "", None
    doubt = "; ".join(found.because) if found.trust == "not_believed" else None
    return found.value, mark + significant(found.value), _interval(found), doubt


def _interval(found: FigureTrust) -> str:
    """The ends between which it was without the instrument, where they differ as people read them."""
    if found.low is None:
        return ""
    bounded = belief.cell(found.value, found.model_copy(update={"trust": "bounded"}))
    return "" if significant(found.low) == significant(found.high) else bounded


def _is_least(result: Result, path: str) -> bool:
    """Whether messages that never came may make a latency more."""
    section, *parts = path.split(".")
    if section != "latency":
        return False
    figures = getattr(getattr(result.latency, parts[0]), parts[1])
    return figures is not None and bool(figures.is_least(parts[2].removesuffix("_ms")))
