"""Calls that only Linux has; elsewhere they do nothing."""

import ctypes
import os
import platform
import struct
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_TIMERSLACK: Final = 29
_LIBC = ctypes.CDLL(None)
_SCHED_SETATTR: Final = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
"""The number of the system call, which few C libraries wrap."""
_ATTRIBUTES: Final = "=IIQiIQQQII"
"""`struct sched_attr`: size, policy, flags, nice, priority, runtime, deadline, period, utilisation."""
SLICE_NS: Final = 100_000
"""The shortest slice that a kernel grants."""


def when_orphaned(signal_number: int) -> None:
    """Let the kernel send this process a signal at its parent's death.

    A parent that is dead already goes unnoticed: who cannot see that otherwise compares `os.getppid` afterwards.
    """
    _prctl(_PR_SET_PDEATHSIG, signal_number)


def set_timer_slack() -> None:
    """Let sleeps end when they should, not up to 50 us later."""
    _prctl(_PR_SET_TIMERSLACK, 1)


def set_short_slice() -> bool:
    """Let threads that this one starts, and this one, run in short slices: then they run sooner once they are ready.

    Linux 6.12 and newer: a thread that asks for less at a time is preferred when it wakes up, and gets no more in all.
    It needs no privilege. Returns whether the kernel took it; older ones ignore it.
    """
    number = _SCHED_SETATTR.get(platform.machine()) if sys.platform == "linux" else None
    if number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False
    size, nice = struct.calcsize(_ATTRIBUTES), os.getpriority(os.PRIO_PROCESS, 0)
    wanted = struct.pack(_ATTRIBUTES, size, os.SCHED_OTHER, 0, nice, 0, SLICE_NS, 0, 0, 0, 0)
    return bool(_LIBC.syscall(number, 0, ctypes.create_string_buffer(wanted, size), 0) == 0)


def _prctl(option: int, argument: int) -> None:
    if sys.platform == "linux":
        _LIBC.prctl(option, argument, 0, 0, 0)
