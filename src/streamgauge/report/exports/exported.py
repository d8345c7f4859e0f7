"""A run in the files of another tool: which there are, and how they are written."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.report.exports.csv_files import write_csv
from streamgauge.report.exports.hlog import write_hlog
from streamgauge.report.exports.omb import omb_document
from streamgauge.report.exports.openmetrics import openmetrics_text
from streamgauge.report.exports.tussle import log_name, log_text, tussle_document
from streamgauge.report.exports.tussle_progress import progress_text, read_operations
from streamgauge.report.files import table_file, whole
from streamgauge.report.pages.belief import judgement
from streamgauge.result import Result

FORMS: Final = ("omb", "hlog", "tussle", "openmetrics", "csv", "parquet")
_NOTHING: Final = "Export a run that has them, or use --as omb or --as openmetrics"


def export(folder: RunFolder, result: Result, form: str, out: Path) -> list[Path]:
    """Write a run in one of `FORMS` into a folder; returns the files.

    Raises BadInput where the run has nothing of that form, AnalysisError where a file cannot be read or written.
    """
    texts = dict(_texts(folder, result, form))
    written = []
    for name, text in texts.items():
        with whole(out / name) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
        written.append(out / name)
    for source in _copies(folder, form):
        with whole(out / source.name) as unfinished:
            shutil.copyfile(source, unfinished)
        written.append(out / source.name)
    if not written:
        what = f"has nothing that can be exported as {form}: its tables or logs are missing"
        raise BadInput.single(str(folder.root), what, _NOTHING)
    return written


def _texts(folder: RunFolder, result: Result, form: str) -> Iterator[tuple[str, str]]:
    if form == "omb":
        yield f"{result.run.id}.json", _json(omb_document(result))
    elif form == "openmetrics":
        yield f"{result.run.id}.prom", openmetrics_text(result, judgement(result))
    elif form == "tussle":
        yield "metrics.json", _json(tussle_document(result))
        logs = {log.stem: log for log in _logs(folder)}
        if "poll_per_record" in logs:
            # Theirs counts a poll for each message; what was imported from it has no other.
            logs.pop("poll", None)
        for log in logs.values():
            text = log.read_text(encoding="utf-8")
            if (name := log_name(log.stem, result)) and "#[Values in microseconds" in text:
                yield f"histograms/{name}", log_text(text)
        if progress := progress_text(read_operations(folder), result.throughput.measured_seconds or 0):
            yield "progress.txt", progress
    elif form == "parquet" and (there := [name for name in TABLES if table_file(folder, name).exists()]):
        columns = {name: {"about": TABLES[name].about, "columns": list(map(asdict, TABLES[name].columns))}
                   for name in there}  # fmt: skip
        yield "schema.json", _json(columns)


def _json(document: object) -> str:
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _logs(folder: RunFolder) -> list[Path]:
    """The logs of a run; they are written if they are not there."""
    return sorted(folder.hlog.glob("*.hlog")) or write_hlog(folder)


def _copies(folder: RunFolder, form: str) -> list[Path]:
    if form == "hlog":
        return _logs(folder)
    if form == "csv":
        return write_csv(folder)
    return [path for name in TABLES if (path := table_file(folder, name)).exists()] if form == "parquet" else []
