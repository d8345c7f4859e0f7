"""Everything that the rules of `doctor` want to know of this machine: what is probed, Java, jars, and calibrations."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
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
from streamgauge.verdict.calibration import of_machine
from streamgauge.verdict.fitness import Machine


def examined(runs: Path, look: Callable[[Path], Machine] = probe) -> Machine:
    """What this machine is as a place for runs in the folder `runs`; what cannot be read stays unknown."""
    return replace(look(runs), **_java(os.environ), **_jars(), **_calibrations())


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
