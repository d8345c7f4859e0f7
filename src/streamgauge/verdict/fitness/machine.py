"""What is read of a machine, and what is said about it."""

from dataclasses import dataclass
from typing import Final, Literal

from streamgauge.verdict.calibration import Calibration

Status = Literal["ok", "warn", "fail", "unknown"]

GIB: Final = 1 << 30
ELSEWHERE: Final = "streamgauge run baseline --bootstrap HOST:PORT"
"""Measures a broker that another machine carries."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What was read of a machine; None is what the system does not tell, infinite a limit that is not set."""

    system: str = "Linux"
    python: str | None = None
    java_version: str | None = None
    java_path: str | None = None
    java_fault: str | None = None
    """Why there is no Java that can be used."""
    jars_missing: int | None = None
    jars_folder: str | None = None
    cores: int | None = None
    """Those that this process may use."""
    cpu_limit_cores: float | None = None
    memory_bytes: int | None = None
    memory_available_bytes: int | None = None
    memory_limit_bytes: float | None = None
    run_folder: str | None = None
    disk_free_bytes: int | None = None
    open_files: float | None = None
    open_files_hard: float | None = None
    clock_source: str | None = None
    clock_sources: tuple[str, ...] = ()
    """All that could be chosen."""
    timer_slack_ns: int | None = None
    huge_pages: str | None = None
    governors: tuple[str, ...] = ()
    """Every one that some core has."""
    steal_share: float | None = None
    wall_ns: int = 0
    """When it was looked at."""
    calibrations: tuple[Calibration, ...] | None = None
    """Those of this machine, of any version."""
    version: str = ""
    """Of streamgauge."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One subject: what was found, what it means for a measurement, and the remedy; empty where none is needed."""

    name: str
    status: Status
    found: str
    meaning: str
    remedy: str = ""


def untold(name: str, machine: Machine, meaning: str, *, linux: bool = False) -> Finding:
    """A subject about which the system says nothing; `linux` where only Linux could."""
    system = {"Darwin": "macOS"}.get(machine.system, machine.system)
    has_none = linux and machine.system != "Linux"
    return Finding(
        name, "unknown", f"{system} has no equivalent" if has_none else f"{system} does not report it", meaning
    )
