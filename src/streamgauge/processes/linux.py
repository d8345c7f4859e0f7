"""Calls that only Linux has; elsewhere they do nothing."""

import ctypes
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_TIMERSLACK: Final = 29
_LIBC = ctypes.CDLL(None)


def when_orphaned(signal_number: int) -> None:
    """Let the kernel send this process a signal at its parent's death.

    A parent that is dead already goes unnoticed: who cannot see that otherwise compares `os.getppid` afterwards.
    """
    _prctl(_PR_SET_PDEATHSIG, signal_number)


def set_timer_slack() -> None:
    """Let sleeps end when they should, not up to 50 us later."""
    _prctl(_PR_SET_TIMERSLACK, 1)


def _prctl(option: int, argument: int) -> None:
    if sys.platform == "linux":
        _LIBC.prctl(option, argument, 0, 0, 0)
