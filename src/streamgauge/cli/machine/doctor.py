"""The command `doctor`: what this machine is as a place to measure on."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from streamgauge.cluster.jars import jar_folder, parse_list
from streamgauge.domain.clock import clock_pair
from streamgauge.domain.errors import BadInput
from streamgauge.processes.jvm.java import find_java
from streamgauge.record.calibrations import read_calibrations
from streamgauge.record.facts import machine, versions
from streamgauge.record.probe import probe
from streamgauge.report.pages.fitness import diagnosis
from streamgauge.verdict.calibration import of_machine
from streamgauge.verdict.exits import Exit
from streamgauge.verdict.fitness import Machine, findings, is_ready


def doctor(
    runs: Path,
    *,
    as_json: bool,
    out: Callable[[str], None],
    look: Callable[[Path], Machine] = probe,
    prepare: bool = False,
) -> Exit:
    """Look at the machine and say what was found; FAILED where something is missing that a run cannot do without.

    With `prepare`, make archives of Java classes before; FAILED where they cannot be made, too.
    """
    prepared = _prepared() if prepare else True
    found = findings(replace(look(runs), **_java(os.environ), **_jars(), **_calibrations()))
    ready = is_ready(found)
    if as_json:
        out(json.dumps({"ready": ready, "findings": [asdict(each) for each in found]}, indent=2))
    else:
        out(diagnosis(found))
    return Exit.DONE if ready and prepared else Exit.FAILED


def _prepared() -> bool:
    """Make the archives unless they are there; whether they are."""
    from streamgauge.runs import archives
    from streamgauge.runs.request.options import checked_java

    java = checked_java()
    return archives.are_made(java) or archives.make(java, tell)


def tell(line: str) -> None:
    """Say on standard error what goes on."""
    sys.stderr.write(f"{line}\n")


def _java(environ: Mapping[str, str]) -> dict[str, Any]:
    try:
        java = find_java(environ)
    except BadInput as error:
        return {"java_fault": "; ".join(fault.what for fault in error.faults)}
    return {"java_version": java.version, "java_path": str(java.path)}


def _calibrations() -> dict[str, Any]:
    """The calibrations of this machine, and what tells how old they are."""
    mine = of_machine(read_calibrations(), machine())
    return {"calibrations": tuple(mine), "version": versions()["streamgauge"], "wall_ns": clock_pair().wall_ns}


def _jars() -> dict[str, Any]:
    """How many of the broker's jars would have to be fetched; their sums are checked when a broker starts."""
    folder = jar_folder()
    listed = parse_list(files("streamgauge.cluster").joinpath("jars.txt").read_text(encoding="utf-8"))
    return {"jars_folder": str(folder), "jars_missing": sum(not (folder / jar.file_name).is_file() for jar in listed)}
