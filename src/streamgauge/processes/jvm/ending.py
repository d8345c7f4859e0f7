"""How a process of our own is ended that lives as long as somebody holds its standard input."""

import contextlib
import subprocess
from typing import Any


def end(process: "subprocess.Popen[Any]", seconds: float) -> None:
    """End it: by the end of its standard input, or by force when that takes longer than this. May be called again."""
    if process.stdin:
        # What was not written to one that has ended is lost with it.
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()
