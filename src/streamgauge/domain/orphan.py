"""What the kernel does to a process when the one that started it dies: a call that only Linux has."""

import ctypes
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_LIBC = ctypes.CDLL(None)


def when_orphaned(signal_number: int) -> None:
    """Let the kernel send this process a signal at its parent's death; elsewhere, nothing.

    A parent that is dead already goes unnoticed: who cannot see that otherwise compares `os.getppid` afterwards.
    """
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
