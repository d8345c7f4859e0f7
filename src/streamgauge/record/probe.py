"""Reading what a machine is as a place to measure on; what cannot be read stays unknown, and nothing is an error."""

import math
import platform
import re
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from streamgauge.domain import clock
from streamgauge.domain.fitness import Machine
from streamgauge.record.facts import machine as machine_facts

WATCHED_SECONDS: Final = 1.0
"""How long is looked whether CPU is stolen."""

_CLOCKS: Final = "sys/devices/system/clocksource/clocksource0"
_NO_LIMIT_BYTES: Final = 1 << 60
"""From here on a limit of cgroup v1 is the largest number that fits, and means none."""
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
        disk_free_bytes=_disk_free(runs),
        open_files=soft,
        open_files_hard=hard,
        clock_source=_text(root / _CLOCKS / "current_clocksource"),
        clock_sources=tuple((_text(root / _CLOCKS / "available_clocksource") or "").split()),
        timer_slack_ns=_number(_text(root / "proc/self/timerslack_ns")),
        huge_pages=_chosen(_text(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        governors=_governors(root),
        steal_share=_steal(root, pause),
    )


def _file_limits() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def _disk_free(folder: Path) -> int | None:
    """Free bytes where the folder is, or where it would be made."""
    there = next((path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir()), None)
    try:
        return shutil.disk_usage(there).free if there else None
    except OSError:
        return None


def _governors(root: Path) -> tuple[str, ...]:
    found = (_text(path) for path in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
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
    words = (_text(root / "proc/stat") or "").partition("\n")[0].split()
    if len(words) <= _CPU_TIMES or words[0] != "cpu":
        return None
    times = [_number(word) for word in words[1 : _CPU_TIMES + 1]]
    known = [each for each in times if each is not None]
    return known if len(known) == _CPU_TIMES else None


def _cpu_limit(root: Path) -> float | None:
    """Cores that the container may use; infinite without a limit, None where that cannot be known."""
    return _least(root, "cpu", _cpu_max, _cpu_quota)


def _cpu_max(group: Path) -> float | None:
    """Cgroup v2: `max 100000`, or the microseconds that may be used in a period, and the period."""
    return _cores(*(_text(group / "cpu.max") or "").split())


def _cpu_quota(group: Path) -> float | None:
    """Cgroup v1: the same in two files; -1 without a limit."""
    return _cores(*((_text(group / f"cpu.cfs_{name}_us") or "") for name in ("quota", "period")))


def _cores(*quota_and_period: str) -> float | None:
    quota, period = [_number(word) for word in quota_and_period] if len(quota_and_period) == 2 else (None, None)
    return quota / period if quota and period and quota > 0 else None


def _memory_limit(root: Path) -> float | None:
    """Bytes that the container may use; infinite without a limit, None where that cannot be known."""
    return _least(
        root,
        "memory",
        lambda group: _number(_text(group / "memory.max")),
        lambda group: _number(_text(group / "memory.limit_in_bytes")),
        _NO_LIMIT_BYTES,
    )


Read = Callable[[Path], float | None]


def _least(root: Path, controller: str, v2: Read, v1: Read, unlimited: float = math.inf) -> float | None:
    """The tightest limit of the groups that this process is in, from its own up to the outermost that can be seen."""
    membership = _text(root / "proc/self/cgroup")
    mount = root / "sys/fs/cgroup"
    if membership is None or not mount.is_dir():
        return None
    limits = [math.inf]
    for controllers, path in re.findall(r"^\d+:([^:]*):(.*)$", membership, re.MULTILINE):
        # v2 names no controllers; where v1 is in use it is mounted one folder further down, and limits nothing.
        if controllers == "":
            limits += [limit for group in _upwards(mount, path) if (limit := v2(group)) is not None]
        elif controller in controllers.split(","):
            limits += [limit for group in _upwards(mount / controller, path) if (limit := v1(group)) is not None]
    least = min(limits)
    return math.inf if least >= unlimited else least


def _upwards(mount: Path, path: str) -> list[Path]:
    """The group and all that it is in; in a container, where its path may be one that only the host sees, the mount."""
    inside = Path(path.lstrip("/"))
    return [mount / each for each in (inside, *inside.parents)]


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"-?[0-9]{1,30}", text) else None


def _text(path: Path) -> str | None:
    """What a file says, without its last line end; None where it cannot be read or says nothing."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
