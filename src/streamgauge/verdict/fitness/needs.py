"""Rules for what a run cannot do without: Java, memory, room on the disk."""

import math
from typing import Final

from streamgauge.domain.text.numbers import size, whole
from streamgauge.verdict.fitness.machine import ELSEWHERE, GIB, Finding, Machine, untold

PYTHON_NEEDED: Final = (3, 11)
MEMORY_NEEDED: Final = 1.5 * GIB
"""The heap of an embedded broker and four workers, or that of Spark afterwards."""
MEMORY_AMPLE: Final = 4 * GIB
DISK_NEEDED: Final = 1 * GIB
DISK_AMPLE: Final = 5 * GIB
FILES_AMPLE: Final = 1_024

_INSTALL: Final = {"Darwin": "brew install openjdk@17"}


def java(machine: Machine) -> Finding:
    """Whether there is a Java for broker and Spark."""
    if machine.java_version is None:
        remedy = _INSTALL.get(machine.system, "sudo apt install openjdk-17-jdk-headless")
        what = "Neither a broker nor the analysis can be started."
        return Finding("java", "fail", machine.java_fault or "none found", what, remedy)
    where = f", {machine.java_path}" if machine.java_path else ""
    return Finding("java", "ok", f"{machine.java_version}{where}", "The embedded broker and Spark run on it.")


def python(machine: Machine) -> Finding:
    """Whether this Python is new enough."""
    if machine.python is None:
        return untold("python", machine, "Which Python the workers run on is not known.")
    release = tuple(int(part) for part in machine.python.split(".")[:2] if part.isdecimal())
    if release < PYTHON_NEEDED:
        needed = ".".join(map(str, PYTHON_NEEDED))
        what = f"Workers need Python {needed} or newer."
        return Finding("python", "fail", machine.python, what, f"Create the environment again with Python {needed}")
    return Finding("python", "ok", machine.python, "The workers run on it.")


def jars(machine: Machine) -> Finding:
    """Whether an embedded broker can be started without a network."""
    where = machine.jars_folder or "the cache"
    if machine.jars_missing is None:
        return untold("jars", machine, "The first run with an embedded broker may have to download its jars.")
    if machine.jars_missing:
        what = "The first run with an embedded broker downloads them, about 55 MB in total, and needs a network."
        found = f"{machine.jars_missing} to be downloaded into {where}"
        return Finding("jars", "warn", found, what, "streamgauge broker start && streamgauge broker stop")
    return Finding("jars", "ok", f"all in {where}", "An embedded broker starts without a network.")


def memory(machine: Machine) -> Finding:
    """Whether broker, workers and Spark have the memory they need."""
    free = machine.memory_available_bytes
    if free is None:
        return untold("memory", machine, "A machine that runs out of memory swaps, or ends the broker.")
    total = "" if machine.memory_bytes is None else f" of {size(machine.memory_bytes)}"
    return _room("memory", free, f"{size(free)} free{total}", f"End other programs, or measure elsewhere: {ELSEWHERE}")


def memory_limit(machine: Machine) -> Finding:
    """Whether a container may have the memory that is needed."""
    limit = machine.memory_limit_bytes
    if limit is None:
        return untold("memory limit", machine, "A limit would end the broker when it is reached.", linux=True)
    if math.isinf(limit):
        return Finding("memory limit", "ok", "none", "Nothing is killed before the machine runs out of memory.")
    return _room("memory limit", limit, size(limit), "docker update --memory 8g --memory-swap 8g CONTAINER")


def _room(name: str, room: float, found: str, remedy: str) -> Finding:
    if room < MEMORY_NEEDED:
        what = f"Broker and workers, and Spark after them, need {size(MEMORY_NEEDED)}."
        return Finding(name, "fail", found, what, remedy)
    if room < MEMORY_AMPLE:
        what = "Enough to run; little is left for the page cache, so that consumers may read from the disk."
        return Finding(name, "warn", found, what, remedy)
    return Finding(name, "ok", found, "Broker, workers and page cache have enough space.")


def disk(machine: Machine) -> Finding:
    """Whether rows, and the log of an embedded broker, have enough space."""
    free, where = machine.disk_free_bytes, machine.run_folder or "the run folder"
    if free is None:
        return untold("disk", machine, "A run whose disk is full loses rows and is not valid.")
    found, remedy = f"{size(free)} free for {where}", "streamgauge run baseline --out DIR, on a larger disk"
    if free < DISK_NEEDED:
        return Finding("disk", "fail", found, "Rows, and the log of an embedded broker, do not fit.", remedy)
    if free < DISK_AMPLE:
        what = "Enough for short runs: 10,000 messages a second of 512 bytes fill 1 GB in three minutes."
        return Finding("disk", "warn", found, what, remedy)
    return Finding("disk", "ok", found, "Rows, and the log of an embedded broker, have enough space.")


def open_files(machine: Machine) -> Finding:
    """Whether clients and broker may open what they need."""
    soft, hard = machine.open_files, machine.open_files_hard
    if soft is None:
        return untold("open files", machine, "A broker opens a few files for each partition.")
    found = "unlimited" if math.isinf(soft) else whole(soft)
    if soft >= FILES_AMPLE:
        return Finding("open files", "ok", found, "Enough for connections, and for the partitions of a broker.")
    may_raise = hard is None or hard >= FILES_AMPLE
    remedy = "ulimit -n 1024" if may_raise else "Let the administrator raise the hard limit: ulimit -H -n"
    what = "With many partitions or connections, a broker or client fails in the middle of a run."
    return Finding("open files", "warn", found, what, remedy)
