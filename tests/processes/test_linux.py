"""What only Linux has: short slices of the CPU."""

import os
import platform
import subprocess
import sys

import pytest

from streamgauge.processes.linux import SLICE_NS

ASKED = """
import ctypes, os, struct, threading
from streamgauge.processes import linux
os.nice(3)
taken = linux.set_short_slice()
get = linux._SCHED_SETATTR[os.uname().machine] + 1
def told():
    found = ctypes.create_string_buffer(56)
    linux._LIBC.syscall(get, 0, found, 56, 0)
    print(taken, *struct.unpack(linux._ATTRIBUTES, found.raw)[3:6:2])
told()
thread = threading.Thread(target=told)
thread.start()
thread.join()
"""
"""Whether the kernel took it, then nice value and slice of this thread, and of one that it starts."""


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64", "riscv64"}, reason="another kernel"
)
def test_a_short_slice_is_asked_for_and_inherited() -> None:
    """The nice value stays; kernels before 6.12 take the call, and leave slices as they are."""
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True)

    own, started = (line.split() for line in done.stdout.splitlines())
    assert own == started
    assert own[:2] == ["True", str(min(19, os.getpriority(os.PRIO_PROCESS, 0) + 3))]
    if tuple(int(each) for each in platform.release().split(".")[:2]) >= (6, 12):
        assert int(own[2]) == SLICE_NS
