"""Runs a program that ends with the process that started it: `leash.py OWNER_PID PROGRAM ARGUMENT...`.

Linux only. Started as a script, with nothing imported that it does not need, and then replaced by the program.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(owner_pid: int, command: list[str]) -> None:
    """Ask the kernel for SIGKILL at the owner's death, and become the program."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The owner may have died before the kernel was asked.
    if os.getppid() == owner_pid:
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
