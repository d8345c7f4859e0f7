"""What a case needs of the machine: a disk that is full and a quota of CPU, which need root, and FUSE."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import psutil

from streamgauge.cluster.disks.mounts import mounted, why_not
from streamgauge.domain.errors import BadInput

_QUOTA: Final = Path("/sys/fs/cgroup/cpu")
_ROOM: Final = "1500m"


@cache
def cannot() -> dict[str, str]:
    """The actions and grounds that this machine does not have, with the reason."""
    missing = {"mounted": reason} if (reason := _why_not_mounted()) else {}
    if os.geteuid() != 0:
        return missing | dict.fromkeys(("disk full", "disk full for 2 s", "throttle"), "needs root")
    if not (_QUOTA / "cpu.cfs_quota_us").exists() and not (_QUOTA / "cgroup.procs").exists():
        missing["throttle"] = "needs the cpu controller of cgroup v1"
    probe = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    try:
        with disk(probe):
            pass
    except subprocess.CalledProcessError:
        missing |= dict.fromkeys(("disk full", "disk full for 2 s"), "needs to mount a disk of its own")
    finally:
        probe.rmdir()
    return missing


def _why_not_mounted() -> str | None:
    """Why no directory can pass through FUSE here; None where one did."""
    if reason := why_not():
        return reason
    with tempfile.TemporaryDirectory() as folder:
        try:
            mounted(Path(folder, "behind"), Path(folder, "seen"), Path(folder, "log")).end()
        except BadInput as error:
            return str(error)
    return None


@contextlib.contextmanager
def disk(folder: Path) -> Iterator[None]:
    """A disk of its own at a folder; it goes with all that is on it."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_ROOM}", "tmpfs", folder], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Leave no byte free on the disk of a folder; returns the file that takes the room."""
    balloon = folder / ".balloon"
    with balloon.open("wb") as file:
        step = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        at = 0
        # Others write meanwhile: what is left is taken in smaller and smaller pieces.
        while step >= 4096:
            try:
                os.posix_fallocate(file.fileno(), at, step)
            except OSError:
                step //= 2
            else:
                at += step
    return balloon


@contextlib.contextmanager
def throttled(processes: list[psutil.Process], name: str) -> Iterator[None]:
    """A tenth of a core for all of them together; afterwards they are where they were."""
    group = _QUOTA / name
    group.mkdir()
    (group / "cpu.cfs_period_us").write_text("100000")
    (group / "cpu.cfs_quota_us").write_text("10000")
    before = _QUOTA / _group_of(os.getpid())
    try:
        for each in processes:
            with contextlib.suppress(OSError):
                (group / "cgroup.procs").write_text(str(each.pid))
        yield
    finally:
        # Those that came of them meanwhile, too.
        while pids := (group / "cgroup.procs").read_text().split():
            for pid in pids:
                with contextlib.suppress(OSError):
                    (before / "cgroup.procs").write_text(pid)
        group.rmdir()


def _group_of(pid: int) -> str:
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return path.lstrip("/")
    return ""
