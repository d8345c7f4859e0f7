"""run.json, and the facts of the machine that belong to every measurement."""

import math
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, Final

import psutil

from streamgauge.domain.clock import utc_text
from streamgauge.domain.errors import BadInput, BadValue, RecordError
from streamgauge.domain.folder.facts import RunFacts, RunFolder, parse_facts
from streamgauge.processes.cpu.groups import Groups
from streamgauge.processes.disk import reserve as make_room

_PACKAGES = ("streamgauge", "confluent-kafka", "numpy", "pyarrow", "pyspark")


RESERVED_BYTES: Final = 256 << 10
"""Room for a run.json that says why rows could not be written: several times what one takes."""


def write_facts(folder: RunFolder, facts: RunFacts, *, reserve: bool = False) -> None:
    """Write run.json whole or not at all; `reserve` keeps room on the disk for the next one, which then always fits.

    Raises RecordError where it cannot be written, or has no room for the next: then nothing is written, and what was
    reserved before still is.
    """
    draft, spare = _draft(folder), folder.facts.with_name("_next-run.json")
    content = (facts.model_dump_json(indent=2) + "\n").encode()
    try:
        if reserve:
            _reserve(spare, max(RESERVED_BYTES, 2 * len(content)))
        with _opened(draft) as file:
            # In place: the room is there, also on a disk that is full by now.
            file.write(content)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        draft.rename(folder.facts)
        if reserve:
            spare.rename(draft)
        else:
            # Of somebody who was killed between the two.
            spare.unlink(missing_ok=True)
    except OSError as error:
        raise RecordError(f"{folder.facts}: cannot be written: {error.strerror}") from error


def give_back(folder: RunFolder) -> None:
    """Give back the room that was reserved for a run.json that is not going to be written."""
    _draft(folder).unlink(missing_ok=True)


def _draft(folder: RunFolder) -> Path:
    return folder.facts.with_name("_run.json")


def _reserve(path: Path, size: int) -> None:
    """A file with so much room; none where there is none."""
    try:
        with _opened(path) as file:
            make_room(file.fileno(), size)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _opened(path: Path) -> BinaryIO:
    """The file for writing from its begin, without giving back the room that it has."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+b")


def read_facts(folder: RunFolder) -> RunFacts:
    """run.json of a folder; raises BadInput where there is none that this version can read."""
    where = str(folder.root)
    try:
        content = folder.facts.read_bytes()
    except (OSError, ValueError) as error:
        what = "not a run folder: it has no readable run.json"
        raise BadInput.single(where, what, "Name a folder made by `streamgauge run`") from error
    try:
        return parse_facts(content)
    except ValueError as error:
        restore = "Restore the file; the events are not affected"
        what, mend = (error.what, error.mend) if isinstance(error, BadValue) else (str(error), restore)
        raise BadInput.single(where, what, mend) from error


def versions() -> dict[str, str]:
    """Versions of what takes part in a measurement."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """What this machine is: system, processor, cores, memory, how long it has been up, and how loaded it is."""
    memory = psutil.virtual_memory()
    return {
        "system": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": psutil.cpu_count(logical=True),
        "usable_cores": _usable_cores(),
        "cpu_quota_cores": _cpu_quota_cores(),
        "memory_bytes": memory.total,
        "memory_available_bytes": memory.available,
        "booted": utc_text(round(psutil.boot_time() * 1e9)),
        "load_average_1m": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "clock_source": _first_line(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        "cpu_governor": _first_line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
    }


def _usable_cores() -> int | None:
    """Cores that this process may use; fewer than there are under taskset or in some containers."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else psutil.cpu_count(logical=True)


def _cpu_quota_cores() -> float | None:
    """Cores that a CPU quota leaves to this process, on average; None where none is set, or nothing tells."""
    quota = Groups.of_this_process().quota()
    return quota.cores if quota and math.isfinite(quota.cores) else None


def _processor() -> str | None:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None
