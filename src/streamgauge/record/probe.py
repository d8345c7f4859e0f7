"""Reading what a machine is as a place to measure on; what cannot be read stays unknown, and nothing is an error."""

import math
import platform
import re
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Final

from streamgauge.domain import clock
from streamgauge.processes.cpu.groups import Groups, text_of
from streamgauge.processes.cpu.quotas import number
from streamgauge.processes.disk import free_bytes
from streamgauge.record.facts import machine as machine_facts
from streamgauge.verdict.fitness import Machine

WATCHED_SECONDS: Final = 1.0
"""How long is looked whether CPU is stolen."""

_CLOCKS: Final = "sys/devices/system/clocksource/clocksource0"
_NO_LIMIT_BYTES: Final = 1 << 60
"""From here on a limit of cgroup v1 is the largest number that fits, and means none."""
_MEMORY_LIMITS: Final = {1: "memory.limit_in_bytes", 2: "memory.max"}
_CPU_TIMES: Final = 8
"""Columns of /proc/stat up to steal; guest time behind them is in user time already."""


def probe(runs: Path, root: Path = Path("/"), pause: Callable[[float], None] = clock.sleep_seconds) -> Machine:
    """The machine, as far as it tells; Java and jars are left to those who know them.

    `runs` is the folder, there or not yet, that runs will be put into; /proc and /sys are looked for below `root`.
    """
    facts = machine_facts()
    soft, hard = (math.inf if limit == resource.RLIM_INFINITY else limit for limit in _file_limits())
    return Machine(
        system=facts["system"],
        python=platform.python_version(),
        cores=facts["usable_cores"],
        cpu_limit_cores=_cpu_limit(root),
        memory_bytes=facts["memory_bytes"],
        memory_available_bytes=facts["memory_available_bytes"],
        memory_limit_bytes=_memory_limit(root),
        run_folder=str(runs),
        disk_free_bytes=free_bytes(runs),
        open_files=soft,
        open_files_hard=hard,
        clock_source=text_of(root / _CLOCKS / "current_clocksource"),
        clock_sources=tuple((text_of(root / _CLOCKS / "available_clocksource") or "").split()),
        timer_slack_ns=number(text_of(root / "proc/self/timerslack_ns")),
        huge_pages=_chosen(text_of(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        governors=_governors(root),
        steal_share=_steal(root, pause),
    )


def _file_limits() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def _governors(root: Path) -> tuple[str, ...]:
    found = (text_of(path) for path in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    return tuple(sorted({each for each in found if each}))


def _chosen(text: str | None) -> str | None:
    """The word in brackets, as in `always [madvise] never`."""
    found = re.search(r"\[(\w+)\]", text or "")
    return found.group(1) if found else None


def _steal(root: Path, pause: Callable[[float], None]) -> float | None:
    """The share of the machine's CPU time that a hypervisor took away while it was looked."""
    before = _cpu_times(root)
    if before is None:
        return None
    pause(WATCHED_SECONDS)
    after = _cpu_times(root)
    if after is None:
        return None
    passed = [late - early for early, late in zip(before, after, strict=True)]
    return max(0, passed[-1]) / sum(passed) if sum(passed) > 0 else None


def _cpu_times(root: Path) -> list[int] | None:
    words = (text_of(root / "proc/stat") or "").partition("\n")[0].split()
    if len(words) <= _CPU_TIMES or words[0] != "cpu":
        return None
    times = [number(word) for word in words[1 : _CPU_TIMES + 1]]
    known = [each for each in times if each is not None]
    return known if len(known) == _CPU_TIMES else None


def _cpu_limit(root: Path) -> float | None:
    """Cores that the container may use; infinite without a limit, None where that cannot be known."""
    quota = Groups.of_this_process("cpu", root).quota()
    return None if quota is None else quota.cores


def _memory_limit(root: Path) -> float | None:
    """Bytes that the container may use; infinite without a limit, None where that cannot be known.

    The tightest limit counts of the groups that this process is in.
    """
    places = Groups.of_this_process("memory", root).places
    if not places:
        return None
    limits = [number(text_of(place / _MEMORY_LIMITS[each.version])) for place, each in places.items()]
    least = min((limit for limit in limits if limit is not None), default=math.inf)
    return math.inf if least >= _NO_LIMIT_BYTES else least
