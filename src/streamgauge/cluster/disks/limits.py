"""A limit on the size of files, which makes the writes of a running process fail without any privilege."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import psutil

HEADROOM_BYTES: Final = 1 << 18
"""What the process may still tell its own logs: they are files, too."""


def limit_files(pid: int, logs: Iterable[Path]) -> None:
    """Let a process make no file larger than its logs are now, and a little more; OSError where that is impossible.

    A write beyond that fails with "File too large".
    """
    largest = max((path.stat().st_size for path in logs if path.exists()), default=0)
    if sys.platform != "linux":
        raise OSError("the size of a process's files can be limited on Linux only")
    try:
        process = psutil.Process(pid)
        _, hard = process.rlimit(psutil.RLIMIT_FSIZE)
        process.rlimit(psutil.RLIMIT_FSIZE, (largest + HEADROOM_BYTES, hard))
    except psutil.NoSuchProcess as error:
        raise ProcessLookupError("the broker is not running") from error
    except psutil.AccessDenied as error:
        raise PermissionError("the limits of the broker's process cannot be set") from error
