"""Folders that pass through a process of ours, on Linux with FUSE: whether they can be had, made, told and ended."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Final

from streamgauge.domain.errors import BadInput
from streamgauge.processes.jvm.ending import end
from streamgauge.scenario.model.environment.faults.disks import SLOW, DiskFault

_DEVICE: Final = Path("/dev/fuse")
_PROGRAM: Final = "fusermount3"
_MOUNTS: Final = Path("/proc/self/mountinfo")
_END_SECONDS: Final = 10


def why_not(device: Path = _DEVICE) -> str | None:
    """Why no folder can pass through us on this machine; None where it can, as far as can be told without trying."""
    if sys.platform != "linux":
        return "FUSE is used on Linux only"
    if which(_PROGRAM) is None:
        return f"{_PROGRAM} is not installed (Debian, Ubuntu: `apt install fuse3`)"
    if importlib.util.find_spec("mfusepy") is None:
        return "the Python package mfusepy is not installed"
    try:
        os.close(os.open(device, os.O_RDWR))
    except OSError as error:
        return f"{device} cannot be opened: {error.strerror}"
    return None


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder that passes through a process of ours."""

    point: Path
    """Where it is seen."""
    process: "subprocess.Popen[str]"

    def tell(self, fault: DiskFault | None) -> None:
        """Begin a fault of it, or end what was begun; OSError where the process is gone."""
        words = [] if fault is None else [fault.kind, *([str(fault.delay_ns)] if fault.kind == SLOW else [])]
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{' '.join(words)}\n")
        self.process.stdin.flush()
        if not self.process.stdout.readline():
            raise OSError("the directory's file system has ended")

    def end(self) -> None:
        """Unmount it and end the process. May be called again."""
        end(self.process, _END_SECONDS)
        unmount_below(self.point)


def mounted(folder: Path, point: Path, log: Path) -> Mount:
    """Make a folder seen at another place, through a process of its own; both are made where they are missing.

    Raises BadInput with what the process said where it cannot be mounted.
    """
    for each in (folder, point, log.parent):
        each.mkdir(parents=True, exist_ok=True)
    program = [sys.executable, "-m", "streamgauge.cluster.disks.passthrough", str(folder), str(point)]
    with log.open("a", encoding="utf-8") as said:
        process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True
        )
    mount = Mount(point, process)
    assert process.stdout is not None
    if process.stdout.readline():
        return mount
    mount.end()
    last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    what = f"{point} cannot be mounted with FUSE: {''.join(last) or 'no reason was given'}"
    raise BadInput.single("faults", what, "Leave faults of single directories out, or run where FUSE can be used")


def unmount_below(folder: Path) -> None:
    """Unmount what is still mounted at a folder or below it: a process that served it may have been killed."""
    for point in points_below(folder):
        subprocess.run([_PROGRAM, "-u", "-z", str(point)], check=False, capture_output=True)


def points_below(folder: Path, told: Path = _MOUNTS) -> list[Path]:
    """Where something of ours is mounted there, the innermost first."""
    try:
        lines = told.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    points = [Path(_plain(line.split()[4])) for line in lines if " fuse" in line]
    root = folder.absolute()
    return sorted((each for each in points if each == root or root in each.parents), reverse=True)


def _plain(text: str) -> str:
    """A path as the kernel writes it, without its octal codes."""
    for character in " \t\n\\":
        text = text.replace(f"\\{ord(character):03o}", character)
    return text
