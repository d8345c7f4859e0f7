"""Control groups (cgroups) of Linux, versions 1 and 2: where their files are, and what these say of CPU quotas.

A quota is CPU time that the threads of a group may use in a period, mostly of 100 ms. Once it is used up, the kernel
stops all of them until the next period begins. Everything here is arithmetic on texts; `groups` reads them.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

Version = Literal[1, 2]

_USUAL: Final = PurePosixPath("/sys/fs/cgroup")
_USUAL_V2: Final = (_USUAL, _USUAL / "unified")
_NO_LIMIT: Final = "max"
_NS_PER_US: Final = 1_000


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that holds the files of a group."""

    version: Version
    path: PurePosixPath


@dataclass(frozen=True, slots=True)
class Quota:
    """CPU that a group may use: so many cores on average over each period."""

    cores: float
    """Infinite without a quota."""
    period_ns: int


@dataclass(frozen=True, slots=True)
class Throttling:
    """How a quota has stopped the threads of a group so far; counters that only rise."""

    periods: int
    """Periods in which it was used up."""
    stopped_ns: int
    """Time that threads were stopped, added up over cores."""
    periods_ns: int | None
    """Length of these periods; None where the length of a period is not known."""


@dataclass(frozen=True, slots=True)
class _Mount:
    """One hierarchy of groups, as it is mounted."""

    version: Version
    root: PurePosixPath
    """The group that is seen as the outermost: in a container, its own."""
    point: PurePosixPath
    options: tuple[str, ...]

    def holds(self, path: PurePosixPath) -> bool:
        return path.is_relative_to(self.root)


def folders(membership: str, mountinfo: str | None, controller: str) -> tuple[Folder, ...]:
    """The groups that limit a process, from its own up to the outermost that it can see; some may not be there.

    `membership` is /proc/PID/cgroup, `mountinfo` /proc/PID/mountinfo; without it the usual places are tried.
    """
    mounts = list(_mounts(mountinfo or ""))
    found: list[Folder] = []
    for version, path in _memberships(membership, controller):
        fitting = [each for each in mounts if each.version == version and (version == 2 or controller in each.options)]
        places = _mounted(fitting, path) if mounts else _usual(version, path, controller)
        found += [Folder(version, place) for place in places]
    return tuple(dict.fromkeys(found))


def _memberships(text: str, controller: str) -> Iterator[tuple[Version, PurePosixPath]]:
    """The own group in each hierarchy that may limit: version 2 names no controllers."""
    for controllers, path in re.findall(r"^\d+:([^:\n]*):(/.*)$", text, re.MULTILINE):
        if controllers == "":
            yield 2, PurePosixPath(path)
        elif controller in controllers.split(","):
            yield 1, PurePosixPath(path)


def _mounts(mountinfo: str) -> Iterator[_Mount]:
    for line in mountinfo.splitlines():
        before, dash, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if not dash or len(fields) < 5 or len(kind) < 3 or kind[0] not in {"cgroup", "cgroup2"}:
            continue
        version: Version = 2 if kind[0] == "cgroup2" else 1
        yield _Mount(version, _unescaped(fields[3]), _unescaped(fields[4]), tuple(kind[2].split(",")))


def _unescaped(path: str) -> PurePosixPath:
    """The kernel writes blanks in paths as octal numbers."""
    return PurePosixPath(re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), path))


def _mounted(mounts: list[_Mount], path: PurePosixPath) -> list[PurePosixPath]:
    """The group and all above it, below the mount that shows most of them.

    Where no mount shows the group, because its path is one that only the host sees, the outermost of a mount is tried.
    """
    if holding := [each for each in mounts if each.holds(path)]:
        mount = min(holding, key=lambda each: len(each.root.parts))
        return [mount.point / each for each in _upwards(path.relative_to(mount.root))]
    return [each.point for each in mounts[:1]]


def _usual(version: Version, path: PurePosixPath, controller: str) -> list[PurePosixPath]:
    points = _USUAL_V2 if version == 2 else (_USUAL / controller,)
    return [point / each for point in points for each in _upwards(path.relative_to("/"))]


def _upwards(inside: PurePosixPath) -> tuple[PurePosixPath, ...]:
    """A group and all that it is in; `..` leads to groups that are not ours."""
    return (PurePosixPath(),) if ".." in inside.parts else (*dict.fromkeys((inside, *inside.parents)),)


def quota_v2(cpu_max: str | None) -> Quota | None:
    """What `cpu.max` says, as in `150000 100000` or `max 100000`, in us. None where it does not."""
    words = (cpu_max or "").split()
    return _quota(*words) if len(words) == 2 else None


def quota_v1(quota_us: str | None, period_us: str | None) -> Quota | None:
    """What `cpu.cfs_quota_us` and `cpu.cfs_period_us` say; a quota of -1 is none. None where they do not."""
    return _quota(_NO_LIMIT if (quota_us or "").strip() == "-1" else quota_us or "", period_us or "")


def _quota(quota: str, period: str) -> Quota | None:
    used_us, period_us = number(quota), number(period)
    if not period_us or period_us < 0:
        return None
    if quota.strip() == _NO_LIMIT:
        return Quota(math.inf, period_us * _NS_PER_US)
    return Quota(used_us / period_us, period_us * _NS_PER_US) if used_us is not None and used_us > 0 else None


def throttling(cpu_stat: str | None, quota: Quota | None) -> Throttling | None:
    """What `cpu.stat` of a group says; None where it tells of no quotas, as in version 2 without the CPU controller."""
    told = _numbers(cpu_stat or "")
    periods, stopped_us = told.get("nr_throttled"), told.get("throttled_usec")
    stopped_ns = told.get("throttled_time") if stopped_us is None else stopped_us * _NS_PER_US
    if periods is None or stopped_ns is None:
        return None
    if periods == 0:
        return Throttling(0, stopped_ns, 0)
    return Throttling(periods, stopped_ns, None if quota is None else periods * quota.period_ns)


def together(groups: Iterable[Throttling]) -> Throttling | None:
    """The sum over groups, one inside the other: any of them stops the threads. None for no group."""
    known = list(groups)
    if not known:
        return None
    lengths = [each.periods_ns for each in known]
    whole = None if None in lengths else sum(each or 0 for each in lengths)
    return Throttling(sum(each.periods for each in known), sum(each.stopped_ns for each in known), whole)


def number(text: str | None) -> int | None:
    """A whole number, as kernels write them; None for anything else."""
    text = (text or "").strip()
    return int(text) if re.fullmatch(r"-?[0-9]{1,30}", text) else None


def _numbers(stat: str) -> Mapping[str, int]:
    pairs = (line.split() for line in stat.splitlines())
    found = {words[0]: number(words[1]) for words in pairs if len(words) == 2}
    return {name: value for name, value in found.items() if value is not None}
