"""Starts programs that end with the process that started them, where the kernel can see to that (Linux).

As a script, `leash.py OWNER_PID PROGRAM ARGUMENT...`, it asks the kernel for that and becomes the program. A script of
its own may be started from a process with threads, which code between fork and exec may not.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def leashed(command: list[str]) -> list[str]:
    """The command as one that ends with the thread that starts it; as it is where the kernel cannot do that."""
    if sys.platform != "linux":
        return command
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def main(owner_pid: int, command: list[str]) -> None:
    """Ask the kernel for SIGKILL at the owner's death, and become the program."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The owner may have died before the kernel was asked.
    if os.getppid() == owner_pid:
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
