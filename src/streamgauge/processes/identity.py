"""A process for certain: its number, and when it was started, since numbers are used again.

On Linux the start is told in clock ticks since boot, together with the id of that boot: neither moves when the wall
clock is set. Elsewhere it is the time of creation as the system tells it.
"""

import socket
import sys
from pathlib import Path
from typing import Final, NamedTuple

import psutil
from pydantic import BaseModel, ConfigDict

_SAME_START_SECONDS: Final = 2.0
"""Times of creation of one process differ by less, wherever they are computed."""
_STATE, _START = 0, 19
"""Places of fields 3 and 22 of /proc/PID/stat behind the name of the command."""
_ENDED: Final = ("Z", "X", "x")
_PROC: Final = Path("/proc")


class ProcessId(BaseModel):
    """Which process is meant, for as long as the machine runs."""

    model_config = ConfigDict(frozen=True)

    pid: int
    start_ticks: int | None = None
    """Clock ticks from boot to its start; None elsewhere than on Linux."""
    boot: str | None = None
    """What Linux calls the time from this boot to the next."""
    namespace: str | None = None
    """Where its number counts: a container numbers its processes anew."""
    host: str | None = None
    """Name of the machine: a folder may be seen by several."""
    created: float | None = None
    """Seconds since the epoch; elsewhere than on Linux, and in what earlier versions wrote."""

    @property
    def is_exact(self) -> bool:
        """Whether it can be told from every other; what earlier versions wrote on Linux moves with the wall clock."""
        return self.start_ticks is not None or sys.platform != "linux"


class Stat(NamedTuple):
    """What /proc/PID/stat tells."""

    state: str
    start_ticks: int


def parse_stat(text: str) -> Stat:
    """Read a line of /proc/PID/stat; the name of the command, in parentheses, may hold parentheses and spaces."""
    fields = text.rpartition(")")[2].split()
    return Stat(fields[_STATE], int(fields[_START]))


def identify(pid: int, proc: Path = _PROC) -> ProcessId:
    """The process that has this number now; raises psutil.NoSuchProcess if there is none."""
    if sys.platform != "linux":
        return ProcessId(pid=pid, created=psutil.Process(pid).create_time())
    stat = _stat(pid, proc)
    if stat is None:
        raise psutil.NoSuchProcess(pid)
    return ProcessId(
        pid=pid, start_ticks=stat.start_ticks, boot=_boot(proc), namespace=_namespace(proc), host=socket.gethostname()
    )


def is_alive(wanted: ProcessId, proc: Path = _PROC) -> bool:
    """Whether this very process runs here; a zombie, or another one with its number, does not count.

    On Linux, one that is known by its time of creation alone is taken for the one that has its number now.
    """
    if sys.platform != "linux":
        return _is_alive_by_creation(wanted)
    stat = _stat(wanted.pid, proc)
    if stat is None or stat.state in _ENDED:
        return False
    if wanted.start_ticks is None:
        return True
    here = (_boot(proc), _namespace(proc))
    return stat.start_ticks == wanted.start_ticks and (wanted.boot, wanted.namespace) == here


def is_gone(wanted: ProcessId, proc: Path = _PROC) -> bool:
    """Whether this very process has ended for certain; not so where another machine or a container could tell."""
    if sys.platform != "linux" or wanted.start_ticks is None:
        return not is_alive(wanted, proc)
    if wanted.boot != _boot(proc):
        # This machine, started again, or another one that sees the same folder.
        return wanted.host == socket.gethostname()
    return wanted.namespace == _namespace(proc) and not is_alive(wanted, proc)


def _is_alive_by_creation(wanted: ProcessId) -> bool:
    try:
        process = psutil.Process(wanted.pid)
        same = wanted.created is None or abs(process.create_time() - wanted.created) < _SAME_START_SECONDS
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _stat(pid: int, proc: Path) -> Stat | None:
    """What is told of a process; None where there is none."""
    try:
        return parse_stat((proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace"))
    except (FileNotFoundError, ProcessLookupError):
        return None


def _boot(proc: Path) -> str | None:
    try:
        return (proc / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def _namespace(proc: Path) -> str | None:
    try:
        return str((proc / "self" / "ns" / "pid").readlink())
    except OSError:
        return None
