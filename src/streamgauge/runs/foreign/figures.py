"""The figures of a program that ended well: of its output by patterns, of its status, and of files that it wrote."""

import contextlib
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.text.secrets import masked
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.formats import trogdor
from streamgauge.foreign.results.given import MOST_BYTES, MOST_FILES, ForeignFile
from streamgauge.foreign.results.measured import ForeignError, Measured
from streamgauge.foreign.results.output import measured_by, numbers_of, parse_pattern
from streamgauge.foreign.results.reading import ImportedFile, read_results
from streamgauge.foreign.results.values import known, known_counts, maybe_amount, maybe_count
from streamgauge.foreign.specs.write.programs import ProgramCommand, ProgramRun


def program_figures(run: ProgramRun, output: Path, status: Any, began: int, done: int) -> list[ImportedFile]:
    """What a run has measured, from `began` to `done` in ns since 1970; `status` is what its lines of JSON told last.

    Raises ForeignError or BadInput where it cannot be read.
    """
    seconds = (done - began) / NS_PER_SECOND
    told = ForeignFile("output.txt", str(output.parent), output.read_bytes()[-MOST_BYTES:])
    if run.speech == "trogdor":
        return _of_status(run, status, began, done, told)
    files = [] if run.command is None else list(_result_files(run, run.command, began))
    found = read_results(files, Asked()) if files else []
    own = _own(run, told, seconds)
    if own is None:
        return [replace(each, runs=tuple(_named(run, one, began) for one in each.runs)) for each in found]
    return [ImportedFile((told,), (_named(run, own, began),)), *found]


def _named(run: ProgramRun, measured: Measured, began: int) -> Measured:
    started = measured.started_s if measured.started_s is not None else began / NS_PER_SECOND
    target = run.settings.get("targetRate")
    throughput = {**({"target_per_second": float(target)} if target else {}), **measured.throughput}
    return replace(
        measured, name=run.name, started_s=started, throughput=throughput,
        settings={**measured.settings, **run.settings, "command": shlex.join(run.command.words if run.command else ())},
    )  # fmt: skip


def _own(run: ProgramRun, told: ForeignFile, seconds: float) -> Measured | None:
    """What standard output and the file of a result say; None where neither is asked for."""
    if not run.output.patterns and run.output.result is None:
        return None
    asked = replace(run.output.asked, patterns=tuple(map(parse_pattern, run.output.patterns)))
    made = (
        measured_by(asked, told.text(), run.name, run.tool)
        if asked.patterns
        else Measured(tool=run.tool, form="result of a run", name=run.name, seconds=seconds)
    )
    if run.output.result is None or run.command is None:
        return made
    path = Path(run.command.folder or ".") / run.output.result
    try:
        result = ForeignFile(path.name, str(path.parent), path.read_bytes()).document()
    except OSError as error:
        raise ForeignError(f"names no result: {one_line(str(path))}: {error.strerror}", "Correct runResult") from error
    rates = known(sent_per_second=maybe_amount(result, "rate"))
    counts = known_counts(sent=maybe_count(result, "count"), failed=maybe_count(result, "errors"))
    return replace(
        made,
        throughput={**rates, **made.throughput},
        delivery={**counts, **made.delivery},
        figures={**numbers_of(result), **made.figures},
    )


def _of_status(run: ProgramRun, status: Any, began: int, done: int, told: ForeignFile) -> list[ImportedFile]:
    """The figures of a status: Trogdor's own, or the numbers that it has."""
    document = {
        "spec": masked(dict(run.spec)),
        "startedMs": began // NS_PER_MS,
        "doneMs": done // NS_PER_MS,
        "status": status,
    }
    kept = ForeignFile("status.json", told.folder, json.dumps(document, indent=2).encode())
    if trogdor.recognises(kept):
        with contextlib.suppress(ForeignError):
            return [ImportedFile((kept, told), tuple(trogdor.read([kept], Asked())))]
    if not (figures := numbers_of(status)):
        return []
    seconds = (done - began) / NS_PER_SECOND
    made = Measured("Trogdor", "status of an external command", run.name, seconds=seconds, figures=figures)
    return [ImportedFile((kept, told), (_named(run, made, began),))]


def _result_files(run: ProgramRun, command: ProgramCommand, began: int) -> list[ForeignFile]:
    """The files that a run has written below its folder, of the names that are asked for."""
    folder = Path(command.folder or ".")
    names = [re.compile(each) for each in run.output.files]
    found: list[ForeignFile] = []
    for path in sorted(folder.rglob("*")) if names else []:
        relative = str(path.relative_to(folder))
        if not any(name.fullmatch(each) for name in names for each in (path.name, relative)) or not path.is_file():
            continue
        state = path.stat()
        # A file system may know times to the second only; what earlier runs left is not of this one.
        if state.st_mtime_ns < began // NS_PER_SECOND * NS_PER_SECOND:
            continue
        if state.st_size > MOST_BYTES or len(found) >= MOST_FILES:
            raise ForeignError("is in more or larger files than can be read", "Write narrower resultFiles")
        found.append(ForeignFile(path.name, str(path.parent), path.read_bytes()))
    return found
